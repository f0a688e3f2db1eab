#!/usr/bin/env python3
"""
Cost of a move at tables with bots and of people: python -m ops.bench.bot_tables [--write].

Every table is a closed loop: its people read and move as soon as they may, from threads of another
process. A figure is processor time of all processes of a part, divided by the moves of anybody,
bots included. One worker runs; the kinds of tables are measured in turn. What asks PostgreSQL and
Redis is counted in a round of its own, which is not timed: both servers then report every command.
"""

from __future__ import annotations

import os
import re
import statistics
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, Final

import psycopg
import redis
from prometheus_client import CollectorRegistry
from prometheus_client.multiprocess import MultiProcessCollector

from ops.bench.http_moves import ComparedService
from ops.bench.page import print_or_write
from ops.bench.services import durable_postgres, unlimited_service
from service.local.servers import EmbeddedPostgres, EmbeddedValkey
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
LEAST: Final = 5
"""Times per 1,000 moves below which a query or command is not listed."""

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
        side_of = partial(ComparedService, port=service.port, roots=roots)
        heads = ("at a time", *PARTS, "all", "moves/s", "POST", *COUNTS, "ratio")
        yield f"| {' | '.join(heads)} |"
        yield f"{'| --- ' * len(heads)}|"
        for tables in TABLES:
            rows: dict[str, list[Figures]] = {kind: [] for kind in KINDS}
            for _ in range(ROUNDS):
                for kind in KINDS:
                    rows[kind].append(measured(side_of(name=kind), postgres.url, client, tables))
            for kind, found in rows.items():
                share = _mean(found, "all") / _mean(rows["short"], "all")
                yield f"{row(f'{tables} of {KINDS[kind]}', found)} {share:.2f} |"
        yield from causes(side_of(name="bots"), postgres, client)


def causes(side: ComparedService, postgres: EmbeddedPostgres, client: redis.Redis) -> Iterator[str]:
    """Yield how often each query and each kind of Redis command is sent, per 1,000 moves."""
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        connection.execute("ALTER SYSTEM SET log_statement = 'all'")
        connection.execute("SELECT pg_reload_conf()")
    log = postgres.logs / "postgres.log"
    before, skipped = counted(postgres.url, client)["moves"], log.stat().st_size
    commands, ended = Counter[str](), threading.Event()

    def watch() -> None:
        with client.monitor() as watched:  # type: ignore[no-untyped-call]  # as above
            for one in watched.listen():
                commands[_cause(one["command"])] += 1
                if ended.is_set():
                    return

    threading.Thread(target=watch, daemon=True).start()
    side.measure(SECONDS, TABLES[-1])
    ended.set()
    moves = counted(postgres.url, client)["moves"] - before
    with log.open("rb") as written:
        written.seek(skipped)
        text = written.read().decode(errors="replace")
    queries = Counter(re.findall(r"-- (\w+): ", text))
    for what, counts in (("Queries", queries), ("Commands to Redis", commands)):
        shares = ((name, count * 1e3 / moves) for name, count in counts.most_common())
        named = (f"{name} {share:,.0f}" for name, share in shares if share >= LEAST)
        yield ""
        yield f"{what} per 1,000 moves, {TABLES[-1]} of {KINDS['bots']}: {', '.join(named)}."


def _cause(command: str) -> str:
    """Return what a command to Redis is for, by its key."""
    name, _, key = command.partition(" ")
    if key.startswith("rq:"):
        return "RQ"
    if key.startswith("shithead.due"):
        return f"due games: {name}"
    return name


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
