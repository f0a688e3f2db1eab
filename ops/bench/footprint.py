#!/usr/bin/env python3
"""
Memory, idle processor time and start of `shithead up`: python -m ops.bench.footprint [--write].

Starts the whole service twice over one new folder, as `ops/up` does, and measures the second
run: seconds until it is ready, then what all its processes take while no game is played: the
supervisor and all that descends from it, PostgreSQL and Valkey included. Memory is the proportional
set size, which divides pages that processes share among them. Processor time is that of the
scheduler, in nanoseconds; the kernel's own threads and interrupts are not in it.

The service runs with the Python of PLAIN if that is set, an environment as `ops/up` makes it. One
of `ops/test` has more packages, and the service loads some of them if they are there.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from ops.bench.page import print_or_write
from tests.running import free_port, is_ready, wait_for

PLAIN = "FOOTPRINT_PYTHON"
"""The variable with the path of that Python."""

PAGE = Path(__file__).parent / "results" / "footprint.md"
SETTLE = 8.0
"""Seconds after the start before anything is measured."""

IDLE = 30.0
MAX_MEMORY, MAX_PROCESSOR, MAX_SECONDS = 380e6, 0.01, 2.0
"""The limits: bytes, share of one core, seconds until ready."""

_TICK = os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def started(data: Path) -> Iterator[tuple[int, float]]:
    """Run `shithead up`; yield its process id and the seconds until it was ready."""
    port, began = free_port(), time.monotonic()
    python = os.environ.get(PLAIN, sys.executable)
    command = [python, "-m", "service.cli", "up", "--port", str(port), "--data", str(data)]
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for(lambda: is_ready(port), seconds=90)
        yield child.pid, time.monotonic() - began
    finally:
        child.send_signal(signal.SIGTERM)
        child.wait(timeout=60)


def family(pid: int) -> list[int]:
    """Return a process and all that descend from it."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            parents.setdefault(int(fields[1]), []).append(int(entry.name))
    found = [pid]
    for each in found:
        found += parents.get(each, [])
    return found


def memory(pid: int, kind: str = "Pss") -> int:
    """
    Return the proportional set size of a process in bytes, 0 if it has ended.

    `kind` selects a part of it: `Pss_Anon` (private), `Pss_File` or `Pss_Shmem` (shared memory).
    """
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith(f"{kind}:"):
                return int(line.split()[1]) * 1024
    return 0


def processor(pid: int) -> float:
    """Return the seconds of processor time of a process and of its children that have ended."""
    with contextlib.suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return sum(int(value) for value in fields[11:15]) / _TICK
    return 0.0


def scheduled(pid: int) -> float:
    """Return the seconds of processor time of the threads of a process that have not ended."""
    total = 0
    for thread in Path(f"/proc/{pid}/task").glob("*"):
        with contextlib.suppress(OSError):
            total += int((thread / "schedstat").read_text().split()[0])
    return total / 1e9


def name_of(pid: int) -> str:
    """Return the name of a process, from its command line."""
    with contextlib.suppress(OSError):
        command = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
        words = command.replace("\0", " ").split()
        if "workers.main" in words:
            return words[words.index("workers.main") + 1]
        for mark, name in (("postgres", "PostgreSQL"), ("valkey", "Valkey"), ("granian", "API")):
            if any(mark in word for word in words[:3]):
                return name
    return "supervisor and fork server"


def lines(data: Path) -> Iterator[str]:
    """Yield the lines of the tables."""
    with started(data):
        pass
    with started(data) as (root, seconds):
        time.sleep(SETTLE)
        pids = family(root)
        used, began = {pid: scheduled(pid) for pid in pids}, time.monotonic()
        time.sleep(IDLE)
        passed = time.monotonic() - began
        busy, held, count = Counter[str](), Counter[str](), Counter[str]()
        for pid in pids:
            name = name_of(pid)
            busy[name] += round((scheduled(pid) - used[pid]) * 1e6)
            held[name] += memory(pid)
            count[name] += 1
    share, total = busy.total() / 1e6 / passed, held.total()
    yield "| | figure | target | reached |"
    yield "| --- | --- | --- | --- |"
    for what, figure, target, reached in (
        ("memory, all processes", f"{total / 1e6:.0f} MB", "380 MB", total <= MAX_MEMORY),
        ("idle, of one core", f"{share:.2%}", "1 %", share <= MAX_PROCESSOR),
        ("ready at the second start", f"{seconds:.1f} s", "2 s", seconds <= MAX_SECONDS),
    ):
        yield f"| {what} | {figure} | {target} | {'yes' if reached else 'no'} |"
    yield ""
    yield "| processes | number | memory | idle, of one core |"
    yield "| --- | --- | --- | --- |"
    for name, size in held.most_common():
        part = busy[name] / 1e6 / passed
        yield f"| {name} | {count[name]} | {size / 1e6:.0f} MB | {part:.2%} |"


def main() -> None:
    """Print the tables, or write them to the page."""
    print_or_write(
        PAGE,
        description=__doc__,
        measure=lambda folder: lines(folder / "data"),
        heading=lambda load: (
            "# Memory, idle processor time and start\n\n"
            "Made by `python -m ops.bench.footprint --write`: `shithead up` with its defaults on "
            f"two cores, load {load:.1f} before\nthe start. Memory is the proportional set size "
            f"{SETTLE:g} s after the start; idle is measured over {IDLE:g} s without\na caller."
        ),
    )


if __name__ == "__main__":
    main()
