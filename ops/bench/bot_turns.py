#!/usr/bin/env python3
"""
Turns of bots a second, and how soon a bot answers: python -m ops.bench.bot_turns [--write].

The whole service runs with its workers over its own PostgreSQL and Valkey. First many tables of
four bots play a hand each, through RQ; then a person plays with a bot, one move after the other.
Times are those in the events of the log. A bot at a table with people moves at the next beat of
20 ms (decision 0026); the wait for it is part of the figure.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import orjson
import psycopg

from ops.bench.page import print_or_write
from ops.bench.services import durable_postgres
from service.application.games.schedule import BEAT_SECONDS
from service.shx.event_shapes import ACTIONS
from tests import servers
from tests.client import Client, register
from tests.running import running, wait_for

PAGE = Path(__file__).parent / "results" / "bot-turns.md"
BOTS = ("random", "lowest", "greedy", "random")
TABLES = 12
ANSWERS = 60
WORKERS = 2  # as `shithead up` starts
LEAST_TURNS, LONGEST_ANSWER = 300, 0.015

Line = dict[str, Any]


def hands_of_bots(client: Client, url: str) -> tuple[int, float]:
    """Return how many turns the bots of all tables took, and the seconds from first to last."""
    seats = [{"bot": name} for name in BOTS]
    body = {"ruleset": "shithead", "seats": seats, "window_seconds": 0}
    games = [client.post("/v1/tables", body)["game"] for _ in range(TABLES)]
    with psycopg.connect(url, autocommit=True) as connection:

        def running_hands() -> int:
            query = "SELECT count(*) FROM games WHERE game_id = ANY(%s) AND ended_at IS NULL"
            found = connection.execute(query, (games,)).fetchone()
            return int(found[0]) if found else 0

        wait_for(lambda: not running_hands(), seconds=300)
    turns = [line for game in games for line in log_of(client, game) if line["type"] in ACTIONS]
    times = sorted(time_of(line) for line in turns)
    return len(turns), (times[-1] - times[0]).total_seconds()


def answers_to_a_person(client: Client) -> list[float]:
    """Return the seconds from each move of a person to the move of the bot whose turn came."""
    found: list[float] = []
    while len(found) < ANSWERS:
        body = {"ruleset": "shithead", "seats": ["me", {"bot": "greedy"}], "window_seconds": 0}
        game = client.post("/v1/tables", body)["game"]
        play(client, game)
        log = [line for line in log_of(client, game) if line["type"] in ACTIONS]
        found += [
            (time_of(after) - time_of(before)).total_seconds()
            for before, after in pairwise(log)
            if (before["by"], after["by"]) == (0, 1)
        ]
    return found


def play(client: Client, game: str) -> None:
    """Play a hand to its end: always the first legal move that is no swap."""
    while (view := client.get(f"/v1/games/{game}"))["status"] not in ("ended", "aborted"):
        legal = [move for move in view["moves"] if move["type"] != "swap"]
        if legal:
            client.post(f"/v1/games/{game}/moves", legal[0])
        else:
            time.sleep(0.02)


def log_of(client: Client, game: str) -> list[Line]:
    """Return the events of a game."""
    answer = client.call(
        "GET", f"/v1/games/{game}/events", headers={"Accept": "application/x-ndjson"}
    )
    return [orjson.loads(line) for line in answer.body.splitlines()]


def time_of(line: Line) -> datetime:
    """Return the time of an event."""
    return datetime.fromisoformat(line["at"])


def lines(folder: Path) -> Iterator[str]:
    """Yield the lines of the table."""
    with ExitStack() as stack:
        url = stack.enter_context(durable_postgres(folder)).url
        redis_url = stack.enter_context(servers.valkey(folder / "valkey"))
        service = stack.enter_context(running(url, redis_url, folder, workers=WORKERS))
        client = register(service.port, "Ada")
        answers_to_a_person(client)  # warm
        turns, seconds = hands_of_bots(client, url)
        answers = answers_to_a_person(client)
    rate, median = turns / seconds, statistics.median(answers)
    above = median - BEAT_SECONDS
    yield "| | figure | target | reached |"
    yield "| --- | --- | --- | --- |"
    reached = "yes" if rate >= LEAST_TURNS else "no"
    yield f"| turns of bots a second, {turns} at {TABLES} tables | {rate:.0f} | 300 | {reached} |"
    reached = "yes" if above <= LONGEST_ANSWER else "no"
    yield (
        f"| from a person's move to the bot's, median of {len(answers)}, above one beat of "
        f"{BEAT_SECONDS * 1e3:.0f} ms | {above * 1e3:.0f} ms | 15 ms | {reached} |"
    )
    ninth = statistics.quantiles(answers, n=10)[8]
    yield f"| the same with the beat: median, 90 % | {median * 1e3:.0f}, {ninth * 1e3:.0f} ms | | |"


def main() -> None:
    """Print the table, or write it to the page."""
    print_or_write(
        PAGE,
        description=__doc__,
        measure=lines,
        heading=lambda load: (
            "# Turns of bots\n\n"
            "Made by `python -m ops.bench.bot_turns --write` with two workers, on two cores that "
            f"client, service and\nPostgreSQL share, load {load:.1f} before the start."
        ),
    )


if __name__ == "__main__":
    main()
