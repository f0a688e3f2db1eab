"""The runs: many processes, fail-over of PostgreSQL and of Valkey, point-in-time restore."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from ops.bench.scale.fleet import Fleet
from ops.bench.scale.stage import Report, Size, Stage, stage

COUNTS: Mapping[str, int] = {
    "API": 3,
    "streams": 2,
    "worker": 3,
    "relay": 2,
    "sweeper": 2,
    "sequencer": 2,
}
"""Processes of each kind, each on a machine of its own."""

CLOCKS: Mapping[str, float] = {
    "api-1": 2.5,
    "api-2": -2.5,
    "worker-1": 2.5,
    "worker-2": -2.5,
    "sweeper-1": -2.5,
    "sequencer-1": 2.5,
}
"""Seconds by which clocks are wrong: some are five seconds apart."""

POOLER = "PgBouncer 1.18, transaction mode, 20 connections, `SHITHEAD_PREPARED_STATEMENTS=off`"

OUTAGE_SECONDS = 3.0
"""From the crash of the primary to the promotion of its replica."""


def processes(size: Size, logs: Path | None = None) -> Report:
    """Return the report of a run in which each kind of process is killed and added under load."""
    with stage("Many processes behind PgBouncer", size, logs) as on:
        primary, valkey = on.primary(), on.valkey("valkey")
        valkey.start()
        pooler = on.pgbouncer(primary)
        fleet = on.fleet(
            SHITHEAD_DATABASE_URL=pooler.url,
            SHITHEAD_REDIS_URL=valkey.url,
            SHITHEAD_PREPARED_STATEMENTS="off",
        )
        _start(on, fleet, COUNTS, CLOCKS)
        on.report.parts += [
            f"PostgreSQL {_version(primary.sql('SHOW server_version'))}, one server",
            POOLER,
            "Valkey, one server",
            f"{len(fleet.processes)} processes, each in a network namespace with its own address: "
            + ", ".join(f"{count} × {kind}" for kind, count in COUNTS.items()),
            "clocks: " + ", ".join(f"{name} {seconds:+.1f} s" for name, seconds in CLOCKS.items()),
        ]
        load = on.begin_load(fleet)
        _kill_and_add(on, fleet)
        on.end_load(load)
        on.check(primary.url, fleet, load)
        return on.report


def _start(on: Stage, fleet: Fleet, counts: Mapping[str, int], clocks: Mapping[str, float]) -> None:
    """Start the processes: the first API alone, because it makes the key file."""
    for kind, count in counts.items():
        for number in range(1, count + 1):
            name = f"{kind.lower()}-{number}"
            fleet.add(kind, on.network.machine(name), clock=clocks.get(name, 0.0))
            if kind == "API" and number == 1:
                fleet.wait_ready()
    fleet.wait_ready()


def _kill_and_add(on: Stage, fleet: Fleet) -> None:
    """Kill a process of each kind in turn and start it again; add one of each kind between."""
    rng = random.Random(on.size.seed)
    end = time.monotonic() + on.size.seconds
    kinds = list(COUNTS)
    turn = 0
    while time.monotonic() < end:
        time.sleep(rng.uniform(1.0, 3.0))
        kind = kinds[turn % len(kinds)]
        if turn // len(kinds) == 1:  # in the second round each kind grows by one
            added = fleet.add(kind, on.network.machine(f"{kind.lower()}-{COUNTS[kind] + 1}"))
            on.happened(f"{added.name} added")
        else:
            found = fleet.of(kind)
            victim = rng.choice(found)
            victim.kill()
            on.happened(f"{victim.name} killed, {len(found) - 1} {kind} left")
            time.sleep(rng.uniform(0.5, 2.0))
            victim.start()
        turn += 1
    fleet.wait_ready()


def _version(rows: list[tuple[object, ...]]) -> str:
    return str(rows[0][0])


SCENARIOS: Mapping[str, Callable[[Size, Path | None], Report]] = {
    "processes": processes,
}
