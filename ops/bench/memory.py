#!/usr/bin/env python3
"""
Memory of each process over thousands of hands: python -m ops.bench.memory http|simulate|page.

`http` starts the service and lets the clients of `http_moves` play whole hands, in periods; after
each period it measures the memory of every process. `simulate` plays and verifies hands as
`shithead simulate` does, and measures its processes after each hundredth part. The samples are
lines of a file, so that a run that was stopped can be evaluated too. `page` writes the slopes.

Memory is the proportional set size, which divides pages that processes share among them. The
slope is that of a straight line through the means of eight blocks of samples, because
successive samples depend on one another.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from itertools import pairwise
from pathlib import Path
from textwrap import fill
from typing import Any, TextIO

import psycopg

from ops.bench.footprint import family, memory, name_of
from ops.bench.http_moves import CLIENTS, ComparedService
from ops.bench.pages import WIDTH, write
from ops.bench.services import durable_postgres, unlimited_service
from service.local.servers import EmbeddedValkey
from service.simulation.parallel import played
from service.simulation.simulate import Plan

PAGE = Path(__file__).parent / "results" / "memory.md"
BLOCKS = 8
QUANTILE = 2.447
"""The quantile of Student's distribution, with BLOCKS - 2 degrees of freedom, for 95 %."""

WARM_UP = 0.5
"""Part of the hands before the samples that count: caches and pools fill."""

MAX_SLOPE = 1.0
"""In megabytes for 1,000 hands, which is a kilobyte a hand; a steeper slope counts as growth."""

MIN_MEMORY = 1e6
"""In bytes; processes with less memory at the end, Python's resource trackers, are left out."""

PARTS = 100
"""How often the processes of `simulate` are measured."""

Row = dict[str, Any]
Points = list[tuple[float, float]]
"""Hands, and bytes."""


def over_http(options: argparse.Namespace) -> Iterator[Row]:
    """Yield the memory of the processes of a service at first and after each period of play."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        url = stack.enter_context(durable_postgres(Path(folder))).url
        valkey = EmbeddedValkey(Path(folder) / "valkey")
        stack.callback(valkey.stop)
        redis_url = valkey.start()
        service = stack.enter_context(unlimited_service(url, redis_url, Path(folder)))
        clients = ComparedService(name="short", port=service.port, roots={})
        moves = hands = 0
        while True:
            found = sizes("benchmark")
            yield {"part": "http", "hands": hands, "moves": moves, "bytes": found}
            if hands >= options.hands:
                return
            moves += len(clients.measure(options.seconds, CLIENTS).moves)
            hands = _ended(url)


def _ended(url: str) -> int:
    query = "SELECT count(*) FROM games WHERE status = 'ended'"
    with psycopg.connect(url, autocommit=True) as connection:
        found = connection.execute(query).fetchone()
    return int(found[0]) if found else 0


def simulated(options: argparse.Namespace) -> Iterator[Row]:
    """Yield the memory of the processes of a simulation after each of PARTS of its hands."""
    plan = Plan(ruleset="shithead", seats=2, bots=("greedy", "lowest"), games=options.hands)
    hands = due = failed = 0
    with closing(played([plan], jobs=2, verified=True, keep=None)) as tables:
        for _, report in tables:
            hands += report.games
            failed += len(report.failed)
            if hands >= due:
                due += options.hands // PARTS
                yield {"part": "simulate", "hands": hands, "bytes": sizes("main process")}
    if failed:
        raise ValueError(f"{failed} logs are not valid")


def sizes(own: str) -> dict[str, int]:
    """
    Return the bytes of this process, named `own`, and of each that descends from it.

    Those of PostgreSQL are sums, because it has a process for each connection.
    """
    found = Counter[str]()
    for pid in family(os.getpid()):
        name = own if pid == os.getpid() else name_of(pid)
        if name == "PostgreSQL":
            shared = memory(pid, "Pss_Shmem")
            found["PostgreSQL, shared memory"] += shared
            found["PostgreSQL, all else"] += memory(pid) - shared
        else:
            found[f"{name}/{pid}"] += memory(pid)
    return dict(found)


def series(rows: Sequence[Row]) -> tuple[dict[str, Points], int]:
    """Return the samples of each process that lived to the end, and how many ended before it."""
    found: dict[str, Points] = defaultdict(list)
    for row in rows:
        for name, size in row["bytes"].items():
            found[name].append((row["hands"], size))
    long = {
        name: points
        for name, points in found.items()
        if len(points) >= (1 - WARM_UP) * len(rows) and rows[-1]["bytes"].get(name, 0) > MIN_MEMORY
    }
    kept, several = dict[str, Points](), Counter(name.partition("/")[0] for name in long)
    for name, points in long.items():
        what = name.partition("/")[0]
        number = 1 + sum(one.partition(" #")[0] == what for one in kept)
        kept[f"{what} #{number}" if several[what] > 1 else what] = points
    return kept, len(found.keys() - rows[-1]["bytes"].keys())


def slope(points: Points) -> tuple[float, float]:
    """
    Return the slope of bytes over hands, and half of its 95 % interval.

    The line is fitted by least squares to the means of BLOCKS blocks of successive points, and
    its interval is that of Student's distribution. Raises ValueError for fewer points than two
    a block.
    """
    if len(points) < 2 * BLOCKS:
        raise ValueError(f"{len(points)} samples, at least {2 * BLOCKS} are needed")
    cuts = [len(points) * number // BLOCKS for number in range(BLOCKS + 1)]
    blocks = [points[first:end] for first, end in pairwise(cuts)]
    hands = [statistics.fmean(x for x, _ in block) for block in blocks]
    sizes_ = [statistics.fmean(y for _, y in block) for block in blocks]
    line = statistics.linear_regression(hands, sizes_)
    spread = sum((x - statistics.fmean(hands)) ** 2 for x in hands)
    errors = (y - line.intercept - line.slope * x for x, y in zip(hands, sizes_, strict=True))
    deviation = (sum(error**2 for error in errors) / (BLOCKS - 2) / spread) ** 0.5
    return line.slope, QUANTILE * deviation


def lines(rows: Sequence[Row]) -> Iterator[str]:
    """Yield a table: size after the warm-up, at the end, slope and its interval."""
    found, others = series(rows)
    last = rows[-1]["hands"]
    title = f"slope a 1,000 hands, 95 % interval | at most {MAX_SLOPE:g} MB"
    yield f"| process | after the warm-up | at the end | {title} |"
    yield "| --- | --- | --- | --- | --- |"
    for name, points in found.items():
        counted = [point for point in points if point[0] >= WARM_UP * last]
        steep, half = slope(counted)
        low, high = ((steep + sign * half) * 1e3 / 1e6 for sign in (-1, 1))
        sizes_ = (f"{size / 1e6:.1f} MB" for _, size in (counted[0], counted[-1]))
        slopes = f"{steep * 1e3 / 1e6:+.3f} MB ({low:+.3f} to {high:+.3f})"
        flat = "yes" if high <= MAX_SLOPE else "no" if low > MAX_SLOPE else "open"
        yield f"| {name} | {' | '.join(sizes_)} | {slopes} | {flat} |"
    if others:
        yield ""
        yield f"{others} other processes had ended before the end of this part."


def page(rows: Sequence[Row]) -> str:
    """Return the page: how it was measured, and a table for each part that has samples."""
    made = (
        "Made by `python -m ops.bench.memory http`, `simulate` and `page`, on two cores shared "
        "with other work. Memory is the proportional set size; processes share pages, so that of "
        "one can change with the end of another. The first half of the hands is the warm-up: "
        "caches and pools fill. The slope is fitted by least squares to the means of "
        f"{BLOCKS} blocks of the samples after it. The target is a slope of at most "
        f"{MAX_SLOPE:g} MB a 1,000 hands; it is *open* if the interval contains it."
    )
    text = ["# Memory over thousands of hands", "", fill(made, WIDTH)]
    for part, title in PARTS_OF_PAGE.items():
        chosen = [row for row in rows if row["part"] == part]
        if chosen:
            heading = title.format(
                hands=chosen[-1]["hands"], moves=chosen[-1].get("moves", 0), samples=len(chosen)
            )
            text += ["", f"## {heading}", "", *lines(chosen)]
    return "\n".join(text)


PARTS_OF_PAGE = {
    "http": "{hands:,} hands of two seats over HTTP, {moves:,} moves, {samples} samples",
    "simulate": "{hands:,} hands in `shithead simulate`, verified, {samples} samples",
}


def record(rows: Iterable[Row], file: TextIO) -> None:
    """Write samples as they come, one a line."""
    for row in rows:
        file.write(json.dumps(row) + "\n")
        file.flush()


def main() -> None:
    """Measure one part, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["http", "simulate", "page"])
    parser.add_argument("--hands", type=int, help="default: 2000 over HTTP, else 100000")
    parser.add_argument("--seconds", type=float, default=40.0, help="of each period over HTTP")
    parser.add_argument("--rows", type=Path, default=Path("memory.jsonl"), help="the samples")
    options = parser.parse_args()
    if options.what == "page":
        with options.rows.open() as file:
            write(PAGE, page([json.loads(line) for line in file]))
        return
    options.hands = options.hands or {"http": 2000, "simulate": 100_000}[options.what]
    with options.rows.open("a") as file:
        record(over_http(options) if options.what == "http" else simulated(options), file)


if __name__ == "__main__":
    main()
