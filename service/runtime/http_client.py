"""HTTP calls with one deadline for the whole answer, even from a slow server."""

from __future__ import annotations

import http.client
import io
import socket
import ssl
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

CONNECT_SECONDS: Final = 5.0
"""Timeout in seconds of connecting, and of each read, within the total deadline of a call."""

HEAD_BYTES: Final = 1 << 14
"""Maximum size of the head of an answer."""

Connect = Callable[..., socket.socket]
"""Opens a connection, as `socket.create_connection` does."""


class CallFailed(Exception):
    """
    A call got no complete HTTP answer within its deadline and size limit.

    `cause` is the exception behind it, None if the deadline passed.
    """

    def __init__(self, reason: str, cause: Exception | None = None) -> None:
        super().__init__(reason)
        self.cause = cause


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A complete answer, of any status."""

    status: int
    media_type: str
    body: bytes
    retry_after: str | None = None  # the header as it was sent


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """
    How a call connects: without proxies and redirects, so that `connect` sees every address.

    `trust` has the certificates that HTTPS accepts, None for those of the system.
    """

    connect: Connect
    trust: ssl.SSLContext | None = None


def call(
    url: str,
    *,
    seconds: float,
    most: int,
    cut: bool = False,
    data: bytes | None = None,
    headers: Mapping[str, str] | None = None,
    route: Route | None = None,
) -> Reply:
    """
    Return the answer to a GET, or to a POST with `data`.

    After `seconds` in total the connection is shut down, even in the middle of an answer: with
    only a timeout for each read, a server could send single bytes without end. Raises CallFailed
    if the answer is missing, incomplete, longer than `most` bytes and a head, or not HTTP. With
    `cut` no more than `most` bytes of the body are read, and the rest is not waited for.
    """
    request = urllib.request.Request(url, data=data, headers=dict(headers or {}))  # noqa: S310 - callers accept http(s) only
    deadline = _Deadline(seconds, socket.create_connection if route is None else route.connect)
    try:
        opener = _opener(deadline, most + HEAD_BYTES, route)
        answer = _open(opener, request, min(seconds, CONNECT_SECONDS))
        with answer:
            body = _cut_body(answer, most) if cut else _whole_body(answer, most)
            if deadline.passed:
                raise TimeoutError
            return Reply(
                status=int(answer.status),
                media_type=answer.headers.get_content_type(),
                body=body,
                retry_after=answer.headers.get("Retry-After"),
            )
    except (OSError, http.client.HTTPException, ValueError) as error:
        if deadline.passed:
            raise CallFailed(f"no complete answer within {seconds:g} s") from None
        raise CallFailed(type(error).__name__, error) from None
    finally:
        deadline.end()


def _opener(deadline: _Deadline, most: int, route: Route | None) -> urllib.request.OpenerDirector:
    trust = None if route is None else route.trust
    handlers = (_Http(deadline, most), _Https(deadline, most, trust))
    if route is None:
        return urllib.request.build_opener(*handlers)
    bare = urllib.request.OpenerDirector()
    for handler in handlers:
        bare.add_handler(handler)
    return bare


def _open(
    opener: urllib.request.OpenerDirector, request: urllib.request.Request, timeout: float
) -> Any:
    try:
        return opener.open(request, timeout=timeout)
    except urllib.error.HTTPError as error:
        return error


def _whole_body(answer: Any, most: int) -> bytes:
    body = bytes(answer.read(most + 1))
    if len(body) > most:
        raise ValueError("too large")
    return _complete(answer, body)


def _cut_body(answer: Any, most: int) -> bytes:
    body = bytes(answer.read(most)) if most else b""
    return body if len(body) == most else _complete(answer, body)


def _complete(answer: Any, body: bytes) -> bytes:
    length = answer.headers.get("Content-Length")
    if length is not None and length.isdecimal() and len(body) < int(length):
        raise http.client.IncompleteRead(body)
    return body


class _Deadline:
    """Shuts down the sockets of a call once its time is over."""

    def __init__(self, seconds: float, connect: Connect) -> None:
        self.passed = False
        self._connect = connect
        self._sockets: list[socket.socket] = []
        self._lock = threading.Lock()
        self._timer = threading.Timer(seconds, self._pass)
        self._timer.daemon = True
        self._timer.start()

    def connect(self, *args: Any, **kwargs: Any) -> socket.socket:
        """Open a connection, as socket.create_connection does."""
        connection = self._connect(*args, **kwargs)
        with self._lock:
            # A duplicate: TLS takes over the socket itself, and its handshake may hang.
            self._sockets.append(connection.dup())
        if self.passed:
            self._shut_down()
        return connection

    def end(self) -> None:
        """Stop waiting: the call is over."""
        self._timer.cancel()
        with self._lock:
            for one in self._sockets:
                one.close()
            self._sockets.clear()

    def _pass(self) -> None:
        self.passed = True
        self._shut_down()

    def _shut_down(self) -> None:
        with self._lock:
            for one in self._sockets:
                with suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)


class _Capped(io.RawIOBase):
    """Reads at most `left` bytes from a connection; raises ValueError for more."""

    def __init__(self, raw: io.RawIOBase, left: int) -> None:
        self._raw = raw
        self._left = left

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int | None:
        """Read into a buffer; raises ValueError if the answer is too long."""
        count = self._raw.readinto(buffer)
        self._left -= count or 0
        if self._left < 0:
            raise ValueError("too large")
        return int(count) if count is not None else None

    def close(self) -> None:
        """Close the connection's file."""
        self._raw.close()
        super().close()


def _watched(connection: Any, deadline: _Deadline, most: int) -> Any:
    """Let a connection of http.client open its socket with `deadline`, and read `most` bytes."""

    class Answer(http.client.HTTPResponse):
        def __init__(self, sock: socket.socket, *args: Any, **more: Any) -> None:
            super().__init__(sock, *args, **more)
            self.fp.close()
            self.fp = io.BufferedReader(_Capped(sock.makefile("rb", buffering=0), most))

    connection._create_connection = deadline.connect  # noqa: SLF001 - the only hook
    connection.response_class = Answer
    return connection


class _Http(urllib.request.HTTPHandler):
    def __init__(self, deadline: _Deadline, most: int) -> None:
        super().__init__()
        self._deadline, self._most = deadline, most

    def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        def connect(host: str, **more: Any) -> Any:
            return _watched(http.client.HTTPConnection(host, **more), self._deadline, self._most)

        return self.do_open(connect, req)


class _Https(urllib.request.HTTPSHandler):
    def __init__(self, deadline: _Deadline, most: int, trust: ssl.SSLContext | None) -> None:
        super().__init__()
        self._deadline, self._most, self._trust = deadline, most, trust

    def https_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        def connect(host: str, **more: Any) -> Any:
            made = http.client.HTTPSConnection(host, context=self._trust, **more)
            return _watched(made, self._deadline, self._most)

        return self.do_open(connect, req)
