"""Round trips to PostgreSQL and Redis of the requests of a game, counted at the connections."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import current_thread
from time import monotonic, sleep
from typing import Any
from unittest import mock
from uuid import UUID, uuid4

import pytest
from redis.connection import AbstractConnection

from service.api.long_poll import LOST_SECONDS
from service.keys import Keyring
from service.store import database
from tests.running import wait_for
from tests.worlds.api_world import Answer, Person, World, make_world, problem_of

Counted = list[str]


@pytest.fixture
def settings(redis_url: str) -> dict[str, Any]:
    """Return the settings of a service as shipped: with Redis and rate limits."""
    return {"redis_url": redis_url, "rate_limits": True, "keys": Keyring.generate().to_text()}


@pytest.fixture
def game(world: World, ada: Person, bob: Person, monkeypatch: pytest.MonkeyPatch) -> str:
    """
    Return a game in its exchange phase, with all statements of a hand prepared.

    The time of the last outage, which a process reads once a second, is not read again.
    """
    world.services.availability.since()
    monkeypatch.setattr(world.services.availability, "_again", float("inf"))
    for _ in range(2):
        path = new_game(ada, bob)
        for person in (ada, bob, ada, bob):
            person.get(path)
            person.post(f"{path}/moves", {"type": "ready"})
        post(bob, path, {"type": "forfeit"})
        forget(world, path)
        ada.get(path)
    return new_game(ada, bob)


def new_game(ada: Person, bob: Person) -> str:
    """Return the path of a new hand of two."""
    table = ada.table("open", window_seconds=0)["id"]
    return f"/v1/games/{bob.post(f'/v1/tables/{table}/seats').json['game']}"


def post(person: Person, path: str, move: dict[str, Any]) -> Answer:
    """Return the answer to a move with an idempotency key of its own."""
    return person.post(f"{path}/moves", move, headers={"Idempotency-Key": uuid4().hex})


def forget(world: World, path: str) -> None:
    """Empty the caches of a process: of the game, of names and of tokens."""
    parts = world.services
    parts.game_cache._games.forget(UUID(path.rpartition("/")[2]))
    parts.first_reads._players.clear()
    parts.first_reads.names._kept.clear()


@contextmanager
def counted() -> Iterator[tuple[Counted, Counted]]:
    """Count waits for PostgreSQL and commands to Redis, but wake-ups: no call waits for them."""
    trips: Counted = []
    commands: Counted = []
    wait = database._Connection.wait
    send: Any = AbstractConnection.send_packed_command

    def waited(self: Any, gen: Any, *rest: Any, **more: Any) -> Any:
        trips.append("wait")
        return wait(self, gen, *rest, **more)

    def sent(self: Any, command: Any, *rest: Any, **more: Any) -> Any:
        if current_thread().name != "waker":
            commands.append(str(command))
        return send(self, command, *rest, **more)

    with (
        mock.patch.object(database._Connection, "wait", waited),
        mock.patch.object(AbstractConnection, "send_packed_command", sent),
    ):
        yield trips, commands


def test_a_move_sends_one_command_to_redis_and_a_view_none(ada: Person, game: str) -> None:
    """It is the notification for live readers, whose reply is not awaited."""
    with counted() as (_, commands):
        ada.get(game)
    assert not commands
    with counted() as (_, commands):
        post(ada, game, {"type": "ready"})
    assert len(commands) == 1
    assert "PUBLISH" in commands[0]


def trips_of(act: Callable[[], Answer], status: int) -> int:
    """Return the PostgreSQL round trips of one request; it makes at most one to Redis."""
    with counted() as (trips, commands):
        answer = act()
    assert answer.status_code == status, answer.text
    assert len(commands) <= 1, commands
    return len(trips)


def test_a_view_takes_one_round_trip(ada: Person, game: str) -> None:
    assert trips_of(lambda: ada.get(game), 200) == 1
    assert trips_of(lambda: ada.get(f"{game}?as=public"), 200) == 1
    assert trips_of(lambda: ada.world.get(game), 200) == 1  # without a token


def test_a_view_on_a_cold_cache_takes_one_round_trip(world: World, ada: Person, game: str) -> None:
    forget(world, game)
    assert trips_of(lambda: ada.get(game), 200) == 1


def test_a_view_with_expired_names_takes_one_round_trip(
    world: World, ada: Person, game: str
) -> None:
    ada.get(game)
    world.services.first_reads.names._kept.clear()
    assert trips_of(lambda: ada.get(game), 200) == 1


def test_a_view_of_a_game_changed_by_another_process_takes_one_round_trip(
    database_url: str, settings: dict[str, Any], ada: Person, bob: Person, game: str
) -> None:
    ready_elsewhere(bob, database_url, settings, game)
    assert trips_of(lambda: ada.get(game), 200) == 1
    assert ada.get(game).json["seats"][1]["ready"]


def test_a_long_poll_takes_one_round_trip(
    world: World, ada: Person, bob: Person, game: str
) -> None:
    """Its token and the new version are read together, and repeated notifications are no news."""
    waiting, identity = world.app.extensions["shithead"].waiting, UUID(game.rpartition("/")[2])
    ada.get(f"{game}?wait=1")
    version = post(bob, game, {"type": "ready"}).json["version"]
    wait_for(lambda: waiting.newest(identity) == version, seconds=10)
    ada.get(game)
    with counted() as (trips, _), ThreadPoolExecutor() as thread:
        answer = thread.submit(ada.get, f"{game}?after={version}&wait=10")
        for repeated in (version, version - 1):
            sleep(0.1)
            world.services.notifier.moved(identity, repeated, wake=False)
        sleep(0.1)
        assert not trips
        reached = post(ada, game, {"type": "ready"}).json["version"]
        assert answer.result().json["version"] == reached
    assert len(trips) == 2, "one of the long poll, one of the move"


def test_a_long_poll_reads_at_once_a_version_that_its_process_does_not_know(
    database_url: str, settings: dict[str, Any], ada: Person, bob: Person, game: str
) -> None:
    version = ada.get(f"{game}?wait=1").json["version"]
    ready_elsewhere(bob, database_url, settings, game)
    began = monotonic()
    assert ada.get(f"{game}?after={version}&wait=20").json["version"] > version
    assert monotonic() - began < LOST_SECONDS


def test_a_long_poll_with_a_token_that_ended_meanwhile_is_refused(
    world: World, database_url: str, settings: dict[str, Any], ada: Person, bob: Person, game: str
) -> None:
    waiting, identity = world.app.extensions["shithead"].waiting, UUID(game.rpartition("/")[2])
    ada.get(f"{game}?wait=1")
    version = post(bob, game, {"type": "ready"}).json["version"]
    wait_for(lambda: waiting.newest(identity) == version, seconds=10)
    ada.get(game)
    end_elsewhere(ada, database_url, settings)
    assert problem_of(ada.get(f"{game}?after={version}&wait=1")) == "unauthorized"


def test_a_move_takes_one_round_trip(ada: Person, bob: Person, game: str) -> None:
    ada.get(game)
    bob.get(game)
    assert trips_of(lambda: post(ada, game, {"type": "ready"}), 201) == 1
    assert trips_of(lambda: post(bob, game, {"type": "ready"}), 201) == 1
    view = ada.get(game).json
    on_turn = (ada, bob)[view["turn"]]
    move = on_turn.get(game).json["moves"][0]
    assert trips_of(lambda: post(on_turn, game, move), 201) == 1


def test_a_move_on_a_cold_cache_with_an_uncached_token_takes_two_round_trips(
    world: World, ada: Person, game: str
) -> None:
    forget(world, game)
    assert trips_of(lambda: post(ada, game, {"type": "ready"}), 201) == 2


def test_a_move_with_an_uncached_token_takes_two_round_trips(
    world: World, ada: Person, game: str
) -> None:
    world.services.first_reads._players.clear()
    assert trips_of(lambda: post(ada, game, {"type": "ready"}), 201) == 2


def ready_elsewhere(person: Person, database_url: str, settings: dict[str, Any], path: str) -> None:
    """Make a person ready through another process of the same service."""
    other = make_world(database_url, **settings)
    answer = other.client.post(f"{path}/moves", json={"type": "ready"}, headers=person.headers)
    assert answer.status_code == 201, answer.text
    other.services.close()


def end_elsewhere(person: Person, database_url: str, settings: dict[str, Any]) -> None:
    """Replace the token of a person through another process."""
    other = make_world(database_url, **settings)
    body = {"name": "new", "replaces": True}
    answer = other.client.post("/v1/players/me/tokens", json=body, headers=person.headers)
    assert answer.status_code == 201
    other.services.close()


def test_a_move_after_a_conflict_takes_two_round_trips(
    database_url: str, settings: dict[str, Any], ada: Person, bob: Person, game: str
) -> None:
    ready_elsewhere(bob, database_url, settings, game)
    assert trips_of(lambda: post(ada, game, {"type": "ready"}), 201) == 2
    assert ada.get(game).json["status"] == "playing"


def test_a_refused_move_takes_two_round_trips(ada: Person, game: str) -> None:
    ada.get(game)
    post(ada, game, {"type": "ready"})
    assert trips_of(lambda: post(ada, game, {"type": "ready"}), 409) == 2


def test_the_sealing_move_takes_two_round_trips(bob: Person, game: str) -> None:
    bob.get(game)
    assert trips_of(lambda: post(bob, game, {"type": "forfeit"}), 201) == 2


def test_a_repeated_move_takes_at_most_three_round_trips(ada: Person, game: str) -> None:
    """Its answer is read with the game or found at the commit; then its events are read."""
    ada.get(game)
    key = {"Idempotency-Key": "once"}
    first = ada.post(f"{game}/moves", {"type": "ready"}, headers=key)
    assert trips_of(lambda: ada.post(f"{game}/moves", {"type": "ready"}, headers=key), 201) <= 3
    assert ada.post(f"{game}/moves", {"type": "ready"}, headers=key).json == first.json


@pytest.mark.parametrize("body", [{"type": "ready"}, {"type": "pass"}, {"type": "no move"}])
def test_a_token_replaced_by_another_process_is_refused_at_once(
    database_url: str, settings: dict[str, Any], ada: Person, game: str, body: dict[str, Any]
) -> None:
    """It is cached here, yet refused before any other fault, and nothing is written."""
    ada.get(game)
    before = ada.world.get(game).json["version"]
    end_elsewhere(ada, database_url, settings)
    assert problem_of(post(ada, game, body)) == "unauthorized"
    assert problem_of(ada.get(game)) == "unauthorized"
    assert ada.world.get(game).json["version"] == before
