"""
Fork server for programs of the service that each kill themselves at a random step.

`python -m ops.bench.faults.fork_server PORT SEED CLOCK`: the modules are loaded once, so that a
killed program is replaced within milliseconds. CLOCK is the file by whose number of seconds the
clock of the programs jumps. Prints a line of JSON for each start and each kill.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import random
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from flask import Flask
from werkzeug.serving import WSGIRequestHandler, make_server

from ops.bench.faults.limits import JumpingClock
from ops.bench.faults.steps import Steps
from service.api.app import create_app
from service.application.ports import RealWorld
from service.feature import settings_of, sweeps_of
from service.features import FEATURES
from service.features.due_turns import DueTurns
from service.runtime.config import Settings, settings_from
from workers import jobs
from workers.main import Worker, work
from workers.relay import Relay
from workers.sequencer import LogSequencer
from workers.sweeper import Sweeper, SweepTurns

SLOTS = ("API", "API", "API", "worker", "worker", "relay", "sweeper", "sequencer")

MAX_STEPS = {"API": 1300, "worker": 1100, "relay": 60, "sweeper": 160, "sequencer": 150}
"""A program is killed within so many different lines; by then it has run most of its code."""

PAUSES = {"relay": 4.0, "sweeper": 4.0, "sequencer": 2.0}
"""The longest pause before a polling program is forked again, in seconds."""

MAX_CHANGES = 3
"""POST requests after which an API process is killed, even if few of their lines were new."""

_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Keep a child in every slot until this process is ended."""
    port, seed, clock = int(sys.argv[1]), int(sys.argv[2]), JumpingClock(Path(sys.argv[3]))
    setattr(RealWorld, "now", lambda _world: clock.now())  # noqa: B010 - mypy refuses a new method
    rng = random.Random(seed)
    settings = settings_from(declared=settings_of(FEATURES))
    app = create_app(FEATURES, settings=settings)
    jobs.services()
    listening = socket.create_server(("127.0.0.1", port), backlog=256)
    listening.set_inheritable(True)
    children: dict[int, str] = {}
    due = [(0.0, kind) for kind in SLOTS]
    while True:
        now = time.monotonic()
        for at, kind in [(at, kind) for at, kind in due if at <= now]:
            due.remove((at, kind))
            children[_fork(kind, rng, settings, app, listening)] = kind
        pid, _status = os.waitpid(-1, os.WNOHANG) if children else (0, 0)
        if pid:
            kind = children.pop(pid)
            due.append((time.monotonic() + rng.uniform(0, PAUSES.get(kind, 0.02)), kind))
        else:
            time.sleep(0.01)


def _fork(
    kind: str, rng: random.Random, settings: Settings, app: Flask, listening: socket.socket
) -> int:
    """Fork a program that will be killed at a random step; return its process id."""
    last, parent = rng.randrange(1, MAX_STEPS[kind]), os.getpid()
    pid = os.fork()
    if pid:
        _report({"started": kind, "pid": pid})
        return pid
    try:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:  # it was killed in between
            os._exit(70)
        random.seed()
        steps = Steps(
            last, lambda place: _report({"killed": kind, "pid": os.getpid(), "at": place})
        )
        _run(kind, steps, settings, app, listening)
    finally:
        os._exit(70)


def _run(kind: str, steps: Steps, settings: Settings, app: Flask, listening: socket.socket) -> None:
    match kind:
        case "API":
            _serve(steps, app, listening)
        case "worker":
            listening.close()
            _wrap(Worker, "execute_job", Worker.execute_job, steps)
            _wrap(DueTurns, "run_game", DueTurns.run_game, steps)  # in the thread of a game
            work(settings, threading.Event())
        case "relay":
            listening.close()
            _wrap(Relay, "pass_on", Relay.pass_on, steps)
            Relay(jobs.services()).run(lambda: False)
        case "sweeper":
            listening.close()
            _wrap(SweepTurns, "run", SweepTurns.run, steps)
            first, others = sweeps_of(FEATURES)
            Sweeper(jobs.services(), first=first, others=others).run(lambda: False)
        case "sequencer":
            listening.close()
            _wrap(LogSequencer, "one_round", LogSequencer.one_round, steps)
            LogSequencer(jobs.services()).run(lambda: False)


def _wrap(owner: type, name: str, act: Callable[..., Any], steps: Steps) -> None:
    setattr(owner, name, lambda *values: steps.watched(act, *values))


def _serve(steps: Steps, app: Flask, listening: socket.socket) -> None:
    """Answer requests on the shared socket; the steps are those of POST requests."""
    changes = 0

    class Handler(WSGIRequestHandler):
        def run_wsgi(self) -> None:
            nonlocal changes
            if self.command != "POST":
                super().run_wsgi()
                return
            steps.watched(super().run_wsgi)
            changes += 1
            if changes >= MAX_CHANGES:
                steps.end("after the answer")

        def log(self, type: str, message: str, *args: Any) -> None:  # noqa: A002 - the caller passes `type`
            """Log nothing: the application has its own log."""

    host, port = listening.getsockname()
    server = make_server(
        host, port, app, threaded=True, request_handler=Handler, fd=listening.fileno()
    )
    with contextlib.suppress(KeyboardInterrupt):
        server.serve_forever()


def _report(message: dict[str, Any]) -> None:
    os.write(1, json.dumps(message).encode() + b"\n")


if __name__ == "__main__":
    main()
