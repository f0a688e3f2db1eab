"""HTTP client of the API: JSON, token, idempotent retries, resumed event streams."""

from __future__ import annotations

import http
import http.client
import json
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from email.message import Message
from types import MappingProxyType
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

from service.runtime.addresses import is_web_address
from service.shx.archives import MAX_TOTAL

WAIT: Final = 25  # seconds of a long poll
TIMEOUT: Final = 40.0  # seconds; longer than any long poll
ATTEMPTS: Final = 6
STEADY: Final = 10.0  # seconds; the loss of a stream that lasted longer is a first failure
FIRST_PAUSE: Final = 0.5  # seconds before the second attempt, doubled for each further one
MAX_RESPONSE: Final = 256 << 20  # bytes
NDJSON: Final = "application/x-ndjson"
EVENT_STREAM: Final = "text/event-stream"


Piece = TypeVar("Piece")

Pieces = Generator[Piece, None, bool]
"""The pieces of one connection of a stream; it returns whether the stream has ended for good."""


class NotAnswered(Exception):
    """The service cannot be reached, or its response is invalid."""


class TooLong(NotAnswered):
    """The answer is longer than the caller reads."""


class _Fault(Exception):
    """A failed request that can be repeated, after `pause` seconds if the service answered."""

    def __init__(self, error: Exception, pause: float | None = None) -> None:
        super().__init__(str(error))
        self.error = error
        self.pause = pause


class Refused(Exception):
    """The service refused a request with a problem (api.md, section 1)."""

    def __init__(self, problem: Mapping[str, Any]) -> None:
        super().__init__(str(problem.get("detail")))
        self.problem = problem

    @property
    def kind(self) -> str:
        """Return the type of the problem, such as `rule-refused`."""
        return str(self.problem.get("type", "")).removeprefix("/problems/")

    @property
    def text(self) -> str:
        """Return the detail of the problem, with the rule that it cites, if any."""
        rule, text = self.problem.get("rule"), self.problem.get("rule_text")
        detail = str(self.problem.get("detail"))
        return f"{detail} [{rule}] {text or ''}".rstrip() if rule else detail


@dataclass(kw_only=True)
class Api:
    """
    Calls of one service, with the token and invite of a player.

    A request without an answer, or answered with 429 or 503, is sent at most `attempts` times.
    Without an answer the pause is half a second and doubles each time; after 429 or 503 it is
    that of `Retry-After`, at most 10 seconds, or 1 second if that header is missing or a date.

    All methods raise Refused if the last answer is a problem, and NotAnswered if there is no
    answer or it is not that of a Shithead service. A URL that is not http or https raises
    NotAnswered.
    """

    url: str  # of the service, without /v1
    token: str | None = field(default=None, repr=False)
    invite: str | None = field(default=None, repr=False)
    attempts: int = ATTEMPTS

    def __post_init__(self) -> None:
        if not is_web_address(self.url):
            raise NotAnswered(f"{self.url} is not an address such as http://127.0.0.1:8080")
        local = urlsplit(self.url).hostname in ("127.0.0.1", "::1", "localhost")
        no_proxies = [urllib.request.ProxyHandler({})] if local else []
        self._opener = urllib.request.build_opener(*no_proxies)

    def get(self, path: str) -> Any:
        """Return the JSON at a path below /v1; raises Refused or NotAnswered."""
        return self._json(self._send("GET", path))

    def lines(self, path: str) -> tuple[bytes, ...]:
        """Return the stored lines at a path, unchanged; raises Refused or NotAnswered."""
        data = self._send("GET", path, accept=NDJSON)
        return tuple(data.removesuffix(b"\n").split(b"\n")) if data else ()

    def data(self, path: str, *, most: int = MAX_TOTAL) -> bytes:
        """
        Return the content at a path, of at most `most` bytes, by default the size of evidence.

        Of a longer answer nothing is read if it announces its length, else no more than that.
        Raises Refused, NotAnswered or TooLong.
        """
        return self._send("GET", path, accept="*/*", most=most)

    def post(self, path: str, body: Any, *, once: bool = False, version: int | None = None) -> Any:
        """
        Return the answer to a POST; all attempts have the same idempotency key.

        With `once` it is sent once, without a key: for calls that answer with a token. With
        `version` it is refused as `stale-version` if the game is no longer at that version.

        Raises Refused or NotAnswered.
        """
        more = {} if once else {"Idempotency-Key": str(uuid.uuid4())}
        more |= {} if version is None else {"If-Match": f'"v{version}"'}
        return self._json(self._send("POST", path, body, more=more, tries=1 if once else None))

    def patch(self, path: str, body: Any) -> Any:
        """Return the answer to a PATCH; raises Refused or NotAnswered."""
        return self._json(self._send("PATCH", path, body))

    def put(self, path: str, body: Any = None) -> Any:
        """Return the answer to a PUT, sent once with a body; raises Refused or NotAnswered."""
        return self._json(self._send("PUT", path, body, tries=None if body is None else 1))

    def delete(self, path: str) -> None:
        """Send a DELETE; raises Refused or NotAnswered."""
        self._send("DELETE", path)

    def stream(self, path: str, *, after: int = 0) -> Iterator[bytes]:
        """
        Yield the data of each server-sent event from id `after` on, until the event `end`.

        A lost connection is opened again, from the event after the last one received.

        Raises Refused, or NotAnswered after `attempts` connections in a row that were lost
        within STEADY seconds and without an event.
        """

        def events() -> Pieces[bytes]:
            nonlocal after
            headers = self._headers(EVENT_STREAM)
            headers |= {"Last-Event-ID": str(after - 1)} if after else {}
            with self._opened(self._request("GET", path, headers)) as answer:
                if answer.status == http.HTTPStatus.NO_CONTENT:
                    return True  # the last event received was the end of the log
                for identity, kind, data in _server_sent(answer):
                    if kind == "end":
                        return True
                    after = identity + 1
                    yield data
            return False

        return self._reopened(path, events)

    def follow(self, path: str) -> Iterator[Any]:
        """
        Yield each JSON line of a stream that does not end; a lost connection is opened again.

        Raises as `stream`.
        """

        def lines() -> Pieces[Any]:
            with self._opened(self._request("GET", path, self._headers(NDJSON))) as answer:
                for line in answer:
                    if line.endswith(b"\n") and line.strip():  # empty: a sign of life
                        yield json.loads(line)
            return False

        return self._reopened(path, lines)

    def _reopened(self, path: str, read: Callable[[], Pieces[Piece]]) -> Iterator[Piece]:
        """Yield the pieces of a stream, also after lost connections; raises as `stream`."""
        failed = 0
        while True:
            began, pieces = time.monotonic(), read()
            try:
                while True:
                    piece = next(pieces)
                    failed = 0
                    yield piece
            except StopIteration as end:
                if end.value:
                    return
                fault = _Fault(NotAnswered(f"{self.url} ends the stream of {path}"))
            except (OSError, http.client.HTTPException) as error:
                fault = _Fault(NotAnswered(f"{self.url} does not answer: {why_silent(error)}"))
            except _Fault as error:
                fault = error
            failed = 1 if time.monotonic() - began > STEADY else failed + 1
            self._wait(fault, failed, self.attempts)

    def _send(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        accept: str = "application/json",
        more: Mapping[str, str] = MappingProxyType({}),
        tries: int | None = None,
        most: int = MAX_RESPONSE,
    ) -> bytes:
        headers = self._headers(accept) | dict(more)
        content = None
        if body is not None:
            headers["Content-Type"], content = "application/json", json.dumps(body).encode()
        request = self._request(method, path, headers, content)
        return self._repeated(request, tries or self.attempts, most)

    def _headers(self, accept: str) -> dict[str, str]:
        headers = {"Accept": f"{accept}, application/problem+json;q=0.1"}
        headers |= {"Authorization": f"Bearer {self.token}"} if self.token else {}
        headers |= {"Shithead-Invite": self.invite} if self.invite else {}
        return headers

    def _request(
        self, method: str, path: str, headers: dict[str, str], data: bytes | None = None
    ) -> urllib.request.Request:
        return urllib.request.Request(  # noqa: S310 - the scheme was checked in __post_init__
            f"{self.url}/v1{path}", data=data, headers=headers, method=method
        )

    def _repeated(self, request: urllib.request.Request, tries: int, most: int) -> bytes:
        """Return the answer to a request that is sent at most `tries` times; raises as `data`."""
        for failed in range(1, tries + 1):
            try:
                with self._opened(request) as answer:
                    announced = answer.length or 0  # None if the answer does not state it
                    data = b"" if announced > most else bytes(answer.read(most + 1))
                    waits = "Retry-After" in answer.headers
            except (OSError, http.client.HTTPException) as error:
                fault = _Fault(NotAnswered(f"{self.url} does not answer: {why_silent(error)}"))
            except _Fault as error:
                fault = error
            else:
                if max(announced, len(data)) > most:
                    raise TooLong(f"{self.url} sends more than {most} bytes")
                if waits:  # a long poll that found no place to wait
                    time.sleep(_pause(answer.headers))
                return data
            self._wait(fault, failed, tries)
        raise NotAnswered(f"{self.url} does not answer")

    def _opened(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        """Return the response; raises _Fault if the request can be repeated, else as `_refused`."""
        try:
            answer: http.client.HTTPResponse = self._opener.open(request, timeout=TIMEOUT)
        except urllib.error.HTTPError as error:
            refused = _refused(error)
            if error.code not in (429, 503):
                raise refused from None
            raise _Fault(refused, _pause(error.headers)) from None
        return answer

    def _wait(self, fault: _Fault, failed: int, tries: int) -> None:
        """Wait before the next attempt; raise the error if this was the last one."""
        if failed >= tries:
            raise fault.error from None
        time.sleep(FIRST_PAUSE * 2 ** (failed - 1) if fault.pause is None else fault.pause)

    def _json(self, data: bytes) -> Any:
        try:
            return json.loads(data)
        except ValueError:
            raise NotAnswered(f"{self.url} does not answer with JSON") from None


def _server_sent(lines: Iterable[bytes]) -> Iterator[tuple[int, str, bytes]]:
    """
    Yield id, type and data of each complete event of a stream; an incomplete last one is dropped.

    An event without a type is dropped too; an event without an id has the id -1. Every event of
    the API has one line of data.
    """
    identity, kind, data = -1, "", b""
    for line in lines:
        name, _, value = line.rstrip(b"\r\n").partition(b":")
        value = value.removeprefix(b" ")
        if name == b"id" and value.isdigit():
            identity = int(value)
        elif name == b"event":
            kind = value.decode("utf-8", "replace")
        elif name == b"data":
            data = value
        elif not line.strip():
            if kind:
                yield identity, kind, data
            identity, kind, data = -1, "", b""


def _refused(error: urllib.error.HTTPError) -> Exception:
    """Return Refused for a problem of the API, NotAnswered for any other error."""
    try:
        problem = json.loads(error.read(1 << 20))
        return Refused({"detail": problem["title"], **problem})
    except (ValueError, KeyError, TypeError, OSError):
        return NotAnswered(
            f"{error.url} answers with the error {error.code}, but not as a Shithead service does"
        )


def why_silent(error: Exception) -> str:
    """
    Return why an address does not answer, in the words of the operating system.

    >>> why_silent(urllib.error.URLError(ConnectionRefusedError(111, "Connection refused")))
    'Connection refused'
    """
    reason = getattr(error, "reason", error)
    return str(getattr(reason, "strerror", None) or reason or type(error).__name__)


def _pause(headers: Message) -> float:
    """Return the seconds to wait: `Retry-After`, at most 10; 1 if it is missing or a date."""
    after = headers.get("Retry-After", "")
    return min(float(after), 10.0) if after.isdecimal() else 1.0
