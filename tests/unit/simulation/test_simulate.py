"""Simulated tables: valid and reproducible logs, and the counts in reports."""

from __future__ import annotations

from collections import Counter

import pytest

from service.application.errors import Refusal
from service.domain.evolve import fold
from service.replay.history import decode_log, sealed_deck
from service.rulesets.catalogue import catalogue
from service.shx.chain import read_chain
from service.simulation.simulate import Plan, SimulatedGame, simulate, simulated_games
from tests.examples import spread


def plan_for(identity: str, *, games: int = 2, seed: int = 1) -> Plan:
    seats = max(2, catalogue()[identity].ruleset({}).seats_min)
    return Plan(
        ruleset=identity,
        seats=seats,
        bots=("greedy", "lowest"),
        games=games,
        per_table=2,
        seed=seed,
    )


@pytest.mark.heavy
@pytest.mark.parametrize("identity", spread(sorted(catalogue()), 3))
def test_a_simulated_log_is_a_chain_that_folds_to_its_result(identity: str) -> None:
    for game in simulated_games(plan_for(identity)):
        assert len(list(read_chain(game.lines))) == len(game.lines)
        log = decode_log(game.lines)
        folded = fold([record.event for record in log], sealed_deck(log))
        assert folded.result == game.result


def test_the_same_plan_gives_the_same_logs_and_another_seed_others() -> None:
    first, again, other = (
        [game.log for game in simulated_games(plan_for("leeds", seed=seed))] for seed in (1, 1, 2)
    )
    assert first == again
    assert not set(first) & set(other)


def test_hands_of_a_table_follow_one_another() -> None:
    """L3, L15: the shithead of a hand deals the next one."""
    games = list(simulated_games(plan_for("leeds", games=4)))
    created = [decode_log(game.lines[:1])[0].fields["data"] for game in games]
    assert [data["hand"] for data in created] == [1, 2, 1, 2]
    assert created[0]["table"] == created[1]["table"] != created[2]["table"]
    assert created[1]["prev_game"] == str(games[0].identity)
    assert created[1]["dealer"] == games[0].result.shithead
    assert created[2]["dealer"] is created[2]["prev_game"] is None


def test_bots_change_seats_from_table_to_table() -> None:
    """Otherwise one bot would always have the better seat."""
    games = simulated_games(plan_for("leeds", games=4))
    seated = [("greedy", "lowest")] * 2 + [("lowest", "greedy")] * 2
    assert [game.bots for game in games] == seated


def test_the_report_counts_games_seats_and_shitheads() -> None:
    simulated: list[SimulatedGame] = []
    report = simulate(plan_for("shithead", games=6), keep=simulated.append)
    assert report.games == len(simulated) == 6
    assert report.sat == {"greedy": 6, "lowest": 6}
    shitheads = [game.result.shithead for game in simulated if game.result.shithead is not None]
    assert sum(report.shitheads.values()) == len(shitheads)
    assert sum(report.endings.values()) == 6
    assert report.lengths == Counter(len(game.lines) for game in simulated)
    assert report.failed == []


def test_findings_of_the_verifier_are_reported_with_their_game() -> None:
    simulated: list[SimulatedGame] = []
    report = simulate(plan_for("shithead"), verify=lambda log: "no", keep=simulated.append)
    assert report.failed == [(game.identity, "no") for game in simulated]
    assert simulate(plan_for("shithead"), verify=lambda log: None).failed == []


@pytest.mark.parametrize(
    "change",
    [{"seats": 9}, {"bots": ("nobody",)}, {"options": {"switches": [1]}}],
    ids=["seats", "bot", "option"],
)
def test_plans_that_the_server_would_refuse_are_refused(change: dict[str, object]) -> None:
    plan = {"ruleset": "shithead", "seats": 2, "bots": ("greedy",), "games": 1, **change}
    with pytest.raises(Refusal):
        simulate(Plan(**plan))  # type: ignore[arg-type] # the test chooses the fields
