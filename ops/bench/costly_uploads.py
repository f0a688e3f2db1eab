"""
The cost of the most expensive uploads to `/v1/verify`, before and after the limits.

    python -m ops.bench.costly_uploads --before CHECKOUT > ops/bench/results/costly-uploads.md

The upload is a sealed log of a custom ruleset (38 decks, hands of 900 cards, runs,
`must_play`), in which the seats pass repeatedly although they could play. The same files are
verified by `shithead verify` of this checkout and of CHECKOUT, whose `.venv` must exist (its
`ops/test` creates it). Takes two minutes.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

import orjson

from ops.bench.services import durable_postgres
from service.application.games.uploads import Upload, request_of
from service.runtime.fork_server import ForkServer, OutOfTime
from service.store.database import Database
from tests.honest_games import FewTrials
from tests.tamper import Forgery
from tests.worlds.fake_world import SetWorld, lines_of, open_game, person, post, services_over

ROOT = Path(__file__).resolve().parents[2]
CHANGES = {
    "deck": {"count": "fixed", "decks": 38, "partial": [], "jokers": 0},
    "players": {"min": 2, "max": 2},
    "deal": {"hand": 900, "down": 3, "up": 3},
    "turn": {"runs": True, "obligation": "must_play"},
    "refill": {"size": 3},
}
PASSES = (0, 5, 10, 15)
MANY = 6000
BUDGET = 1


def costly_log(passes: int) -> bytes:
    """Return a log of 152 kB and 245 bytes for each pass of a seat that could play."""
    log = Forgery(_honest_log())
    end = log.find("game_ended")
    turn = log.data(log.find("play_started"))["turn"]
    for number in range(passes):
        seat = (turn + number) % 2
        passed = {"seat": seat, "reason": "no_play", "turn": 1 - seat}
        log.insert(end + number, "turn_passed", passed, by=seat)
        log.events[end + number]["at"] = f"2026-03-01T12:01:00.{number:06}Z"
    for event in log.events[end + passes :]:
        event["at"] = "2026-03-01T12:02:00.000000Z"
    return b"\n".join(log.lines()) + b"\n"


def _honest_log() -> tuple[bytes, ...]:
    world = SetWorld(4)
    with TemporaryDirectory() as folder, durable_postgres(Path(folder)) as postgres:
        database = Database(postgres.url, size=1)
        services = services_over(database, world=world, trials=FewTrials())
        ada, bob = person(services, "Ada"), person(services, "Bob")
        with mock.patch.object(FewTrials, "refusal", return_value=None):
            made = services.rulemaking.make(ada, name="Wide", base="shithead", changes=CHANGES)
        game = open_game(
            services, ada, ("me", "open"), ruleset=orjson.loads(made.body)["id"], guests=(bob,)
        )
        for player in (ada, bob):
            world.wait(1)
            post(services, player, game, {"type": "ready"})
        world.wait(1)
        post(services, ada, game, {"type": "forfeit"})
        lines = lines_of(services, game)
        services.close()
    return lines


def seconds_of_verify(python: Path | str, root: Path, log: Path) -> float:
    """Return the CPU seconds of `shithead verify` of the checkout `root`, its start included."""
    earlier = os.times()
    done = subprocess.run(
        [python, "-m", "service.cli", "verify", log],
        cwd=root,
        stdout=subprocess.DEVNULL,
        check=False,
    )
    now = os.times()
    if done.returncode not in (0, 1):  # passed, or failed: both are a report
        raise RuntimeError(f"{root}: exit status {done.returncode}")
    return now.children_user + now.children_system - earlier.children_user - earlier.children_system


def stopped_after(raw: bytes) -> tuple[float, float]:
    """Return the seconds until a server stops a verification: the first time, and the second."""
    processes, took = ForkServer("service.application.games.uploads:answer"), []
    for _ in range(2):
        began = time.monotonic()
        try:
            processes.run(request_of(Upload(data=raw)), seconds=BUDGET)
        except OutOfTime:
            took.append(time.monotonic() - began)
    processes.close()
    return took[0], took[1]


def main() -> None:
    """Measure, and print the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", required=True, type=Path, metavar="CHECKOUT")
    before_root = parser.parse_args().before.resolve()
    commit = subprocess.check_output(
        ["git", "rev-parse", "--short", "HEAD"], cwd=before_root, text=True
    ).strip()
    print("# What an upload to be verified costs\n")
    print("Made by `python -m ops.bench.costly_uploads --before CHECKOUT` on two cores shared with")
    print("other work: CPU seconds of `shithead verify` for the same file, by a checkout of")
    print(f"{commit} and by this one. Without a pass most of it is the start of the program.\n")
    print(f"| passes | bytes | {commit} | now |\n| --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "costly.jsonl"
        for passes in PASSES:
            log.write_bytes(costly_log(passes))
            before = seconds_of_verify(before_root / ".venv/bin/python", before_root, log)
            now = seconds_of_verify(sys.executable, ROOT, log)
            size = log.stat().st_size
            print(f"| {passes} | {size} | {before:.2f} s | {now:.2f} s |", flush=True)
    raw = costly_log(MANY)
    cold, warm = stopped_after(raw)
    print(f"\nA log of {len(raw)} bytes with {MANY} such passes, which takes longer, is")
    print(f"stopped at the configured limit of {BUDGET} s: answered after {warm:.2f} s,")
    print(f"the first time after {cold:.2f} s, with the start of the processes that verify.")


if __name__ == "__main__":
    main()
