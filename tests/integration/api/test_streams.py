"""Live readers over HTTP: they get the stored bytes and never block other calls."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from service.api.app import THREADS_BESIDE_STREAMS
from tests.client import Client, register
from tests.running import Running, free_port, running, wait_for

pytestmark = pytest.mark.heavy

SLOTS = 8
"""Slots of one address: half of those of a process."""

WAYS = ("API", "streams")
"""The program that sends the streams: by threads, or by coroutines."""


@pytest.fixture(scope="module")
def service(
    module_database_url: str, redis_server: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Running]:
    """
    Return a service with one API process and one streams process, with the same slots.

    All tests share it. Those that take all slots come last: a thread of the API has a slot until
    it next sends something.
    """
    more = {
        "api_processes": 1,
        "api_threads": 4 * SLOTS,
        "stream_port": free_port(),
        "stream_threads": 2 * SLOTS + THREADS_BESIDE_STREAMS,
    }
    folder = tmp_path_factory.mktemp("service")
    with running(module_database_url, redis_server, folder, workers=0, **more) as started:
        yield started


def port_of(service: Running, way: str) -> int:
    """Return the port of a program."""
    if way == "API":
        return service.port
    assert service.settings.stream_port is not None
    return service.settings.stream_port


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


def test_the_streams_process_holds_many_readers_and_sends_every_move(
    database_url: str, redis_url: str, tmp_path: Path
) -> None:
    # With limits, one address has at most 32 streams (test_stream_slots).
    more = {"api_processes": 1, "stream_port": free_port(), "rate_limits": False}
    with running(database_url, redis_url, tmp_path, workers=0, **more) as service:
        ada, game = a_game(service.port)
        version = ada.get(game)["version"]
        port = port_of(service, "streams")
        with ExitStack() as open_streams:
            streams = [
                open_streams.enter_context(reading(port, f"{game}/stream?after={version}"))
                for _ in range(100)
            ]
            assert {stream.status for stream in streams} == {200}
            ada.post(f"{game}/moves", {"type": "forfeit"})
            assert {one_event(stream)["event"] for stream in streams} == {"game_ended"}


@pytest.mark.parametrize("way", WAYS)
def test_refused_streams_and_head_requests_are_answered_alike_by_both_programs(
    service: Running, way: str
) -> None:
    port = port_of(service, way)
    ada, game = a_game(port)
    ada.post(f"{game}/moves", {"type": "forfeit"})
    sent = ada.call("GET", f"{game}/stream", headers={"Last-Event-ID": "1"})
    assert sent.body.endswith(b"event: end\ndata:\n\n")
    head = ada.call("HEAD", f"{game}/stream")  # on the same connection
    assert (head.status, head.body) == (200, b"")
    assert head.headers["x-accel-buffering"] == "no"
    malformed = ada.call("GET", f"{game}/stream", headers={"Last-Event-ID": "x"})
    assert (malformed.status, malformed.json["type"]) == (400, "/problems/malformed")
    for path in (f"{game[:-1]}x/stream", "/v1/%ff/stream"):
        unknown = ada.call("GET", path)
        assert (unknown.status, unknown.json["type"]) == (404, "/problems/not-found")


@pytest.mark.parametrize("way", WAYS)
def test_a_query_that_is_not_ascii_is_malformed(service: Running, way: str) -> None:
    """Clients have to percent-encode it; http.client refuses to send it otherwise."""
    asked = "GET /v1/games?status=spüle HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
    with socket.create_connection(("127.0.0.1", port_of(service, way)), timeout=20) as line:
        line.sendall(asked.encode())
        head, _, body = b"".join(iter(partial(line.recv, 65_536), b"")).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 ")
    assert json.loads(body)["type"] == "/problems/malformed"


@pytest.mark.parametrize("way", WAYS)
def test_bodies_with_and_without_length_are_received(service: Running, way: str) -> None:
    port = port_of(service, way)
    body = json.dumps({"name": "Ada " + "a" * 20}).encode()
    for sent in (body, iter([body[:5], body[5:]])):
        with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=20)) as line:
            line.request("POST", "/v1/players", sent, {"Content-Type": "application/json"})
            answer = line.getresponse()
            assert answer.status == 201
            assert json.loads(answer.read())["name"].startswith("Ada aa")


@pytest.mark.parametrize("way", WAYS)
def test_live_readers_at_their_limit_do_not_block_calls(service: Running, way: str) -> None:
    port = port_of(service, way)
    ada, game = a_game(port)
    version = ada.get(game)["version"]
    with ExitStack() as open_streams:
        for _ in range(SLOTS):
            stream = open_streams.enter_context(reading(port, f"{game}/stream"))
            assert stream.status == 200
            assert one_event(stream)["id"] == "0"
        with reading(port, f"{game}/stream") as refused:
            assert refused.status == 429
            assert refused.getheader("Retry-After")
            assert json.loads(refused.read())["limit"] == "streams_of_address"
        unchanged: Any = ada.get(f"{game}?after={version}&wait=30")
        assert unchanged["version"] == version
        assert ada.post(f"{game}/moves", {"type": "forfeit"})["version"] > version
    assert ada.slowest < 30  # none of the calls waited for a slot


@pytest.mark.parametrize("way", WAYS)
def test_a_slot_is_free_again_when_its_reader_disconnects(service: Running, way: str) -> None:
    port = port_of(service, way)
    _, game = a_game(port)
    for _ in range(3 * SLOTS):
        # A thread notices that a reader has disconnected when it next sends something.
        wait_for(partial(_gets_a_stream, port, game), seconds=60 if way == "API" else 1)


def _gets_a_stream(port: int, game: str) -> bool:
    with reading(port, f"{game}/stream") as stream:
        return stream.status == 200
