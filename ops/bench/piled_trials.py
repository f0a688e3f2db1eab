"""
Delay of bots during ruleset trials: in one shared queue, and in separate queues.

    python -m ops.bench.piled_trials > ops/bench/results/piled-trials.md

Twelve players each send a ruleset of their own at the same moment. *Before* puts twelve trials into
the queue of the bots, as the API did. Two workers; takes less than a minute.
"""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any
from uuid import uuid4

import redis
from rq import Queue
from rq.serializers import JSONSerializer

from service.job_queue import HANDS, QUEUE, TRIALS_QUEUE, TRY_RULESET
from service.rulesets.catalogue import catalogue
from service.rulesets.custom import custom_definition
from service.store.migrate import migrate
from tests import servers
from tests.client import Answer, Client, register
from tests.running import running

POSTS = 12


def changes(number: int) -> dict[str, Any]:
    """Return what makes a ruleset of its own that takes as long to try as any."""
    return {"refill": {"size": 4 + number}, "players": {"min": 4, "max": 4}}


def in_the_queue_of_bots(redis_url: str) -> None:
    """Ask for trials as they were asked for before."""
    client = redis.Redis.from_url(redis_url)
    queue = Queue(QUEUE, connection=client, serializer=JSONSerializer)
    for number in range(POSTS):
        tree = custom_definition(catalogue()["leeds"], "Own", changes(number)).tree
        queue.enqueue(TRY_RULESET, tree, HANDS, job_timeout=25, result_ttl=0, ttl=25)


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


def longest_wait(port: int, attack: Callable[[], object], *, looked: float) -> float:
    """Return for how long at most a table of bots stood still, of the seconds `looked`."""
    host = register(port, "Ada")
    attack()
    seats = [{"bot": name} for name in ("lowest", "greedy", "random")]
    game = host.post("/v1/tables", {"ruleset": "leeds", "seats": seats})["game"]
    time.sleep(looked)
    events = host.get(f"/v1/games/{game}/events?limit=1000")["items"]
    times = [datetime.fromisoformat(event["at"]).timestamp() for event in events]
    over = events[-1]["type"] in ("game_sealed", "game_ended")
    ends = times if over else [*times, max(time.time(), times[-1])]
    return max(b - a for a, b in pairwise(ends))


def main() -> None:
    """Measure, and print the page."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="shb-")))
        database = stack.enter_context(servers.postgres(folder / "p"))
        redis_url = stack.enter_context(servers.valkey(folder / "v"))
        url = database.create()
        migrate(url)
        logs = folder / "logs"
        logs.mkdir()
        service = stack.enter_context(running(url, redis_url, logs, workers=2))
        quiet = longest_wait(service.port, lambda: None, looked=3)
        players = [register(service.port, f"Player {n}") for n in range(POSTS)]
        with ThreadPoolExecutor(1) as pool:
            sent = pool.submit(posted, players)
            now = longest_wait(service.port, lambda: None, looked=10)
            answers = sent.result()
        before = longest_wait(service.port, lambda: in_the_queue_of_bots(redis_url), looked=27)
        left = redis.Redis.from_url(redis_url).llen(f"rq:queue:{TRIALS_QUEUE}")
    tell(quiet, before, now, answers, int(left))


def tell(
    quiet: float, before: float, now: float, answers: list[tuple[Answer, float]], left: int
) -> None:
    """Print the page."""
    statuses = Counter(answer.status for answer, _ in answers)
    refused = [took for answer, took in answers if answer.status == 503 and took < 20]
    print("# Bots beside trials of rulesets\n")
    print("Made by `python -m ops.bench.piled_trials` on two cores shared with other work.\n")
    print("| a table of bots stood still for at most | |\n| --- | --- |")
    print(f"| nothing else going on | {quiet:.2f} s |")
    print(f"| {POSTS} trials in the queue of the bots, as before | {before:.2f} s |")
    print(f"| {POSTS} rulesets posted, trials in a queue of their own | {now:.2f} s |\n")
    result = ", ".join(f"{count} times {status}" for status, count in sorted(statuses.items()))
    print(f"The {POSTS} posts were answered {result}; those refused at once after at most")
    print(f"{max(refused, default=0):.2f} s. Trials left in their queue at the end: {left}.")


if __name__ == "__main__":
    main()
