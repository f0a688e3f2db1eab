"""After SIGTERM the service finishes running answers, long polls and streams."""

from __future__ import annotations

import http.client
import random
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import orjson
import pytest

from tests.client import Client, open_table, play_on, register
from tests.running import READY_SECONDS, Running, free_port, is_ready, running, wait_for

pytestmark = pytest.mark.heavy


@pytest.fixture(scope="module")
def started(
    module_database_url: str, redis_server: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Running]:
    """Return a service for the tests of this module, each of which stops one of its programs."""
    logs = tmp_path_factory.mktemp("logs")
    with running(module_database_url, redis_server, logs, stream_port=free_port()) as service:
        yield service


@pytest.fixture
def service(started: Running) -> Running:
    """Return the service with all programs running again."""
    for name in ("API", "streams"):
        if name not in started.children:
            started.start(name)
        wait_for(partial(is_ready, port_of(started, name)), seconds=READY_SECONDS)
    return started


def stop(service: Running, name: str = "API") -> int:
    """Stop a program with SIGTERM, and return its exit status."""
    child = service.children.pop(name)
    child.terminate()
    return child.wait(timeout=30)


def port_of(service: Running, name: str) -> int:
    """Return the port of a program."""
    port = service.port if name == "API" else service.settings.stream_port
    assert port is not None
    return port


@pytest.mark.parametrize("name", ["API", "streams"])
def test_a_long_poll_is_answered_with_the_unchanged_game(service: Running, name: str) -> None:
    port = port_of(service, name)
    ada, bob = register(port, "Ada"), register(port, "Bob")
    path = f"/v1/games/{open_table([ada, bob], ruleset='leeds')}"
    view = ada.get(path)
    with ThreadPoolExecutor(8) as pool:
        polls = [
            pool.submit(
                Client(port=port, token=ada.token).call,
                "GET",
                f"{path}?after={view['version']}&wait=30",
            )
            for _ in range(8)
        ]
        wait_for(lambda: bob.call("GET", f"{path}?after=0&wait=1").status == 200, seconds=5)
        threading.Event().wait(1)  # for the polls to have begun
        stop(service, name)
        for poll in polls:
            answer = poll.result(timeout=10)
            assert answer.status == 200
            assert answer.json == view


@pytest.mark.parametrize("name", ["API", "streams"])
def test_a_stream_ends_cleanly(service: Running, name: str) -> None:
    ada, bob = register(service.port, "Ada"), register(service.port, "Bob")
    game = open_table([ada, bob], ruleset="leeds")
    version = ada.get(f"/v1/games/{game}")["version"]
    connection = http.client.HTTPConnection("127.0.0.1", port_of(service, name), timeout=60)
    connection.request("GET", f"/v1/games/{game}/stream")
    stream = connection.getresponse()
    received = b""
    while received.count(b"\nid: ") < version:
        received += stream.read1(65536)
    stop(service, name)
    received += stream.read()  # raises IncompleteRead if the connection was cut
    assert b"event: end" not in received


@pytest.mark.smoke
def test_no_acknowledged_move_is_lost_if_the_service_stops_in_mid_game(
    service: Running,
) -> None:
    """People play during the stop; every acknowledged move is in the log afterwards."""
    ada, bob = register(service.port, "Ada"), register(service.port, "Bob")
    game = open_table(
        [ada, bob], ruleset="shithead", bots=("lowest",), window_seconds=0, turn_limit=60
    )
    acknowledged: list[dict[str, Any]] = []

    def play() -> None:
        for seed in range(1000):
            for player in (ada, bob):
                before = player.call("GET", f"/v1/games/{game}")
                if before.status != 200 or not before.json["moves"]:
                    continue
                move = random.Random(seed).choice(before.json["moves"])
                answer = player.call("POST", f"/v1/games/{game}/moves", move)
                if answer.status == 201:
                    acknowledged.extend(answer.json["events"])

    playing = threading.Thread(target=lambda: _until_cut(play))
    playing.start()
    wait_for(lambda: len(acknowledged) > 5, seconds=30)
    stop(service)
    playing.join(timeout=60)
    assert not playing.is_alive()
    service.start("API")
    wait_for(lambda: _answers(ada), seconds=30)
    events = ada.call("GET", f"/v1/games/{game}/events?limit=1000").json["items"]
    log = {orjson.dumps(event, option=orjson.OPT_SORT_KEYS) for event in events}
    assert {orjson.dumps(event, option=orjson.OPT_SORT_KEYS) for event in acknowledged} <= log
    play_on([ada, bob], game, random.Random(1))


def _until_cut(play: Any) -> None:
    try:
        play()
    except (OSError, http.client.HTTPException):
        return


def _answers(client: Client) -> bool:
    try:
        return client.call("GET", "/readyz").status == 200
    except OSError:
        return False
