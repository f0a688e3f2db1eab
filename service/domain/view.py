"""Masked views of a game, and the deck positions whose cards a seat may know."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Literal

from msgspec.structs import replace

from service.domain.cards import HIDDEN, Card, in_code_order
from service.domain.commands import Seat
from service.domain.events import (
    BlindFailed,
    CardsDealt,
    CardsDrawn,
    CardsPlayed,
    CardsThrown,
    Event,
    StockFailed,
    TableLaid,
    Zone,
)
from service.domain.evolve import evolve, fold
from service.domain.game import Game, SeatState, positions

ALL: Final = "all"
"""The viewer who sees every card; only for sealed games."""

Viewer = Seat | Literal["all"] | None
"""A seat, ALL, or None for the public."""


def seen_by(game: Game, viewer: Viewer) -> Game:
    """
    Return `game` as `viewer` may see it, with HIDDEN for every other card.

    It equals the game that the viewer could fold from the log and its own cards.
    Cards of a hand are in code order, hidden ones last: the order of a hand would reveal
    when each of its cards was drawn.
    """
    if viewer == ALL:
        return replace(game, seats=tuple(map(_open, game.seats)))
    seats = tuple(
        [
            _open(state) if seat == viewer else _closed(state)
            for seat, state in enumerate(game.seats)
        ]
    )
    last = game.last_play
    if last is not None and last.seat != viewer:
        last = replace(last, drawn=_hidden(len(last.drawn)))
    return replace(game, seats=seats, last_play=last, deck=_hidden(len(game.deck)))


def _open(state: SeatState) -> SeatState:
    hand, hidden = state.hand, state.hand.count(HIDDEN)
    if hidden:
        hand = tuple(card for card in hand if card != HIDDEN)
    return replace(state, hand=in_code_order(hand) + _hidden(hidden))


def _closed(state: SeatState) -> SeatState:
    known = in_code_order(state.known) if state.known else ()
    return replace(
        state,
        hand=known + _hidden(len(state.hand) - len(known)),
        drawn_laying=_hidden(len(state.drawn_laying)),
    )


def _hidden(count: int) -> tuple[Card, ...]:
    return (HIDDEN,) * count


def seat_openings(events: Iterable[Event], seat: Seat) -> tuple[int, ...]:
    """
    Return the deck positions, in order, of the cards dealt to or drawn by `seat`.

    These are its hand cards, its own face-up cards, the face-down cards that it has turned and
    the cards of the stock that it has tried. A card that another seat drew or was dealt is not
    among them, even after this seat picked it up: its position would reveal when the other seat
    drew it. Nor is a face-down card not yet turned. (SHX/1, section 7.)
    """
    return openings_of(_public_steps(events), seat)


def openings_of(steps: Iterable[tuple[Game, Event]], seat: Seat) -> tuple[int, ...]:
    """Return `seat_openings` from public games, each with the event that follows it."""
    held: list[int] = []
    for game, event in steps:
        held += _gained(game, event, seat)
    return tuple(sorted(held))


def _public_steps(events: Iterable[Event]) -> Iterator[tuple[Game, Event]]:
    following = iter(events)
    game = fold((next(following),))
    for event in following:
        yield game, event
        game = evolve(game, event)


def masked_deck(deck: Sequence[Card], visible: Iterable[int]) -> tuple[Card, ...]:
    """Return the deck with HIDDEN in every position that is not `visible`."""
    seen = set(visible)
    return tuple(card if p in seen else HIDDEN for p, card in enumerate(deck))


def _gained(game: Game, event: Event, seat: Seat) -> Sequence[int]:
    """Return the deck positions that `event` reveals to `seat` in the public game."""
    match event:
        case CardsDealt():
            dealt = positions(
                seats=len(game.seats),
                dealer=event.dealer,
                down=event.down,
                up=event.up,
                hand=event.hand,
            )
            return dealt.up[seat] + dealt.hand[seat]
        case CardsDrawn(seat=by, count=count) | CardsThrown(seat=by, count=count):
            return game.stock[:count] if by == seat else ()
        case TableLaid(seat=by, count=count):
            return game.stock[:count] if by == seat else ()
        case CardsPlayed(seat=by, zone=Zone.DOWN, slot=slot) if slot is not None:
            return _turned(game, seat, slot) if by == seat else ()
        case BlindFailed(seat=by, slot=slot):
            return _turned(game, seat, slot) if by == seat else ()
        case CardsPlayed(seat=by, zone=Zone.STOCK) | StockFailed(seat=by):
            return game.stock[:1] if by == seat else ()
        case _:
            return ()


def _turned(game: Game, seat: Seat, slot: int) -> Sequence[int]:
    position = game.seats[seat].down[slot]
    return () if position is None else (position,)
