"""Comparison of two rulesets: differences only, in words."""

from __future__ import annotations

import pytest

from schemas.settings import SECTIONS, setting_kinds
from service.domain.ruleset import ALL_RANKS, RankRule
from service.rulesets.catalogue import catalogue, definition
from service.rulesets.labels import differences, differs_from_base, label_of, value_in_words


def test_only_differences_are_listed_with_their_statements() -> None:
    (only,) = differs_from_base(definition("shithead-ten-in-rank"))
    assert only.data() == {
        "setting": "ranks.T.plays",
        "from": "anything",
        "to": "normal",
        "rule": "P23",
        "text": "A ten is played on: what it beats instead of anything.",
    }


@pytest.mark.parametrize("identity", catalogue())
def test_a_ruleset_does_not_differ_from_itself(identity: str) -> None:
    assert differences(definition(identity), definition(identity)) == ()


def test_the_reverse_comparison_swaps_from_and_to() -> None:
    leeds, queen = definition("leeds"), definition("covered-queen")
    there = {d.setting: (d.before, d.after) for d in differences(leeds, queen)}
    back = {d.setting: (d.after, d.before) for d in differences(queen, leeds)}
    assert there == back
    assert there["ranks.3.asks"] == ("at_least", "transparent")


def test_a_cited_rule_is_that_of_the_second_ruleset() -> None:
    found = {d.setting: d.rule for d in differences(definition("leeds"), definition("shithead"))}
    assert found["turn.obligation"] == "P9"
    assert found["ranks.5.plays"] == "1-normal-play"


def test_differences_in_second_hands_are_listed_separately() -> None:
    settings = {d.setting for d in differs_from_base(definition("reverse"))}
    assert "second_hand.order.low_to_high" in settings
    assert "order.low_to_high" not in settings
    assert "second_hand.deal.hand" not in settings  # the same change as in first hands


def test_rulesets_are_compared_with_default_options() -> None:
    settings = {d.setting for d in differs_from_base(definition("guarducci"))}
    assert {"turn.runs", "deck.jokers", "ranks.7.asks"} <= settings


def test_a_base_has_no_differences_from_its_base() -> None:
    assert differs_from_base(definition("shithead")) == ()


def test_every_setting_has_a_description() -> None:
    for section, kind in SECTIONS.items():
        for name, hint in setting_kinds(kind).items():
            for value in getattr(hint, "__members__", {}).values():
                words = value_in_words(f"{section}.{name}", value.value)
                assert words
                assert "_" not in words
            assert label_of(f"{section}.{name}")
    for rank in ALL_RANKS:
        for name in setting_kinds(RankRule):
            assert label_of(f"ranks.{rank}.{name}").startswith("A")
