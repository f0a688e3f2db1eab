#!/usr/bin/env python3
"""
Cost of a move at tables with bots and of people: python -m ops.bench.bot_tables [--write].

Every table is a closed loop: its people read and move as soon as they may, from threads of another
process. A figure is processor time of all processes of a part, divided by the moves of anybody,
bots included. One worker runs; the two kinds of tables are measured in turn.
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import psycopg
import redis
from prometheus_client import CollectorRegistry
from prometheus_client.multiprocess import MultiProcessCollector

from ops.bench.http_moves import ComparedService
from ops.bench.page import print_or_write
from ops.bench.services import durable_postgres, unlimited_service
from service.local.servers import EmbeddedValkey
from service.runtime.telemetry import SHARED_FOLDER

PAGE: Final = Path(__file__).parent / "results" / "bot-tables.md"
TABLES: Final = (1, 12, 50)
KINDS: Final = {
    "short": "two people",
    "bots": "a person, two `greedy`",
    "three": "a person, three `greedy`",
}
ROUNDS: Final = 2
SECONDS: Final = 5.0
PARTS: Final = ("API", "PostgreSQL", "Valkey", "worker", "other")
COUNTS: Final = ("runs", "jobs", "transactions", "commands")

Figures = Mapping[str, float]


def counted(database: str, client: redis.Redis) -> Figures:
    """Return the moves, runs of games, jobs, transactions and Redis commands since the start."""
    registry = CollectorRegistry()
    folder = os.environ[SHARED_FOLDER]
    MultiProcessCollector(registry, path=folder)  # type: ignore[no-untyped-call]  # it has no types
    samples = [sample for metric in registry.collect() for sample in metric.samples]
    with psycopg.connect(database, autocommit=True) as connection:
        row = connection.execute(
            "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()"
        ).fetchone()
    commands: Any = client.info("commandstats")
    calls = {name.removeprefix("cmdstat_"): one["calls"] for name, one in commands.items()}
    return {
        "moves": sum(one.value for one in samples if one.name == "shithead_moves_total"),
        "runs": sum(one.value for one in samples if one.name == "shithead_turn_jobs_total"),
        "jobs": calls.get("lrem", 0),  # a worker removes each job from a list once
        "transactions": float(row[0]) if row else 0.0,
        "commands": sum(calls.values()),
    }


def measured(side: ComparedService, database: str, client: redis.Redis, tables: int) -> Figures:
    """Return milliseconds of each part a move, the moves a second, and counts per 1,000 moves."""
    before = counted(database, client)
    found = side.measure(SECONDS, tables)
    after = counted(database, client)
    moves = after["moves"] - before["moves"]
    figures = dict.fromkeys(PARTS, 0.0)
    for name, seconds in found.cpu.items():
        part = next((part for part in PARTS if name.startswith(part)), "other")
        figures[part] += seconds * 1e3 / moves
    figures["all"] = sum(figures.values())
    figures["moves"] = moves / SECONDS
    figures["POST"] = statistics.median(found.moves) * 1e3
    return figures | {name: (after[name] - before[name]) * 1e3 / moves for name in COUNTS}


def lines(folder: Path) -> Iterator[str]:
    """Start a service, and yield the lines of the table."""
    with ExitStack() as stack:
        postgres = stack.enter_context(durable_postgres(folder))
        valkey = EmbeddedValkey(folder / "valkey")
        stack.callback(valkey.stop)
        address = valkey.start()
        service = stack.enter_context(
            unlimited_service(postgres.url, address, folder, api_threads=64)
        )
        client = redis.Redis.from_url(address)
        stack.callback(client.close)
        assert postgres.process is not None and valkey.process is not None
        roots = {name: child.pid for name, child in service.children.items()}
        roots |= {"PostgreSQL": postgres.process.pid, "Valkey": valkey.process.pid}
        heads = ("at a time", *PARTS, "all", "moves/s", "POST", *COUNTS, "ratio")
        yield f"| {' | '.join(heads)} |"
        yield f"{'| --- ' * len(heads)}|"
        for tables in TABLES:
            rows: dict[str, list[Figures]] = {kind: [] for kind in KINDS}
            for _ in range(ROUNDS):
                for kind in KINDS:
                    side = ComparedService(name=kind, port=service.port, roots=roots)
                    rows[kind].append(measured(side, postgres.url, client, tables))
            for kind, found in rows.items():
                share = _mean(found, "all") / _mean(rows["short"], "all")
                yield f"{row(f'{tables} of {KINDS[kind]}', found)} {share:.2f} |"


def row(name: str, found: list[Figures]) -> str:
    """Return a line of the table: milliseconds, then counts per 1,000 moves."""
    times = " | ".join(f"{_mean(found, part):.2f} ms" for part in (*PARTS, "all"))
    counts = " | ".join(f"{_mean(found, count):,.0f}" for count in COUNTS)
    rate, post = _mean(found, "moves"), _mean(found, "POST")
    return f"| {name} | {times} | {rate:.0f} | {post:.1f} ms | {counts} |"


def _mean(found: list[Figures], name: str) -> float:
    return statistics.fmean(one[name] for one in found)


def main() -> None:
    """Print the table, or write it to the page."""
    print_or_write(
        PAGE,
        description=__doc__,
        measure=lines,
        heading=lambda load: (
            "# Cost of a move at tables with bots\n\n"
            f"Made by `python -m ops.bench.bot_tables --write` at load {load:.1f}: processor time "
            "a move of anybody,\ncounts per 1,000 moves. *Runs* are looks of a worker at a game; "
            "*transactions* are those of PostgreSQL."
        ),
    )


if __name__ == "__main__":
    main()
