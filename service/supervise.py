"""Children kept running: started, started again when they die, and stopped together in time."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from service.embedded import last_words, start_child, stop_child, sweep_group

_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0  # seconds before a program is started again
_STEADY = 30.0  # seconds after which a death is a new story


class StartError(Exception):
    """What was asked for cannot be started; the message says why and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A program to keep running, and its name in messages and of its log."""

    name: str
    command: Sequence[str | Path]


@dataclass(slots=True, kw_only=True)
class _Running:
    program: Program
    child: subprocess.Popen[bytes] | None = None
    started: float = 0.0
    deaths: int = 0
    due: float = field(default=0.0)  # when to start it again


class Supervisor:
    """The programs of one service, each in a session of its own."""

    def __init__(self, *, logs: Path, environment: Mapping[str, str], folder: Path) -> None:
        self._logs = logs
        self._environment = environment
        self._folder = folder
        self._running: list[_Running] = []

    def start(self, program: Program) -> None:
        """Start `program` and keep it running from now on."""
        running = _Running(program=program)
        self._running.append(running)
        self._launch(running)

    def look_after(self) -> None:
        """Start again what died, after a pause that grows while it keeps dying."""
        now = time.monotonic()
        for running in self._running:
            if running.child is not None and running.child.poll() is not None:
                self._bury(running, now)
            if running.child is None and now >= running.due:
                self._launch(running)

    def refuse_deaths(self) -> None:
        """Raise StartError if a program has ended: at the start that is no accident."""
        for running in self._running:
            if running.child is not None and running.child.poll() is not None:
                words = last_words(self._log_of(running.program), lines=8)
                raise StartError(f"the {running.program.name} does not start:\n{words}")

    def processes(self) -> dict[str, int]:
        """Return the process of every program that runs."""
        return {r.program.name: r.child.pid for r in self._running if r.child is not None}

    def stop(self, *, patience: float) -> None:
        """Ask all to end at once, and after `patience` seconds together end them."""
        children = [r.child for r in self._running if r.child is not None]
        self._running.clear()
        for child in children:
            if child.poll() is None:
                child.send_signal(signal.SIGTERM)
        end = time.monotonic() + patience
        while time.monotonic() < end and any(child.poll() is None for child in children):
            time.sleep(0.02)
        for child in children:
            stop_child(child, [])

    def _launch(self, running: _Running) -> None:
        running.child = start_child(
            running.program.command,
            log=self._log_of(running.program),
            environment=self._environment,
            folder=self._folder,
        )
        running.started = time.monotonic()

    def _bury(self, running: _Running, now: float) -> None:
        """Note the death of a child, end what it left behind, and say when it starts again."""
        child, running.child = running.child, None
        if child is None:
            return
        sweep_group(child)
        running.deaths = 1 if now - running.started > _STEADY else running.deaths + 1
        pause = min(_SHORTEST_PAUSE * 2 ** (running.deaths - 1), _LONGEST_PAUSE)
        running.due = now + pause
        print(
            f"the {running.program.name} ended ({_reason(child.returncode)}); "
            f"started again in {pause:.1f} s",
            file=sys.stderr,
            flush=True,
        )

    def _log_of(self, program: Program) -> Path:
        return self._logs / f"{program.name.replace(' ', '-')}.log"


def _reason(code: int) -> str:
    if code >= 0:
        return f"status {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"
