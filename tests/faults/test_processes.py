"""Real processes under faults in mid-game: Redis emptied, stopped or hung, workers killed."""

from __future__ import annotations

import random
import signal
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
import redis

from service.application.ports import MAIN_QUEUE
from service.local.servers import EmbeddedValkey
from tests.client import Client, open_table, play_on, register
from tests.running import Running, running, wait_for

pytestmark = pytest.mark.heavy

BOTS = ("lowest", "greedy", "random")


@pytest.fixture(scope="module")
def valkey(server_folder: Path) -> Iterator[EmbeddedValkey]:
    """Return a Redis for these tests, which may be stopped."""
    server = EmbeddedValkey(server_folder / "fragile")
    server.start()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def service(
    module_database_url: str,
    valkey: EmbeddedValkey,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Running]:
    """Return a running service with one worker."""
    with running(module_database_url, valkey.url, tmp_path_factory.mktemp("logs")) as started:
        yield started


@pytest.fixture
def rng() -> random.Random:
    """Return a seeded random generator."""
    return random.Random(11)


def table_of_bots(service: Running) -> tuple[Client, str]:
    """Return a spectator and a game of bots."""
    host = register(service.port, "Ada")
    seats = [{"bot": bot} for bot in BOTS]
    table = host.post("/v1/tables", {"ruleset": "leeds", "seats": seats})
    return host, table["game"]


def under_way(spectator: Client, game: str) -> bool:
    """Return whether a game has some moves."""
    version: int = spectator.get(f"/v1/games/{game}")["version"]
    return version > 6


def wait_for_end(spectator: Client, game: str, *, seconds: float = 30) -> None:
    """Wait until a game is over."""
    wait_for(lambda: spectator.get(f"/v1/games/{game}")["status"] == "ended", seconds=seconds)


def test_the_game_goes_on_when_redis_is_emptied_again_and_again(
    service: Running, valkey: EmbeddedValkey, rng: random.Random
) -> None:
    ada = register(service.port, "Ada")
    game = open_table([ada], ruleset="shithead", bots=BOTS, window_seconds=0, turn_limit=60)
    stop = threading.Event()

    def empty() -> None:
        with redis.Redis.from_url(valkey.url) as client:
            while not stop.wait(0.02):
                client.flushall()

    emptying = threading.Thread(target=empty)
    emptying.start()
    try:
        play_on([ada], game, rng, moves=6)
    finally:
        stop.set()
        emptying.join()
    assert play_on([ada], game, rng)["status"] == "ended"


def test_a_game_of_bots_that_lost_its_only_wake_up_continues(
    service: Running, valkey: EmbeddedValkey
) -> None:
    """The worker is stopped while its job is deleted from Redis."""
    service.kill("worker 1")
    spectator, game = table_of_bots(service)
    with redis.Redis.from_url(valkey.url) as client:
        wait_for(lambda: client.llen(f"rq:queue:{MAIN_QUEUE}"), seconds=20)
        client.flushall()
    service.start("worker 1")
    wait_for_end(spectator, game)


@pytest.mark.smoke
def test_a_worker_killed_during_a_job_only_delays_the_game(
    service: Running,
) -> None:
    """Killed at a moment when it is playing: the log grows, and the hand is not over."""
    caught = 0
    for _ in range(20):
        spectator, game = table_of_bots(service)
        path = f"/v1/games/{game}"
        wait_for(partial(under_way, spectator, game), seconds=20)
        service.kill("worker 1")
        caught += spectator.get(path)["status"] == "playing"
        service.start("worker 1")
        wait_for_end(spectator, game)
        checks = spectator.get(f"{path}/audit")
        assert (checks["result"], checks["level"]) == ("pass", "L1")
        if caught:
            return
    raise AssertionError("the worker was never killed in the middle")


def test_while_redis_is_down_people_play_on_and_bots_resume_when_it_is_back(
    service: Running, valkey: EmbeddedValkey
) -> None:
    ada, bob = register(service.port, "Ada"), register(service.port, "Bob")
    with_bots = register(service.port, "Cleo")
    process = valkey.process
    assert process is not None
    process.send_signal(signal.SIGKILL)
    process.wait()
    try:
        assert register(service.port, "Dora").slowest < 1.0, "limits are counted without it"
        people = open_table([ada, bob], ruleset="leeds")
        waiting = open_table(
            [with_bots], ruleset="leeds", bots=("lowest",), window_seconds=0, turn_limit=60
        )
        for client in (ada, bob, with_bots):
            client.slowest = 0.0
        view = play_on([ada, bob], people, random.Random(2), moves=30)
        assert view["version"] > 30
        with_bots.post(f"/v1/games/{waiting}/moves", {"type": "ready"})
        assert max(client.slowest for client in (ada, bob, with_bots)) < 1.0
        assert "failed" in with_bots.get("/readyz")["parts"]["redis"]
    finally:
        valkey.start()
    version = with_bots.get(f"/v1/games/{waiting}")["version"]
    wait_for(
        lambda: (
            with_bots.get(f"/v1/games/{waiting}")["version"] > version
            or with_bots.get(f"/v1/games/{waiting}")["moves"]
        ),
        seconds=15,
    )
    assert play_on([with_bots], waiting, random.Random(3))["status"] == "ended"


@pytest.mark.smoke
def test_while_redis_hangs_moves_are_answered_within_seconds(
    service: Running, valkey: EmbeddedValkey
) -> None:
    """It accepts connections and never answers."""
    ada, bob = register(service.port, "Ada"), register(service.port, "Bob")
    game = open_table([ada, bob], ruleset="leeds")
    process = valkey.process
    assert process is not None
    process.send_signal(signal.SIGSTOP)
    try:
        for client in (ada, bob):
            client.slowest = 0.0
        play_on([ada, bob], game, random.Random(2), moves=12)
        assert max(ada.slowest, bob.slowest) < 2.5
    finally:
        process.send_signal(signal.SIGCONT)
    spectator, other = table_of_bots(service)
    wait_for_end(spectator, other)
