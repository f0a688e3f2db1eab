"""Moves over HTTP of this checkout beside those of another commit, measured in turn."""

from __future__ import annotations

import io
import json
import math
import os
import statistics
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Protocol

ROOT = Path(__file__).resolve().parents[2]

_SERVE = """
import json, sys, tempfile
from contextlib import ExitStack
from pathlib import Path
from ops.bench.services import durable_postgres, unlimited_service
from tests import servers
with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
    postgres = stack.enter_context(durable_postgres(Path(folder)))
    redis_url = stack.enter_context(servers.valkey(Path(folder) / "valkey"))
    service = stack.enter_context(unlimited_service(postgres.url, redis_url, Path(folder)))
    roots = {"API": service.children["API"].pid, "PostgreSQL": postgres.process.pid}
    print(json.dumps({"port": service.port, "roots": roots}), flush=True)
    sys.stdin.read()
"""
"""The program of a checkout: a service with servers of its own, until its input ends."""


class Measured(Protocol):
    """The figures of one measurement."""

    @property
    def rate(self) -> float:
        """Return moves a second."""


Measure = Callable[[int, dict[str, int]], Measured]
"""Measures the service at a port, whose first processes have these ids."""


def compare(ref: str, measure: Measure, *, rounds: int) -> Iterator[str]:
    """
    Yield the lines of a comparison: each round measures `ref`, then this checkout.

    The last line has the ratio of the rates, this checkout over `ref`, with its interval of 95 %
    from the ratios of the rounds. Raises CalledProcessError if there is no such commit.
    """
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        _export(ref, Path(folder))
        sides = [stack.enter_context(_served(tree)) for tree in (Path(folder), ROOT)]
        for side in sides:
            measure(*side)  # warm
        ratios = []
        yield f"| round | {ref} | this checkout | ratio |"
        yield "| --- | --- | --- | --- |"
        for number in range(1, rounds + 1):
            before, now = (measure(*side).rate for side in sides)
            ratios.append(now / before)
            yield f"| {number} | {before:.0f} | {now:.0f} | {ratios[-1]:.3f} |"
    low, middle, high = interval(ratios)
    yield f"ratio {middle:.3f}, 95 % from {low:.3f} to {high:.3f}, {rounds} rounds"


def interval(ratios: list[float]) -> tuple[float, float, float]:
    """
    Return the geometric mean of ratios between the ends of its interval of 95 %.

    The logarithms are taken as normal, so two standard errors on each side; with one ratio both
    ends are infinitely far away.
    """
    logs = [math.log(ratio) for ratio in ratios]
    mean = statistics.fmean(logs)
    if len(logs) < 2:
        return 0.0, math.exp(mean), math.inf
    error = statistics.stdev(logs) / math.sqrt(len(logs))
    return math.exp(mean - 2 * error), math.exp(mean), math.exp(mean + 2 * error)


def _export(ref: str, folder: Path) -> None:
    """Write the files of a commit to a folder."""
    packed = subprocess.run(
        ["git", "archive", ref], cwd=ROOT, stdout=subprocess.PIPE, check=True
    ).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(folder, filter="data")


@contextmanager
def _served(tree: Path) -> Iterator[tuple[int, dict[str, int]]]:
    """Run the service of a checkout with this Python; yield its port and its first processes."""
    child = subprocess.Popen(
        [sys.executable, "-P", "-c", _SERVE],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdin is not None and child.stdout is not None
    try:
        # A checkout may print a note about the servers that it chooses first.
        running = json.loads(next(line for line in child.stdout if line.startswith("{")))
        yield running["port"], running["roots"]
    finally:
        child.stdin.close()
        child.wait()
