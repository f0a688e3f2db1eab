"""Metrics of the supervisor, and of `shithead check`: of the machine, not of one program."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, Protocol

from prometheus_client.mmap_dict import MmapedDict, mmap_key

from service.runtime.atomic_files import PUBLIC, write_whole
from service.runtime.telemetry import RESTARTS

DISK_EVERY: Final = 15.0
"""Seconds between two measurements of a disk."""

DISK: Final = {
    "shithead_disk_free_bytes": "Bytes free on the disk of a folder",
    "shithead_disk_size_bytes": "Size of the disk of a folder in bytes",
}
"""The metrics of a disk, with their descriptions; the label `disk` names the folder."""

_DISK_LINE: Final = re.compile(r" (\d+) +\d+ +(\d+) +\d+% +(\S.*)$")
"""The size and the free space in KiB, and the mount point, in the output of `df -Pk`."""


MEMORY: Final = {
    "MemAvailable": ("shithead_memory_available_bytes", "Memory that programs can still get"),
    "MemTotal": ("shithead_memory_size_bytes", "Memory of the machine"),
}
"""The metrics of memory by the names in /proc/meminfo, each with its description."""

CHECKED: Final = {
    "shithead_check_timestamp_seconds": "Time at which the last `shithead check` ended",
    "shithead_check_faults": "Faults that the last `shithead check` found",
}
"""The metrics of the last check, with their descriptions."""

CHECKED_FILE: Final = "check.prom"
"""The file in the data folder in which `shithead check` leaves its metrics."""

BASE_BACKUP: Final = "shithead_base_backup_timestamp_seconds"
"""The metric of the base backup from which a restore would begin."""


class SupervisorMetrics:
    """
    Restarts of programs, the room on disks and in memory, the ages of base backup and last check.

    The files have the format of `prometheus_client`. Its own metrics cannot be used here: whether
    they are shared is decided at the import, before the data folder is known.
    """

    def __init__(self, shared: Path, folders: Mapping[str, Path]) -> None:
        """`folders` are those whose disks are measured, the data folder first."""
        self._counters = _file(shared, "counter")
        self._gauges = _file(shared, "gauge_mostrecent")
        self._disks = [_Disk(name, folder) for name, folder in folders.items()]
        self._restarts: dict[str, int] = {}
        self._base_backup: float | None = None
        self._checked = next(iter(folders.values())) / CHECKED_FILE
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
        self._show(BASE_BACKUP, "Time at which the newest base backup began", at)

    def measure_disks_due(self) -> None:
        """
        Measure each disk, at most every 15 seconds; call it again for the result.

        A folder on the disk of another one is left out, else one full disk would raise two alarms.
        """
        is_new = [disk.measure_due() for disk in self._disks]
        if not any(is_new) or self._disks[0].mount is None:
            return
        shown = set[str]()
        for disk in self._disks:
            if disk.mount is None or disk.mount in shown:
                continue
            shown.add(disk.mount)
            for (name, text), value in zip(DISK.items(), disk.free_and_size, strict=True):
                key = mmap_key(name, name, ["disk"], [disk.name], text)
                self._gauges.write_value(key, value, time.time())

    def measure_machine_due(self) -> None:
        """Show the memory of the machine (on Linux) and the last check, each 15 seconds."""
        if time.monotonic() < self._due:
            return
        self._due = time.monotonic() + DISK_EVERY
        for word, kibibytes in _fields(Path("/proc/meminfo")):
            if word in MEMORY:
                self._show(*MEMORY[word], kibibytes * 1024)
        for name, value in _fields(self._checked):
            if name in CHECKED:
                self._show(name, CHECKED[name], value)

    def _show(self, name: str, text: str, value: float) -> None:
        self._gauges.write_value(mmap_key(name, name, [], [], text), value, time.time())

    def _set_restarts(self, program: str, count: int) -> None:
        self._restarts[program] = count
        [family] = RESTARTS.describe()
        sample = f"{family.name}_total"
        key = mmap_key(family.name, sample, ["program"], [program], family.documentation)
        self._counters.write_value(key, float(count), 0.0)


class _Disk:
    """
    The disk of a folder, measured by `df` in a process of its own.

    A network drive that hangs stops whatever asks for its size: that must not be the supervisor.
    """

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self.mount: str | None = None  # None: not measured yet
        self.free_and_size = (0.0, 0.0)
        self._folder = folder
        self._child: subprocess.Popen[str] | None = None
        self._due = 0.0

    def measure_due(self) -> bool:
        """
        Take the result of `df`, and start it again when it is due; return whether there is one.

        A folder that does not exist, or a drive that hangs, leaves the last result.
        """
        match = None
        if self._child is not None and self._child.poll() is not None:
            output, _ = self._child.communicate()
            self._child = None
            if match := _DISK_LINE.search(output.strip()):
                self.free_and_size = (int(match[2]) * 1024.0, int(match[1]) * 1024.0)
                self.mount = match[3]
        if self._child is None and time.monotonic() >= self._due:
            self._due = time.monotonic() + DISK_EVERY
            with contextlib.suppress(OSError):  # no process can be started
                self._child = subprocess.Popen(
                    ["df", "-Pk", str(self._folder)],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    text=True,
                    errors="replace",
                    start_new_session=True,
                    env={**os.environ, "LC_ALL": "C"},
                    cwd="/",
                )
        return match is not None


def write_check(path: Path, at: float, faults: int) -> None:
    """
    Write the metrics of a check in the text format of Prometheus; raises OSError.

    The textfile collector of node_exporter reads such files, and `shithead up` that of its folder.
    """
    lines = [
        f"# HELP {name} {text}\n# TYPE {name} gauge\n{name} {value}\n"
        for (name, text), value in zip(CHECKED.items(), (at, faults), strict=True)
    ]
    write_whole(path, "".join(lines).encode(), mode=PUBLIC)


def _fields(path: Path) -> Iterator[tuple[str, float]]:
    """Yield the names and numbers at the beginnings of the lines of a file, none without it."""
    try:
        text = path.read_text("ascii")
    except (OSError, UnicodeError):
        return
    for name, number in re.findall(r"^(\w+):?\s+([0-9.e+]+)", text, re.MULTILINE):
        yield name, float(number)


class _File(Protocol):
    def write_value(self, key: str, value: float, timestamp: float) -> None: ...


def _file(folder: Path, kind: str) -> _File:
    """Return the file of this process with the metrics of a kind."""
    path = str(folder / f"{kind}_{os.getpid()}.db")
    file: _File = MmapedDict(path)  # type: ignore[no-untyped-call] # the library has no type here
    return file
