"""
Signs of life: a server kills those of its processes that hang, so that they are replaced.

Processes that a web server forked inherit its pipe. The programs of `shithead up` are forks of
another process, so they open a named pipe. systemd has a socket of its own.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import struct
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import structlog

from service.runtime.telemetry import RESTARTS

ROUNDS: Final = 7
"""
Rounds without a sign of life after which a process is killed.

On two cores at a load of 38 no program of `shithead up` missed more than one in 90 s.
"""

ORPHAN_SECONDS: Final = 3.0
"""From the end of its parent until a process of a server is killed."""

_BEAT: Final = struct.Struct("!i")  # the process id; a pipe passes on so few bytes whole
_READ: Final = 4096 * _BEAT.size
_log = structlog.stdlib.get_logger("shithead.heartbeat")


@dataclass(slots=True, kw_only=True)
class _Process:
    handle: int  # a pidfd: its signals never reach another process that got the same id
    silent: int  # rounds since its last sign of life; negative before the first


class Heartbeat:
    """
    A pipe on which the processes of a server show that they run, and the watch at its end.

    Silence is counted in rounds of the watch and not in time: if the machine, or all processes
    together, are suspended for an hour, nothing is killed afterwards. A process that has just been
    forked imports modules before its first sign of life, so it has `start_seconds` for it.
    """

    def __init__(self, program: str, *, seconds: float, start_seconds: float) -> None:
        self._server = os.getpid()
        self._program = program
        RESTARTS.labels(program)  # 0 from the start, so that the first restart is an increase
        self._interval = seconds / ROUNDS
        self._silent_at_start = silent_at_start(seconds=seconds, start_seconds=start_seconds)
        self._reading, self._writing = os.pipe()
        for end in (self._reading, self._writing):
            os.set_blocking(end, False)
        self._processes: dict[int, _Process] = {}

    def forked(self) -> None:
        """Show that this process exists, if it is one that the server forked just now."""
        if os.getppid() == self._server:
            self.send(os.getpid())

    def beat(self) -> None:
        """Show signs of life of this process from now on; it is one that the server forked."""
        threading.Thread(target=self._beat, name="heartbeat", daemon=True).start()

    def watch(self) -> None:
        """Watch the processes from now on; the server replaces those that end."""
        threading.Thread(target=self._watch, name="heartbeats", daemon=True).start()

    def round(self) -> None:
        """Count those that showed no sign of life since the last round, and end the hung ones."""
        heard = _heard(self._reading)
        for pid, process in list(self._processes.items()):
            process.silent = 0 if pid in heard else process.silent + 1
            if select.select([process.handle], [], [], 0)[0]:  # it has ended
                RESTARTS.labels(self._program).inc()
                os.close(self._processes.pop(pid).handle)
            elif process.silent == ROUNDS:
                _log.error("a process hangs and is killed", program=self._program, pid=pid)
                with contextlib.suppress(ProcessLookupError):
                    signal.pidfd_send_signal(process.handle, signal.SIGKILL)
        for pid in heard - self._processes.keys():  # it exists: its signs of life follow
            with contextlib.suppress(ProcessLookupError):  # it has ended since
                handle = os.pidfd_open(pid)
                self._processes[pid] = _Process(handle=handle, silent=self._silent_at_start)

    def close(self) -> None:
        """Close the pipe and the handles of the processes."""
        for descriptor in (self._reading, self._writing):
            os.close(descriptor)
        for process in self._processes.values():
            os.close(process.handle)

    def send(self, pid: int) -> None:
        """Show a sign of life of one process."""
        with contextlib.suppress(BlockingIOError):  # the watch hangs itself
            os.write(self._writing, _BEAT.pack(pid))

    def _beat(self) -> None:
        while os.getppid() == self._server:
            self.send(os.getpid())
            time.sleep(self._interval)
        _end_without_parent()

    def _watch(self) -> None:
        while True:
            time.sleep(self._interval)
            self.round()


def _end_without_parent() -> None:
    """
    End this process, whose parent was killed: nothing else ends it, and it would keep the port.

    Requests that it has begun have some seconds to end.
    """
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(ORPHAN_SECONDS)
    os.kill(os.getpid(), signal.SIGKILL)


def silent_at_start(*, seconds: float, start_seconds: float) -> int:
    """Return from where to count the silent rounds of a new process, so that it hangs at ROUNDS."""
    return ROUNDS - round(start_seconds / seconds * ROUNDS)


_ALIVE: Final = b"READY=1\nWATCHDOG=1"
"""The message to systemd, which counts silence only from the first one on."""

LIFE_PIPE: Final = "LIFE_PIPE"
"""The environment variable with the path of the named pipe, and the seconds between two signs."""


class NamedPipe:
    """A named pipe in a private folder on which programs show that they run."""

    def __init__(self, path: Path) -> None:
        """Create the pipe anew; raises OSError if the file system has none."""
        path.unlink(missing_ok=True)
        os.mkfifo(path, 0o600)
        self._handle = os.open(path, os.O_RDWR | os.O_NONBLOCK)

    def heard(self) -> set[int]:
        """Return the processes that showed a sign of life since the last call."""
        return _heard(self._handle)


def show_life_of_program() -> None:
    """Show signs of life to `shithead up` or systemd; without effect for another supervisor."""
    path, _, interval = os.environ.get(LIFE_PIPE, "").rpartition(" ")
    if path:
        handle = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
        _repeat(lambda: os.write(handle, _BEAT.pack(os.getpid())), seconds=float(interval))
    address, limit = os.environ.get("NOTIFY_SOCKET"), os.environ.get("WATCHDOG_USEC")
    if address and limit:  # sd_notify(3); a name that begins with @ is an abstract one
        target = address.replace("@", "\0", 1) if address.startswith("@") else address
        systemd = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        _repeat(lambda: systemd.sendto(_ALIVE, target), seconds=int(limit) / 1e6 / ROUNDS)


def _repeat(act: Callable[[], object], *, seconds: float) -> None:
    """Call `act` again and again, in a thread."""

    def beat() -> None:
        while True:
            with contextlib.suppress(OSError):  # the supervisor hangs, or has ended
                act()
            time.sleep(seconds)

    threading.Thread(target=beat, name="heartbeat", daemon=True).start()


def _heard(reading: int) -> set[int]:
    heard = set[int]()
    with contextlib.suppress(BlockingIOError):
        while data := os.read(reading, _READ):
            heard.update(pid for (pid,) in _BEAT.iter_unpack(data))
    return heard


_present: list[Heartbeat] = []  # of the server that forked this process; at most one


def watch_processes(program: str, *, seconds: float, start_seconds: float) -> None:
    """
    Kill each process of this server that shows no sign of life for `seconds`.

    It has `start_seconds` for the first one. Call it before the processes are forked. Without
    effect on systems other than Linux.
    """
    if hasattr(os, "pidfd_open"):
        _present.append(Heartbeat(program, seconds=seconds, start_seconds=start_seconds))
        _present[0].watch()
        os.register_at_fork(after_in_child=_present[0].forked)


def show_life() -> None:
    """Show signs of life to the server that forked this process; without effect if none did."""
    for heartbeat in _present:
        heartbeat.beat()
