"""Metrics of the supervisor, written to the folder that the programs share."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final, Protocol

from prometheus_client.mmap_dict import MmapedDict, mmap_key

from service.runtime.telemetry import RESTARTS

DISK_EVERY: Final = 15.0
"""Seconds between two measurements of the disk."""

DISK: Final = {
    "shithead_disk_free_bytes": "Bytes free on the disk of the data folder",
    "shithead_disk_size_bytes": "Size of the disk of the data folder in bytes",
}
"""The metrics of the disk, with their descriptions."""


BASE_BACKUP: Final = "shithead_base_backup_timestamp_seconds"
"""The metric of the base backup from which a restore would begin."""


class SupervisorMetrics:
    """
    Restarts of programs, the room on the disk of the data folder, and the age of the base backup.

    The files have the format of `prometheus_client`. Its own metrics cannot be used here: whether
    they are shared is decided at the import, before the data folder is known.
    """

    def __init__(self, shared: Path, data: Path) -> None:
        self._counters = _file(shared, "counter")
        self._gauges = _file(shared, "gauge_mostrecent")
        self._data = data
        self._restarts: dict[str, int] = {}
        self._base_backup: float | None = None
        self._due = 0.0

    def begin(self, programs: Iterable[str]) -> None:
        """Show 0 restarts of the programs, so that the first one is an increase."""
        for program in programs:
            self._set_restarts(program, 0)

    def restarted(self, program: str) -> None:
        """Count a restart."""
        self._set_restarts(program, self._restarts.get(program, 0) + 1)

    def show_base_backup(self, at: float | None) -> None:
        """Show when the newest base backup began; without one there is no such metric."""
        if at is None or at == self._base_backup:
            return
        self._base_backup = at
        key = mmap_key(
            BASE_BACKUP, BASE_BACKUP, [], [], "Time at which the newest base backup began"
        )
        self._gauges.write_value(key, at, time.time())

    def measure_disk_due(self) -> None:
        """Measure the disk, at most every 15 seconds."""
        if time.monotonic() < self._due:
            return
        self._due = time.monotonic() + DISK_EVERY
        found = os.statvfs(self._data)
        blocks = found.f_bavail, found.f_blocks
        for (name, text), count in zip(DISK.items(), blocks, strict=True):
            key = mmap_key(name, name, [], [], text)
            self._gauges.write_value(key, float(count * found.f_frsize), time.time())

    def _set_restarts(self, program: str, count: int) -> None:
        self._restarts[program] = count
        [family] = RESTARTS.describe()
        sample = f"{family.name}_total"
        key = mmap_key(family.name, sample, ["program"], [program], family.documentation)
        self._counters.write_value(key, float(count), 0.0)


class _File(Protocol):
    def write_value(self, key: str, value: float, timestamp: float) -> None: ...


def _file(folder: Path, kind: str) -> _File:
    """Return the file of this process with the metrics of a kind."""
    path = str(folder / f"{kind}_{os.getpid()}.db")
    file: _File = MmapedDict(path)  # type: ignore[no-untyped-call] # the library has no type here
    return file
