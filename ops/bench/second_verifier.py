"""The time of both verifiers on the same hundred bundles: `python -m ops.bench.second_verifier`."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from time import perf_counter
from typing import Final
from uuid import UUID

from service.shx.bundle import write_bundle
from tests.random_games import Plan, made_game

ROOT: Final = Path(__file__).resolve().parents[2]
SCRIPT: Final = ROOT / "service" / "api" / "static" / "verifier" / "cli.js"
NUMBER: Final = 100
ROUNDS: Final = 3
RULESETS: Final = ("shithead", "leeds", "threes", "egilsson", "shithead-layout")


def main() -> None:
    """Print the seconds of each round, and the smallest ratio of elapsed and of processor time."""
    with tempfile.TemporaryDirectory() as folder:
        files = _bundles(Path(folder))
        python = [str(Path(sys.executable).with_name("shithead")), "verify", *files]
        script = ["node", str(SCRIPT), *files]
        rounds = [(_timed(python), _timed(script)) for _ in range(ROUNDS)]
    for number, ((elapsed, used), (other, also)) in enumerate(rounds, 1):
        print(
            f"round {number}: Python {elapsed:.1f} s ({used:.1f} s of processor time), "
            f"JavaScript {other:.1f} s ({also:.1f} s)"
        )
    elapsed_ratio = min(two[0] / one[0] for one, two in rounds)
    used_ratio = min(two[1] / one[1] for one, two in rounds)
    print(f"JavaScript / Python: {elapsed_ratio:.2f} elapsed, {used_ratio:.2f} processor time")


def _bundles(folder: Path) -> list[str]:
    files = []
    events = 0
    for number in range(NUMBER):
        ruleset = RULESETS[number % len(RULESETS)]
        plan = Plan(
            name=f"bench {number}",
            ruleset=ruleset,
            seats=4,
            bots=True,
            turn_limit=160,
            table=str(UUID(int=number, version=4)),
        )
        log = made_game(plan)
        path = folder / f"{number}.shx"
        path.write_bytes(write_bundle(log))
        files.append(str(path))
        events += len(log)
    print(f"{NUMBER} bundles, {events} events")
    return files


def _timed(command: Sequence[str]) -> tuple[float, float]:
    """Return the elapsed time and the processor time of a command."""
    before, began = getrusage(RUSAGE_CHILDREN), perf_counter()
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr or done.stdout[-500:]
    elapsed, after = perf_counter() - began, getrusage(RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return elapsed, used


if __name__ == "__main__":
    main()
