#!/usr/bin/env python3
"""
Fuzzing of every parser and every call: python -m ops.bench.fuzz --minutes 10.

Each case follows from its number, so `--only TARGET --first NUMBER` reproduces a crash. The targets
run in turn, each for its share of time; the table printed at the end counts cases and crashes.
"""

from __future__ import annotations

import argparse
import itertools
import logging
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import structlog

from service.local.servers import EmbeddedPostgres
from service.store.migrate import migrate
from tests.fuzz.requests import Requests
from tests.fuzz.running import Endless, run_cases
from tests.fuzz.targets import TARGETS, Target
from tests.worlds.api_world import make_world

SHARE = 4.0
"""Seconds that a target has at a time."""

EXPENSIVE = {"requests": 5, "changed_logs": 3, "torn_logs": 3}
"""Targets whose cases take longer, with how many shares they get."""


def main() -> None:
    """Run for `--minutes`, print crashes as they come and a table at the end."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--first", type=int, default=1_000_000, help="number of the first case")
    parser.add_argument("--only", help="one target")
    options = parser.parse_args()
    quiet = structlog.make_filtering_bound_logger(logging.CRITICAL)
    structlog.configure(wrapper_class=quiet)
    logging.disable(logging.ERROR)
    with tempfile.TemporaryDirectory() as folder:
        postgres = EmbeddedPostgres(Path(folder), durable=False)
        url = postgres.start()
        try:
            migrate(url)
            world = make_world(url)
            targets: dict[str, Target] = {**TARGETS, "requests": Requests(world)}
            chosen = {options.only: targets[options.only]} if options.only else targets
            print(table(*run(chosen, options.minutes * 60, options.first)))
            world.services.close()
        finally:
            postgres.stop()


def run(
    targets: Mapping[str, Target], seconds: float, first: int
) -> tuple[Counter[str], Counter[str], dict[str, float]]:
    """Return cases and crashes by target, and the CPU seconds of the slowest case of each."""
    cases, crashes, slowest = Counter[str](), Counter[str](), dict[str, float]()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for name, target in targets.items():
            until = min(end, time.monotonic() + SHARE * EXPENSIVE.get(name, 1))
            for number in itertools.count(first + cases[name]):
                if time.monotonic() >= until:
                    break
                began = time.process_time()
                try:
                    run_cases(name, target, iter([number]))
                except (Exception, Endless):  # noqa: BLE001 - any crash is a finding
                    crashes[name] += 1
                    traceback.print_exc()
                cases[name] += 1
                slowest[name] = max(slowest.get(name, 0.0), time.process_time() - began)
    return cases, crashes, slowest


def table(cases: Counter[str], crashes: Counter[str], slowest: Mapping[str, float]) -> str:
    """Return the counts as a table of Markdown."""
    lines = ["| target | cases | crashes | slowest case, CPU s |", "| --- | --- | --- | --- |"]
    lines += [
        f"| {name} | {cases[name]} | {crashes[name]} | {slowest[name]:.2f} |" for name in cases
    ]
    total = f"| all | {cases.total()} | {crashes.total()} | {max(slowest.values()):.2f} |"
    return "\n".join([*lines, total])


if __name__ == "__main__":
    main()
