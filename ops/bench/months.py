"""A month of hands as files: `python -m ops.bench.months` dumps, verifies and rates 2,000 hands."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar
from uuid import UUID

import orjson
import psycopg

from ops.bench.many_files import RULESETS, compare, peak
from service.local.servers import EmbeddedPostgres
from service.shx.chain import head
from service.store.migrate import migrate
from tests.random_games import Plan, made_game
from tests.worlds.api_world import Person, World, make_world

MONTH: Final = "2026-11"
PEOPLE: Final = 20
T = TypeVar("T")


def main() -> None:
    """Print the time of each step, and whether the numbers of the service and the command agree."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hands", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=3)
    chosen = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="months-"))
    try:
        server = EmbeddedPostgres(folder / "data", durable=False)
        try:
            migrate(url := server.start())
            world = make_world(url)
            people = [world.person(f"Player {number}") for number in range(PEOPLE)]
            _store(url, people, chosen.hands)
            _log(world)
            dump = folder / "dump"
            manifest = _timed("dumped", lambda: world.services.dumps.write(MONTH, dump))
            tars = sum(tar.size for tar in manifest.tars)
            print(f"{manifest.hands} hands, {len(manifest.tars)} tar files of {tars} bytes")
            keys = folder / "keys.json"
            keys.write_bytes(world.get("/v1/keys").get_data())
            _timed("rated by the service", lambda: _rate(world))
            ratings = {one: _listed(world, one) for one in RULESETS}
            _timed("lines of one player", lambda: _lines(people[0]), chosen.hands)
            world.services.close()
        finally:
            server.stop()
        elsewhere = folder / "elsewhere"
        shutil.copytree(dump, elsewhere)
        _from_files(elsewhere, keys, ratings, chosen.rounds)
    finally:
        shutil.rmtree(folder)


def _from_files(
    dump: Path, keys: Path, ratings: dict[str, list[dict[str, Any]]], rounds: int
) -> None:
    """Rate and verify a copy of the dump; the service has been stopped."""
    program = str(Path(sys.executable).with_name("shithead"))
    command = [program, "ratings", str(dump), "--json"]
    done = _timed(
        "rated from the files",
        lambda: subprocess.run(command, capture_output=True, check=True).stdout,
    )
    computed = json.loads(done)
    for ruleset in RULESETS:
        for one in ratings[ruleset]:
            one.pop("name")
        assert computed.get(ruleset, []) == ratings[ruleset], ruleset
    print(f"the same ratings to four decimals: {sum(map(len, ratings.values()))} numbers")
    verify = [program, "verify", "--dump", str(dump), "--server-key", str(keys)]
    compare(verify, rounds)
    print(f"{peak([*verify, '--jobs', '1']):.0f} MB at most with one process")


def _store(url: str, people: list[Person], hands: int) -> None:
    """Store sealed hands of random moves, as if they had been played at one public table."""
    [table] = [UUID(people[0].table("open")["id"])]
    with psycopg.connect(url, autocommit=True) as connection:
        for number in range(hands):
            ruleset = RULESETS[number % len(RULESETS)]
            own = str(UUID(int=number, version=4))
            plan = Plan(name=f"m{number}", ruleset=ruleset, seats=3, turn_limit=400, table=own)
            log = made_game(plan)
            with connection.transaction():
                _insert(connection, table, ruleset, log, people, number)
        connection.execute("ANALYZE")


def _insert(
    connection: psycopg.Connection,
    table: UUID,
    ruleset: str,
    log: list[bytes],
    people: list[Person],
    number: int,
) -> None:
    first, last = orjson.loads(log[0]), orjson.loads(log[-1])
    ended = next(
        (orjson.loads(line)["data"] for line in reversed(log) if b'"game_ended"' in line), None
    )
    game = first["game"]
    connection.execute(
        "INSERT INTO streams VALUES (%s, 'game', %s, %s)", (game, len(log), head(log[-1]))
    )
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO events VALUES (%s, %s, %s)",
            [(game, seq, line) for seq, line in enumerate(log)],
        )
        connection.execute(
            "INSERT INTO games (game_id, table_id, hand, ruleset_id, status, version, created_at,"
            " ended_at, reason, shithead, places, public) VALUES"
            " (%s, %s, 1, %s, %s, %s, %s, %s, %s, %s, %s, true)",
            (
                game,
                table,
                ruleset,
                "aborted" if ended is None else "ended",
                len(log),
                first["at"],
                last["at"],
                last["data"].get("cause") if ended is None else ended["reason"],
                None if ended is None else ended["shithead"],
                None if ended is None else json.dumps(ended["places"]),
            ),
        )
        cursor.executemany(
            "INSERT INTO game_seats VALUES (%s, %s, %s, %s, %s)",
            [
                (game, seat, setup["kind"], setup["bot"], _player(people, setup, seat, number))
                for seat, setup in enumerate(first["data"]["seats"])
            ],
        )
    connection.execute("INSERT INTO outbox VALUES (%s, %s, 'log', now())", (game, len(log)))


def _player(people: list[Person], setup: dict[str, Any], seat: int, number: int) -> str | None:
    """Return the player of a seat: the first one plays every hand, the others in turn."""
    if setup["kind"] == "bot":
        return None
    return people[0 if seat == 0 else 1 + (number + 5 * seat) % (len(people) - 1)].id


def _log(world: World) -> None:
    while world.services.directory.oldest_outbox_time(topic="log") is not None:
        world.services.sequencer.run_once()


def _rate(world: World) -> None:
    while world.services.ratings.advance():
        pass


def _listed(world: World, ruleset: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = world.get(f"/v1/ratings?ruleset={ruleset}&limit=200").json[
        "items"
    ]
    return items


def _lines(person: Person) -> None:
    lines = person.get(f"/v1/players/{person.id}/hands").get_data().splitlines()
    print(f"{len(lines)} lines")


def _timed(what: str, work: Callable[[], T], number: int = 0) -> T:
    """Run a step, and print its elapsed and its processor time in this process."""
    began, used = time.perf_counter(), time.process_time()
    result = work()
    elapsed, own = time.perf_counter() - began, time.process_time() - used
    rate = f", {number / elapsed:.0f} a second" if number else ""
    load = os.getloadavg()[0]
    print(
        f"{what}: {elapsed:.1f} s, {own:.1f} s of processor time{rate} (load {load:.1f})",
        flush=True,
    )
    return result


if __name__ == "__main__":
    main()
