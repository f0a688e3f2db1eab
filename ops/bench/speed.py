#!/usr/bin/env python3
"""
Response times, compared with one durable commit: python -m ops.bench.speed [--piled N].

The whole service runs as in production, over its own PostgreSQL and Valkey, and is called
over HTTP. Each figure is a ratio to a baseline that was measured in turn with it: a bare append
of two events to the same PostgreSQL. Everything is measured twice, with few stored games
and with `--piled` finished ones, which shows whether stored games make moves and reads slower.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from ops.bench.copied_games import store_copies
from ops.bench.moves import bare_commits, timed
from ops.bench.services import durable_postgres
from service.store.database import Database
from service.store.migrate import service_url
from service.store.postgres_events import PostgresStore
from tests import servers
from tests.client import Client, register
from tests.running import running

RESULTS = Path(__file__).parent / "results" / "speed.md"
SEATS = 3
CLIENTS = 8
SECONDS = 5.0
LOOKS = 30
READINGS = {
    "view of the present": "",
    "view at the middle": "?at={middle}&as=all",
    "replay, first 50 frames": "/replay?as=all&to=50",
    "replay, all frames": "/replay?as=all",
    "transcript": "/transcript?as=all",
    "events, all (NDJSON)": "/events",
    "audit of the game": "/audit",
    "audit of the last play": "/audit/moves/{play}",
    "where a card was": "/audit/cards/Th",
    "evidence": "/evidence?profile=public",
}

Row = tuple[str, str, str]


@dataclass(slots=True, kw_only=True)
class Figures:
    """The seconds of commits, moves and views."""

    commits: list[float] = field(default_factory=list)
    moves: list[float] = field(default_factory=list)
    views: list[float] = field(default_factory=list)
    game: str = ""  # the last one that ended


def main() -> None:
    """Measure with little and with much stored, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--piled", type=int, default=10_000, help="games stored the second time")
    parser.add_argument("--games", type=int, default=12, help="played alone, each time")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        url = stack.enter_context(durable_postgres(Path(folder))).url
        redis_url = stack.enter_context(servers.valkey(Path(folder) / "valkey"))
        logs = Path(tempfile.mkdtemp(dir=folder))
        service = stack.enter_context(running(url, redis_url, logs, rate_limits=False))
        pool = Database(service_url(url))
        stack.callback(pool.close)
        few = list(_measured(service.port, PostgresStore(pool), options.games))
        bytes_stored = store_copies(url, options.piled)
        many = list(_measured(service.port, PostgresStore(pool), options.games))
    RESULTS.write_text(_page(few, many, options, bytes_stored))
    print(RESULTS.read_text())


def _measured(port: int, store: PostgresStore, games: int) -> Iterator[Row]:
    """Yield rows: the action, its ratio to a commit, and its absolute figure."""
    figures = Figures()
    _game(port, random.Random("warm"), Figures())
    for number in range(games):
        figures.commits += [timed(commit) for commit in bare_commits(store, 40)]
        _game(port, random.Random(number), figures)
    commit = statistics.median(figures.commits)
    yield "a commit of two events", "1", _ms(commit)
    client = Client(port=port)
    health = [timed(partial(_read, client, "/healthz")) for _ in range(10 * LOOKS)]
    yield "an answer of /healthz, which does nothing", _ratio(health, commit), _median(health)
    yield "a move, answered over HTTP", _ratio(figures.moves, commit), _median(figures.moves)
    yield "a view, answered over HTTP", _ratio(figures.views, commit), _median(figures.views)
    yield from _readings(port, store, figures.game)
    yield from _together(port, store)


def _readings(port: int, store: PostgresStore, game: str) -> Iterator[Row]:
    """Yield the times of reads of a finished game."""
    anybody = Client(port=port)
    events = anybody.get(f"/v1/games/{game}/events?limit=1000")["items"]
    plays = [event["seq"] for event in events if event["type"] == "cards_played"]
    words = {"middle": len(events) // 2, "play": plays[-1]}
    yield "events of the game that is read", "", f"{anybody.get(f'/v1/games/{game}')['version']}"
    for name, path in READINGS.items():
        address = f"/v1/games/{game}{path.format(**words)}"
        taken, commits = [], []
        for commit in bare_commits(store, LOOKS):
            commits.append(timed(commit))
            taken.append(timed(partial(_read, anybody, address)))
        commit_seconds = statistics.median(commits)
        yield f"{name}", _ratio(taken, commit_seconds), _median(taken)


def _read(client: Client, path: str) -> None:
    answer = client.call("GET", path)
    if answer.status != 200:
        raise ValueError(f"{path}: {answer.status} {answer.body!r}")


def _together(port: int, store: PostgresStore) -> Iterator[Row]:
    """Yield the throughput with several clients, compared with bare commits."""
    commits = _rate(lambda end: _commit_until(store, end))
    moves = _rate(lambda end: _play_until(port, end))
    health = _rate(lambda end: _ask_until(port, end))
    label = f"{CLIENTS} clients: "
    yield f"{label}bare commits a second", "1", f"{commits:.0f}/s"
    yield f"{label}answers of /healthz a second", f"{health / commits:.2f}", f"{health:.0f}/s"
    yield f"{label}moves a second, views between", f"{moves / commits:.2f}", f"{moves:.0f}/s"


def _rate(work: Callable[[float], int]) -> float:
    """Return how often a second `work` was done by all clients together."""
    end, done = time.monotonic() + SECONDS, [0] * CLIENTS

    def client(number: int) -> None:
        done[number] = work(end)

    threads = [threading.Thread(target=client, args=(n,)) for n in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(done) / SECONDS


def _commit_until(store: PostgresStore, end: float) -> int:
    done = 0
    while time.monotonic() < end:
        for commit in bare_commits(store, 20):
            commit()
            done += 1
    return done


def _play_until(port: int, end: float) -> int:
    figures, chance = Figures(), random.Random(threading.get_ident())
    while time.monotonic() < end:
        _game(port, chance, figures, until=end)
    return len(figures.moves)


def _ask_until(port: int, end: float) -> int:
    client, done = Client(port=port), 0
    while time.monotonic() < end:
        client.call("GET", "/healthz")
        done += 1
    return done


def _game(
    port: int, chance: random.Random, figures: Figures, *, until: float = float("inf")
) -> None:
    """Play one hand of people over HTTP; each reads the view before its move."""
    people = [register(port, f"Player {seat}") for seat in range(SEATS)]
    seats = ["me", *["open"] * (SEATS - 1)]
    table = people[0].post("/v1/tables", {"ruleset": "shithead", "seats": seats})
    for one in people[1:]:
        table = one.post(f"/v1/tables/{table['id']}/seats", {})
    path, turn = f"/v1/games/{table['game']}", 0
    while time.monotonic() < until:
        one = people[turn]
        began = time.perf_counter()
        view = one.get(path)
        figures.views.append(time.perf_counter() - began)
        if view["status"] == "ended":
            figures.game = table["game"]
            break
        legal = [move for move in view["moves"] if move["type"] != "swap"]
        if legal:
            plays = [move for move in legal if move["type"] == "play"]
            body: Any = chance.choice(plays or legal)
            began = time.perf_counter()
            view = one.post(f"{path}/moves", body)["game"]
            figures.moves.append(time.perf_counter() - began)
        turn = (turn + 1) % SEATS if view["turn"] is None else view["turn"]
    for one in people:
        one.close()


def _ratio(taken: list[float], commit: float) -> str:
    return f"{statistics.median(taken) / commit:.1f}"


def _median(taken: list[float]) -> str:
    return _ms(statistics.median(taken))


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.2f} ms"


def _page(few: list[Row], many: list[Row], options: argparse.Namespace, stored: int) -> str:
    lines = [
        f"""# Moves and readings beside one durable commit

Made by `python -m ops.bench.speed --piled {options.piled} --games {options.games}`, client,
service, PostgreSQL and Valkey sharing two cores. The ratio is to a bare append of two events
to the same PostgreSQL (flushed to disk before it answers), measured in turn with the operation;
milliseconds are medians, and depend more on the machine than on the program. *Much stored* is the
same with {options.piled} more finished games: {stored / 1e9:.1f} GB of tables and indexes. The
games are of `shithead`, with three people and no clock. The readings are of the last game played.

| | ratio | | much stored: ratio | |
| --- | --- | --- | --- | --- |"""
    ]
    for (name, ratio, figure), (_, ratio_then, figure_then) in zip(few, many, strict=True):
        lines.append(f"| {name} | {ratio} | {figure} | {ratio_then} | {figure_then} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
