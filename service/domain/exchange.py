"""Before the first play: swapping cards, laying them face-up, being ready."""

from __future__ import annotations

from service.domain.cards import Card, rank_of
from service.domain.commands import Lay, Ready, Swap
from service.domain.errors import RuleRefused
from service.domain.events import CardsSwapped, Event, PlayStarted, SeatReady, TableLaid
from service.domain.evolve import evolve
from service.domain.first_play import opener_of
from service.domain.game import Game, SeatState
from service.domain.plays import check_cards
from service.domain.ruleset import Layout


def swap(command: Swap, game: Game) -> tuple[Event, ...]:
    """
    Return the event that exchanges hand cards with own face-up cards, pair by pair.

    Raises RuleRefused or UnknownCard.
    """
    state, ruleset = game.seats[command.seat], game.ruleset
    rule = ruleset.cite("deal.exchange")
    if ruleset.deal.layout is not Layout.NONE or not ruleset.deal.exchange:
        raise RuleRefused(
            ruleset.cite("deal.layout", "deal.exchange"), "face-up cards are not exchanged"
        )
    check_cards(game, command.up + command.hand, "deal.exchange")
    if len(command.up) != len(command.hand):
        raise RuleRefused(rule, "name as many hand cards as face-up cards")
    if not _all_in(command.up, state.hand) or not _all_in(command.hand, state.up_cards):
        raise RuleRefused(rule, "hand cards are exchanged with own face-up cards")
    return (CardsSwapped(seat=command.seat, up=command.up, hand=command.hand),)


def lay(command: Lay, game: Game) -> tuple[Event, ...]:
    """
    Return the event that lays face-up cards and refills the hand (P21, P31).

    Raises RuleRefused or UnknownCard.
    """
    ruleset, state = game.ruleset, game.seats[command.seat]
    rule = ruleset.cite("deal.layout")
    if ruleset.deal.layout is Layout.NONE:
        raise RuleRefused(ruleset.cite("deal.up", "deal.layout"), "face-up cards are dealt")
    cards = tuple(card for stack in command.stacks for card in stack)
    check_cards(game, cards, "deal.layout")
    refusal = _unlayable(command, game, state)
    if refusal is not None:
        raise RuleRefused(rule, refusal)
    left = len(state.hand) - len(cards)
    count = min(max(0, ruleset.refill.size - left), len(game.stock))
    return (TableLaid(seat=command.seat, stacks=command.stacks, count=count),)


def ready(command: Ready, game: Game) -> tuple[Event, ...]:
    """
    Return the event that a seat is ready, and the start of play if all others are ready.

    Raises RuleRefused if the seat has to lay its face-up cards first.
    """
    state, ruleset = game.seats[command.seat], game.ruleset
    if ruleset.deal.layout is not Layout.NONE and not state.laid:
        raise RuleRefused(ruleset.cite("deal.layout"), "lay your face-up cards first")
    done = SeatReady(seat=command.seat)
    after = evolve(game, done)
    if not all(seat.ready for seat in after.seats):
        return (done,)
    return done, PlayStarted(turn=opener_of(after))


def _unlayable(command: Lay, game: Game, state: SeatState) -> str | None:
    """Return why these cards cannot be laid face-up, None if they can."""
    stacks, stacking = command.stacks, game.ruleset.deal.layout is Layout.STACKS
    cards = tuple(card for stack in stacks for card in stack)
    if len(stacks) != len(state.down):
        return "name the cards of every slot"
    if not _all_in(cards, state.hand):
        return "face-up cards are laid from your own hand"
    if not state.laid:
        if any(not stack for stack in stacks):
            return "every slot gets a card"
        if not stacking and any(len(stack) > 1 for stack in stacks):
            return "a slot gets one card"
    elif not stacking or not _all_in(cards, state.drawn_laying):
        return "only cards drawn while laying out may be added"
    both = zip(state.up, stacks, strict=True)
    if any(len({rank_of(card) for card in old + new}) > 1 for old, new in both):
        return "cards on one slot are of one rank"
    return None


def _all_in(cards: tuple[Card, ...], zone: tuple[Card, ...]) -> bool:
    return all(card in zone for card in cards)
