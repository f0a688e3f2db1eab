"""
Legality of a game whose deck is not known, judged by public information only.

A card that an event shows is assumed to have been at the place that the event names, if a
hidden card was there. Rules that depend on cards that stay hidden (which seat qualifies to
open, the worst card) are not checked.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from service.domain.cards import HIDDEN, Card, in_code_order, ordered_deck, rank_of
from service.domain.commands import Seat
from service.domain.demand import demand_of, fits
from service.domain.events import (
    BlindFailed,
    CardsDealt,
    CardsPlayed,
    CardsSwapped,
    CardsThrown,
    Event,
    Opening,
    PlayStarted,
    StockFailed,
    TableLaid,
    Zone,
)
from service.domain.game import Game, Status
from service.domain.ruleset import Opener, OpeningPlay, Plays
from service.verify.finding import Failed


def with_dealt_face_up(game: Game, event: CardsDealt) -> Game:
    """Return the game with the cards that the deal turned face up in their deck positions."""
    openings = [opening for seat in event.face_up for opening in seat]
    openings += [*event.returned, *([event.starter] if event.starter else [])]
    for opening in openings:
        game = _with_card(game, opening)
    return game


def with_shown(game: Game, event: Event, seq: int) -> Game:
    """
    Return the game with the cards that `event` shows at the places from which it takes them.

    Raises Failed for a hidden blind card that the rules require to be shown, or that could not
    have failed.
    """
    game = _without_opening_rules(game, event)
    match event:
        case CardsPlayed(zone=Zone.HAND):
            return _with_in_hand(game, event.seat, event.cards)
        case CardsSwapped():
            return _with_in_hand(game, event.seat, event.up)
        case TableLaid():
            return _with_in_hand(
                game, event.seat, [card for stack in event.stacks for card in stack]
            )
        case CardsPlayed(opening=Opening() as opening):
            return _with_card(game, opening)
        case BlindFailed(opening=Opening() as opening):
            return _with_card(game, opening)
        case StockFailed():
            return _with_card(game, event.opening)
        case BlindFailed():
            return _with_failing_card(game, event, seq)
        case _:
            return game


def with_stated_opener(
    decided: tuple[Event, ...], actual: Sequence[Event], game: Game
) -> tuple[Event, ...]:
    """Return the decided events with the log's opener, if hidden cards decide which seat opens."""
    starts = [event for event in actual if isinstance(event, PlayStarted)]
    last = decided[-1]
    if not starts or not isinstance(last, PlayStarted) or _opener_is_public(game):
        return decided
    both_name_a_seat = last.turn is not None and starts[0].turn is not None
    return (*decided[:-1], starts[0]) if both_name_a_seat else decided


def check_throw(game: Game, event: Event, seq: int) -> None:
    """
    Check the public part of a throw: its rank, order and seat, and the number of drawn cards.

    Raises Failed for a throw that the rules do not allow.
    """
    if not isinstance(event, CardsThrown):
        raise Failed(seq, "legality.no_throw")
    rule = game.ruleset.cite("deal.throws")
    ranks = {rank_of(card) for card in (*event.cards, *game.pile)}
    if len(ranks) != 1 or not ranks <= set(game.ruleset.deal.throws):
        raise Failed(seq, "legality.thrown_cards", rule)
    if event.count != min(len(event.cards), len(game.stock)):
        raise Failed(seq, "legality.thrown_drawn", rule)
    if event.cards != in_code_order(event.cards):
        raise Failed(seq, "legality.thrown_order", rule)
    earliest = 0 if game.thrower is None else _after_dealer(game, game.thrower)
    if _after_dealer(game, event.seat) < earliest:
        raise Failed(seq, "legality.thrown_turn", rule)


def _after_dealer(game: Game, seat: Seat) -> int:
    """Return the place of a seat in the order from the dealer's left: 0 is next to the dealer."""
    return (seat - (game.dealer or 0) - 1) % len(game.seats)


def _without_opening_rules(game: Game, event: Event) -> Game:
    """Return the game without requirements of the first play that depend on hidden cards."""
    if game.status is not Status.PLAYING or not game.first_turn:
        return game
    if game.turn is None:
        seat = getattr(event, "seat", None)
        return replace(game, turn=seat, first_turn=False)
    if game.ruleset.opening.play is OpeningPlay.ANY:
        return game
    return replace(game, first_turn=False)


def _opener_is_public(game: Game) -> bool:
    opening = game.ruleset.opening
    if opening.opener is Opener.FIRST_DEALT:
        dealt = len(game.seats) * (game.ruleset.deal.down + game.ruleset.deal.up)
        return opening.ranks[0] in {rank_of(c) for c in game.deck[:dealt] if c != HIDDEN}
    return opening.opener is not Opener.WORST_CARD


def _with_in_hand(game: Game, seat: Seat, cards: Iterable[Card]) -> Game:
    """Return the game with `cards` in the seat's hand, each in place of a hidden card."""
    state = game.seats[seat]
    new = [card for card in dict.fromkeys(cards) if card not in state.hand]
    state = replace(
        state,
        hand=_in_place_of_hidden(state.hand, new),
        drawn_laying=_in_place_of_hidden(state.drawn_laying, new),
    )
    last = game.last_play
    if last is not None and last.seat == seat:
        fitting = [card for card in new if rank_of(card) == last.rank]
        last = replace(last, drawn=_in_place_of_hidden(last.drawn, fitting))
    return replace(game.with_seat(seat, state), last_play=last)


def _in_place_of_hidden(where: tuple[Card, ...], cards: Iterable[Card]) -> tuple[Card, ...]:
    """Return `where` with `cards` in place of as many of its hidden cards."""
    left = list(where)
    for card in cards:
        if HIDDEN in left:
            left[left.index(HIDDEN)] = card
    return tuple(left)


def _with_card(game: Game, opening: Opening) -> Game:
    deck = game.deck
    return replace(game, deck=(*deck[: opening.p], opening.card, *deck[opening.p + 1 :]))


def _with_failing_card(game: Game, event: BlindFailed, seq: int) -> Game:
    """
    Return the game with some unplayable card in the slot, in place of the failed hidden card.

    Raises Failed if the rules require that the card is shown, or if any card would be playable.
    """
    setup, state = game.setup, game.seats[event.seat]
    position = state.down[event.slot] if event.slot < len(state.down) else None
    if position is None:
        return game
    if game.ruleset.pick_up.show_blind:
        rule = game.ruleset.cite("pick_up.show_blind", "model.blind")
        raise Failed(seq, "legality.opening_shown", rule)
    codes = ordered_deck(decks=setup.decks, jokers=setup.jokers, partial=setup.partial)
    for card in codes:
        if not fits_alone(game, card):
            return _with_card(game, Opening(p=position, card=card))
    raise Failed(seq, "legality.any_fits", game.ruleset.cite("model.blind"))


def fits_alone(game: Game, card: Card) -> bool:
    """Return whether one card alone, turned unseen, would be a legal play."""
    rank = rank_of(card)
    if game.covering:
        return game.ruleset.rank(rank).plays is not Plays.WITH_COMPANION
    return fits(game.ruleset, rank, demand_of(game.ruleset, game.pile))
