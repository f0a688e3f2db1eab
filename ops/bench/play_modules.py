#!/usr/bin/env python3
"""
Modules that take part in one move: python -m ops.bench.play_modules.

One warm, unsigned play without an Idempotency-Key is sent through the WSGI application over a
PostgreSQL of its own; each module of `service` and `schemas` of which a function runs is listed.
It shows how many files a reader has to open to follow a move.
"""

from __future__ import annotations

import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import structlog

from service.local.servers import EmbeddedPostgres
from service.store.migrate import migrate
from tests.worlds.api_world import Person, make_world

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("service", "schemas")


def main() -> None:
    """Print the modules of one move, and their number."""
    structlog.configure(processors=[], logger_factory=structlog.ReturnLoggerFactory())
    with tempfile.TemporaryDirectory() as folder:
        postgres = EmbeddedPostgres(Path(folder), durable=False)
        try:
            url = postgres.start()
            migrate(url)
            world = make_world(url, rate_limits=True)
            found = modules_of(_next_play(world.person("Ada"), world.person("Bob")))
            world.services.close()
        finally:
            postgres.stop()
    print("\n".join(sorted(found)))
    print(f"{len(found)} modules")


def modules_of(act: Callable[[], Any]) -> set[str]:
    """Return the modules of PACKAGES of which a function runs during `act`, in any thread."""
    seen: set[str] = set()

    def note(frame: FrameType, _event: str, _argument: Any) -> None:
        seen.add(frame.f_code.co_filename)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        act()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    paths = [Path(name) for name in seen]
    inside = [path.relative_to(ROOT) for path in paths if path.is_relative_to(ROOT)]
    return {str(path) for path in inside if path.parts[0] in PACKAGES}


def _next_play(ada: Person, bob: Person) -> Callable[[], Any]:
    """Return a call that makes the third move of a hand."""
    table = ada.table("open", window_seconds=0)["id"]
    path = f"/v1/games/{bob.post(f'/v1/tables/{table}/seats').json['game']}"
    people = (ada, bob)
    for person in people:
        person.post(f"{path}/moves", {"type": "ready"})
    for last in (False, False, True):
        turn = ada.get(path).json["turn"]
        move = people[turn].get(path).json["moves"][0]
        people[1 - turn].get(path)
        if last:
            return lambda: people[turn].post(f"{path}/moves", move)
        people[turn].post(f"{path}/moves", move)
    raise AssertionError("not reached")


if __name__ == "__main__":
    main()
