"""`shithead simulate`: games are played, verified and counted, with any number of processes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from service.cli.statuses import MISUSED
from service.domain.events import EndReason
from service.rulesets.catalogue import catalogue
from service.runtime.worker_processes import AHEAD
from service.shx.bundle import Bundle, read_log
from service.simulation import parallel
from service.simulation.parallel import every_plan, played, tables_of
from service.simulation.simulate import Plan, SimulationReport
from tests.unit.cli.conftest import CommandOutput

PLAN = Plan(ruleset="shithead", seats=3, bots=("greedy", "lowest"), games=5, per_table=2)


def test_played_and_verified_hands_are_counted(
    shithead: Callable[..., CommandOutput], tmp_path: Path
) -> None:
    words = ("simulate", "--ruleset", "leeds", "--seats", "3", "--hands", "3", "--jobs", "1")
    status, out, _ = shithead(*words, "--keep", tmp_path, "--bots", "greedy,lowest", "--json")
    counts = json.loads(out)
    assert status == 0
    assert (counts["games"], counts["failed"]) == (3, [])
    assert sum(bot["played"] for bot in counts["bots"].values()) == 9
    lost = sum(bot["shithead"] for bot in counts["bots"].values())
    assert lost == counts["endings"].get("shithead", 0)
    logs = sorted(tmp_path.iterdir())
    assert len(logs) == 3
    assert shithead("verify", *logs)[0] in (0, 2), "the saved logs are valid"


def test_the_table_names_each_bot_and_the_result_of_verifying(
    shithead: Callable[..., CommandOutput],
) -> None:
    status, out, _ = shithead("simulate", "--hands", "2", "--jobs", "1", "--bots", "greedy")
    assert status == 0
    assert "greedy" in out
    assert "verified: all 2, no evidence of tampering, level L1" in out


def test_the_figures_of_the_tables_are_those_of_the_hands(
    shithead: Callable[..., CommandOutput], monkeypatch: pytest.MonkeyPatch
) -> None:
    report = SimulationReport(
        games=4,
        sat=Counter(lowest=4, greedy=8),
        shitheads=Counter(lowest=2, greedy=1),
        first_out=Counter(lowest=1, greedy=3),
        endings=Counter({EndReason.STALEMATE: 1}),
        lengths=Counter({90: 1, 100: 2, 140: 1}),
    )

    def counted(plans: list[Plan], **_: object) -> Iterator[tuple[int, SimulationReport]]:
        yield from ((number, report) for number, _ in enumerate(plans))

    monkeypatch.setattr(parallel, "played", counted)
    status, out, _ = shithead("simulate", "--all")
    rows = [line.split() for line in out.splitlines()]
    assert status == 0
    assert ["leeds", "3", "4", "1", "25.0%", "100", "140", "0"] in rows
    _, out, _ = shithead("simulate", "--jobs", "1")
    rows = [line.split() for line in out.splitlines()]
    losers = [
        ["greedy", "8", "1", "12.5%", "3", "37.5%"],
        ["lowest", "4", "2", "50.0%", "1", "25.0%"],
    ]
    assert [row for row in rows if row[:1] in (["greedy"], ["lowest"])] == losers
    assert "stalemates: 1 (25.00%)\nevents a hand: median 100, most 140\n" in out


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_custom_ruleset_of_a_file_is_played_and_verified(
    shithead: Callable[..., CommandOutput], tmp_path: Path, jobs: str
) -> None:
    file = tmp_path / "mine.json"
    document = {"name": "Mine", "base": "leeds", "changes": {"burn": {"set_size": 3}}}
    file.write_text(json.dumps(document))
    words = (
        "--seats",
        "3",
        "--hands",
        "2",
        "--per-table",
        "1",
        "--jobs",
        jobs,
        "--turn-limit",
        "60",
    )
    status, out, _ = shithead("simulate", "--ruleset", file, *words, "--json")
    counts = json.loads(out)
    assert status == 0
    assert counts["ruleset"].startswith("custom-")
    assert (counts["games"], counts["failed"]) == (2, [])


@pytest.mark.heavy
def test_two_processes_play_the_same_games_as_one() -> None:
    one, two = (
        [
            (number, report.lengths, report.shitheads)
            for number, report in played([PLAN], jobs=jobs, verified=False, keep=None)
        ]
        for jobs in (1, 2)
    )
    assert one == two


@pytest.mark.heavy
def test_memory_does_not_grow_with_the_number_of_hands(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a few tables are begun before their reports are taken, enough for all processes."""
    begun: list[Plan] = []

    def counted(plan: Plan) -> Iterator[Plan]:
        for table in tables_of(plan):
            begun.append(table)
            yield table

    monkeypatch.setattr(parallel, "tables_of", counted)
    plan = replace(PLAN, games=20_000)
    with closing(played([plan], jobs=2, verified=False, keep=None)) as reports:
        next(reports)
        assert len(begun) == 2 * AHEAD


def test_tables_have_different_seeds_and_rotate_the_bots() -> None:
    tables = list(tables_of(PLAN))
    assert [table.games for table in tables] == [2, 2, 1]
    assert len({table.seed for table in tables}) == 3
    assert [table.bots[0] for table in tables] == ["greedy", "lowest", "greedy"]


def test_all_plays_every_ruleset_with_every_number_of_seats() -> None:
    plans = list(every_plan(PLAN))
    assert {plan.ruleset for plan in plans} == set(catalogue())
    assert [plan.seats for plan in plans if plan.ruleset == "shithead-six"] == [6]
    assert [plan.seats for plan in plans if plan.ruleset == "smeghead"] == list(range(2, 13))


def test_an_invalid_log_is_reported_and_ends_with_1(
    shithead: Callable[..., CommandOutput], monkeypatch: pytest.MonkeyPatch
) -> None:
    def changed(log: bytes) -> Bundle:
        return read_log(log.replace(b'"seq":5', b'"seq":6'))

    monkeypatch.setattr(parallel, "read_log", changed)
    status, out, _ = shithead("simulate", "--hands", "1", "--jobs", "1", "--bots", "greedy")
    assert status == 1
    assert "1 of 1 are invalid" in out
    assert "chain fails" in out


@pytest.mark.parametrize(
    "words",
    [
        ("--ruleset", "bridge"),
        ("--seats", "40"),
        ("--bots", "greedy,cleverest"),
        ("--option", "jokers"),
        ("--option", "nothing=1"),
        ("--all", "--seats", "3"),
    ],
)
def test_impossible_options_are_a_wrong_command_line(
    shithead: Callable[..., CommandOutput], words: tuple[str, ...]
) -> None:
    status, out, err = shithead("simulate", "--jobs", "1", "--hands", "1", *words)
    assert (status, out) == (MISUSED, "")
    assert "Error: " in err
