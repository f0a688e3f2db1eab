"""Cost of calls beside the state that one player or address can build up, in one process."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random
from uuid import uuid4

import psycopg

from service.application import ratings
from service.application.quotas import Slice
from service.store.migrate import migrate
from tests import servers
from tests.worlds.api_world import Person, World, make_world

TABLES = 100
SEATS = 12
HANDS = 20_000
ERASURES = 40
NOTES = 1990
ACCOUNTS = 500
SEEKS = 5000
STREAMS_OF_PLAYER = 32  # tried; those that are refused cost nothing

Figures = dict[str, dict[str, float | None]]


def states(url: str) -> Figures:
    """Return the figures of each case."""
    world = make_world(url, rate_limits=True, calls_per_token=10**6)
    try:
        found = {
            **_lists(world),
            **_left_behind(world, url),
            **_lifetime(world, url),
            **_erasures(world),
            **_seeks(world, url),
        }
    finally:
        world.services.close()
    return {name: {"state": value} for name, value in found.items()}


def _lists(world: World) -> dict[str, float | None]:
    """Return what an anonymous list costs, and how much of it the limits let an address ask for."""
    ada = world.person("Ada")
    for _ in range(TABLES):
        ada.table(*["open"] * (SEATS - 1), ruleset="covered-queen")
    path = f"/v1/tables?limit={TABLES}"
    milliseconds = _cost(lambda: world.get(path))
    before = _left(world)
    world.get(path)
    weight = max(1, before - _left(world) - 1)
    allowed = 120_000 / weight
    own = _cost(lambda: ada.get("/v1/players/me/stream"))
    return {
        f"a list of {TABLES} tables of {SEATS} seats, without a token: ms": milliseconds,
        "that list, seconds of processor time that an address may ask for in a minute": min(
            allowed * milliseconds / 1000, 9999.0
        ),
        f"an own snapshot of {TABLES} tables, times the streams of a player: ms": own
        * _streams(ada),
    }


def _left(world: World) -> int:
    header = world.get("/v1/bots").headers["RateLimit"]
    return int(header.partition("r=")[2].partition(";")[0])


def _streams(player: Person) -> int:
    """Return how many streams a player can hold at a time."""
    held = []
    for _ in range(STREAMS_OF_PLAYER):
        answer = player.get("/v1/players/me/stream", buffered=False, headers=SSE)
        if answer.status_code != 200:
            break
        held.append(answer)
    for answer in held:
        answer.close()
    return len(held)


SSE = {"Accept": "text/event-stream"}


def _left_behind(world: World, url: str) -> dict[str, float | None]:
    """Return how many notes and seeks a player can leave behind in as many tries."""
    ada, kept = world.person("Ada"), 0
    game = ada.table({"bot": "lowest"})["game"]
    with psycopg.connect(url) as connection:
        connection.execute(
            "INSERT INTO notes (game_id, author, seq, words, visibility, at)"
            " SELECT gen_random_uuid(), %s, 0, repeat('x', 1000), 'me', now()"
            " FROM generate_series(1, %s)",
            (ada.id, NOTES),
        )
    for _ in range(20):
        body = {"text": "x" * 1000, "visibility": "me"}
        kept += ada.call("PUT", f"/v1/games/{game}/notes/0", json=body).status_code == 200
        ada.post(f"/v1/games/{game}/moves", {"type": "forfeit"})
        game = ada.table({"bot": "lowest"})["game"]
    seeks = 0
    for _ in range(1000):
        seek = ada.post("/v1/seeks", {"rulesets": ["shithead"], "seats": 2})
        if seek.status_code != 201:
            break
        ada.call("DELETE", f"/v1/seeks/{seek.json['id']}")
        seeks += 1
    return {
        f"further notes of a player with {NOTES:,}, of 20 on other hands": float(kept),
        "seeks that are posted and withdrawn in a row, of 1,000": float(seeks),
    }


def _lifetime(world: World, url: str) -> dict[str, float | None]:
    """Return how long the page of a player takes with few and with many hands."""
    few, many = world.person("Few"), world.person("Many")
    with psycopg.connect(url) as connection:
        connection.execute(
            "WITH made AS (INSERT INTO games"
            " (game_id, table_id, hand, ruleset_id, status, version, created_at, ended_at, public)"
            " SELECT gen_random_uuid(), %s, 1, 'shithead', 'ended', 9, now(), now(), true"
            " FROM generate_series(1, %s) RETURNING game_id)"
            " INSERT INTO game_seats (game_id, seat, kind, player_id, dealt_at)"
            " SELECT game_id, 0, 'human', %s, now() FROM made",
            (uuid4(), HANDS, many.id),
        )
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("ANALYZE games, game_seats")
    return {
        f"the page of a player with {hands} hands: ms": _waited(
            partial(world.get, f"/v1/players/{one.id}")
        )
        for hands, one in (("no", few), (f"{HANDS:,}", many))
    }


def _erasures(world: World) -> dict[str, float | None]:
    """Return after how many steps the ratings have counted all, one erasure beside each step."""
    ada = world.person("Ada")
    for _ in range(20):
        game = ada.table({"bot": "lowest"})["game"]
        ada.post(f"/v1/games/{game}/moves", {"type": "forfeit"})
    world.services.sequencer.run_once()
    ratings.LEAVES = 5  # type: ignore[misc] # few hands, many steps
    others = [world.person("Bob") for _ in range(ERASURES)]
    game = others[0].table({"bot": "lowest"})["game"]
    others[0].post(f"/v1/games/{game}/moves", {"type": "forfeit"})
    world.services.sequencer.run_once()
    published = world.services.ratings._log.published()  # noqa: SLF001 - what they count
    size = 0 if published is None else published.size
    steps: float | None = None
    for number, other in enumerate(others, 1):
        other.call("DELETE", "/v1/players/me")
        world.services.ratings.advance()
        if world.services.directory.ratings_reached()[0].leaves >= size:
            steps = number
            break
    return {f"steps until {size} leaves are rated, with an erasure before each": steps}


def _seeks(world: World, url: str) -> dict[str, float | None]:
    """Return what a seek and a round of matching cost beside many that can never be matched."""
    ada, waits = world.person("Ada"), iter(range(3000, 3100))
    names = [one["id"] for one in world.get("/v1/rulesets").json["items"]]

    def post() -> None:
        body = {"rulesets": ["shithead"], "seats": 3, "fill_with_bots_after": next(waits)}
        assert ada.post("/v1/seeks", body).status_code == 201

    alone = _cost(post, times=4)
    accounts = [world.services.players.register("x")["id"] for _ in range(ACCOUNTS)]
    random = Random(1)
    rows = [
        (uuid4(), accounts[n % ACCOUNTS], random.sample(names, min(21, len(names))), n)
        for n in range(SEEKS)
    ]
    with psycopg.connect(url) as connection:
        connection.cursor().executemany(
            "INSERT INTO seeks (seek_id, player_id, rulesets, seats, entropy, only_stayers,"
            " standing, keep, created_at, expires_at)"
            " VALUES (%s, %s, %s, 3, 'none', false, 'stays', false, now() + %s * interval '1 ms',"
            " now() + interval '1 h')",
            rows,
        )
        connection.execute(
            "INSERT INTO blocks (player, blocked, at) SELECT a, b, now() FROM"
            " unnest(%s::uuid[]) a, unnest(%s::uuid[]) b WHERE a <> b",
            (accounts, accounts),
        )
    beside = _cost(post, times=4)
    sweep = world.services.matchmaker.sweep
    name = f"{SEEKS:,} seeks of {ACCOUNTS} accounts that block one another"
    return {
        "a seek in an empty pool: ms": alone,
        f"a seek beside {name}: ms": beside,
        f"a round of matching with {name}: ms": _cost(
            lambda: sweep(Slice(rows=20, seconds=60)), times=2
        ),
        f"the list of seeks, without a token, with {name}: ms": _cost(
            lambda: world.get("/v1/seeks")
        ),
    }


def _cost(act: Callable[[], object], times: int = 5) -> float:
    """Return the milliseconds of processor time of this thread for a call."""
    act()
    before = time.thread_time()
    for _ in range(times):
        act()
    return (time.thread_time() - before) / times * 1000


def _waited(act: Callable[[], object], times: int = 5) -> float:
    """Return the milliseconds until a call is answered, the database included."""
    act()
    before = time.monotonic()
    for _ in range(times):
        act()
    return (time.monotonic() - before) / times * 1000


def main() -> None:
    """Measure on a server of its own, and print the figures."""
    with (
        tempfile.TemporaryDirectory() as folder,
        servers.postgres(Path(folder) / "postgres") as server,
    ):
        migrate(server.url)
        print(json.dumps(states(server.url), indent=1))


if __name__ == "__main__":
    main()
