"""Simulations in parts that processes share: one table a part, verified, then added up."""

from __future__ import annotations

import hashlib
import signal
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Final

from service.application.errors import Refusal
from service.record.bundle import read_log
from service.rulesets.catalogue import catalogue, definition
from service.simulate import Plan, Report, SimulatedGame, simulated_games
from service.verify.command import verify_all
from service.verify.finding import Result
from service.verify.report import Report as Verified
from service.verify.verify import Given

LEVEL: Final = "L1"
"""What a log without people can reach."""


class NotPlayable(Exception):
    """No such table can be opened; unlike a Refusal it travels between processes."""


Work = Callable[[Plan], Report]


def tables_of(plan: Plan) -> Iterator[Plan]:
    """
    Yield the tables of a plan as plans of their own.

    Each has a seed that follows from the plan's and its number, and its bots
    moved on by one seat: so the games do not depend on how many processes play.
    """
    for number, start in enumerate(range(0, plan.games, plan.hands)):
        shift = number % len(plan.bots)
        yield replace(
            plan,
            bots=(*plan.bots[shift:], *plan.bots[:shift]),
            games=min(plan.hands, plan.games - start),
            seed=_seed(plan, number),
        )


def every_plan(plan: Plan) -> Iterator[Plan]:
    """Yield `plan` for every ruleset of the catalogue at every number of seats it allows."""
    for identity in catalogue():
        players = definition(identity).settings({})["players"]
        for seats in range(players["min"], players["max"] + 1):
            yield replace(plan, ruleset=identity, seats=seats, options={})


def played(
    plans: Sequence[Plan], *, jobs: int, verified: bool, keep: Path | None
) -> Generator[tuple[int, Report], None, None]:
    """
    Play plans and yield the report of each table, with the number of its plan.

    Tables come in order. Raises NotPlayable for what the server would refuse too.
    """
    tables = [(number, table) for number, plan in enumerate(plans) for table in tables_of(plan)]
    work = partial(play_table, verified=verified, keep=keep)
    reports = _spread(work, [table for _, table in tables], jobs)
    for (number, _), report in zip(tables, reports, strict=True):
        yield number, report


def play_table(plan: Plan, *, verified: bool, keep: Path | None) -> Report:
    """Return the report of one table, its games verified together and written to `keep`."""
    try:
        games = list(simulated_games(plan))
    except Refusal as error:
        refused = [f"{fault['at']} {fault['message']}" for fault in error.extra.get("errors", ())]
        raise NotPlayable("; ".join(refused) or error.detail) from None
    report = Report()
    found = faults(games) if verified else [None] * len(games)
    for game, fault in zip(games, found, strict=True):
        report.add(game, fault)
        if keep is not None:
            (keep / f"{game.identity}.jsonl").write_bytes(game.log)
    return report


def add(total: Report, part: Report) -> None:
    """Add the counts of `part` to `total`."""
    total.games += part.games
    total.sat.update(part.sat)
    total.shitheads.update(part.shitheads)
    total.first_out.update(part.first_out)
    total.endings.update(part.endings)
    total.lengths += part.lengths
    total.failed += part.failed


def faults(games: Sequence[SimulatedGame]) -> list[str | None]:
    """Return what is wrong with each log of one table, as strangers would check them."""
    return [_fault(report) for report in verify_all([read_log(g.log) for g in games], Given())]


def _fault(report: Verified) -> str | None:
    if report.result is Result.PASS and report.level == LEVEL:
        return None
    reasons = [f.reason or "" for f in report.findings if f.result is Result.FAIL]
    return ": ".join([report.wording, *reasons[:1]])


def _spread(work: Work, tables: Sequence[Plan], jobs: int) -> Iterable[Report]:
    if jobs == 1 or len(tables) < 2:
        return map(work, tables)
    return _in_processes(work, tables, min(jobs, len(tables)))


def _in_processes(work: Work, tables: Sequence[Plan], jobs: int) -> Iterator[Report]:
    context = get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=_leave_ctrl_c) as pool:
        try:
            yield from pool.map(work, tables)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _leave_ctrl_c() -> None:
    """Ctrl-C goes to all processes; it is the first one's to say that it is over."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _seed(plan: Plan, number: int) -> int:
    name = f"{plan.seed}/{plan.ruleset}/{plan.seats}/{number}"
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big")
