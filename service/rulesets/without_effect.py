"""Settings without effect in a ruleset: refused if requested, else left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from typing import Any

from msgspec.structs import replace

from schemas.settings import Tree, full_tree, leaves, merged, plain_value, ruleset_of
from service.domain.cards import JOKER, Card, Rank
from service.domain.demand import Demand, demand_of, satisfies
from service.domain.effects import Acts
from service.domain.ruleset import (
    EFFECTS,
    PLAIN_RANK,
    After,
    Asks,
    DeckCount,
    Layout,
    NextDealer,
    OpeningSettings,
    PickUpSettings,
    PlayedFor,
    Plays,
    RankRule,
    RefillTo,
    Ruleset,
)
from service.rulesets.validation import QUALIFIED, Contradiction

JOKERS_LATER = ("deck.jokers_from_seats", "deck.jokers_then")
"""Two settings that have an effect only together."""

NO_JOKERS = "there are no jokers in the deck"
TWO_PLAYERS = "with two players this changes nothing"
IN_ANY_CASE = {Acts.COVER: "the rank has to be covered in any case"}
"""Why an effect that a rank has only while two seats are in play changes nothing."""


def without_effect(tree: Tree) -> dict[str, tuple[Any, str]]:
    """
    Return the settings of a full tree that have no effect, by JSON pointer.

    Each has its neutral value and the reason. A setting without effect in first hands may
    have one in second hands, so a tree with second hands is checked for both.
    """
    first = {name: branch for name, branch in tree.items() if name != "second_hand"}
    found = dict(_of(ruleset_of("custom", {}, full_tree(first), hand=1)))
    if "second_hand" not in tree:
        return found
    changes = {name: branch for name, branch in tree["second_hand"].items() if name != "players"}
    second = dict(_of(ruleset_of("custom", {}, full_tree(merged(first, changes)), hand=2)))
    return {at: neutral for at, neutral in found.items() if at in second}


def changes_without_effect(tree: Tree, changes: Mapping[str, Any]) -> list[Contradiction]:
    """Return the refusals of those changes to a tree that have no effect."""
    found = without_effect(tree).items()
    return [(at, f"has no effect: {why}") for at, (_, why) in found if _named(changes, at)]


def with_neutral_values(tree: Tree) -> Tree:
    """
    Return a full tree with neutral values for settings without effect.

    Two trees with the same rules thus become equal.
    """
    result: Tree = _copied(tree)
    for at, (value, _) in without_effect(tree).items():
        *path, name = at.strip("/").split("/")
        branch = result
        for step in path:
            branch = branch.get(step, {})
        if name in branch:
            branch[name] = value
    return result


def page_omits(tree: Tree, before: Tree) -> Callable[[str], bool]:
    """
    Return a function that decides whether a page omits the setting at a dotted path.

    It omits a setting whose value has no effect, or whose value in `before` would have no effect.
    """
    unused, values = set(without_effect(tree)), dict(leaves(before))

    def silent(setting: str) -> bool:
        at = "/" + setting.replace(".", "/")
        if at in unused:
            return True
        if setting not in values or setting.startswith("second_hand."):
            return False
        copy = _copied(tree)
        for both in JOKERS_LATER if setting in JOKERS_LATER else (setting,):
            *path, name = both.split(".")
            branch = copy
            for step in path:
                branch = branch.setdefault(step, {})
            branch[name] = values[both]
        try:
            return at in without_effect(full_tree(copy))
        except ValueError:
            return False

    return silent


def _of(ruleset: Ruleset) -> Iterator[tuple[str, tuple[Any, str]]]:
    yield from _deck(ruleset)
    yield from _opening(ruleset)
    yield from _play(ruleset)
    yield from _end(ruleset)
    for rank in ruleset.ranks:
        yield from _rank(ruleset, rank)
        yield from _lists(ruleset, rank)


def _deck(ruleset: Ruleset) -> Iterator[tuple[str, tuple[Any, str]]]:
    deck = ruleset.deck
    if deck.seats_per_deck and deck.count is not DeckCount.BY_SEATS:
        yield (
            "/deck/seats_per_deck",
            (0, "the number of decks does not depend on the number of players"),
        )
    never = "a table never has so many players, or the number of jokers does not change"
    if deck.jokers_from_seats and (
        deck.jokers_from_seats > ruleset.seats_max or deck.jokers_then == deck.jokers
    ):
        yield "/deck/jokers_from_seats", (0, never)
        yield "/deck/jokers_then", (0, never)


def _opening(ruleset: Ruleset) -> Iterator[tuple[str, tuple[Any, str]]]:
    opening, plain = ruleset.opening, OpeningSettings()
    if opening.opener not in QUALIFIED and opening.ranks:
        why = "the opener does not depend on a card"
        yield "/opening/ranks", (list(plain.ranks), why)
    if opening.opener.value != "worst_card" and opening.suits:
        why = "suits count only if the worst card opens"
        yield "/opening/suits", (plain.suits, why)


def _play(ruleset: Ruleset) -> Iterator[tuple[str, tuple[Any, str]]]:
    refill, pick_up = ruleset.refill, ruleset.pick_up
    laid = ruleset.deal.layout is not Layout.NONE
    if refill.to is RefillTo.AS_MANY_AS_PLAYED and refill.size and not laid:
        yield (
            "/refill/size",
            (0, "as many cards are drawn as were played, whatever the size of the hand"),
        )
    if not pick_up.show_blind and not ruleset.deal.down:
        why = "there are no face-down cards"
        yield "/pick_up/show_blind", (PickUpSettings().show_blind, why)
    if pick_up.after is After.PREVIOUS_ABOVE_TWO and ruleset.seats_max == 2:
        yield "/pick_up/after", (After.NEXT.value, TWO_PLAYERS)


def _end(ruleset: Ruleset) -> Iterator[tuple[str, tuple[Any, str]]]:
    end = ruleset.end
    if end.played_for is PlayedFor.WINNER and end.next_dealer is NextDealer.LOSER:
        why = "a hand that is played for a winner has no loser"
        yield "/end/next_dealer", (NextDealer.ROTATE.value, why)


def _rank(ruleset: Ruleset, rank: Rank) -> Iterator[tuple[str, tuple[Any, str]]]:
    rule, at = ruleset.rank(rank), f"/ranks/{rank}"
    without_jokers = not _jokers(ruleset)
    if rank == JOKER and without_jokers:
        for field in fields(PLAIN_RANK):
            plain = getattr(PLAIN_RANK, field.name)
            if getattr(rule, field.name) != plain:
                yield f"{at}/{field.name}", (plain_value(plain), NO_JOKERS)
        return
    asks_nothing = rule.asks is Asks.ANYTHING or (
        rule.asks is Asks.TRANSPARENT and rule.alone is Asks.ANYTHING
    )
    if asks_nothing:
        why = "the rank asks for nothing of its own"
        if rule.asks_as is not None:
            yield f"{at}/asks_as", (None, why)
        if rule.besides:
            yield f"{at}/besides", ([], why)
    elif rule.asks_as == rank:
        yield f"{at}/asks_as", (None, "a rank asks as itself in any case")
    yield from _effects(ruleset, rule, at)


def _effects(ruleset: Ruleset, rule: RankRule, at: str) -> Iterator[tuple[str, tuple[Any, str]]]:
    effects = {code: EFFECTS[code] for code in rule.effects()}
    always = {effect.acts for effect in effects.values() if not effect.while_two}
    for code, effect in effects.items():
        if effect.while_two and effect.acts in always:
            yield f"{at}/{code}", (False, IN_ANY_CASE[effect.acts])
        elif ruleset.seats_max < effect.seats_from:
            yield f"{at}/{code}", (False, TWO_PLAYERS)


def _lists(ruleset: Ruleset, rank: Rank) -> Iterator[tuple[str, tuple[Any, str]]]:
    """Yield the lists of a rank with members without effect; the neutral value has the others."""
    if rank == JOKER and not _jokers(ruleset):
        return
    rule, at = ruleset.rank(rank), f"/ranks/{rank}"
    demand = replace(_demand_on(ruleset, rank), asked_by=None)
    answers = demand.kind is not Asks.ANYTHING
    useless = {
        "besides": [r for r in rule.besides if answers and satisfies(ruleset, r, demand)],
        "not_on": [r for r in rule.not_on if _never_on(ruleset, rank, r)],
    }
    for name, without in useless.items():
        ranks = [*getattr(rule, name)]
        if JOKER in ranks and not _jokers(ruleset):
            yield f"{at}/{name}", ([r for r in ranks if r != JOKER], NO_JOKERS)
        elif without:
            why = "it is so in any case for " + " ".join(without)
            yield f"{at}/{name}", ([r for r in ranks if r not in without], why)


def _never_on(ruleset: Ruleset, rank: Rank, other: Rank) -> bool:
    """Return whether a rank that is played by the normal rule fits nowhere on another rank."""
    plain = ruleset.rank(rank).plays is Plays.NORMAL
    return plain and not satisfies(ruleset, rank, _demand_on(ruleset, other))


def _demand_on(ruleset: Ruleset, rank: Rank) -> Demand:
    """Return what one card of a rank asks for on an empty table."""
    return demand_of(ruleset, (Card("X1" if rank == JOKER else f"{rank}c"),))


def _jokers(ruleset: Ruleset) -> bool:
    deck = ruleset.deck
    reached = deck.jokers_from_seats and deck.jokers_from_seats <= ruleset.seats_max
    return bool(deck.jokers or (reached and deck.jokers_then))


def _named(changes: Mapping[str, Any], at: str) -> bool:
    """Return whether changes contain a JSON pointer."""
    value: Any = changes
    for step in at.strip("/").split("/"):
        if not isinstance(value, Mapping) or step not in value:
            return False
        value = value[step]
    return True


def _copied(value: Any) -> Any:
    return {k: _copied(v) for k, v in value.items()} if isinstance(value, Mapping) else value
