"""Kill a process between two steps: before a line that it has not run yet."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import psycopg
import psycopg_pool
import rq
import werkzeug

import service

ROOT = Path(service.__file__).resolve().parents[1]

TRACED = (
    *("service/application/", "service/store/", "service/api/", "service/public_log/"),
    *("service/shx/chain.py", "service/shx/receipts.py", "service/job_queue.py", "workers/"),
    *("service/features/", "service/due_games.py"),
)
"""The code of ours whose lines count: the rules, which they call, have no effect outside."""

_LIBRARIES = (
    *(str(Path(str(package.__file__)).parent) for package in (psycopg, psycopg_pool, rq)),
    str(Path(str(werkzeug.__file__)).parent / "serving.py"),
)
"""Lines around sending to the database, to the caller, and to Redis."""

Reporting = Callable[[str], None]


class Steps:
    """
    Kills this process with SIGKILL before the `last`-th different line of the traced code.

    Lines are counted in all calls of `watched`, in every thread. The
    operating system does the rest as for any killed process: nothing is flushed or closed by us.
    """

    def __init__(self, last: int, report: Reporting) -> None:
        self._last = last
        self._report = report
        self._seen: set[tuple[CodeType, int]] = set()
        self._ours: dict[CodeType, bool] = {}

    def watched(self, act: Callable[..., Any], *values: Any) -> Any:
        """Return what `act` returns, unless the process ends in it."""
        sys.settrace(self._called)
        try:
            return act(*values)
        finally:
            sys.settrace(None)

    def end(self, place: str) -> None:
        """End the process here, wherever the count is."""
        self._report(place)
        os.kill(os.getpid(), signal.SIGKILL)

    def _called(self, frame: FrameType, _event: str, _argument: Any) -> Any:
        code = frame.f_code
        ours = self._ours.get(code)
        if ours is None:
            ours = self._ours[code] = _place(code) is not None
        return self._line if ours else None

    def _line(self, frame: FrameType, event: str, _argument: Any) -> Any:
        if event == "line":
            self._seen.add((frame.f_code, frame.f_lineno))
            if len(self._seen) >= self._last:
                self.end(f"{_place(frame.f_code)}:{frame.f_lineno}")
        return self._line


def _place(code: CodeType) -> str | None:
    """Return a name for a function of the traced code, None for any other."""
    path = code.co_filename
    if path.startswith(str(ROOT)):
        inner = path[len(str(ROOT)) + 1 :]
        return f"{inner}:{code.co_name}" if inner.startswith(TRACED) else None
    for library in _LIBRARIES:
        if path.startswith(library):
            return f"{'/'.join(Path(path).parts[-2:])}:{code.co_name}"
    return None
