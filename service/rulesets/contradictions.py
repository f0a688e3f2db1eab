"""Why a tree of settings cannot be played: settings that contradict one another."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from schemas.settings import Tree, full_tree, merged, ruleset_of
from service.domain.cards import JOKER, RANKS
from service.domain.ruleset import (
    PLAIN_RANK,
    After,
    Along,
    DeckCount,
    Layout,
    Opener,
    PlayedFor,
    RefillTo,
    Ruleset,
    Starter,
    Taker,
    TryStock,
    cards_dealt,
    deck_of,
)
from service.rulesets.contradictions_opening import opening_contradictions
from service.rulesets.contradictions_ranks import rank_contradictions

Contradiction = tuple[str, str]
"""A JSON pointer to a setting, and what is wrong with it."""

MAX_CARDS: Final = 2000  # a line of the record holds all commitments of a deck
MAX_JOKERS: Final = 2


def contradictions(tree: Tree) -> list[Contradiction]:
    """
    Return every contradiction in a full, readable tree of settings; none where it can be played.

    First and second hands are judged each by the settings they are played by.
    Raises SettingsError where the tree cannot be read.
    """
    first = {name: branch for name, branch in full_tree(tree).items() if name != "second_hand"}
    found = list(_of_one_hand(first))
    if "second_hand" not in tree:
        return found
    changes = tree["second_hand"]
    if "players" in changes:
        found.append(("/second_hand/players", "a table has the same seats in every hand"))
    for name in ("next_dealer", "paper_bag"):
        if name in changes.get("end", {}):
            message = "a table says this once, for all its hands"
            found.append((f"/second_hand/end/{name}", message))
    both = merged(first, {k: v for k, v in changes.items() if k != "players"})
    known = set(found)
    second = (c for c in _of_one_hand(full_tree(both)) if c not in known)
    return found + [(_in_second(at, changes), message) for at, message in second]


def stock_left(ruleset: Ruleset, seats: int) -> int:
    """Return how many cards lie in the stock after the deal; below 0 where it cannot be dealt."""
    return cards_of(ruleset, seats) - cards_dealt(ruleset, seats)


def cards_of(ruleset: Ruleset, seats: int) -> int:
    """Return how many cards a game of so many seats is played with."""
    decks, jokers, partial = deck_of(ruleset, seats)
    return len(RANKS) * 4 * decks + 4 * len(partial) + jokers


def _of_one_hand(tree: Tree) -> Iterator[Contradiction]:
    ruleset = ruleset_of("custom", {}, tree, hand=1)
    if ruleset.seats_min > ruleset.seats_max:
        yield "/players/min", "is more than the most players"
        return
    found = list(_deck(ruleset))
    if not found:
        found = list(_deal(ruleset))
    yield from found
    if not found:
        yield from _throws(ruleset)
    yield from opening_contradictions(ruleset)
    yield from _turn(ruleset)
    yield from _pick_up(ruleset)
    yield from _end(ruleset)
    yield from rank_contradictions(ruleset)


def _deck(ruleset: Ruleset) -> Iterator[Contradiction]:
    deck = ruleset.deck
    by_seats = deck.count is DeckCount.BY_SEATS
    if by_seats and not deck.seats_per_deck:
        yield "/deck/seats_per_deck", "decks by the number of players need players for each deck"
    if deck.decks < 1:
        yield "/deck/decks", "at least one deck is needed"
    for name, count in (("jokers", deck.jokers), ("jokers_then", deck.jokers_then)):
        if count > MAX_JOKERS:
            yield f"/deck/{name}", f"there are at most {MAX_JOKERS} jokers"
    if deck.jokers_then and not deck.jokers_from_seats:
        yield "/deck/jokers_then", "say from how many players on these jokers are used"
    if JOKER in deck.partial:
        yield "/deck/partial", "a partial deck holds no jokers"
    if list(deck.partial) != [rank for rank in RANKS if rank in deck.partial] and (
        JOKER not in deck.partial
    ):
        yield "/deck/partial", "name the ranks from low to high: 2 3 4 … K A"
    if not deck.partial or _without_decks(ruleset):
        return
    seats = range(ruleset.seats_min, ruleset.seats_max + 1)
    if not any(deck_of(ruleset, count)[2] for count in seats):
        yield "/deck/partial", "there is one deck only, and none that this could stand for"


def _deal(ruleset: Ruleset) -> Iterator[Contradiction]:
    deal, laid_out = ruleset.deal, ruleset.deal.layout is not Layout.NONE
    if not deal.hand:
        yield "/deal/hand", "every player needs a card in the hand"
    if deal.up > deal.down:
        yield "/deal/up", "every face-up card lies on a face-down one"
    if laid_out and deal.up:
        yield "/deal/up", "face-up cards are laid out from the hand, so none are dealt"
    if laid_out and deal.exchange:
        yield "/deal/exchange", "face-up cards that players lay out themselves are not exchanged"
    if laid_out and not deal.down:
        yield "/deal/layout", "there are no face-down cards to lay cards on"
    if laid_out and deal.hand < deal.down:
        yield "/deal/hand", "the hand has too few cards to lay one on every slot"
    plain = any(ruleset.rank(rank) == PLAIN_RANK for rank in RANKS)
    if deal.starter is Starter.PLAIN and not plain:
        yield "/deal/starter", "every rank is special, so no card could start the pile"
    if deal.exchange and not laid_out and not deal.up:
        yield "/deal/exchange", "there are no face-up cards to exchange"
    for seats in range(ruleset.seats_min, ruleset.seats_max + 1):
        if cards_of(ruleset, seats) > MAX_CARDS:
            yield "/deck", f"{seats} players would need more than {MAX_CARDS} cards"
            return
        if (left := stock_left(ruleset, seats)) < 0:
            yield "/deal", f"the cards do not suffice for {seats} players: {-left} are missing"
            return


def _throws(ruleset: Ruleset) -> Iterator[Contradiction]:
    deal = ruleset.deal
    if not deal.throws:
        return
    if JOKER in deal.throws:
        yield "/deal/throws", "jokers are not thrown"
    if ruleset.opening.opener is not Opener.NEXT_TO_THROWER:
        yield "/opening/opener", "where cards are thrown, the player next to the thrower opens"
    if deal.starter is not Starter.NONE:
        yield "/deal/starter", "the thrown cards start the pile; there is no starter beside them"
    for seats in range(ruleset.seats_min, ruleset.seats_max + 1):
        decks, _, partial = deck_of(ruleset, seats)
        if stock_left(ruleset, seats) < 4 * (decks + bool(partial)):
            yield "/deal/throws", f"with {seats} players the stock cannot replace the cards thrown"
            return


def _turn(ruleset: Ruleset) -> Iterator[Contradiction]:
    if ruleset.turn.try_stock is not TryStock.NEVER and not _ever_a_stock(ruleset):
        yield "/turn/try_stock", "the deal takes every card, so there never is a stock to try"
    refills = ruleset.refill.to is RefillTo.AS_MANY_AS_PLAYED or ruleset.refill.size > 0
    if ruleset.turn.follow_up and not (refills and _ever_a_stock(ruleset)):
        yield "/turn/follow_up", "no cards are ever drawn with which a play could be followed up"


def _pick_up(ruleset: Ruleset) -> Iterator[Contradiction]:
    pick_up, deal = ruleset.pick_up, ruleset.deal
    if pick_up.taker is Taker.PREVIOUS and pick_up.after is not After.SAME:
        yield "/pick_up/after", "where the previous player takes the pile, the same player leads"
    if pick_up.taker is Taker.SELF and pick_up.after is After.SAME:
        yield "/pick_up/after", "the same player leads only where the previous one takes the pile"
    no_up = not deal.up and deal.layout is Layout.NONE
    if pick_up.along is not Along.NOTHING and no_up:
        yield "/pick_up/along", "there are no face-up cards to take along"


def _end(ruleset: Ruleset) -> Iterator[Contradiction]:
    burn, end = ruleset.burn, ruleset.end
    jokers = ruleset.deck.jokers or ruleset.deck.jokers_then
    burning = any(rule.burns for rank, rule in ruleset.ranks.items() if rank in RANKS or jokers)
    if burn.set_size == 1:
        yield "/burn/set_size", "one card is no set: two or more, or 0 where sets do not burn"
    if burn.set_size > _most_of_a_rank(ruleset):
        yield "/burn/set_size", "no rank has so many cards: say 0 where sets do not burn"
    if burn.flusher and not burn.set_size and not burning:
        yield "/burn/flusher", "no pile ever burns, so there is nothing to clear"
    if end.paper_bag and end.played_for is PlayedFor.WINNER:
        yield "/end/paper_bag", "nobody loses a hand that is played for a winner"


def _ever_a_stock(ruleset: Ruleset) -> bool:
    if _without_decks(ruleset):
        return True  # told elsewhere
    seats = range(ruleset.seats_min, ruleset.seats_max + 1)
    return any(stock_left(ruleset, count) > 0 for count in seats)


def _most_of_a_rank(ruleset: Ruleset) -> int:
    """Return how many cards of one rank there can be in a game."""
    if _without_decks(ruleset):
        return ruleset.burn.set_size  # told elsewhere
    seats = range(ruleset.seats_min, ruleset.seats_max + 1)
    decks = (deck_of(ruleset, count) for count in seats)
    return max(4 * (whole + bool(partial)) for whole, _, partial in decks)


def _without_decks(ruleset: Ruleset) -> bool:
    deck = ruleset.deck
    return deck.decks < 1 or (deck.count is DeckCount.BY_SEATS and not deck.seats_per_deck)


def _in_second(pointer: str, changes: Tree) -> str:
    """Return where a contradiction of second hands stands: in their changes, if it is there."""
    branch = pointer.split("/")[1]
    return f"/second_hand{pointer}" if branch in changes else pointer
