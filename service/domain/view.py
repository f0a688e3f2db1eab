"""The game as a viewer may see it: a seat, the public, or all cards."""

from __future__ import annotations

from typing import Final, Literal

from msgspec.structs import replace

from service.domain.cards import HIDDEN, Card, in_code_order
from service.domain.commands import Seat
from service.domain.game import Game, SeatState

ALL: Final = "all"
"""The viewer who sees every card; only for sealed games."""

Viewer = Seat | Literal["all"] | None
"""A seat, ALL, or None for the public."""


def seen_by(game: Game, viewer: Viewer) -> Game:
    """
    Return `game` as `viewer` may see it, with HIDDEN for every other card.

    It equals the game that the viewer could fold from the public log and its own cards.
    Cards of a hand are in code order, hidden ones last: the order of a hand would reveal
    when each of its cards was drawn.
    """
    seats = tuple(
        _open(state) if viewer in (seat, ALL) else _closed(state)
        for seat, state in enumerate(game.seats)
    )
    if viewer == ALL:
        return replace(game, seats=seats)
    last = game.last_play
    if last is not None and last.seat != viewer:
        last = replace(last, drawn=_hidden(len(last.drawn)))
    return replace(game, seats=seats, last_play=last, deck=_hidden(len(game.deck)))


def _open(state: SeatState) -> SeatState:
    seen = in_code_order(card for card in state.hand if card != HIDDEN)
    return replace(state, hand=seen + _hidden(len(state.hand) - len(seen)))


def _closed(state: SeatState) -> SeatState:
    known = in_code_order(state.known)
    return replace(
        state,
        hand=known + _hidden(len(state.hand) - len(known)),
        drawn_laying=_hidden(len(state.drawn_laying)),
    )


def _hidden(count: int) -> tuple[Card, ...]:
    return (HIDDEN,) * count
