"""Limits of the machine as faults: a slow disk, no memory, no file descriptors, a wrong clock."""

from __future__ import annotations

import contextlib
import os
import random
import subprocess
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from resource import RLIMIT_NOFILE, prlimit

_CGROUPS = Path("/sys/fs/cgroup")
_MEMORY_LEFT = 1 << 20  # bytes that a process may still allocate
_DESCRIPTORS_LEFT = 1
_MOST_SECONDS = 20  # by which a clock jumps


def slow_fsync(disk: Path, rng: random.Random) -> bool:
    """Freeze the file system again and again: each fsync waits; return whether that is possible."""
    end, done = time.monotonic() + rng.uniform(1.0, 3.0), False
    while time.monotonic() < end:
        if not _runs("fsfreeze", "-f", str(disk)):
            return done
        done = True
        try:
            time.sleep(rng.uniform(0.02, 0.4))
        finally:
            _runs("fsfreeze", "-u", str(disk))
        time.sleep(rng.uniform(0.0, 0.1))
    return done


@contextlib.contextmanager
def memory_limit(pid: int) -> Iterator[bool]:
    """Let a process allocate almost nothing more; yield whether the system has such limits."""
    root, limit = _CGROUPS / "memory", "memory.limit_in_bytes"
    present = 0  # version 1 counts only what is allocated from now on
    if not root.is_dir():
        root, limit = _CGROUPS, "memory.max"
        with contextlib.suppress(OSError):
            pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
            present = pages * os.sysconf("SC_PAGE_SIZE")
    group = root / f"shithead-faults-{pid}"
    try:
        group.mkdir()
        (group / limit).write_text(str(present + _MEMORY_LEFT))
        (group / "cgroup.procs").write_text(str(pid))
    except OSError:
        with contextlib.suppress(OSError):
            group.rmdir()
        yield False
        return
    try:
        yield True
    finally:
        for _ in range(50):
            with contextlib.suppress(OSError):
                _leave(group)
                group.rmdir()
                break
            time.sleep(0.1)


def _leave(group: Path) -> None:
    """Take all processes out of a group; those that the limited one has started are in it, too."""
    for pid in (group / "cgroup.procs").read_text().split():
        with contextlib.suppress(OSError):  # it has ended
            (group.parent / "cgroup.procs").write_text(pid)


def no_descriptors(pids: list[int], rng: random.Random) -> bool:
    """Let processes open hardly any file or connection for a while."""
    before = {}
    for pid in pids:
        with contextlib.suppress(OSError):
            used = len(list(Path(f"/proc/{pid}/fd").iterdir()))
            before[pid] = prlimit(pid, RLIMIT_NOFILE)
            prlimit(pid, RLIMIT_NOFILE, (used + _DESCRIPTORS_LEFT, before[pid][1]))
    time.sleep(rng.uniform(0.5, 2.0))
    for pid, limits in before.items():
        with contextlib.suppress(OSError):
            prlimit(pid, RLIMIT_NOFILE, limits)
    return bool(before)


class JumpingClock:
    """The clock of the programs of the fork server: it jumps by what a file states, in seconds."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def now(self) -> datetime:
        """Return the time that the programs see."""
        try:
            return datetime.now(UTC) + timedelta(seconds=float(self.file.read_text()))
        except (OSError, ValueError):  # no jump yet, or it is being written
            return datetime.now(UTC)

    def jump(self, rng: random.Random) -> bool:
        """Let the clock jump ahead or back for some seconds."""
        seconds = rng.choice((-1, 1)) * rng.uniform(1, _MOST_SECONDS)
        self.file.write_text(f"{seconds:.3f}")
        time.sleep(rng.uniform(0.5, 3.0))
        self.file.unlink()
        return True


def _runs(*command: str) -> bool:
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        return False
