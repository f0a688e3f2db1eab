"""Live readers over HTTP: they get the stored bytes and never block other calls."""

from __future__ import annotations

import contextlib
import http.client
import json
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from tests.client import Client, register
from tests.running import Running, free_port, running, wait_for

pytestmark = pytest.mark.heavy

SLOTS = 8
"""The slots of one address: half of all slots, which are half of the threads."""


@pytest.fixture
def service(database_url: str, redis_url: str, tmp_path: Path) -> Iterator[Running]:
    """Return a service with one API process and one streams process."""
    more = {"api_processes": 1, "api_threads": 4 * SLOTS, "stream_port": free_port()}
    with running(database_url, redis_url, tmp_path, workers=0, **more) as started:
        yield started


@contextlib.contextmanager
def reading(port: int, path: str) -> Iterator[http.client.HTTPResponse]:
    """Open a stream and leave it open."""
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=20)) as line:
        line.request("GET", path)
        yield line.getresponse()


def a_game(port: int) -> tuple[Client, str]:
    """Return a player and the path of a game that waits for that player."""
    ada = register(port, "Ada")
    wanted = {"ruleset": "shithead", "seats": ["me", {"bot": "lowest"}]}
    return ada, f"/v1/games/{ada.post('/v1/tables', wanted)['game']}"


def one_event(answer: http.client.HTTPResponse) -> dict[str, str]:
    """Return the next event of a stream, comments and hints left out."""
    fields: dict[str, str] = {}
    while True:
        received = answer.readline()
        assert received, "the stream ended"
        line = received.decode().rstrip("\n")
        if line.startswith(("id", "event", "data")):
            name, _, value = line.partition(": ")
            fields[name] = value
        elif not line and fields:
            return fields


def test_live_readers_at_their_limit_do_not_block_calls(service: Running) -> None:
    ada, game = a_game(service.port)
    version = ada.get(game)["version"]
    with ExitStack() as open_streams:
        for _ in range(SLOTS):
            stream = open_streams.enter_context(reading(service.port, f"{game}/stream"))
            assert stream.status == 200
            assert one_event(stream)["id"] == "0"
        with reading(service.port, f"{game}/stream") as refused:
            assert refused.status == 503
            assert refused.getheader("Retry-After")
            assert json.loads(refused.read())["type"] == "/problems/unavailable"
        unchanged: Any = ada.get(f"{game}?after={version}&wait=30")
        assert unchanged["version"] == version
        assert ada.post(f"{game}/moves", {"type": "forfeit"})["version"] > version
    assert ada.slowest < 30  # none of the calls waited for a slot


def test_a_slot_is_free_again_when_its_reader_disconnects(service: Running) -> None:
    _, game = a_game(service.port)
    for _ in range(3 * SLOTS):
        # The server notices that a reader has disconnected when it next sends something.
        wait_for(lambda: _is_let_in(service.port, game), seconds=60)


def test_the_streams_process_holds_many_readers_and_sends_every_move(service: Running) -> None:
    assert service.settings.stream_port is not None
    ada, game = a_game(service.port)
    version = ada.get(game)["version"]
    with ExitStack() as open_streams:
        streams = [
            open_streams.enter_context(
                reading(service.settings.stream_port, f"{game}/stream?after={version}")
            )
            for _ in range(100)
        ]
        assert {stream.status for stream in streams} == {200}
        ada.post(f"{game}/moves", {"type": "forfeit"})
        assert {one_event(stream)["event"] for stream in streams} == {"game_ended"}


def _is_let_in(port: int, game: str) -> bool:
    with reading(port, f"{game}/stream") as stream:
        return stream.status == 200
