"""The line of a request in the log states the status that its caller got, whatever it was."""

from __future__ import annotations

import json
import socket
import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from tests.client import Client
from tests.running import Running, free_port, running, wait_for

pytestmark = pytest.mark.heavy

MOST = 100
"""The calls of an address in a minute; every call of this test has an address of its own."""


@pytest.fixture(scope="module")
def service(
    module_database_url: str, redis_server: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Running]:
    """Return an API and a stream process behind a trusted proxy, with short deadlines."""
    settings: dict[str, Any] = {
        "workers": 0,
        "api_processes": 1,
        "stream_port": free_port(),
        "trusted_proxies": 1,
        "calls_per_address": MOST,
        "body_seconds": 1,
    }
    folder = tmp_path_factory.mktemp("logs")
    with running(module_database_url, redis_server, folder, **settings) as started:
        yield started


class Caller:
    """Sends requests and collects what it got: the status of each, by the id of its request."""

    def __init__(self, service: Running) -> None:
        self._port = service.port
        self._calls = 0
        self.token: str | None = None
        self.got: dict[str, int] = {}

    def call(
        self, method: str, path: str, body: Any = None, *, port: int | None = None, **headers: str
    ) -> Any:
        """Return the answer to a request, from an address that was not used before."""
        own, identity = self.head()
        client = Client(port=port or self._port, token=self.token)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        answer = client.call(method, path, body, {**own, **named})
        client.close()
        self.got[identity] = answer.status
        return answer

    def head(self) -> tuple[dict[str, str], str]:
        """Return the headers of a request, and its id."""
        self._calls += 1
        identity = uuid.uuid4().hex
        address = f"192.0.2.{self._calls}"
        return {"X-Request-ID": identity, "X-Forwarded-For": address}, identity

    def raw(self, port: int, text: str, then: Callable[[socket.socket], bytes]) -> bytes:
        """Send the beginning of a request on a connection of its own; return what `then` reads."""
        own, identity = self.head()
        lines = "".join(f"{name}: {value}\r\n" for name, value in own.items())
        with socket.create_connection(("127.0.0.1", port), timeout=30) as opened:
            opened.sendall(text.replace("HEADERS\r\n", lines).encode())
            received = then(opened)
        if received:
            self.got[identity] = int(received.split(b" ", 2)[1])
        else:
            self.unanswered = identity
        return received


def lines(service: Running) -> dict[str, Mapping[str, Any]]:
    """Return the lines of requests in the logs, by the id of the request."""
    parsed = [json.loads(line) for line in service.written().splitlines() if line[:1] == "{"]
    found = [line for line in parsed if line["event"] == "request"]
    by_id = {line["request"]: line for line in found}
    assert len(by_id) == len(found), "a request has one line"
    return by_id


def test_each_line_states_the_status_that_the_caller_got(service: Running) -> None:
    ada = Caller(service)
    streams = service.settings.stream_port or 0
    ada.token = ada.call("POST", "/v1/players", {"name": "Ada"}).json["token"]
    wanted = {"ruleset": "leeds", "seats": ["me", {"bot": "lowest"}]}
    key: dict[str, Any] = {"Idempotency-Key": "once"}
    table = ada.call("POST", "/v1/tables", wanted, **key).json
    ada.call("POST", "/v1/tables", wanted, **key)  # the stored answer
    ada.call("POST", "/v1/tables", {**wanted, "seats": ["me"]}, **key)  # idempotency-conflict
    game = f"/v1/games/{table['game']}"
    moves = f"{game}/moves"
    view = ada.call("GET", game)
    ada.call("GET", game, If_None_Match=view.headers["etag"])
    ada.call("HEAD", game)
    ada.call("OPTIONS", game)
    ada.call("POST", moves, {"type": "ready"}, If_Match='"v999"')
    ada.call("POST", moves, {"type": "pass"})  # the rules refuse it
    ada.call("POST", moves, {"type": "ready"})
    ada.call("POST", moves, {"type": "ready"})  # it is not this seat's turn any more
    ada.call("POST", moves, {"type": "leap"})  # against the schema
    ada.call("POST", "/v1/tables", {**wanted, "ruleset": "nope"})
    ada.call("GET", f"/v1/games/{uuid.uuid4()}")
    ada.call("GET", "/nowhere", Accept="text/html")
    ada.call("GET", "/rules/")
    ada.call("PUT", game)
    ada.call("GET", game, Accept="image/png")
    ada.call("GET", game, Authorization="Bearer nothing")
    ada.call("GET", game, X_Forwarded_Prefix="/cards")
    ada.call("GET", f"{game}/stream?after=999", port=streams)  # unknown-version
    ada.call("DELETE", f"/v1/players/me/blocks/{uuid.uuid4()}")
    guest = ada.call("POST", "/v1/players", {"name": "Cyd"}).json["token"]
    ada.call("DELETE", "/v1/players/me", Authorization=f"Bearer {guest}")  # 204
    ada.call("GET", f"/v1/tables/{table['id']}")
    limited = [ada.call("GET", game, X_Forwarded_For="192.0.2.250").status for _ in range(MOST + 1)]
    assert limited[-1] == 429
    post = "POST /v1/players HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nHEADERS\r\n"
    late = post + "Content-Length: 99\r\n\r\n{"
    ada.raw(service.port, late, lambda opened: opened.recv(100))  # the body never comes
    whole = post + 'Content-Length: 14\r\n\r\n{"name":"Bob"}'
    ada.raw(service.port, whole, lambda opened: opened.recv(100))
    follow = f"GET {game}/stream HTTP/1.1\r\nHost: x\r\nHEADERS\r\n\r\n"
    assert ada.raw(streams, follow, lambda opened: opened.recv(100)).startswith(b"HTTP/1.1 200")
    assert {200, 201, 204, 304, 308, 401, 404, 405, 406, 408, 409, 412, 421, 422, 429} <= set(
        ada.got.values()
    )
    wait_for(lambda: ada.got.keys() <= lines(service).keys(), seconds=10)
    written = lines(service)
    assert {identity: written[identity]["status"] for identity in ada.got} == ada.got


def test_the_line_of_a_client_that_hung_up_states_what_it_would_have_got(service: Running) -> None:
    """Nothing can know whether an answer arrived: the line states the one that was sent."""
    ada = Caller(service)
    post = "POST /v1/players HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nHEADERS\r\n"
    ada.raw(service.port, post + "Content-Length: 99\r\n\r\n{", lambda _: b"")
    wait_for(lambda: ada.unanswered in lines(service), seconds=10)
    line = lines(service)[ada.unanswered]
    assert (line["status"], line["problem"]) == (400, "malformed")
