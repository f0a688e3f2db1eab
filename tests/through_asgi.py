"""Requests of a WSGI client to an ASGI application, which runs in an event loop of its own."""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
from collections.abc import Iterator
from concurrent.futures import wait
from typing import Any
from urllib.parse import quote_from_bytes

from flask import Flask

from service.api.context import Context, context
from service.api.stream_server import StreamServer

SECONDS = 20.0
"""How long a client waits for the next part of an answer."""


class ThroughAsgi:
    """
    A WSGI application that passes each request to the stream process's ASGI application.

    The frames of a stream are yielded one by one. If `ahead` messages wait for the client, `send`
    of the ASGI application waits, as it does at a full socket.
    """

    def __init__(self, app: Any, loop: asyncio.AbstractEventLoop, *, ahead: int = 100) -> None:
        self.app = app
        self.ahead = ahead
        self.tasks: list[Any] = []  # of the answers, in the order of the requests
        self._loop = loop

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Any:
        exchange = _Exchange(environ, self.ahead, self._loop)
        task = asyncio.run_coroutine_threadsafe(exchange.run(self.app), self._loop)
        task.add_done_callback(exchange.ended)
        self.tasks.append(task)
        start = exchange.next()
        headers = [(name.decode(), value.decode("latin-1")) for name, value in start["headers"]]
        start_response(f"{start['status']} .", headers)
        return exchange


class _Exchange:
    """A request and the messages of its answer."""

    def __init__(self, environ: dict[str, Any], ahead: int, loop: Any) -> None:
        self._scope = _scope(environ)
        self._body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        self._loop = loop
        self._messages: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._room = asyncio.Semaphore(ahead)
        self._has_left = asyncio.Event()
        self._is_sent = False

    async def run(self, app: Any) -> None:
        await app(self._scope, self._receive, self._send)

    def ended(self, task: Any) -> None:
        if (error := task.exception()) is not None:
            self._messages.put(error)

    async def _receive(self) -> dict[str, Any]:
        if not self._is_sent:
            self._is_sent = True
            return {"type": "http.request", "body": self._body, "more_body": False}
        await self._has_left.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: dict[str, Any]) -> None:
        gone = asyncio.ensure_future(self._has_left.wait())
        room = asyncio.ensure_future(self._room.acquire())
        await asyncio.wait({gone, room}, return_when=asyncio.FIRST_COMPLETED)
        gone.cancel()
        room.cancel()
        self._messages.put(message)

    def next(self) -> Any:
        message = self._messages.get(timeout=SECONDS)
        if isinstance(message, BaseException):
            raise message
        self._loop.call_soon_threadsafe(self._room.release)
        return message

    def __iter__(self) -> Iterator[bytes]:
        more = True
        while more:
            message = self.next()
            more = message.get("more_body", False)
            *frames, rest = message["body"].split(b"\n\n")
            yield from (frame + b"\n\n" for frame in frames)
            if rest:
                yield rest

    def close(self) -> None:
        """Disconnect."""
        self._loop.call_soon_threadsafe(self._has_left.set)


def _scope(environ: dict[str, Any]) -> dict[str, Any]:
    path = environ["PATH_INFO"].encode("latin-1")
    names = [name for name in environ if name.startswith(("HTTP_", "CONTENT_"))]
    return {
        "type": "http",
        "http_version": "1.1",
        "method": environ["REQUEST_METHOD"],
        "scheme": "http",
        "path": path.decode("utf-8", "replace"),
        "raw_path": quote_from_bytes(path).encode(),
        "root_path": "",
        "query_string": environ["QUERY_STRING"].encode("latin-1"),
        "headers": [
            (
                name.removeprefix("HTTP_").replace("_", "-").lower().encode(),
                str(environ[name]).encode("latin-1"),
            )
            for name in names
        ],
        "client": (environ.get("REMOTE_ADDR", "127.0.0.1"), "50000"),
        "server": ("127.0.0.1", "8081"),
    }


@contextlib.contextmanager
def through_asgi(app: Flask, *, threads: int = 8) -> Iterator[ThroughAsgi]:
    """Serve an application as the stream process does."""
    with app.app_context():
        parts: Context = context()
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    made = ThroughAsgi(StreamServer(app, parts.waiting, threads=threads), loop)
    try:
        yield made
    finally:
        parts.waiting.end()
        wait(made.tasks, timeout=SECONDS)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
