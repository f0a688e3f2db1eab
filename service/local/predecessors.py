"""Processes that a killed program left behind: find them by their folder, wait, and end them."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

_PROCESSES = Path("/proc")
_NAME_LENGTH = 15  # of a process name in Linux

Found = Callable[[], Sequence[int]]
"""Returns the ids of the processes that are left, the first of them their leader."""


def working_in(folder: Path, program: str) -> list[int]:
    """
    Return the ids of the processes named `program…` whose working directory is `folder`.

    The list is empty where the system has no /proc.
    """
    found = (int(process.name) for process in _PROCESSES.glob("[0-9]*"))
    return sorted(pid for pid in found if _works_in(pid, folder, program))


def runs_in(pid: int, folder: Path, program: str) -> bool:
    """Return whether the process runs `program` in `folder`; another process may have its id."""
    if (_PROCESSES / "self").exists():
        return _works_in(pid, folder, program)
    asked = ["ps", "-ww", "-o", "stat=,args=", "-p", str(pid)]
    answer = subprocess.run(asked, capture_output=True, text=True, check=False).stdout
    return program in answer and str(folder) in answer and not answer.startswith("Z")


def holding_deleted(file: Path) -> list[int]:
    """
    Return the ids of the other processes that have open a file of this name that was deleted.

    The list is empty where the system has no /proc.
    """
    found = (int(process.name) for process in _PROCESSES.glob("[0-9]*"))
    name = f"{file} (deleted)"
    return sorted(pid for pid in found if pid != os.getpid() and _has_open(pid, name))


def children_of(pid: int) -> list[int]:
    """Return the ids of the processes that `pid` started."""
    answer = subprocess.run(
        ["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=False
    )
    pairs = [line.split() for line in answer.stdout.splitlines()]
    return [int(child) for child, parent in pairs if int(parent) == pid]


def end_all(found: Found, signals: Sequence[tuple[signal.Signals | None, float]]) -> list[int]:
    """
    End the processes that `found` returns; return those that are still there.

    Each signal goes to their leader and is followed by its seconds of waiting (None: wait only).
    SIGKILL goes to all, because a process that is stopped does not see the end of its leader.
    """
    for number, seconds in signals:
        left = found()
        for pid in left if number is signal.SIGKILL else left[:1]:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number or 0)
        end = time.monotonic() + seconds
        while (left := found()) and time.monotonic() < end:
            time.sleep(0.05)
        if not left:
            return []
    return list(found())


def _has_open(pid: int, name: str) -> bool:
    try:
        return any(str(one.readlink()) == name for one in (_PROCESSES / str(pid) / "fd").iterdir())
    except OSError:  # it has ended, or belongs to another user
        return False


def _works_in(pid: int, folder: Path, program: str) -> bool:
    process = _PROCESSES / str(pid)
    try:
        if not (process / "comm").read_text().startswith(program[:_NAME_LENGTH]):
            return False
        return (process / "cwd").samefile(folder)
    except OSError:  # it has ended, or belongs to another user
        return False
