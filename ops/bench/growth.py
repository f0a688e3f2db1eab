#!/usr/bin/env python3
"""
Cost of a move with millions of events stored: python -m ops.bench.growth [--events N …] [--write].

Two services run over two databases of one durable PostgreSQL. One database stays empty but for
the games of this run; the other gets running games, and finished ones until it has N events.
At each size the same clients as in `http_moves` play through both services in turn, so each ratio
comes from one stretch of time. On a shared machine processor time varies less than the others.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill

import psycopg

from ops.bench.copied_games import fill_up
from ops.bench.http_moves import CLIENTS, ComparedService, Figures
from ops.bench.pages import WIDTH, write
from ops.bench.services import unlimited_service
from service.local.servers import EmbeddedPostgres
from service.store.migrate import migrate
from tests import servers

PAGE = Path(__file__).parent / "results" / "growth.md"
SIDES = ("empty", "filled")
MOST = 1.10
"""The target: the greatest ratio of a figure of the filled database to that of the empty one."""


@dataclass(slots=True, kw_only=True)
class Level:
    """The figures of both sides at one number of events in the filled database."""

    events: int
    size: int  # bytes of the filled database
    rounds: list[dict[str, Figures]]
    idle: float  # share of a core that PostgreSQL takes for both services without calls

    def ratios(self, figure: str) -> list[float]:
        """Return the ratio of each round, filled to empty, in ascending order."""
        return sorted(
            _value(one["filled"], figure) / _value(one["empty"], figure) for one in self.rounds
        )

    def lines(self) -> Iterator[str]:
        """Yield the rows of the table: the filled database, the empty one, the ratio."""
        title = f"{self.events:,} events, {self.size / 1e9:.1f} GB"
        for side in reversed(SIDES):
            cells = (
                statistics.median(_value(one[side], name) for one in self.rounds)
                for name in FIGURES
            )
            what = title if side == "filled" else "empty"
            yield f"| {what} | {' | '.join(f'{cell:.2f} ms' for cell in cells)} |"
        spread = (self.ratios(name) for name in FIGURES)
        ratios = (f"{statistics.median(one):.2f} ({one[0]:.2f}–{one[-1]:.2f})" for one in spread)
        yield f"| ratio | {' | '.join(ratios)} |"


FIGURES = {
    "API": "CPU of API a request",
    "PostgreSQL": "CPU of PostgreSQL",
    "CPU": "CPU of both",
    "POST": "POST p50",
    "GET": "GET p50",
}
JUDGED = ("CPU", "POST", "GET")


def _value(figures: Figures, name: str) -> float:
    """Return one of FIGURES in milliseconds."""
    match name:
        case "POST":
            return statistics.median(figures.moves) * 1e3
        case "GET":
            return statistics.median(figures.reads) * 1e3
        case "CPU":
            return figures.cpu_of("API") + figures.cpu_of("PostgreSQL")
        case _:
            return figures.cpu_of(name)


def measured(options: argparse.Namespace) -> Iterator[Level]:
    """Yield the figures with nothing stored, then those of each size."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        postgres = EmbeddedPostgres(Path(folder) / "postgres")
        stack.callback(lambda: shutil.rmtree(postgres.data.parent, ignore_errors=True))
        stack.callback(postgres.stop)
        owner, database = postgres.start(), postgres.process
        assert database is not None
        with psycopg.connect(owner, autocommit=True) as connection:
            for name in SIDES:
                connection.execute(f"CREATE DATABASE {name}")
        redis_url = stack.enter_context(servers.valkey(Path(folder) / "valkey"))
        sides: dict[str, ComparedService] = {}
        for number, name in enumerate(SIDES):
            url, redis = postgres.url_of(name), f"{redis_url.rpartition('/')[0]}/{number}"
            migrate(url)
            service = stack.enter_context(unlimited_service(url, redis, Path(folder)))
            roots = {"API": service.children["API"].pid, "PostgreSQL": database.pid}
            sides[name] = ComparedService(name="ours", port=service.port, roots=roots)
            sides[name].measure(options.seconds, CLIENTS)  # warm; some games end, some go on
        yield _level(sides, options, *_stored(postgres.url_of("filled")))
        for events in options.events:
            stored = fill_up(postgres.url_of("filled"), events=events, running=options.running)
            for side in sides.values():
                side.measure(options.seconds / 2, CLIENTS)  # warm again
            yield _level(sides, options, *stored)


def _level(
    sides: dict[str, ComparedService], options: argparse.Namespace, events: int, size: int
) -> Level:
    """Measure both sides in turn; which comes first changes from round to round."""
    rounds = []
    for number in range(options.rounds):
        order = SIDES if number % 2 else tuple(reversed(SIDES))
        rounds.append({name: sides[name].measure(options.seconds, CLIENTS) for name in order})
    idle = sides["empty"].idle(options.seconds)["PostgreSQL"] / options.seconds
    return Level(events=events, size=size, rounds=rounds, idle=idle)


def _stored(url: str) -> tuple[int, int]:
    """Return the events and the bytes of a database."""
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute(
            "SELECT sum(version)::bigint, pg_database_size(current_database()) FROM streams"
        ).fetchone()
        assert row is not None
        return int(row[0]), int(row[1])


def page(levels: list[Level], options: argparse.Namespace, load: tuple[float, float]) -> str:
    """Return the table with the conditions of its run, and whether the target is reached."""
    last = levels[-1]
    worst = max(statistics.median(last.ratios(name)) for name in JUDGED)
    sizes = " ".join(map(str, options.events))
    command = f"--events {sizes} --rounds {options.rounds} --seconds {options.seconds:g} --write"
    made = (
        f"Made by `python -m ops.bench.growth {command}`: client, services and PostgreSQL on two "
        f"cores, load {load[0]:.1f} before the start and {load[1]:.1f} at the end. With the first "
        f"size the filled database gets {options.running:,} running games. The table shows medians "
        "of the rounds. A ratio is that of filled to empty within a round; the least and the "
        "greatest are in brackets."
    )
    reached = "reached" if worst <= MOST else "not reached"
    idle = ", ".join(f"{level.idle:.1%}" for level in levels)
    judged = (
        f"Target: at the last size the ratios of *CPU of both*, *POST p50* and *GET p50* are at "
        f"most {MOST:.2f}. The greatest of their medians is {worst:.2f}: {reached}. Without calls, "
        f"PostgreSQL takes this share of a core for both services together, at each size in turn: "
        f"{idle}."
    )
    titles = list(FIGURES.values())
    table = [f"| | {' | '.join(titles)} |", f"| --- |{' --- |' * len(titles)}"]
    table += [line for level in levels for line in level.lines()]
    parts = ("# Cost of a move with many events stored", fill(made, WIDTH), "\n".join(table))
    return "\n\n".join((*parts, fill(judged, WIDTH)))


def main() -> None:
    """Print the table, or write it to the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, nargs="+", default=[1_000_000], help="sizes")
    parser.add_argument("--running", type=int, default=10_000, help="running games")
    parser.add_argument("--rounds", type=int, default=8, help="at each size")
    parser.add_argument("--seconds", type=float, default=2.0, help="of each measurement")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name}")
    options = parser.parse_args()
    before = os.getloadavg()[0]
    levels = []
    for level in measured(options):
        levels.append(level)
        print("\n".join(level.lines()), flush=True)
    text = page(levels, options, (before, os.getloadavg()[0]))
    if options.write:
        write(PAGE, text)
    else:
        print(text)


if __name__ == "__main__":
    main()
