#!/usr/bin/env python3
"""
Delay of bots during ruleset trials: python -m ops.bench.piled_trials > figures.json

Twelve players each send a ruleset of their own at the same moment, to a service with two workers;
a table of bots is opened right after. Takes less than a minute. `--page BEFORE.json NOW.json`
prints the page that compares two of these files. To measure an earlier commit, copy this file to a
checkout of it: it imports only helpers of the tests that exist in both.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any
from uuid import uuid4

from tests import servers
from tests.client import Answer, Client, register
from tests.running import running

POSTS = 12
QUIET_SECONDS, POSTS_SECONDS = 3.0, 30.0  # for which a table of bots is watched

Figures = dict[str, Any]


def changes(number: int) -> dict[str, Any]:
    """Return changes that make a new ruleset, whose trial takes as long as that of the others."""
    return {"refill": {"size": 4 + number}, "players": {"min": 4, "max": 4}}


def posted(players: list[Client]) -> list[tuple[Answer, float]]:
    """Send all rulesets at once, and return the answers with the seconds that each took."""

    def post(numbered: tuple[int, Client]) -> tuple[Answer, float]:
        number, player = numbered
        body = {"name": "Own", "base": "shithead", "changes": changes(number)}
        began = time.monotonic()
        answer = player.call("POST", "/v1/rulesets", body, {"Idempotency-Key": str(uuid4())})
        return answer, time.monotonic() - began

    with ThreadPoolExecutor(len(players)) as pool:
        return list(pool.map(post, enumerate(players)))


def longest_wait(port: int, *, watched: float) -> float:
    """Return the longest time without a move at a table of bots, in `watched` seconds."""
    host = register(port, "Ada")
    seats = [{"bot": name} for name in ("lowest", "greedy", "random")]
    game = host.post("/v1/tables", {"ruleset": "leeds", "seats": seats})["game"]
    time.sleep(watched)
    events = host.get(f"/v1/games/{game}/events?limit=1000")["items"]
    times = [datetime.fromisoformat(event["at"]).timestamp() for event in events]
    over = events[-1]["type"] in ("game_sealed", "game_ended")
    ends = times if over else [*times, max(time.time(), times[-1])]
    return max(b - a for a, b in pairwise(ends))


def measured() -> Figures:
    """Return the figures of the checkout that this is run in."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="shb-")))
        database = stack.enter_context(servers.postgres(folder / "p"))
        redis_url = stack.enter_context(servers.valkey(folder / "v"))
        url = database.create()
        migrate = [sys.executable, "-m", "service.cli", "migrate", "--database-url", url]
        subprocess.run(migrate, check=True, stdout=subprocess.DEVNULL)
        logs = folder / "logs"
        logs.mkdir()
        service = stack.enter_context(running(url, redis_url, logs, workers=2))
        quiet = longest_wait(service.port, watched=QUIET_SECONDS)
        players = [register(service.port, f"Player {n}") for n in range(POSTS)]
        answers: list[tuple[Answer, float]] = []
        sending = threading.Thread(target=lambda: answers.extend(posted(players)))
        sending.start()
        time.sleep(0.5)  # by now all have been sent
        attacked = longest_wait(service.port, watched=POSTS_SECONDS)
        sending.join()
    statuses = Counter(str(answer.status) for answer, _ in answers)
    refused = [took for answer, took in answers if answer.status == 503 and took < 20]
    return {
        "quiet": quiet,
        "attacked": attacked,
        "answers": dict(sorted(statuses.items())),
        "refused at once": max(refused, default=None),
    }


def page(before: Figures, now: Figures) -> Iterator[str]:
    """Return the lines of the page that compares two sets of figures."""
    yield from (
        "# Delay of bots during ruleset trials",
        "",
        "Made by `python -m ops.bench.piled_trials`, before (commit 1fb86fa) and now, on two cores",
        f"shared with other work. {POSTS} players post a custom ruleset each, at the same moment.",
        "",
        "| | before | now |",
        "| --- | --- | --- |",
    )
    for name, key in (("without posts", "quiet"), ("during the posts", "attacked")):
        pauses = f"{before[key]:.2f} s | {now[key]:.2f} s"
        yield f"| longest pause of a table of bots, {name} | {pauses} |"
    yield f"| answers to the posts | {_answers(before)} | {_answers(now)} |"
    slowest = [f"{t:.2f} s" if (t := one["refused at once"]) else "–" for one in (before, now)]
    yield f"| slowest immediate refusal | {slowest[0]} | {slowest[1]} |"


def _answers(figures: Figures) -> str:
    return ", ".join(f"{count} times {status}" for status, count in figures["answers"].items())


def main() -> None:
    """Measure and print figures, or print the page that compares two sets of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", nargs=2, type=Path, metavar="FILE")
    options = parser.parse_args()
    if options.page:
        before, now = (json.loads(path.read_text()) for path in options.page)
        print("\n".join(page(before, now)))
        return
    print(json.dumps(measured(), indent=1))


if __name__ == "__main__":
    main()
