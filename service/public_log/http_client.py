"""HTTP calls with one deadline for the whole answer, even from a slow server."""

from __future__ import annotations

import http.client
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

CONNECT_SECONDS: Final = 5.0
"""Timeout in seconds of connecting, and of each read, within the total deadline of a call."""


class CallFailed(Exception):
    """A call got no complete HTTP answer within its deadline and size limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A complete answer, of any status."""

    status: int
    media_type: str
    body: bytes


def call(
    url: str,
    *,
    seconds: float,
    most: int,
    data: bytes | None = None,
    headers: Mapping[str, str] | None = None,
) -> Reply:
    """
    Return the answer to a GET, or to a POST with `data`.

    After `seconds` in total the connection is shut down, even in the middle of an answer: with
    only a timeout for each read, a server could send single bytes without end. Raises CallFailed
    if the answer is missing, incomplete, longer than `most` bytes, or not HTTP.
    """
    request = urllib.request.Request(url, data=data, headers=dict(headers or {}))  # noqa: S310 - callers accept http(s) only
    deadline = _Deadline(seconds)
    try:
        return _answer(request, deadline, min(seconds, CONNECT_SECONDS), most)
    except (OSError, http.client.HTTPException, ValueError) as error:
        if deadline.passed:
            raise CallFailed(f"no complete answer within {seconds:g} s") from None
        raise CallFailed(type(error).__name__) from None
    finally:
        deadline.end()


def _answer(
    request: urllib.request.Request, deadline: _Deadline, timeout: float, most: int
) -> Reply:
    opener = urllib.request.build_opener(_Http(deadline), _Https(deadline))
    try:
        answer = opener.open(request, timeout=timeout)
    except urllib.error.HTTPError as error:
        answer = error
    with answer:
        body = bytes(answer.read(most + 1))
        if deadline.passed:
            raise TimeoutError
        if len(body) > most:
            raise ValueError("too large")
        length = answer.headers.get("Content-Length")
        if length is not None and length.isdecimal() and len(body) < int(length):
            raise http.client.IncompleteRead(body)
        media_type = answer.headers.get_content_type()
        return Reply(status=int(answer.status), media_type=media_type, body=body)


class _Deadline:
    """Shuts down the sockets of a call once its time is over."""

    def __init__(self, seconds: float) -> None:
        self.passed = False
        self._sockets: list[socket.socket] = []
        self._lock = threading.Lock()
        self._timer = threading.Timer(seconds, self._pass)
        self._timer.daemon = True
        self._timer.start()

    def connect(self, *args: Any, **kwargs: Any) -> socket.socket:
        """Open a connection, as socket.create_connection does."""
        connection = socket.create_connection(*args, **kwargs)
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


def _watched(connection: Any, deadline: _Deadline) -> Any:
    """Let a connection of http.client open its socket with `deadline`, and return it."""
    connection._create_connection = deadline.connect  # noqa: SLF001 - the only hook
    return connection


class _Http(urllib.request.HTTPHandler):
    def __init__(self, deadline: _Deadline) -> None:
        super().__init__()
        self._deadline = deadline

    def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        def connect(host: str, **more: Any) -> Any:
            return _watched(http.client.HTTPConnection(host, **more), self._deadline)

        return self.do_open(connect, req)


class _Https(urllib.request.HTTPSHandler):
    def __init__(self, deadline: _Deadline) -> None:
        super().__init__()
        self._deadline = deadline

    def https_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        def connect(host: str, **more: Any) -> Any:
            return _watched(http.client.HTTPSConnection(host, **more), self._deadline)

        return self.do_open(connect, req)
