"""Contradictions between settings, each with the reason."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from schemas.moves import MAX_SLOTS
from schemas.settings import Tree, full_tree, merged, ruleset_of
from service.domain.cards import JOKER, RANKS, Card, Rank
from service.domain.demand import demand_of, fits
from service.domain.effects import Acts
from service.domain.ruleset import (
    ALL_RANKS,
    EFFECTS,
    PLAIN_RANK,
    After,
    Along,
    Asks,
    DealSettings,
    DeckCount,
    Layout,
    Opener,
    OpeningPlay,
    PlayedFor,
    Plays,
    RankRule,
    RefillTo,
    Ruleset,
    Starter,
    Taker,
    TryStockWhen,
    cards_dealt,
    deck_of,
)

QUALIFIED: Final = {
    Opener.FIRST_DEALT,
    Opener.WORST_CARD,
    Opener.FIRST_COME_HAND,
    Opener.FIRST_COME_TABLE,
}
"""Openers that depend on a qualifying card."""


def opening_contradictions(ruleset: Ruleset) -> Iterator[tuple[str, str]]:
    """Yield the contradictions between the settings of the opening."""
    opening, deal = ruleset.opening, ruleset.deal
    if opening.opener in QUALIFIED:
        yield from _ranks(ruleset)
    if opening.opener is Opener.NEXT_TO_THROWER and not deal.throws:
        yield "/opening/opener", "no cards are thrown, so no seat is next to the thrower"
    no_up = not deal.up and deal.layout is Layout.NONE
    if opening.opener is Opener.FIRST_COME_TABLE and no_up:
        yield "/opening/opener", "there are no face-up cards that could qualify a player"
    if opening.opener is Opener.WORST_CARD:
        if len(opening.suits) != 4:
            yield "/opening/suits", "to find the worst card, name the four suits, worst first"
        if _hands_may_be_empty(ruleset):
            yield "/opening/opener", "all hands may be laid out, so that no player has a worst card"
    yield from _play(ruleset)


def _ranks(ruleset: Ruleset) -> Iterator[tuple[str, str]]:
    ranks = ruleset.opening.ranks
    if JOKER in ranks:
        yield "/opening/ranks", "a joker does not qualify a player for the opening"
    if missing := [rank for rank in RANKS if rank not in ranks]:
        yield (
            "/opening/ranks",
            f"possibly no player has one of these ranks; name {' '.join(missing)} too",
        )


def _play(ruleset: Ruleset) -> Iterator[tuple[str, str]]:
    """Yield the reasons why the required opening play may be impossible for the opener."""
    opening, deal, at = ruleset.opening, ruleset.deal, "/opening/play"
    match opening.play:
        case OpeningPlay.ANY:
            return
        case OpeningPlay.THAT_CARD:
            fitting = opening.opener is Opener.WORST_CARD
        case OpeningPlay.THAT_RANK:
            fitting = opening.opener in (Opener.FIRST_COME_HAND, Opener.WORST_CARD)
    if not fitting:
        yield at, "the player who opens may not have such a card in the hand"
    if deal.starter is not Starter.NONE:
        yield at, "the card that has to be played may not fit on the starter"
    if deal.throws:
        yield at, "the card that has to be played may not fit on the cards thrown"
    if _hands_may_be_empty(ruleset):
        yield at, "the card that has to be played may have been laid out face-up"
    jokers = max(ruleset.deck.jokers, ruleset.deck.jokers_then)
    if ruleset.seats_min * deal.hand <= jokers:
        yield at, "all hands may consist of jokers only"
    for rank in RANKS:
        if ruleset.rank(rank).plays is Plays.WITH_COMPANION:
            yield at, f"a {rank} has to be played, possibly without a companion"


def _hands_may_be_empty(ruleset: Ruleset) -> bool:
    """Return whether all hands may be empty after laying out, if the stock is too short."""
    deal = ruleset.deal
    if deal.layout is Layout.NONE:
        return False
    return deal.layout is Layout.STACKS or deal.hand <= deal.down


EXCLUDES: Final = {
    Acts.PILE: "a rank that burns the pile has no other effect",
    Acts.COVER: "the turn does not move on from a card that has to be covered",
}
"""Why a rank that always has an effect of a kind has none of a later kind."""


def rank_contradictions(ruleset: Ruleset) -> Iterator[tuple[str, str]]:
    """Yield the contradictions within and between the rules of single ranks."""
    for rank, rule in ruleset.ranks.items():
        yield from _effects(rule, f"/ranks/{rank}")
        yield from _asks(rule, f"/ranks/{rank}")
        for other in rule.not_on:
            if ruleset.rank(other).asks is Asks.TRANSPARENT:
                reason = f"{other} is transparent: cards are played on the card below it"
                yield f"/ranks/{rank}/not_on", reason
    yield from _jokers(ruleset)
    for rank in ALL_RANKS:
        if ruleset.rank(rank).plays is Plays.WITH_COMPANION:
            yield from _companions(ruleset, rank, f"/ranks/{rank}")
    for rank in _in_play(ruleset):
        if not _can_be_beaten(ruleset, rank):
            yield f"/ranks/{rank}/asks", "no card can be played on it"


def _effects(rule: RankRule, at: str) -> Iterator[tuple[str, str]]:
    """Yield the effects of a rank that can never happen, because it always has an earlier one."""
    always = (EFFECTS[code].acts for code in rule.effects() if not EFFECTS[code].while_two)
    first = min(always, key=list(Acts).index, default=Acts.TURN)
    for code in rule.effects():
        if list(Acts).index(EFFECTS[code].acts) > list(Acts).index(first):
            yield f"{at}/{code}", EXCLUDES[first]


def _asks(rule: RankRule, at: str) -> Iterator[tuple[str, str]]:
    if rule.alone is Asks.TRANSPARENT:
        yield f"{at}/alone", "below the bottom card of a pile there is nothing that could ask"
    if rule.alone is not Asks.ANYTHING and rule.asks is not Asks.TRANSPARENT:
        yield f"{at}/alone", "applies only to a transparent rank, and this one is not transparent"
    if rule.asks_as == JOKER:
        yield f"{at}/asks_as", "a joker has no rank that could be asked for"


def _jokers(ruleset: Ruleset) -> Iterator[tuple[str, str]]:
    rule = ruleset.rank(JOKER)
    if rule.plays is Plays.WITH_COMPANION:
        yield "/ranks/X/plays", "no rank is higher than a joker, so it has no companion"
    if rule.plays is Plays.NORMAL and (ruleset.deck.jokers or ruleset.deck.jokers_then):
        yield "/ranks/X/plays", "a joker has no rank, so it must be played on anything"


def _companions(ruleset: Ruleset, rank: Rank, at: str) -> Iterator[tuple[str, str]]:
    if rank == JOKER:
        return
    higher = ruleset.order[ruleset.height(rank) + 1 :]
    if all(ruleset.rank(other).plays is Plays.WITH_COMPANION for other in higher):
        yield f"{at}/plays", "no rank is higher that could be its companion"
    if ruleset.rank(rank).not_on:
        yield f"{at}/not_on", "a rank that comes with a companion is played on anything"
    if ruleset.turn.runs:
        yield "/turn/runs", f"in a run {rank} would be played without its companions"
    rules = [ruleset.rank(other) for other in _in_play(ruleset)]
    if any(rule.effects(Acts.COVER) for rule in rules):
        yield f"{at}/plays", "a player with only this rank could not cover a card"


def _in_play(ruleset: Ruleset) -> Iterator[Rank]:
    jokers = ruleset.deck.jokers or ruleset.deck.jokers_then
    return (rank for rank in ALL_RANKS if rank != JOKER or jokers)


def _can_be_beaten(ruleset: Ruleset, rank: Rank) -> bool:
    """Return whether some card may be played on a pile of one card of `rank`."""
    rule = ruleset.rank(rank)
    if rule.effects(Acts.PILE) or rule.alone is Asks.TRANSPARENT:
        return True  # it leaves the pile, or is reported as another contradiction
    demand = demand_of(ruleset, (Card(f"{rank}1" if rank == JOKER else f"{rank}c"),))
    return any(
        fits(ruleset, other, demand) or ruleset.rank(other).plays is Plays.WITH_COMPANION
        for other in _in_play(ruleset)
    )


Contradiction = tuple[str, str]
"""A JSON pointer to a setting, and the contradiction."""

MAX_CARDS: Final = 2000  # a line of the record holds all commitments of a deck
MAX_JOKERS: Final = 2


def contradictions(tree: Tree) -> list[Contradiction]:
    """
    Return every contradiction in a full tree of settings; an empty list if it can be played.

    First and second hands are each validated with their own settings.

    Raises SettingsError for a tree that cannot be read.
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
            message = "this is set once for all hands of a table"
            found.append((f"/second_hand/end/{name}", message))
    both = merged(first, {k: v for k, v in changes.items() if k != "players"})
    known = set(found)
    second = (c for c in _of_one_hand(full_tree(both)) if c not in known)
    return found + [(_in_second(at, changes), message) for at, message in second]


def stock_left(ruleset: Ruleset, seats: int) -> int:
    """Return the size of the stock after the deal; negative if there are too few cards."""
    return cards_of(ruleset, seats) - cards_dealt(ruleset, seats)


def cards_of(ruleset: Ruleset, seats: int) -> int:
    """Return the number of cards in a game with this number of seats."""
    decks, jokers, partial = deck_of(ruleset, seats)
    return len(RANKS) * 4 * decks + 4 * len(partial) + jokers


def _of_one_hand(tree: Tree) -> Iterator[Contradiction]:
    ruleset = ruleset_of("custom", {}, tree, hand=1)
    if ruleset.seats_min > ruleset.seats_max:
        yield "/players/min", "is larger than /players/max"
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
        yield (
            "/deck/seats_per_deck",
            "is required if the number of decks depends on the number of players",
        )
    if deck.decks < 1:
        yield "/deck/decks", "at least one deck is needed"
    for name, count in (("jokers", deck.jokers), ("jokers_then", deck.jokers_then)):
        if count > MAX_JOKERS:
            yield f"/deck/{name}", f"there are at most {MAX_JOKERS} jokers"
    if deck.jokers_then and not deck.jokers_from_seats:
        yield "/deck/jokers_then", "set the number of players from which these jokers are used"
    if JOKER in deck.partial:
        yield "/deck/partial", "a partial deck has no jokers"
    if list(deck.partial) != [rank for rank in RANKS if rank in deck.partial] and (
        JOKER not in deck.partial
    ):
        yield "/deck/partial", "name the ranks from low to high: 2 3 4 … K A"
    if not deck.partial or _without_decks(ruleset):
        return
    seats = range(ruleset.seats_min, ruleset.seats_max + 1)
    if not any(deck_of(ruleset, count)[2] for count in seats):
        yield "/deck/partial", "a partial deck replaces one of several decks, but there is only one"


def _deal(ruleset: Ruleset) -> Iterator[Contradiction]:
    deal, laid_out = ruleset.deal, ruleset.deal.layout is not Layout.NONE
    if not deal.hand:
        yield "/deal/hand", "every player needs a card in the hand"
    if deal.up > deal.down:
        yield "/deal/up", "there are more face-up cards than face-down cards to lay them on"
    if laid_out:
        yield from _layout(deal)
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
            yield "/deal", f"the deck has {-left} cards too few for {seats} players"
            return


def _layout(deal: DealSettings) -> Iterator[Contradiction]:
    """Yield the contradictions of a deal after which players lay out their face-up cards."""
    if deal.up:
        yield "/deal/up", "face-up cards are laid out from the hand, so none are dealt"
    if deal.exchange:
        yield "/deal/exchange", "face-up cards that players lay out themselves are not exchanged"
    if not deal.down:
        yield "/deal/layout", "there are no face-down cards to lay cards on"
    if deal.down > MAX_SLOTS:
        yield "/deal/down", f"players lay cards on at most {MAX_SLOTS} slots in one move"
    if deal.hand < deal.down:
        yield "/deal/hand", "the hand has too few cards to lay one on every slot"


def _throws(ruleset: Ruleset) -> Iterator[Contradiction]:
    deal = ruleset.deal
    if not deal.throws:
        return
    if JOKER in deal.throws:
        yield "/deal/throws", "jokers are not thrown"
    if ruleset.opening.opener is not Opener.NEXT_TO_THROWER:
        yield "/opening/opener", "if cards are thrown, the player next to the thrower opens"
    if deal.starter is not Starter.NONE:
        yield "/deal/starter", "the thrown cards start the pile, so there is no starter"
    for seats in range(ruleset.seats_min, ruleset.seats_max + 1):
        decks, _, partial = deck_of(ruleset, seats)
        if stock_left(ruleset, seats) < 4 * (decks + bool(partial)):
            yield "/deal/throws", f"with {seats} players the stock cannot replace the cards thrown"
            return


def _turn(ruleset: Ruleset) -> Iterator[Contradiction]:
    if ruleset.turn.try_stock is not TryStockWhen.NEVER and not _ever_a_stock(ruleset):
        yield "/turn/try_stock", "all cards are dealt, so there is never a stock to try"
    if ruleset.refill.to is RefillTo.SIZE and not ruleset.refill.size:
        yield "/refill/size", "no cards would ever be drawn: set the size of a refilled hand"
    laid_out = ruleset.deal.layout is not Layout.NONE and ruleset.deal.hand <= ruleset.deal.down
    if ruleset.turn.try_stock is not TryStockWhen.NEVER and laid_out and not ruleset.refill.size:
        at = "/turn/try_stock"
        yield at, "a try replaces a play from the hand, and hands may be empty from the start"
    refills = ruleset.refill.to is RefillTo.AS_MANY_AS_PLAYED or ruleset.refill.size > 0
    if ruleset.turn.follow_up and not (refills and _ever_a_stock(ruleset)):
        yield "/turn/follow_up", "no cards are ever drawn that could follow up a play"


def _pick_up(ruleset: Ruleset) -> Iterator[Contradiction]:
    pick_up, deal = ruleset.pick_up, ruleset.deal
    if pick_up.taker is Taker.PREVIOUS and pick_up.after is not After.SAME:
        yield "/pick_up/after", "if the previous player takes the pile, the same player leads"
    if pick_up.taker is Taker.SELF and pick_up.after is After.SAME:
        yield "/pick_up/after", "the same player leads only if the previous player takes the pile"
    no_up = not deal.up and deal.layout is Layout.NONE
    if pick_up.along is not Along.NOTHING and no_up:
        yield "/pick_up/along", "there are no face-up cards to take along"


def _end(ruleset: Ruleset) -> Iterator[Contradiction]:
    burn, end = ruleset.burn, ruleset.end
    jokers = ruleset.deck.jokers or ruleset.deck.jokers_then
    ranks = (rule for rank, rule in ruleset.ranks.items() if rank in RANKS or jokers)
    burning = any(rule.effects(Acts.PILE) for rule in ranks)
    if burn.set_size == 1:
        yield "/burn/set_size", "a set has at least two cards; 0 if sets do not burn"
    if burn.set_size > _most_of_a_rank(ruleset):
        yield "/burn/set_size", "no rank has so many cards; 0 if sets do not burn"
    if burn.flusher and not burn.set_size and not burning:
        yield "/burn/flusher", "no pile ever burns, so there is nothing to clear"
    if end.paper_bag and end.played_for is PlayedFor.WINNER:
        yield "/end/paper_bag", "a hand that is played for a winner has no loser"


def _ever_a_stock(ruleset: Ruleset) -> bool:
    if _without_decks(ruleset):
        return True  # reported elsewhere
    seats = range(ruleset.seats_min, ruleset.seats_max + 1)
    return any(stock_left(ruleset, count) > 0 for count in seats)


def _most_of_a_rank(ruleset: Ruleset) -> int:
    """Return the largest number of cards of one rank in a game."""
    if _without_decks(ruleset):
        return ruleset.burn.set_size  # reported elsewhere
    seats = range(ruleset.seats_min, ruleset.seats_max + 1)
    decks = (deck_of(ruleset, count) for count in seats)
    return max(4 * (whole + bool(partial)) for whole, _, partial in decks)


def _without_decks(ruleset: Ruleset) -> bool:
    deck = ruleset.deck
    return deck.decks < 1 or (deck.count is DeckCount.BY_SEATS and not deck.seats_per_deck)


def _in_second(pointer: str, changes: Tree) -> str:
    """Return the pointer to a setting of second hands: in `second_hand` if it has that section."""
    branch = pointer.split("/")[1]
    return f"/second_hand{pointer}" if branch in changes else pointer
