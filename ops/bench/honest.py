#!/usr/bin/env python3
"""
False alarms of the checks on honest hands: python -m ops.bench.honest [--games N] [--rows FILE].

Plays what `shithead simulate --all --games N` plays, every ruleset at every number of seats,
verifies each table's logs without the server's data, and computes the statistics of the same
hands: of the shuffles, and of each bot's blind choices among face-down cards. All hands are
honest, so every alarm is a false one. For hands that reach the turn limit it counts which bots
still held cards. The combinations with the most stalemates are played again without the bot that
lays any card that fits, and again with four times the turns.

Each finished table is appended to the rows; a table in the rows is not played again.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from ops.bench.honest_page import page
from service.application.tables.record import TURNS_PER_SEAT
from service.audit.statistics import blind_facts, deal_fact
from service.bots.registry import bots
from service.domain.events import EndReason
from service.domain.ruleset import MAX_TURN_LIMIT
from service.replay.history import decode_log, sealed_deck
from service.simulation.parallel import every_plan, faults, tables_of
from service.simulation.simulate import Plan, SimulatedGame, simulated_games

RESULTS = Path(__file__).parent / "results" / "honest.md"
STALEST = 8
"""The number of combinations that are played again, those with the most stalemates."""

LONGER = 4
"""The factor of their turn limit when they are played longer, up to the allowed maximum."""

AS_IT_IS, WITHOUT, LONG = "as it is", "without random", "longer"

Row = dict[str, Any]


def main() -> None:
    """Play what is not played yet, then write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--games", type=int, default=200, help="hands a combination")
    parser.add_argument(
        "--rows", type=Path, default=Path("honest.jsonl"), help="the finished tables"
    )
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    plan = Plan(ruleset="", seats=0, bots=tuple(bots()), games=options.games)
    plans = list(every_plan(plan))
    played(AS_IT_IS, plans, options.rows, options.jobs)
    rows = [row for row in read(options.rows) if row["how"] == AS_IT_IS]
    stale = _most_stalemates(rows, plans)
    others = tuple(name for name in plan.bots if name != "random")
    played(WITHOUT, [replace(one, bots=others) for one in stale], options.rows, options.jobs)
    longer = [replace(one, turn_limit=_longer(one.seats)) for one in stale]
    played(LONG, longer, options.rows, options.jobs)
    RESULTS.write_text(page(list(read(options.rows)), options.games))


def played(how: str, plans: Sequence[Plan], rows: Path, jobs: int) -> None:
    """Play the tables of `plans` that `rows` does not have yet, and add them to it."""
    there = {(row["how"], row["ruleset"], row["seats"], row["table"]) for row in read(rows)}
    tables = [
        (how, number, table)
        for plan in plans
        for number, table in enumerate(tables_of(plan))
        if (how, table.ruleset, table.seats, number) not in there
    ]
    tables.sort(key=lambda one: one[1])  # so an interrupted run has tables of every combination
    context = get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context) as pool, rows.open("a") as file:
        for done in as_completed([pool.submit(table_row, *table) for table in tables]):
            file.write(json.dumps(done.result(), separators=(",", ":")) + "\n")
            file.flush()


def read(rows: Path) -> Iterator[Row]:
    """Yield the tables that were played before."""
    if rows.exists():
        with rows.open() as file:
            yield from map(json.loads, file)


def table_row(how: str, number: int, plan: Plan) -> Row:
    """Play one table; return its results, and the facts that the statistics count."""
    games = list(simulated_games(plan))
    return {
        "how": how,
        "ruleset": plan.ruleset,
        "seats": plan.seats,
        "table": number,
        "lengths": [len(game.lines) for game in games],
        "failed": [fault for fault in faults(games) if fault is not None],
        "stale": [_left(game) for game in games if game.result.reason is EndReason.STALEMATE],
        **_facts(games if how == AS_IT_IS else []),
    }


def _left(game: SimulatedGame) -> dict[str, int]:
    """Return how many seats of each bot still held cards."""
    out = game.result.places
    return Counter(bot for seat, bot in enumerate(game.bots) if seat not in out)


def _facts(games: Sequence[SimulatedGame]) -> Row:
    """Return the decks, and each bot's choices among face-down cards."""
    decks, choices = [], []
    for game in games:
        log = decode_log(game.lines)
        deck, seats = sealed_deck(log), range(len(game.bots))
        deal = deal_fact(log, deck, seats)
        if deal is not None:
            decks.append([" ".join(deal.deck), deal.dealt])
        choices += [
            [game.bots[fact.seat], fact.choice.slots, fact.choice.playable, fact.choice.fitted]
            for fact in blind_facts(log, deck, seats)
        ]
    return {"decks": decks, "choices": choices}


def _most_stalemates(rows: Sequence[Row], plans: Sequence[Plan]) -> list[Plan]:
    """Return the combinations with the most stalemates."""
    stale: Counter[tuple[str, int]] = Counter()
    for row in rows:
        stale[row["ruleset"], row["seats"]] += len(row["stale"])
    worst = sorted(plans, key=lambda plan: -stale[plan.ruleset, plan.seats])[:STALEST]
    return [plan for plan in worst if stale[plan.ruleset, plan.seats]]


def _longer(seats: int) -> int:
    return min(LONGER * TURNS_PER_SEAT * seats, MAX_TURN_LIMIT)


if __name__ == "__main__":
    main()
