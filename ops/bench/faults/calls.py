"""HTTP requests, repeated until they are answered; every answer is recorded."""

from __future__ import annotations

import http.client
import json
import random
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

PATIENCE = 400.0  # seconds in which a request has to get an answer, whatever happens
_TIMEOUT = 35.0  # seconds for one try; a long poll takes up to 5


Address = tuple[str, int]
"""Host and port of a process that answers HTTP."""


class Unanswered(Exception):
    """
    A request got no answer in PATIENCE, longer than any injected fault lasts.

    It is also raised if a GET that must succeed is answered with another status than 200.
    """


@dataclass(slots=True, kw_only=True)
class ChangeRequest:
    """A request that changes a game, with all tries to send it and its outcome."""

    game: str
    seat: int | None
    move: Mapping[str, Any]
    key: str | None
    status: int | None = None  # None: sent, outcome unknown
    body: bytes = b""
    tries: int = 0
    sent: float = 0.0  # when it was first sent, in seconds since 1970
    answered: float = 0.0  # when its answer came


@dataclass(slots=True, kw_only=True)
class Notes:
    """The requests, answers and errors of all clients together."""

    requests: list[ChangeRequest] = field(default_factory=list)
    games: dict[str, str] = field(default_factory=dict)  # a token that may see it, by game
    wrong: list[str] = field(default_factory=list)
    hung_up: Counter[str] = field(default_factory=Counter)
    statuses: Counter[int] = field(default_factory=Counter)
    broken: int = 0  # tries that ended without an answer
    replayed: int = 0
    checkpoints: list[bytes] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)


class Calls:
    """A client that sends each request to a random process, and repeats it until it is answered."""

    def __init__(
        self, notes: Notes, addresses: Callable[[], tuple[Address, ...]], rng: random.Random
    ) -> None:
        self._notes = notes
        self._addresses = addresses
        self._rng = rng
        self._open: dict[Address, http.client.HTTPConnection] = {}

    def get(self, path: str, token: str | None = None) -> Any:
        """Return the JSON of a GET that must succeed."""
        status, body = self.until_answered("GET", path, None, token, key=None)
        if status != 200:
            raise Unanswered(f"{path} answers {status}: {body[:300]!r}")
        return json.loads(body)

    def until_answered(
        self, method: str, path: str, sent: Any, token: str | None, *, key: str | None
    ) -> tuple[int, bytes]:
        """Return status and body of a request that may be sent again until it is answered."""
        headers = {"Idempotency-Key": key} if key else {}
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            answer = self.once(method, path, sent, token, headers)
            if answer is not None and answer[0] != 503:
                return answer
            time.sleep(self._rng.uniform(0.02, 0.3))
        raise Unanswered(f"{method} {path}: no answer for {PATIENCE:.0f} s")

    def change(
        self, request: ChangeRequest, path: str, token: str, headers: Mapping[str, str]
    ) -> ChangeRequest:
        """Send a change of a game; repeat it until it is answered if it has an idempotency key."""
        sent_headers = dict(headers) | ({"Idempotency-Key": request.key} if request.key else {})
        request.sent = time.time()
        with self._notes.lock:
            self._notes.requests.append(request)
        if self._rng.random() < 0.06:
            self._hang_up(path, request.move, token, sent_headers)
            if request.key is None:
                return request
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            request.tries += 1
            answer = self.once("POST", path, request.move, token, sent_headers)
            if answer is not None and answer[0] != 503:
                request.status, request.body = answer
                request.answered = time.time()
                return request
            if request.key is None:
                return request
            time.sleep(self._rng.uniform(0.02, 0.3))
        raise Unanswered(f"POST {path}: no answer for {PATIENCE:.0f} s")

    def once(
        self, method: str, path: str, sent: Any, token: str | None, headers: Mapping[str, str]
    ) -> tuple[int, bytes] | None:
        """Return status and body, None if the connection broke."""
        sent_headers = dict(headers)
        if token is not None:
            sent_headers["Authorization"] = f"Bearer {token}"
        content = None if sent is None else json.dumps(sent)
        if content is not None:
            sent_headers["Content-Type"] = "application/json"
        address = self._rng.choice(self._addresses())
        connection = self._open.pop(address, None)
        if connection is None or self._rng.random() < 0.1:
            connection = http.client.HTTPConnection(*address, timeout=_TIMEOUT)
        try:
            connection.request(method, path, body=content, headers=sent_headers)
            response = connection.getresponse()
            body = response.read()
        except (OSError, http.client.HTTPException):
            connection.close()
            with self._notes.lock:
                self._notes.broken += 1
            return None
        self._open[address] = connection
        self._note(method, path, response, body)
        return response.status, body

    def _note(
        self, method: str, path: str, response: http.client.HTTPResponse, body: bytes
    ) -> None:
        notes = self._notes
        with notes.lock:
            notes.statuses[response.status] += 1
            notes.replayed += response.headers.get("Idempotency-Replayed") == "true"
            if response.status >= 500 and response.status != 503:
                notes.wrong.append(f"{method} {path} answers {response.status}: {body[:200]!r}")
            if response.status == 503 and not response.headers.get("Retry-After"):
                notes.wrong.append(f"{method} {path} answers 503 without Retry-After")

    def _hang_up(self, path: str, sent: Any, token: str, headers: Mapping[str, str]) -> None:
        """Send half or all of a request, and disconnect before its answer."""
        content = json.dumps(sent).encode()
        lines = {"Host": "localhost", "Content-Type": "application/json", **headers}
        lines |= {"Authorization": f"Bearer {token}", "Content-Length": str(len(content))}
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        request = f"POST {path} HTTP/1.1\r\n{head}\r\n".encode() + content
        half = self._rng.random() < 0.4
        try:
            address = self._rng.choice(self._addresses())
            with socket.create_connection(address, timeout=5) as raw:
                raw.sendall(request[: len(request) - len(content) // 2 - 1] if half else request)
                time.sleep(self._rng.choice((0.0, 0.002, 0.01, 0.05)))
        except OSError:
            return
        with self._notes.lock:
            kind = "in the middle of its request" if half else "before its answer"
            self._notes.hung_up[f"client hangs up {kind}"] += 1


def new_key() -> str:
    """Return a new Idempotency-Key."""
    return str(uuid4())
