"""Settings without effect: refused if requested, left out if inherited."""

from __future__ import annotations

from typing import Any

import pytest

from service.rulesets.catalogue import catalogue, definition
from service.rulesets.custom import RulesetRefused, custom_definition
from service.rulesets.rules_page import as_text, rules_page
from service.rulesets.without_effect import without_effect


def refusals(base: str, changes: dict[str, Any]) -> dict[str, str]:
    """Return the reasons for which changes are refused, by JSON pointer."""
    with pytest.raises(RulesetRefused) as refused:
        custom_definition(definition(base), "Own", changes)
    return dict(refused.value.reasons)


@pytest.mark.attack(
    "SPECIAL", "settings that a page shows and play ignores", check="ruleset-refused"
)
@pytest.mark.parametrize(
    ("base", "changes", "at"),
    [
        ("shithead", {"ranks": {"X": {"reverses": True}}}, "/ranks/X/reverses"),
        ("gultnieks", {"ranks": {"7": {"besides": ["8", "X"]}}}, "/ranks/7/besides"),
        ("shithead", {"deck": {"seats_per_deck": 4}}, "/deck/seats_per_deck"),
        (
            "shithead",
            {
                "deck": {"jokers_from_seats": 6, "jokers_then": 2},
                "ranks": {"X": {"plays": "anything"}},
            },
            "/deck/jokers_then",
        ),
        ("shithead", {"opening": {"suits": "cdhs"}}, "/opening/suits"),
        ("leeds", {"opening": {"ranks": ["3"]}}, "/opening/ranks"),
        ("leeds", {"refill": {"size": 4}}, "/refill/size"),
        ("shithead", {"ranks": {"8": {"asks_as": "8"}}}, "/ranks/8/asks_as"),
        ("shithead", {"ranks": {"8": {"besides": ["9"]}}}, "/ranks/8/besides"),
        ("shithead", {"ranks": {"8": {"besides": ["4", "9"]}}}, "/ranks/8/besides"),
        ("shithead", {"ranks": {"8": {"asks": "below", "besides": ["7"]}}}, "/ranks/8/besides"),
        ("shithead", {"ranks": {"8": {"not_on": ["9"]}}}, "/ranks/8/not_on"),
        ("leeds", {"ranks": {"9": {"not_on": ["7"]}}}, "/ranks/9/not_on"),
        (
            "shithead",
            {"end": {"played_for": "winner", "next_dealer": "loser"}},
            "/end/next_dealer",
        ),
        ("shithead", {"ranks": {"2": {"asks_as": "7"}}}, "/ranks/2/asks_as"),
        ("covered-queen", {"ranks": {"Q": {"covers_with_two": True}}}, "/ranks/Q/covers_with_two"),
        (
            "shithead",
            {"players": {"max": 2}, "ranks": {"9": {"reverses": True}}},
            "/ranks/9/reverses",
        ),
        (
            "shithead",
            {"players": {"max": 2}, "pick_up": {"after": "previous_above_two"}},
            "/pick_up/after",
        ),
        (
            "shithead",
            {
                "deal": {"down": 0, "up": 0, "exchange": False},
                "pick_up": {"show_blind": False, "along": "nothing"},
            },
            "/pick_up/show_blind",
        ),
    ],
)
def test_a_requested_change_without_effect_is_refused_with_a_reason(
    base: str, changes: dict[str, Any], at: str
) -> None:
    assert refusals(base, changes)[at].startswith("has no effect: ")


def test_inherited_settings_without_effect_are_neither_rules_nor_part_of_the_id() -> None:
    own = custom_definition(definition("morehead"), "Own", {"players": {"max": 5}})
    assert own.tree["deck"]["jokers"] == 0
    assert "X" not in own.tree["ranks"]
    made = [s.text for s in own.statements if s.id.startswith("C")]
    assert [text for text in made if "oker" in text] == ["Jokers: 0."]
    other = custom_definition(
        definition("covered-queen"), "Own", {"opening": {"opener": "left_of_dealer", "play": "any"}}
    )
    assert other.tree["opening"]["suits"] == ""
    assert "Suits" not in as_text(rules_page(other), common=False)


def test_inherited_rules_of_jokers_apply_again_if_there_are_jokers() -> None:
    own = custom_definition(
        definition("morehead"), "Own", {"deck": {"jokers": 2}, "players": {"max": 5}}
    )
    assert own.tree["ranks"]["X"]["reverses"] is True


def test_not_on_cannot_name_a_transparent_rank() -> None:
    """The rules page would state "never played on: 8", but the engine ignores the eight."""
    at = "/ranks/9/not_on"
    assert "transparent" in refusals("gultnieks", {"ranks": {"9": {"not_on": ["8"]}}})[at]


def test_a_refill_to_a_size_that_is_not_set_is_refused() -> None:
    assert "no cards would ever be" in refusals("leeds", {"refill": {"to": "size"}})["/refill/size"]


def test_tries_are_refused_if_a_hand_can_be_empty_while_there_is_a_stock() -> None:
    """P37: a try replaces a play from the hand."""
    changes = {
        "deal": {"layout": "plain", "up": 0, "exchange": False, "hand": 3, "starter": "none"},
        "turn": {"try_stock": "always"},
    }
    assert "replaces a play" in refusals("leeds", changes)["/turn/try_stock"]


@pytest.mark.parametrize("identity", [i for i in catalogue() if i not in ("morehead", "reverse")])
def test_rulesets_of_the_catalogue_have_no_settings_without_effect(identity: str) -> None:
    assert without_effect(definition(identity).settings({})) == {}


@pytest.mark.parametrize(
    "changes",
    [
        {"ranks": {"8": {"asks_as": "7"}}},
        {"ranks": {"8": {"besides": ["4"]}}},
        {"ranks": {"8": {"asks": "at_most", "besides": ["9"]}}},
        {"ranks": {"8": {"not_on": ["8"]}}},
        {"ranks": {"T": {"not_on": ["K"]}}},
        {"end": {"played_for": "winner", "next_dealer": "rotate"}},
    ],
)
def test_settings_with_an_effect_are_accepted(changes: dict[str, Any]) -> None:
    assert not without_effect(custom_definition(definition("shithead"), "Own", changes).tree)


def test_an_inherited_loser_is_left_out_where_a_hand_has_a_winner() -> None:
    own = custom_definition(definition("shithead"), "Own", {"end": {"played_for": "winner"}})
    assert own.settings({})["end"]["next_dealer"] == "rotate"
    assert not any("Dealer of the next hand: the loser" in s.text for s in own.statements)
