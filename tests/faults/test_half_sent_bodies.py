"""Clients that stop in the middle of a request are disconnected and block no other."""

from __future__ import annotations

import contextlib
import http.client
import re
import resource
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from service.api.bodies import GRACE_SECONDS
from service.keys import Keyring
from service.runtime.config import CONNECTIONS
from tests.client import Client
from tests.running import Running, free_port, running, wait_for

pytestmark = pytest.mark.heavy

MANY = 130
KEYS = Keyring.generate().to_text()
"""Of both services of this module, which have one database."""

FRAMINGS = ("Content-Length: 1000", "Transfer-Encoding: chunked")
CALLS = ("POST /v1/players", "POST /v1/verify", "POST /v1/tables/x/seats", "DELETE /v1/players/me")
"""Calls with a JSON body, with an upload, with a path that does not exist, without a body."""


@pytest.fixture(scope="module")
def service(
    module_database_url: str, redis_server: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Running]:
    """Return an API process with the default deadline, to which many connections can be opened."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limits[1], limits[1]))
    more: dict[str, Any] = {"workers": None, "api_processes": 1, "keys": KEYS}
    try:
        logs = tmp_path_factory.mktemp("logs")
        with running(module_database_url, redis_server, logs, **more) as started:
            yield started
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


@pytest.fixture(scope="module")
def ports(
    module_database_url: str, redis_server: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[int, int]]:
    """Return the ports of an API process and a stream process with a deadline of a second."""
    logs, streams = tmp_path_factory.mktemp("logs"), free_port()
    more: dict[str, Any] = {"body_seconds": 1, "api_processes": 1, "stream_port": streams}
    with running(module_database_url, redis_server, logs, workers=0, keys=KEYS, **more) as started:
        yield started.port, streams


@contextlib.contextmanager
def half_sent(port: int, count: int, call: str, framing: str) -> Iterator[list[socket.socket]]:
    """Open `count` requests whose bodies stop after the first byte."""
    kind = "application/zip" if "verify" in call else "application/json"
    first = "1\r\n{\r\n" if framing.startswith("Transfer") else "{"
    head = f"{call} HTTP/1.1\r\nHost: x\r\nContent-Type: {kind}\r\n{framing}\r\n\r\n{first}"
    with contextlib.ExitStack() as stack:
        opened = []
        for _ in range(count):
            client = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=30))
            client.sendall(head.encode())
            opened.append(client)
        yield opened


def answered_to_the_end(client: socket.socket) -> bytes:
    """Return all bytes that the server sends until it closes the connection."""
    received = b""
    with contextlib.suppress(ConnectionError):
        while part := client.recv(65536):
            received += part
    return received


@pytest.mark.attack(
    "WITHOUT_BOUND", "130 half-sent bodies of one address", check="slots and a deadline"
)
@pytest.mark.smoke
def test_half_sent_bodies_of_one_address_block_no_other_caller(
    database_url: str, redis_url: str, tmp_path: Path
) -> None:
    with running(database_url, redis_url, tmp_path, workers=None) as service:
        for call, framing in zip(CALLS, FRAMINGS, strict=False):
            with half_sent(service.port, MANY, call, framing):
                began = time.monotonic()
                client = Client(port=service.port)
                for _ in range(10):
                    assert client.call("GET", "/healthz").status == 200
                    assert client.call("GET", "/v1/bots").status == 200
                # A whole body, from the same address, once those without a slot were refused.
                wait_for(lambda: _is_registered(service.port), seconds=12)
                assert time.monotonic() - began < 15, "the deadline is 20 s"
                client.close()


def _is_registered(port: int) -> bool:
    client = Client(port=port)
    try:
        return client.call("POST", "/v1/players", {"name": "Ada"}).status == 201
    finally:
        client.close()


@pytest.mark.attack("WITHOUT_BOUND", "a body that never ends", check="a deadline")
@pytest.mark.parametrize("calls", [CALLS[:2], CALLS[2:]], ids=["read", "not needed"])
def test_a_body_has_a_deadline(ports: tuple[int, int], calls: tuple[str, ...]) -> None:
    """A client that sends byte by byte is cut off as well: that of the first call."""
    with contextlib.ExitStack() as stack:
        opened = [
            stack.enter_context(half_sent(port, 1, call, FRAMINGS[0]))[0]
            for port in ports
            for call in calls  # an address has two slots for slow bodies
        ]
        began = time.monotonic()
        slow = opened[:: len(calls)]
        while slow and time.monotonic() - began < 2:
            time.sleep(0.1)
            slow = [client for client in slow if takes_a_byte(client)]
        answers = [answered_to_the_end(client) for client in opened]
        assert time.monotonic() - began < 8
    for answer in answers if calls == CALLS[:2] else ():
        head, _, body = answer.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 408 "), answer
        assert b"/problems/body-timeout" in body
        assert f"content-length: {len(body)}\r\n".encode() in head.lower()
        assert b"connection: close" in head.lower()


def takes_a_byte(client: socket.socket) -> bool:
    """Send one byte more of a body; return whether the connection is still open."""
    with contextlib.suppress(ConnectionError):
        client.sendall(b" ")
        return True
    return False


def test_aborted_bodies_free_their_slots_and_threads(ports: tuple[int, int]) -> None:
    """Slots and reader threads are free again, also after many aborted bodies."""
    for _ in range(2):
        with half_sent_to_all(ports, 12) as opened:
            for client in opened:
                assert re.match(rb"HTTP/1.1 (408|503)", answered_to_the_end(client))
    with half_sent_to_all(ports, 2) as opened:
        time.sleep(GRACE_SECONDS + 0.1)  # slow by now: each holds a slot, so they were released
        for client in opened:
            client.sendall(b'"name":1')
            assert client.recv(100).startswith(b"HTTP/1.1 4")


@contextlib.contextmanager
def half_sent_to_all(ports: tuple[int, int], count: int) -> Iterator[list[socket.socket]]:
    """Open `count` requests of nine bytes at each port whose bodies stop after the first byte."""
    with contextlib.ExitStack() as stack:
        yield [
            client
            for port in ports
            for client in stack.enter_context(half_sent(port, count, CALLS[0], "Content-Length: 9"))
        ]


@pytest.mark.attack(
    "WITHOUT_BOUND", "a hundred calls in one connection", check="no unencrypted HTTP/2"
)
def test_slow_uploads_half_sent_heads_and_http2_prefaces_block_no_other_call(
    service: Running,
) -> None:
    """A slow upload is received; half a head takes only a connection; HTTP/2 is not supported."""
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=30)

    def parts() -> Iterator[bytes]:
        for _ in range(8):
            time.sleep(0.15)
            yield b"x" * 1000

    connection.request("POST", "/v1/verify", parts(), {"Content-Type": "application/zip"})
    assert connection.getresponse().status == 422
    connection.close()
    with socket.create_connection(("127.0.0.1", service.port), timeout=10) as client:
        # One connection of HTTP/2 would hold two hundred requests.
        client.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0")
        assert not answered_to_the_end(client).startswith(b"\0\0")
    with socket.create_connection(("127.0.0.1", service.port), timeout=10) as client:
        upgrade = (
            b"Connection: Upgrade, HTTP2-Settings, close\r\nUpgrade: h2c\r\nHTTP2-Settings: \r\n"
        )
        client.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n" + upgrade + b"\r\n")
        assert answered_to_the_end(client).startswith(b"HTTP/1.1 200 ")
    with contextlib.ExitStack() as stack:
        for _ in range(1100):
            client = stack.enter_context(
                socket.create_connection(("127.0.0.1", service.port), timeout=10)
            )
            client.sendall(b"GET /healthz HTTP/1.1\r\nHo")
        wait_for(lambda: Client(port=service.port).call("GET", "/healthz").status == 200, seconds=8)


def test_large_heads_are_refused_before_they_are_parsed(service: Running) -> None:
    """Parsing an Accept header of 400 KB took seconds of processor time."""
    for length, status in ((20_000, b"406"), (100_000, b"431"), (400_000, b"431")):
        with socket.create_connection(("127.0.0.1", service.port), timeout=10) as client:
            head = f"GET /v1/bots HTTP/1.1\r\nHost: x\r\nAccept: {'a/b,' * (length // 4)}\r\n"
            with contextlib.suppress(ConnectionError):
                client.sendall(f"{head}Connection: close\r\n\r\n".encode())
            assert client.recv(100).split()[1] == status, length
    caller = Client(port=service.port)
    for headers, path, expected in (
        ({f"X-{n}": "1" for n in range(90)}, "/v1/none", (404, True)),
        ({f"X-{n}": "1" for n in range(300)}, "/v1/none", (431, False)),
        ({}, f"/v1/{'n' * 20_000}", (404, True)),
        ({}, f"/v1/{'n' * 100_000}", (431, False)),
    ):
        answer = caller.call("GET", path, headers=headers)
        is_problem = answer.headers.get("content-type") == "application/problem+json"
        assert (answer.status, is_problem) == expected, (len(headers), len(path))
        assert bool(answer.body) is is_problem, "as the API document states it"


def test_a_body_that_is_not_needed_is_received_before_the_answer(service: Running) -> None:
    """Otherwise the connection is reset, and the client loses the answer."""
    for call, size in (("GET /v1/bots", 100_000), ("DELETE /v1/bots", 500_000)):
        with socket.create_connection(("127.0.0.1", service.port), timeout=20) as client:
            head = f"{call} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            client.sendall(f"{head}Content-Length: {size}\r\n\r\n".encode() + b" " * size)
            status = client.recv(65536).split()[1]
            assert status == {"GET": b"200", "DELETE": b"405"}[call.split()[0]]
            client.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            assert b"HTTP/1.1 200" in answered_to_the_end(client), call


def test_idle_connections_of_one_address_leave_room_for_others(service: Running) -> None:
    """More connections than the process accepts, none of which sends anything."""
    with contextlib.ExitStack() as stack:
        for _ in range(CONNECTIONS + 200):
            idle = stack.enter_context(socket.socket())
            idle.bind(("127.0.0.9", 0))
            idle.connect(("127.0.0.1", service.port))
        began = time.monotonic()
        for _ in range(3):
            client = Client(port=service.port)
            assert client.call("GET", "/healthz").status == 200
            client.close()
        assert time.monotonic() - began < 10  # the idle ones have 30 s for their heads
        wait_for(lambda: "too many connections" in service.written(), seconds=5)
