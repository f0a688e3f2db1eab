"""
Probes of the embedded servers: whether a server still answers on a new connection.

They never block and use no thread: a fork with `preexec_fn` is not safe beside other threads.
"""

from __future__ import annotations

import contextlib
import shutil
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

PROBE_SECONDS: Final = 10.0
"""Seconds for the answer on a connection, and between two connections."""

PROBES: Final = 3
"""Connections without an answer in a row, after which a server hangs."""

_STEADY_SECONDS: Final = 3600.0  # of answers, after which patience is the shortest again
_MOST_DOUBLINGS: Final = 6  # of the patience: half an hour
_FULL_BYTES: Final = 32 << 20  # free bytes below which the disk counts as full


class Probe:
    """
    Asks one server on new connections to its socket, one at a time.

    `question` is one that the server answers without reading its data, also while it starts,
    recovers from a crash or shuts down: on a slow disk it answers, and is left alone. Each time it
    hangs again it has twice the time, so that no fault of the machine becomes an endless recovery.
    """

    def __init__(
        self,
        path: Path,
        question: bytes,
        *,
        disk: Path,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.path = path
        self._question = question
        self._disk = disk
        self._monotonic = monotonic
        self._asked: socket.socket | None = None
        self._due = monotonic() + PROBE_SECONDS  # of the answer, or of the next question
        self._failed = 0
        self._doublings = 0
        self._hung = -_STEADY_SECONDS  # when it hung last

    def hangs(self, pid: int) -> bool:
        """Return whether the server with this process id hangs; ask it if that is due."""
        if self._asked is not None and self._is_answered():
            self._failed = 0
            self._close()
        now = self._monotonic()
        if not self._failed and now - self._hung >= _STEADY_SECONDS:
            self._doublings = 0
        if now < self._due:
            return False
        if self._asked is not None:
            self._close()
            self._failed += not self._waits_for_disk(pid)
        if self._failed >= PROBES << self._doublings:
            return True
        self._due = now + PROBE_SECONDS
        self._ask()
        return False

    def ended(self, *, hung: bool) -> None:
        """Begin again with a server that is started anew; one that `hung` has more time."""
        self._close()
        now = self._monotonic()
        if hung:
            self._doublings = min(self._doublings + 1, _MOST_DOUBLINGS)
            self._hung = now
        self._failed, self._due = 0, now + PROBE_SECONDS

    def _ask(self) -> None:
        self._asked = socket.socket(socket.AF_UNIX)
        self._asked.setblocking(False)
        with contextlib.suppress(OSError):  # as with a full queue of connections: no answer
            self._asked.connect(str(self.path))
            self._asked.send(self._question)

    def _is_answered(self) -> bool:
        """Return whether the server sent something, or closed the connection."""
        if self._asked is None:
            return False
        try:
            self._asked.recv(1)
        except OSError:
            return False
        return True

    def _waits_for_disk(self, pid: int) -> bool:
        """Return whether the process waits for its disk, or that is full: an end would not help."""
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (OSError, IndexError):
            state = ""
        try:
            return state == "D" or shutil.disk_usage(self._disk).free < _FULL_BYTES
        except OSError:
            return True

    def _close(self) -> None:
        if self._asked is not None:
            self._asked.close()
            self._asked = None
