"""Before the first play: the deal as events, and the exchange of cards."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from service.domain.cards import Card, in_code_order, ordered_deck, rank_of
from service.domain.commands import Lay, Ready, RuleRefused, Seat, Swap
from service.domain.events import (
    CardsDealt,
    CardsSwapped,
    CardsThrown,
    Entropy,
    Event,
    GameCreated,
    Opening,
    PlayStarted,
    SeatReady,
    SeatSetup,
    TableLaid,
)
from service.domain.evolve import evolve
from service.domain.game import Game, SeatState, new_game, positions
from service.domain.plays import check_cards, opener_of
from service.domain.ruleset import PLAIN_RANK, Layout, Ruleset, Starter, deck_of


def deal(game: Game, dealer: Seat) -> tuple[Event, ...]:
    """Return the deal from a known deck, then the throws of `deal.throws` as events (rule R)."""
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
    throws again as long as it draws more cards of that rank.
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


def swap(command: Swap, game: Game) -> tuple[Event, ...]:
    """
    Return the event that exchanges hand cards with own face-up cards, pair by pair.

    Raises RuleRefused or UnknownCard.
    """
    state, ruleset = game.seats[command.seat], game.ruleset
    rule = ruleset.cite("deal.exchange")
    if ruleset.deal.layout is not Layout.NONE or not ruleset.deal.exchange:
        raise RuleRefused(ruleset.cite("deal.layout", "deal.exchange"), "refused.not_exchanged")
    check_cards(game, command.up + command.hand, "deal.exchange")
    if len(command.up) != len(command.hand):
        raise RuleRefused(rule, "refused.as_many")
    if not _all_in(command.up, state.hand) or not _all_in(command.hand, state.up_cards):
        raise RuleRefused(rule, "refused.own_exchange")
    return (CardsSwapped(seat=command.seat, up=command.up, hand=command.hand),)


def lay(command: Lay, game: Game) -> tuple[Event, ...]:
    """
    Return the event that lays face-up cards and refills the hand (P21, P31).

    Raises RuleRefused or UnknownCard.
    """
    ruleset, state = game.ruleset, game.seats[command.seat]
    rule = ruleset.cite("deal.layout")
    if ruleset.deal.layout is Layout.NONE:
        cited = ruleset.cite("deal.up", "deal.layout")
        raise RuleRefused(cited, "refused.not_laid")
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
        raise RuleRefused(ruleset.cite("deal.layout"), "refused.lay_first")
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
        return "refused.every_place_named"
    if not _all_in(cards, state.hand):
        return "refused.from_hand"
    if not state.laid:
        if any(not stack for stack in stacks):
            return "refused.every_place_filled"
        if not stacking and any(len(stack) > 1 for stack in stacks):
            return "refused.one_each"
    elif not stacking or not _all_in(cards, state.drawn_laying):
        return "refused.only_drawn"
    both = zip(state.up, stacks, strict=True)
    if any(len({rank_of(card) for card in old + new}) > 1 for old, new in both):
        return "refused.one_rank_each"
    return None


def _all_in(cards: tuple[Card, ...], zone: tuple[Card, ...]) -> bool:
    return all(card in zone for card in cards)
