#!/usr/bin/env python3
"""
Reading times of one finished hand of 300 events: python -m ops.bench.reading [--write].

Each call is answered by the application in this process, over its own PostgreSQL, after warm-up:
the figure is the time of the server without HTTP. `shithead verify` runs as a program of its own.
Targets are for processor time, which varies less on a shared machine than elapsed time.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from uuid import UUID

from flask import Flask
from werkzeug.test import EnvironBuilder, run_wsgi_app

from ops.bench.long_hand import long_hand
from ops.bench.services import durable_postgres
from service.api.app import create_app
from service.application.calls import Caller, Player
from service.bootstrap import Services, services_from
from service.config import Settings
from service.keys import Keyring
from service.store.migrate import service_url
from service.telemetry import configure_logs

PAGE = Path(__file__).parent / "results" / "reading.md"
EVENTS = 300
NEAR = 10
"""The allowed difference from EVENTS."""

ACTIONS = range(EVENTS - NEAR, EVENTS + NEAR)
CALLS = 30
PROGRAMS = 5
BUNDLES = 100

Timed = tuple[float, float]
"""Seconds of processor time, and elapsed seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A reading with its medians, and its target, in seconds."""

    name: str
    processor: float
    elapsed: float
    first: float | None  # processor time of the first call in the process
    target: float

    def line(self) -> str:
        """Return the row of the table."""
        reached = "yes" if self.processor <= self.target else "no"
        first = "" if self.first is None else f"{self.first * 1e3:.1f} ms"
        cells = (f"{seconds * 1e3:.1f} ms" for seconds in (self.processor, self.elapsed))
        aim = f"{self.target * 1e3:g} ms | {reached}"
        return f"| {self.name} | {' | '.join(cells)} | {aim} | {first} |"


def readings(move: int) -> dict[str, tuple[str, float]]:
    """Return the path below the game and the target in seconds, by what is read."""
    return {
        "view of the present": ("", 0.001),
        "view at version 150": ("?at=150&as=all", 0.005),
        "view at a version, another each time": ("?at={version}&as=all", 0.005),
        "whole replay": ("/replay?as=all", 0.025),
        "audit of one move": (f"/audit/moves/{move}", 0.010),
        "audit of the game": ("/audit", 0.060),
        "evidence bundle": ("/evidence?profile=public", 0.005),
    }


def finished_hand(services: Services) -> tuple[UUID, int, str]:
    """Return a sealed hand of about EVENTS events, the seq of a play in it, and a token."""
    people = [services.players.register(name) for name in ("Ada", "Bob", "Cy")]
    players = [Player(id=UUID(one["id"]), name=one["name"]) for one in people]
    for actions in ACTIONS:
        game = long_hand(services, players, actions=actions)
        services.moves.move(Caller(player=players[0].id), game, {"type": "forfeit"})
        entry = services.game_cache.fresh(game)
        if entry is not None and abs(entry.version - EVENTS) <= NEAR:
            return game, _play(services, game), str(people[0]["token"])
    raise ValueError(f"no hand had about {EVENTS} events")


def _play(services: Services, game: UUID) -> int:
    """Return the seq of a play in the middle of a game."""
    lines = services.game_cache.lines(game)
    return next(seq for seq in range(150, len(lines)) if b'"cards_played"' in lines[seq])


def timed(act: Callable[[], object]) -> Timed:
    """Return the processor time of this process and the time that a call took."""
    processor, elapsed = time.process_time(), time.perf_counter()
    act()
    return time.process_time() - processor, time.perf_counter() - elapsed


def timed_program(command: list[str]) -> Timed:
    """Return the processor time and the time of a program that ends with status 0 or 2."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    ended = subprocess.run(command, check=False, capture_output=True, text=True)
    elapsed = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if ended.returncode not in (0, 2):
        raise ValueError(f"{' '.join(command)}: {ended.stdout}{ended.stderr}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, elapsed


def row(
    name: str, target: float, figures: list[Timed], *, share: int = 1, first: float | None = None
) -> Row:
    """Return the medians of some runs, divided by the number of operations in each."""
    processor = statistics.median(one[0] for one in figures) / share
    elapsed = statistics.median(one[1] for one in figures) / share
    return Row(name=name, processor=processor, elapsed=elapsed, first=first, target=target)


def called(app: Flask, path: str, token: str) -> bytes:
    """Return the body of an answer; raises ValueError unless it is a success."""
    environ = EnvironBuilder(path=path).get_environ() | {"HTTP_AUTHORIZATION": f"Bearer {token}"}
    body, status, _ = run_wsgi_app(app, environ, buffered=True)
    if not status.startswith("200"):
        raise ValueError(f"{path}: {status}")
    return b"".join(body)


def rows(app: Flask, services: Services, folder: Path) -> Iterator[Row]:
    """Yield the figures of all readings, then those of the program."""
    game, move, token = finished_hand(services)
    for name, (rest, target) in readings(move).items():
        path = f"/v1/games/{game}{rest}"
        paths = [path.format(version=100 + number) for number in range(CALLS)]
        first, _ = timed(partial(called, app, paths[0], token))
        figures = [timed(partial(called, app, each, token)) for each in paths]
        yield row(name, target, figures, first=first)
    bundle = folder / f"{game}.shx"
    bundle.write_bytes(called(app, f"/v1/games/{game}/evidence?profile=public", token))
    yield from programs(bundle, folder)


def programs(bundle: Path, folder: Path) -> Iterator[Row]:
    """Yield the figures of `shithead verify`."""
    command = [sys.executable, "-m", "service.cli", "verify"]
    once = [*command, str(bundle)]
    timed_program(once)  # writes the bytecode
    runs = [timed_program(once) for _ in range(PROGRAMS)]
    yield row("`shithead verify`, start of the program included", 0.25, runs)
    many = [folder / f"{number}.shx" for number in range(BUNDLES)]
    for each in many:
        shutil.copy(bundle, each)
    yield row(
        f"`shithead verify` of {BUNDLES} bundles, each",
        0.1,
        [timed_program([*command, *map(str, many)])],
        share=BUNDLES,
    )


def measured() -> list[Row]:
    """Return all figures."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        url = stack.enter_context(durable_postgres(Path(folder))).url
        settings = Settings(
            database_url=service_url(url),
            keys=Keyring.generate().to_text(),
            origin="bench.example",
            rate_limits=False,
        )
        configure_logs(settings)
        nowhere = stack.enter_context(Path(os.devnull).open("w"))
        stack.enter_context(contextlib.redirect_stderr(nowhere))  # the request log
        services = services_from(settings)
        return list(rows(create_app(services, settings), services, Path(folder)))


def main() -> None:
    """Print the table, or write it to the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name}")
    options = parser.parse_args()
    head = (
        "| reading | processor time | elapsed time | target | reached | first call |",
        "| --- | --- | --- | --- | --- | --- |",
    )
    lines = [*head, *(row.line() for row in measured())]
    if not options.write:
        print("\n".join(lines))
        return
    load = os.getloadavg()
    text = (
        "# Reading times\n\n"
        "Made by `python -m ops.bench.reading --write` on a machine with two cores, load "
        f"{load[0]:.1f} at\nthe end. One finished hand of `shithead`, three seats, {EVENTS} events "
        f"(±{NEAR}); medians of {CALLS}\ncalls after a first one, and of {PROGRAMS} runs of the "
        "program. Targets are for the processor time\nof the process that answers, "
        "without PostgreSQL. Views, replay and audits of a\nfinished hand are computed "
        "once and kept in the process; *first call* is the processor time\nof that, with "
        "imports.\n\n"
    )
    PAGE.write_text(text + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
