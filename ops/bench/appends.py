#!/usr/bin/env python3
"""
Durable appends of three event stores: python -m ops.bench.appends [--write].

Each of 1, 8 and 64 clients, threads of one process, has a stream of its own and appends events of
1,000 bytes, one after another, each on the condition that nobody appended in between. It waits for
the answer, which comes after the flush. `eventsourcing` uses the same PostgreSQL as ours; UmaDB is
a process of its own on the same disk. Both are installed in a virtual environment for this run.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from textwrap import fill
from uuid import uuid4

import psycopg

from ops.bench import append_loop
from ops.bench.group_commit import OF_A_MOVE
from ops.bench.pages import WIDTH, write
from ops.bench.services import durable_postgres, settings_of_eventsourcing
from service.store.database import Database
from service.store.events import OutboxRow
from service.store.migrate import service_url
from service.store.postgres_events import PostgresStore
from tests.running import free_port
from tests.streams import append, commit, game_summary

PAGE = Path(__file__).parent / "results" / "appends.md"
CLIENTS = (1, 8, 64)
POOL = 16
"""Connections of the two stores on PostgreSQL."""

PEERS = ("eventsourcing[postgres]==9.5.6", "psycopg[binary]", "umadb==0.7.8")
OURS = "ours"

EVENTSOURCING = """
import json, sys
from append_loop import measured
from eventsourcing.application import Application
from eventsourcing.domain import Aggregate, event

class Stream(Aggregate):
    @event("Written")
    def write(self, text):
        self.text = text

app = Application()

def stream():
    written = Stream()
    app.save(written)
    def one():
        written.write("x" * 1000)
        app.save(written)
    return one

print(json.dumps(measured(stream, int(sys.argv[1]), float(sys.argv[2]))))
"""

UMADB = """
import json, sys, uuid
from append_loop import measured
from umadb import AppendCondition, Client, Event, Query, QueryItem

client = Client(sys.argv[3])

def stream():
    tag, after = str(uuid.uuid4()), None
    def one():
        nonlocal after
        nobody = AppendCondition(Query(items=[QueryItem(tags=[tag])]), after)
        after = client.append([Event("Written", b"x" * 1000, [tag], uuid.uuid4())], nobody)
    return one

print(json.dumps(measured(stream, int(sys.argv[1]), float(sys.argv[2]))))
"""

Measured = Callable[[int, float], list[float]]
"""Takes the clients and the seconds; returns the seconds of each append."""


def ours(store: PostgresStore, clients: int, seconds: float) -> list[float]:
    """Return the times of our store, in which an append is that of a move without an answer."""

    def stream() -> Callable[[], None]:
        identity, number = uuid4(), 0
        last: bytes | None = None

        def one() -> None:
            nonlocal number, last
            line = b'{"n":%d,"text":"%b"}' % (number, b"x" * 1000)
            summary = OF_A_MOVE if number else game_summary()
            made = append(identity, line, expected=number, after=last, summary=summary)
            row = OutboxRow(stream=identity, version=number + 1, topic="game")
            store.commit(commit(made, outbox=(row,) if number else ()))
            number, last = number + 1, made.events[-1]

        return one

    return append_loop.measured(stream, clients, seconds)


@contextmanager
def contestants(folder: Path) -> Iterator[dict[str, Measured]]:
    """Yield the three stores by name, running below a folder."""
    _install(folder)
    python = str(folder / "venv" / "bin" / "python")
    with ExitStack() as stack:
        postgres = stack.enter_context(durable_postgres(folder))
        with psycopg.connect(postgres.url, autocommit=True) as connection:
            connection.execute("CREATE DATABASE peer")
        database = Database(service_url(postgres.url), size=POOL)
        stack.callback(database.close)
        store = PostgresStore(database)
        peer = {
            **settings_of_eventsourcing(postgres.url_of("peer")),
            "POSTGRES_POOL_SIZE": str(POOL),
            "POSTGRES_MAX_OVERFLOW": "0",
        }
        address = stack.enter_context(_umadb(folder))

        def elsewhere(program: str, *more: str, environment: dict[str, str]) -> Measured:
            def run(clients: int, seconds: float) -> list[float]:
                command = [python, program, str(clients), str(seconds), *more]
                done = subprocess.run(
                    command, cwd=folder, env=environment, check=True, stdout=subprocess.PIPE
                )
                times: list[float] = json.loads(done.stdout)
                return times

            return run

        yield {
            OURS: lambda clients, seconds: ours(store, clients, seconds),
            "`eventsourcing` 9.5.6": elsewhere("eventsourcing_.py", environment=peer),
            "UmaDB 0.7.8": elsewhere("umadb_.py", address, environment=dict(os.environ)),
        }


def _install(folder: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
    pip = [str(folder / "venv" / "bin" / "python"), "-m", "pip", "install", "--quiet", *PEERS]
    subprocess.run(pip, check=True, capture_output=True)
    (folder / "eventsourcing_.py").write_text(EVENTSOURCING)
    (folder / "umadb_.py").write_text(UMADB)
    shutil.copy(append_loop.__file__, folder / "append_loop.py")


@contextmanager
def _umadb(folder: Path) -> Iterator[str]:
    """Run the server of UmaDB; yields its address."""
    address = f"127.0.0.1:{free_port()}"
    command = [str(folder / "venv" / "bin" / "umadb"), "--listen", address]
    with subprocess.Popen([*command, "--db-path", str(folder / "uma.db")]) as server:
        try:
            time.sleep(1.0)
            yield f"http://{address}"
        finally:
            server.terminate()


def table(found: list[tuple[str, int, list[float], float]]) -> Iterator[str]:
    """Yield the lines of the table: appends a second, median and 99th percentile of the times."""
    yield "| store | clients | appends/s | p50 | p99 |"
    yield "| --- | --- | --- | --- | --- |"
    for name, clients, times, seconds in found:
        ordered = sorted(times)
        high = ordered[int(len(ordered) * 0.99)]
        yield (
            f"| {name} | {clients} | {len(times) / seconds:,.0f} | "
            f"{statistics.median(times) * 1e3:.2f} ms | {high * 1e3:.2f} ms |"
        )


def main() -> None:
    """Print the table, or write it to the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="their appends count together")
    parser.add_argument("--seconds", type=float, default=4.0, help="of each measurement")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name}")
    options = parser.parse_args()
    load = os.getloadavg()[0]
    found: dict[tuple[int, str], list[float]] = {}
    with tempfile.TemporaryDirectory() as folder, contestants(Path(folder)) as stores:
        for run in (*stores.values(),):
            run(2, 1.0)  # warm
        for _ in range(options.rounds):
            for clients in CLIENTS:
                for name, run in stores.items():
                    found.setdefault((clients, name), []).extend(run(clients, options.seconds))
    seconds = options.rounds * options.seconds
    rows = [(name, clients, times, seconds) for (clients, name), times in sorted(found.items())]
    lines = "\n".join(table(rows))
    made = (
        f"Made by `python -m ops.bench.appends --rounds {options.rounds} --seconds "
        f"{options.seconds:g} --write`, all on two cores, load {load:.1f} before the start. Each "
        "client is a thread that appends events of 1,000 bytes to a stream of its own and waits "
        "for each answer, which comes after the flush; the stores are measured in turn."
    )
    if options.write:
        write(PAGE, f"# Durable appends\n\n{fill(made, WIDTH)}\n\n{lines}")
    else:
        print(lines)


if __name__ == "__main__":
    main()
