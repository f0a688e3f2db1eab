"""At tables with custom rules a bot values cards by the rules in its view."""

from __future__ import annotations

import random
from typing import Any

import pytest

from service.bots.bot import with_settings
from service.bots.registry import bots
from service.bots.simple import heights, rules_of, worth, worth_of_ranks
from service.domain.cards import Rank
from service.domain.ruleset import Asks, RankRule, Ruleset
from service.rulesets.catalogue import definition
from service.rulesets.custom import custom_definition

OWN = custom_definition(
    definition("leeds"),
    "Own",
    {"ranks": {"4": {"plays": "anything", "burns": True}, "T": {"burns": False}}},
)


def view(*, hand: list[str], pile: list[str]) -> dict[str, Any]:
    """Return the parts of a view that a bot needs at a table with custom rules."""
    return {
        "ruleset": {"id": OWN.id, "ruleset_hash": "00" * 32, "options": {}},
        "hand": 1,
        "status": "playing",
        "as": 0,
        "stock": 10,
        "pile": pile,
        "seats": [{"hand": {"cards": hand}}],
    }


def test_a_bot_reads_the_custom_rules_from_its_view() -> None:
    seen = with_settings(view(hand=["4c"], pile=[]), OWN.tree)
    rules = rules_of(seen)
    burning = {str(rank) for rank, rule in rules.ranks.items() if rule.burns}
    assert (rules.refill.to.value, burning) == ("as_many_as_played", {"4"})
    assert heights(seen)["A"] == 12


def test_cards_are_valued_by_the_rules_of_the_table() -> None:
    plain = view(hand=["4c"], pile=[])
    assert worth(with_settings(plain, OWN.tree))["4"] > worth(with_settings(plain, OWN.tree))["T"]
    assert worth(with_settings(plain, None))["4"] < worth(with_settings(plain, None))["T"]


@pytest.mark.parametrize("name", ["greedy"])
def test_a_bot_keeps_a_card_that_burns_and_plays_a_ten_that_does_not(name: str) -> None:
    moves = [{"type": "play", "cards": [card]} for card in ("4c", "Tc")]
    seen = with_settings(view(hand=["4c", "Tc"], pile=["3d"]), OWN.tree)
    assert bots()[name].choose(seen, moves, random.Random(1))["cards"] == ["Tc"]


@pytest.mark.parametrize(
    ("rule", "more"),
    [
        (RankRule(burns=True), 8),
        (RankRule(skips=True), 1),
        (RankRule(asks=Asks.AT_MOST), 1),
        (RankRule(skips=True, asks=Asks.AT_MOST), 1),
        (RankRule(burns=True, asks=Asks.AT_MOST), 9),
        (RankRule(covers=True), -6),
        (RankRule(covers_with_two=True, reverses=True), 0),
    ],
)
def test_the_worth_of_a_rank_counts_what_it_does_for_a_seat(rule: RankRule, more: int) -> None:
    """It rescues the seat, hinders the next one, or is a burden; hindering twice counts once."""
    nine = Rank("9")
    plain = Ruleset(id="plain", seats_min=2, seats_max=4)
    special = Ruleset(id="special", seats_min=2, seats_max=4, ranks={nine: rule})
    assert worth_of_ranks(special)[nine] == worth_of_ranks(plain)[nine] + more
