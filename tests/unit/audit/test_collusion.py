"""Bets on pairs of decisions: false alarms, detection, and what is compared with what."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from service.application.disputes.collusion import MAX_HANDS
from service.audit.collusion import (
    FALSE_ALARM,
    MARGIN,
    STAKES,
    THRESHOLD,
    Bets,
    Comparison,
    Pair,
)
from service.bots.sparing import CARD, MAX_CHOICES, MIN_SPREAD, SPENT, TURN, WORLDS
from service.replay.sentences import sentence

ROOT = Path(__file__).parents[3]


@dataclass(frozen=True)
class One:
    next_seat: int
    harm: float
    stratum: int = 0


def test_without_bets_nothing_is_shown() -> None:
    assert Bets().e_value == 1.0
    assert Bets().difference is None
    assert Pair("a", "b").e_value == 1.0


def test_innocent_players_reach_the_threshold_at_most_as_often_as_stated() -> None:
    """Equal habits before both players; the bound holds at every moment, not only at the end."""
    rng, players, alarms = random.Random(1), 400, 0
    for _ in range(players):
        comparison = Comparison()
        alarms += any(_is_alarm(comparison, rng) for _ in range(300))
    assert alarms <= 2 * FALSE_ALARM * players


def _is_alarm(comparison: Comparison, rng: random.Random) -> bool:
    comparison.add(rng.randrange(3), rng.random(), partner=rng.random() < 0.4)
    return comparison.bets.e_value >= THRESHOLD


def test_a_player_who_spares_one_other_is_found() -> None:
    rng, comparison = random.Random(2), Comparison()
    for _ in range(120):
        comparison.add(0, rng.random() * 0.4, partner=True)
        comparison.add(0, rng.random(), partner=False)
    assert comparison.bets.e_value >= THRESHOLD


@given(st.lists(st.floats(-1, 1), max_size=60))
@example([1.0] * 60)  # more than a number can be
def test_an_e_value_is_never_negative_and_does_not_overflow(differences: list[float]) -> None:
    bets = Bets()
    for one in differences * 40:
        bets.add(one)
    assert 0 <= bets.e_value <= 1e300


def test_differences_within_the_margin_gain_nothing() -> None:
    bets = Bets()
    for _ in range(1000):
        bets.add(MARGIN)
    assert bets.e_value == pytest.approx(1.0)


def test_the_evidence_is_the_mean_over_the_stakes() -> None:
    """The best stake in hindsight would be no bet that anybody could have made."""
    bets = Bets()
    bets.add(1.0)
    bets.add(-0.5)
    won = [(1 + stake * (1 - MARGIN)) * (1 - stake * (0.5 + MARGIN)) for stake in STAKES]
    assert bets.e_value == pytest.approx(sum(won) / len(STAKES))


def test_the_next_seat_of_a_decision_is_not_always_the_one_beside_it() -> None:
    """Seat 1 is out, or the direction is turned."""
    pair = Pair("a", "b")
    pair.count(["a", "c", "b"], {0: [One(2, 0.2)], 2: []}.__getitem__)
    pair.count(["a", "c", "b"], {0: [One(1, 0.7)], 2: []}.__getitem__)
    assert pair.numbers["directions"][0]["difference"] == pytest.approx(0.5)


def test_only_decisions_of_the_same_kind_are_compared() -> None:
    comparison = Comparison()
    comparison.add("early", 0.1, partner=True)
    comparison.add("late", 0.9, partner=False)
    assert comparison.bets.pairs == 0
    comparison.add("early", 0.9, partner=False)
    assert comparison.bets.pairs == 1
    assert comparison.bets.difference == pytest.approx(0.8)


def test_each_decision_is_used_once() -> None:
    comparison = Comparison()
    for harm in (0.2, 0.3, 0.4):
        comparison.add(0, harm, partner=True)
    for harm, mean in ((0.9, 0.7), (0.4, 0.4)):  # the first with the first, as they come
        comparison.add(0, harm, partner=False)
        assert comparison.bets.difference == pytest.approx(mean)
    assert comparison.bets.pairs == 2


def test_a_pair_counts_both_directions_and_hands_of_one_of_them_for_comparison() -> None:
    pair = Pair("a", "b")
    by_seat = {0: [One(1, 0.0)], 1: [One(2, 0.1)], 2: [One(0, 1.0)]}
    pair.count(["a", "b", None], by_seat.__getitem__)  # a before b, b before a bot
    pair.count([None, "c", "a"], {2: [One(1, 1.0)]}.__getitem__)  # a before c
    pair.count(["b", "a", None], {0: [One(1, 0.3)], 1: []}.__getitem__)  # b before a
    numbers = pair.numbers
    assert numbers["hands"] == 2
    assert [(one["player"], one["n"], one["difference"]) for one in numbers["directions"]] == [
        ("a", 1, 1.0),
        ("b", 1, -0.2),
    ]
    assert numbers["joint"]["n"] == 2
    shown = [*(one["e_value"] for one in numbers["directions"]), numbers["joint"]["e_value"]]
    assert numbers["e_value"] == pytest.approx(sum(shown) / 3, rel=1e-3)


def test_the_specification_states_the_numbers_of_the_code() -> None:
    text = " ".join((ROOT / "ops/spec/statistics.md").read_text("utf-8").split())
    stakes = f"{', '.join(map(str, STAKES[:-1]))} and {STAKES[-1]}"
    for stated in (
        f"more than {MAX_CHOICES} moves",
        f"{WORLDS} deals of the hidden cards",
        f"{TURN} if it is not its turn",
        f"{SPENT} times the worth",
        f"1 + {CARD} × the cards of the pile",
        f"differ by less than {MIN_SPREAD}",
        f"(difference − {MARGIN})",
        f"the stakes {stakes}",
        f"`threshold` is {THRESHOLD:g}, `false_alarm` {FALSE_ALARM}",
        f"the last {MAX_HANDS} with one of the two",
    ):
        assert stated in text, stated


def test_the_charge_states_the_value_at_which_evidence_begins() -> None:
    assert f"evidence begins at {THRESHOLD:g}," in sentence("charge.shown.collusion")
