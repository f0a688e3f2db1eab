#!/usr/bin/env python3
"""
Cost of a move against its durable commit: python -m ops.bench.moves [--games N] [--profile].

Baseline and measurement run in turn in the same process against the same
PostgreSQL, on events of the same size; the figure is their ratio.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import pstats
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from uuid import UUID, uuid4

import orjson

from ops.bench.requests import plain_table
from service.application.calls import Caller, Player
from service.bootstrap import Services, compose
from service.domain.events import Entropy
from service.keys import Keyring
from service.local.servers import EmbeddedPostgres
from service.shx.chain import encode_event, genesis, head
from service.store.database import Database
from service.store.directory import Directory
from service.store.events import Commit, OutboxRow, StreamAppend, StreamKind
from service.store.migrate import migrate, service_url
from service.store.postgres_events import PostgresStore
from tests.memory.public_log import MemoryLog

SEATS = 3


def main() -> None:
    """Play games through the use cases and print what a move costs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--games", type=int, default=20)
    parser.add_argument("--ruleset", default="shithead")
    parser.add_argument("--profile", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        postgres = EmbeddedPostgres(Path(folder))
        url = postgres.start()
        try:
            migrate(url)
            database = Database(service_url(url))
            print(json.dumps(measure(database, options), indent=1))
        finally:
            database.close()
            postgres.stop()


def measure(database: Database, options: argparse.Namespace) -> dict[str, object]:
    """Return the figures, microseconds as medians."""
    store = PostgresStore(database)
    services = compose(
        log_store=MemoryLog(),
        store=store,
        directory=Directory(database),
        keyring=Keyring.generate(),
        origin="bench.invalid",
    )
    players = [_player(services, n) for n in range(SEATS)]
    profile = cProfile.Profile() if options.profile else None
    bare: list[float] = []
    moves: list[float] = []
    reads: list[float] = []
    for game in range(options.games):
        bare += [timed(commit) for commit in bare_commits(store, 30)]
        if profile:
            profile.enable()
        _play(services, players, options.ruleset, random.Random(game), moves, reads)
        if profile:
            profile.disable()
    if profile:
        pstats.Stats(profile).sort_stats("cumulative").print_stats(45)
    commit, move, view = (statistics.median(x) * 1e6 for x in (bare, moves, reads))
    return {
        "games": options.games,
        "moves": len(moves),
        "commit_us": round(commit),
        "move_us": round(move),
        "move_to_commit": round(move / commit, 2),
        "view_us": round(view),
        "view_to_commit": round(view / commit, 2),
    }


def _play(
    services: Services,
    players: list[Player],
    ruleset: str,
    chance: random.Random,
    moves: list[float],
    reads: list[float],
) -> None:
    game = _table(services, players, ruleset)
    callers = [Caller(player=player.id) for player in players]
    while True:
        for caller in callers:
            started = time.perf_counter()
            view = orjson.loads(services.games.view(caller, game)[0])
            reads.append(time.perf_counter() - started)
            if view["status"] == "ended":
                return
            legal = [move for move in view["moves"] if move["type"] != "swap"]
            if legal:
                plays = [move for move in legal if move["type"] == "play"]
                body = chance.choice(plays or legal)
                started = time.perf_counter()
                services.moves.move(caller, game, body)
                moves.append(time.perf_counter() - started)


def _table(services: Services, players: list[Player], ruleset: str) -> UUID:
    wanted = plain_table(ruleset, ("me", *["open"] * (len(players) - 1)))
    table = orjson.loads(services.tables.open(players[0], wanted).body)
    for player in players[1:]:
        answer = services.tables.sit(
            player, UUID(table["id"]), seat=None, entropy=Entropy.NONE, key=None, invite=None
        )
        table = orjson.loads(answer.body)
    return UUID(table["game"])


def _player(services: Services, number: int) -> Player:
    registered = services.players.register(f"Player {number}")
    return Player(id=UUID(registered["id"]), name=registered["name"])


def bare_commits(store: PostgresStore, count: int) -> list[Callable[[], object]]:
    """Return bare appends of two events each, the size of a play and its draw."""
    stream, at = uuid4(), "2026-01-01T00:00:00.000000Z"
    previous = genesis(stream)
    commits: list[Callable[[], object]] = []
    for number in range(count):
        lines = []
        for part in range(2):
            line = encode_event(
                game=stream,
                seq=2 * number + part,
                prev=previous,
                at=at,
                by=0,
                type="cards_played",
                data={"seat": 0, "cards": ["7c", "7d"], "filling": "x" * 60},
            )
            lines.append(line)
            previous = head(line)
        commit = Commit(
            appends=(
                StreamAppend(
                    stream=stream,
                    kind=StreamKind.TABLE,
                    expected=2 * number,
                    events=tuple(lines),
                    head=previous,
                ),
            ),
            outbox=(OutboxRow(stream=stream, version=2 * number + 2, topic="bench"),),
        )
        commits.append(partial(store.commit, commit))
    return commits


def timed(act: Callable[[], object]) -> float:
    """Return how many seconds `act` took."""
    started = time.perf_counter()
    act()
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
