"""Parallel simulations: processes play and verify one table each."""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from service.application.errors import Refusal
from service.rulesets.catalogue import catalogue, definition
from service.runtime.worker_processes import WorkerProcesses
from service.shx.bundle import read_log
from service.simulation.simulate import Plan, SimulatedGame, SimulationReport, simulated_games
from service.verify.evidence import OutsideEvidence
from service.verify.files import verify_all
from service.verify.finding import Result
from service.verify.report import Report

LEVEL: Final = "L1"
"""The level of a log in which no check fails, without a receipt from outside."""


class TableNotOpened(Exception):
    """The table of a plan cannot be opened; unlike Refusal, this can be pickled."""


def tables_of(plan: Plan) -> Iterator[Plan]:
    """
    Yield each table of a plan as a plan of its own.

    The seed of a table depends on the plan's seed and the table's number, and the list of bots is
    rotated by one from table to table. So the games do not depend on the number of processes.
    """
    for number, start in enumerate(range(0, plan.games, plan.per_table)):
        shift = number % len(plan.bots)
        yield replace(
            plan,
            bots=(*plan.bots[shift:], *plan.bots[:shift]),
            games=min(plan.per_table, plan.games - start),
            seed=_seed(plan, number),
        )


def every_plan(plan: Plan) -> Iterator[Plan]:
    """Yield `plan` for every ruleset of the catalogue and every number of seats it allows."""
    for identity in catalogue():
        players = definition(identity).settings({})["players"]
        for seats in range(players["min"], players["max"] + 1):
            yield replace(plan, ruleset=identity, rules=None, seats=seats, options={})


def played(
    plans: Sequence[Plan], *, jobs: int, verified: bool, keep: Path | None
) -> Generator[tuple[int, SimulationReport], None, None]:
    """
    Play plans and yield the report of each table in order, with the number of its plan.

    Raises TableNotOpened for a table that a server would refuse as well.
    """
    tables = ((number, table) for number, plan in enumerate(plans) for table in tables_of(plan))
    work = partial(_play_numbered, verified=verified, keep=keep)
    jobs = min(jobs, sum(-(-plan.games // plan.per_table) for plan in plans))
    with WorkerProcesses(jobs, __name__) as processes:
        yield from processes.results(work, tables)


def _play_numbered(
    numbered: tuple[int, Plan], *, verified: bool, keep: Path | None
) -> tuple[int, SimulationReport]:
    number, table = numbered
    return number, play_table(table, verified=verified, keep=keep)


def play_table(plan: Plan, *, verified: bool, keep: Path | None) -> SimulationReport:
    """
    Return the report of one table; its games are verified together and written to `keep`.

    Raises TableNotOpened for a table that a server would refuse as well.
    """
    try:
        games = list(simulated_games(plan))
    except Refusal as error:
        refused = [f"{fault['at']} {fault['message']}" for fault in error.extra.get("errors", ())]
        raise TableNotOpened("; ".join(refused) or error.detail) from None
    report = SimulationReport()
    found = faults(games) if verified else [None] * len(games)
    for game, fault in zip(games, found, strict=True):
        report.add(game, fault)
        if keep is not None:
            (keep / f"{game.identity}.jsonl").write_bytes(game.log)
    return report


def add(total: SimulationReport, part: SimulationReport) -> None:
    """Add the counts of `part` to `total`."""
    total.games += part.games
    total.sat.update(part.sat)
    total.shitheads.update(part.shitheads)
    total.first_out.update(part.first_out)
    total.endings.update(part.endings)
    total.lengths.update(part.lengths)
    total.failed += part.failed


def faults(games: Sequence[SimulatedGame]) -> list[str | None]:
    """Verify the logs of one table in full; return the fault of each, None if it has none."""
    return [
        _fault(report) for report in verify_all([read_log(g.log) for g in games], OutsideEvidence())
    ]


def _fault(report: Report) -> str | None:
    if report.result is Result.PASS and report.level == LEVEL:
        return None
    reasons = [f.reason or "" for f in report.findings if f.result is Result.FAIL]
    return ": ".join([report.wording, *reasons[:1]])


def _seed(plan: Plan, number: int) -> int:
    name = f"{plan.seed}/{plan.ruleset}/{plan.seats}/{number}"
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big")
