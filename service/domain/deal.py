"""The deal as events: cards dealt, turned, put back and thrown."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from service.domain.cards import Card, in_code_order, ordered_deck, rank_of
from service.domain.commands import Seat
from service.domain.events import (
    CardsDealt,
    CardsThrown,
    Entropy,
    Event,
    GameCreated,
    Opening,
    SeatSetup,
)
from service.domain.evolve import evolve
from service.domain.game import Game, new_game
from service.domain.positions import positions
from service.domain.ruleset import PLAIN_RANK, Ruleset, Starter, deck_of


def deal(game: Game, dealer: Seat) -> tuple[Event, ...]:
    """Return the events of the deal from a known deck, then those of the throws (R)."""
    dealt = _cards_dealt(game, dealer)
    return (dealt, *_throws(evolve(game, dealt)))


def whole_deck(ruleset: Ruleset, seats: int) -> tuple[Card, ...]:
    """Return every card of a hand with this number of seats, in the order before shuffling."""
    decks, jokers, partial = deck_of(ruleset, seats)
    return ordered_deck(decks=decks, jokers=jokers, partial=partial)


def dealt_hand(
    ruleset: Ruleset,
    deck: tuple[Card, ...],
    *,
    seats: int,
    dealer: Seat,
    turn_limit: int,
    hand: int = 1,
) -> Game:
    """
    Return a hand of bots after the deal, without table and commitment: for simulations.

    `deck` has the cards of `whole_deck` in the order in which they are dealt.
    """
    decks, jokers, partial = deck_of(ruleset, seats)
    bot = SeatSetup(kind="bot", bot=None, key=None, entropy=Entropy.NONE)
    created = GameCreated(
        table="",
        hand=hand,
        ruleset=ruleset,
        decks=decks,
        jokers=jokers,
        partial=partial,
        seats=(bot,) * seats,
        dealer=None,
        prev_game=None,
        commit="",
        clock=None,
        turn_limit=turn_limit,
    )
    game = replace(new_game(created), deck=deck)
    for event in deal(game, dealer):
        game = evolve(game, event)
    return game


def _cards_dealt(game: Game, dealer: Seat) -> CardsDealt:
    settings = game.ruleset.deal
    counts = {"down": settings.down, "up": settings.up, "hand": settings.hand}
    dealt = positions(seats=len(game.seats), dealer=dealer, **counts)
    starter, returned = _starter(game.ruleset, game.deck, dealt.used)
    return CardsDealt(
        dealer=dealer,
        **counts,
        stock=len(game.deck) - dealt.used - (0 if starter is None else 1),
        face_up=tuple(tuple(_opening(game.deck, p) for p in seat) for seat in dealt.up),
        starter=starter,
        returned=returned,
    )


def _starter(
    ruleset: Ruleset, deck: tuple[Card, ...], first: int
) -> tuple[Opening | None, tuple[Opening, ...]]:
    """Return the card turned to start the pile, and those put under the stock before it."""
    if ruleset.deal.starter is Starter.NONE:
        return None, ()
    returned: list[Opening] = []
    for p in range(first, len(deck)):
        special = ruleset.rank(rank_of(deck[p])) != PLAIN_RANK
        if ruleset.deal.starter is Starter.ANY or not special:
            return _opening(deck, p), tuple(returned)
        returned.append(_opening(deck, p))
    return None, tuple(returned)


def _opening(deck: tuple[Card, ...], p: int) -> Opening:
    return Opening(p=p, card=deck[p])


def _throws(game: Game) -> Iterator[CardsThrown]:
    """
    Yield the throws of all seats, beginning left of the dealer.

    All throw the same rank: the first of the ruleset's list that is in any hand. A seat
    throws again as long as it draws more of it.
    """
    held = {rank_of(card) for seat in game.seats for card in seat.hand}
    rank = next((r for r in game.ruleset.deal.throws if r in held), None)
    if rank is None or game.dealer is None:
        return
    count = len(game.seats)
    for seat in ((game.dealer + i) % count for i in range(1, count + 1)):
        while cards := tuple(c for c in game.seats[seat].hand if rank_of(c) == rank):
            drawn = len(game.top(len(cards)))
            # In code order: the order in the hand would reveal when each card was dealt.
            event = CardsThrown(seat=seat, cards=in_code_order(cards), count=drawn)
            yield event
            game = evolve(game, event)
