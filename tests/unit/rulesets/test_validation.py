"""Only contradictory settings are refused, with the reason."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest

from schemas.settings import Tree, full_tree, merged
from service.rulesets.catalogue import Definition, catalogue, definition
from service.rulesets.validation import contradictions

COMPANION = {"plays": "with_companion"}
LAYOUT: Tree = {"deal": {"up": 0, "hand": 6, "exchange": False, "layout": "stacks"}}
CONTRADICTORY: list[tuple[str, Tree, str]] = [
    ("shithead", {"players": {"min": 4, "max": 3}}, "/players/min"),
    ("shithead", {"players": {"max": 6}}, "/deal"),
    ("shithead", {"deck": {"decks": 0}}, "/deck/decks"),
    ("shithead", {"deck": {"decks": 100}}, "/deck"),
    ("shithead", {"deck": {"count": "by_seats"}}, "/deck/seats_per_deck"),
    ("shithead", {"deck": {"jokers": 3}, "ranks": {"X": {"plays": "anything"}}}, "/deck/jokers"),
    ("shithead", {"deck": {"jokers": 2}}, "/ranks/X/plays"),
    ("shithead", {"deck": {"jokers_then": 2}}, "/deck/jokers_then"),
    ("covered-queen", {"deck": {"partial": ["3", "2"]}}, "/deck/partial"),
    ("covered-queen", {"deck": {"partial": ["2", "X"]}}, "/deck/partial"),
    ("shithead", {"deck": {"partial": ["2", "3"]}}, "/deck/partial"),
    ("covered-queen", {"players": {"max": 4}, "deck": {"partial": ["2"]}}, "/deck/partial"),
    ("covered-queen", {"deal": {"hand": 10}, "deck": {"partial": ["2"]}}, "/deal"),
    ("shithead", {"deal": {"hand": 0}}, "/deal/hand"),
    ("shithead", {"deal": {"up": 4}}, "/deal/up"),
    ("shithead", {"deal": {"up": 0}}, "/deal/exchange"),
    ("shithead", {"deal": {"up": 0, "exchange": False}}, "/pick_up/along"),
    ("shithead-layout", {"deal": {"exchange": True}}, "/deal/exchange"),
    ("shithead-layout", {"deal": {"up": 3}}, "/deal/up"),
    ("shithead-layout", {"deal": {"hand": 2}}, "/deal/hand"),
    ("shithead-layout", {"deal": {"down": 0}}, "/deal/layout"),
    ("reverse", {"opening": {"opener": "left_of_dealer"}}, "/opening/opener"),
    ("reverse", {"deal": {"throws": []}}, "/opening/opener"),
    ("reverse", {"deal": {"hand": 7}, "players": {"max": 5}}, "/deal/throws"),
    ("reverse", {"deal": {"starter": "any"}}, "/deal/starter"),
    ("reverse", {"second_hand": {"players": {"max": 3}}}, "/second_hand/players"),
    ("reverse", {"second_hand": {"pick_up": {"after": "next"}}}, "/second_hand/pick_up/after"),
    ("reverse", {"second_hand": {"deal": {"hand": 1}}}, "/second_hand/deal/hand"),
    (
        "reverse",
        {"second_hand": {"end": {"next_dealer": "rotate"}}},
        "/second_hand/end/next_dealer",
    ),
    ("reverse", {"second_hand": {"end": {"paper_bag": True}}}, "/second_hand/end/paper_bag"),
    ("shithead", {"opening": {"ranks": []}}, "/opening/ranks"),
    ("shithead", {"opening": {"ranks": ["3", "4"]}}, "/opening/ranks"),
    ("threes", {"opening": {"ranks": ["X"]}}, "/opening/ranks"),
    ("shithead", {"opening": {"opener": "next_to_thrower"}}, "/opening/opener"),
    ("shithead", {"opening": {"opener": "worst_card"}}, "/opening/suits"),
    ("karma-radford", {"opening": {"opener": "worst_card", "suits": "cshd"}}, "/opening/opener"),
    ("shithead", {"opening": {"play": "that_card"}}, "/opening/play"),
    ("morehead", {"opening": {"play": "that_rank"}}, "/opening/play"),
    ("threes", {"deal": {"starter": "any"}}, "/opening/play"),
    ("threes", {"ranks": {"6": COMPANION}}, "/opening/play"),
    ("threes", LAYOUT, "/opening/play"),
    (
        "egilsson",
        {"players": {"min": 4, "max": 4}, "deal": {"down": 4, "up": 4, "hand": 5}},
        "/turn/try_stock",
    ),
    ("covered-queen", {"refill": {"size": 0}}, "/turn/follow_up"),
    ("shithead", {"pick_up": {"taker": "previous"}}, "/pick_up/after"),
    ("shithead", {"pick_up": {"after": "same"}}, "/pick_up/after"),
    ("shithead", {"burn": {"set_size": 1}}, "/burn/set_size"),
    ("shithead", {"burn": {"set_size": 5}}, "/burn/set_size"),
    ("leeds", {"burn": {"set_size": 21}}, "/burn/set_size"),
    (
        "shit-boot",
        {"ranks": {rank: {"skips": True} for rank in "3456789JQKA"}},
        "/deal/starter",
    ),
    (
        "shithead",
        {"burn": {"set_size": 0, "flusher": True}, "ranks": {"T": {"burns": False}}},
        "/burn/flusher",
    ),
    ("morehead", {"end": {"played_for": "winner"}}, "/end/paper_bag"),
    ("shithead", {"ranks": {"A": COMPANION}}, "/ranks/A/plays"),
    ("shithead", {"ranks": {"K": COMPANION, "A": COMPANION}}, "/ranks/K/plays"),
    ("leeds", {"order": {"low_to_high": list("2346789TJQKA5")}}, "/ranks/5/plays"),
    ("shithead", {"ranks": {"X": COMPANION}}, "/ranks/X/plays"),
    ("leeds", {"ranks": {"5": {"not_on": ["7"]}}}, "/ranks/5/not_on"),
    ("leeds", {"turn": {"runs": True}}, "/turn/runs"),
    ("leeds", {"ranks": {"Q": {"covers": True}}}, "/ranks/5/plays"),
    ("shithead", {"ranks": {"T": {"skips": True}}}, "/ranks/T/skips"),
    ("covered-queen", {"ranks": {"Q": {"reverses": True}}}, "/ranks/Q/reverses"),
    (
        "shithead",
        {"ranks": {"9": {"asks": "transparent", "alone": "transparent"}}},
        "/ranks/9/alone",
    ),
    ("shithead", {"ranks": {"9": {"alone": "at_least"}}}, "/ranks/9/alone"),
    ("shithead", {"ranks": {"9": {"asks_as": "X"}}}, "/ranks/9/asks_as"),
    (
        "shithead",
        {"ranks": {"2": {"plays": "normal", "asks": "below"}, "T": {"plays": "normal"}}},
        "/ranks/2/asks",
    ),
]


def laid_on(slots: int) -> Tree:
    """Return changes after which players lay their hand on so many face-down cards."""
    deal = {"down": slots, "up": 0, "hand": slots, "layout": "stacks", "exchange": False}
    return {"players": {"min": 2, "max": 2}, "deck": {"count": "fixed", "decks": 8}, "deal": deal}


def test_players_lay_cards_on_no_more_slots_than_a_move_can_have() -> None:
    found = contradictions_of("leeds", laid_on(65))
    assert ("/deal/down", "players lay cards on at most 64 slots in one move") in found


def contradictions_of(base: str, changes: Tree) -> list[tuple[str, str]]:
    return contradictions(full_tree(merged(definition(base).settings({}), changes)))


def chosen_options(ruleset: Definition) -> list[dict[str, Any]]:
    """Return the combinations of option values: of a set all subsets, of ranks none and most."""
    every: list[dict[str, Any]] = [{}]
    for name, option in ruleset.options.items():
        values: list[Any] = list(option.values)
        if option.kind == "set":
            sizes = range(len(option.values) + 1)
            values = [list(v) for size in sizes for v in combinations(option.values, size)]
        if option.kind == "ranks":
            values = [[], list("23456789TJQK")]
        every = [one | {name: value} for one in every for value in values]
    return every


@pytest.mark.parametrize("ruleset", catalogue().values(), ids=lambda d: d.id)
def test_the_catalogue_has_no_contradictions(ruleset: Definition) -> None:
    for options in chosen_options(ruleset):
        assert contradictions(ruleset.settings(ruleset.chosen(options))) == []


@pytest.mark.parametrize(("base", "changes", "at"), CONTRADICTORY)
def test_a_contradiction_is_reported_at_its_setting(base: str, changes: Tree, at: str) -> None:
    found = contradictions_of(base, changes)
    assert at in {pointer for pointer, _ in found}
    assert all(message for _, message in found)


@pytest.mark.parametrize(
    ("base", "changes"),
    [
        ("leeds", {"players": {"max": 5}, **LAYOUT}),
        ("leeds", laid_on(64)),
        ("shithead", {"ranks": {"5": COMPANION}}),
        ("shithead", {"burn": {"set_size": 0}}),
        ("leeds", {"burn": {"set_size": 20}}),
        ("shithead", {"deck": {"jokers": 2}, "ranks": {"X": {"plays": "anything"}}}),
        (
            "shithead",
            {"deal": {"down": 0, "up": 0, "exchange": False}, "pick_up": {"along": "nothing"}},
        ),
        ("reverse", {"second_hand": {"pick_up": {"taker": "self", "after": "next"}}}),
        ("threes", {"opening": {"opener": "worst_card", "suits": "dchs"}}),
        ("shithead", {"deck": {"decks": 2, "partial": ["2", "3"]}}),
        ("reverse", {"second_hand": {"end": {"played_for": "winner"}}}),
        ("guarducci", {"turn": {"follow_up": True, "try_stock": "always"}}),
    ],
)
def test_a_sensible_combination_is_accepted(base: str, changes: Tree) -> None:
    assert contradictions_of(base, changes) == []
