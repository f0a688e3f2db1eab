"""`shithead verify` of many files by one process and by two: `python -m ops.bench.many_files`."""

from __future__ import annotations

import argparse
import ctypes
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from statistics import median
from time import perf_counter
from typing import Final
from uuid import UUID

from service.shx.bundle import write_bundle
from tests.random_games import Plan, made_game

PR_SET_CHILD_SUBREAPER: Final = 36
"""The operation of prctl (Linux) by which orphaned descendants become children of this process."""

RULESETS: Final = ("shithead", "leeds", "threes", "egilsson", "shithead-layout")


def main() -> None:
    """Print the seconds of each round in turn, the ratios, and the memory of the main process."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=3)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        files = write_bundles(Path(folder), chosen.files)
        command = [str(Path(sys.executable).with_name("shithead")), "verify"]
        print(f"{len(files)} bundles, load {os.getloadavg()[0]:.1f}")
        compare([*command, *files], chosen.rounds)
        for part in (files[: len(files) // 4], files):
            print(f"{len(part)} files: {peak([*command, '--jobs', '1', *part]):.0f} MB at most")


def write_bundles(folder: Path, number: int) -> list[str]:
    """Write bundles of random hands, each of a table of its own; return their names."""
    files = []
    for index in range(number):
        ruleset = RULESETS[index % len(RULESETS)]
        table = str(UUID(int=index, version=4))
        plan = Plan(
            name=f"many {index}", ruleset=ruleset, seats=4, bots=True, turn_limit=160, table=table
        )
        path = folder / f"{index:05}.shx"
        path.write_bytes(write_bundle(made_game(plan)))
        files.append(str(path))
    return files


def compare(command: Sequence[str], rounds: int) -> None:
    """
    Print the times of a command with one process and with two, in turn, and their ratios.

    The elapsed time depends on other work of the machine. Processor time does not: twice that of
    one process, divided by that of two, is the ratio on two free cores if both have equal work.
    """
    elapsed, used = [], []
    for number in range(1, rounds + 1):
        one, two = (timed([*command, "--jobs", jobs]) for jobs in "12")
        elapsed.append(one[0] / two[0])
        used.append(2 * one[1] / two[1])
        print(
            f"round {number}: {one[0]:.1f} s and {two[0]:.1f} s, {elapsed[-1]:.2f} times; "
            f"processor {one[1]:.1f} s and {two[1]:.1f} s, {used[-1]:.2f} times "
            f"(load {os.getloadavg()[0]:.1f})",
            flush=True,
        )
    print(f"median: {median(elapsed):.2f} elapsed, {median(used):.2f} by processor time")


def timed(command: Sequence[str]) -> tuple[float, float]:
    """Return the elapsed and the processor seconds of a command, which has to succeed."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)  # processes that outlive it are counted
    before, began = getrusage(RUSAGE_CHILDREN), perf_counter()
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr or done.stdout[-500:]
    elapsed = perf_counter() - began
    with suppress(ChildProcessError):
        while True:
            os.wait()
    after = getrusage(RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return elapsed, used


def peak(command: Sequence[str]) -> float:
    """Return the largest resident memory of a command, in MB."""
    script = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL);"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *command], capture_output=True, text=True, check=True
    )
    return int(done.stdout) / 1024


if __name__ == "__main__":
    main()
