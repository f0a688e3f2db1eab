"""ASGI application of the stream process: calls run in threads, event streams in coroutines."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from typing import Any, cast
from urllib.parse import unquote_to_bytes
from uuid import UUID

from a2wsgi import WSGIMiddleware
from a2wsgi.asgi_typing import HTTPScope, Receive, ReceiveEvent, SendEvent
from a2wsgi.asgi_typing import Send as SendMessage

from service.api.bodies import Application, Environ, StartResponse
from service.api.call_threads import CallThreads
from service.api.following import (
    FAULTS,
    HAND_OVER,
    Called,
    Following,
    HandOver,
    Send,
    Wait,
    next_step,
)
from service.api.long_poll import Waiting
from service.runtime import tracing

READERS = 4
"""Threads that read events from the store for all streams."""

OPENINGS = 16
"""Maximum number of calls that open a stream at once; further ones wait without a thread."""

PIECE = 8192
"""Minimum number of bytes sent at once: small frames are joined; a frame is never split."""

_QUERY = "shithead.query"
"""The key in the scope for the bytes of the query."""


class StreamServer:
    """
    Serves a WSGI application whose event streams hold no thread.

    Every request is a call of the application in one of `threads` threads. The call for a
    stream checks the request, takes a slot, answers with status and headers, and instead of
    a body hands over a follower (`HandOver`). After the call a coroutine sends the stream.
    """

    def __init__(self, app: Application, waiting: Waiting, *, threads: int) -> None:
        self._calls = cast("Any", WSGIMiddleware(_environ_of_granian(app)))
        self._calls.executor = CallThreads(threads)
        self._openings = asyncio.Semaphore(OPENINGS)
        self._streams = _Streams(waiting)

    async def __call__(self, scope: HTTPScope, receive: Receive, send: SendMessage) -> None:
        """Answer a request."""
        hand_over = HandOver()
        begins_stream = False

        async def receive_body() -> ReceiveEvent:
            return await receive()  # granian returns a future, and a2wsgi needs a coroutine

        async def send_answer(message: SendEvent) -> None:
            nonlocal begins_stream
            if message["type"] == "http.response.start":
                begins_stream = hand_over.follower is not None and message["status"] == 200
            elif begins_stream:
                return  # the empty body of the call
            await send(message)

        # a2wsgi decodes only a query in ASCII; the call gets the bytes of `_QUERY`.
        query = scope["query_string"]
        # As WSGI variables, `X_Forwarded_For` of a client and the header of a proxy are the same.
        headers = [(name, value) for name, value in scope["headers"] if b"_" not in name]
        extended_scope: Any = {
            **scope,
            HAND_OVER: hand_over,
            _QUERY: query,
            "query_string": b"",
            "headers": headers,
        }
        # A long poll of the own stream waits in its call.
        is_opening = scope["path"].endswith("/stream") and b"wait=" not in query
        try:
            async with self._openings if is_opening else nullcontext():
                await self._calls(extended_scope, receive_body, send_answer)
            if begins_stream and hand_over.follower is not None:
                await self._streams.send(hand_over.follower, receive, send)
        finally:
            if hand_over.follower is not None:
                self._streams.close(hand_over.follower)


def _environ_of_granian(app: Application) -> Any:
    """Return the application, called with the WSGI environ that granian itself would make."""

    def call(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        scope = environ["asgi.scope"]
        environ[HAND_OVER] = scope[HAND_OVER]
        environ["wsgi.input_terminated"] = True  # else a body without length would be ignored
        # In `path` the bytes that are not UTF-8 are lost.
        environ["PATH_INFO"] = unquote_to_bytes(scope["raw_path"]).decode("latin-1")
        environ["QUERY_STRING"] = scope[_QUERY].decode("latin-1")
        return app(environ, start_response)

    return call


class _Streams:
    """The open streams of the process, and the reads that they share."""

    def __init__(self, waiting: Waiting) -> None:
        self._waiting = waiting
        self._readers = CallThreads(READERS)
        self._shared: dict[Hashable, asyncio.Future[Any]] = {}
        self._waiters: dict[UUID, set[asyncio.Event]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_listening = False

    async def send(self, follower: Following, receive: Receive, send: SendMessage) -> None:
        """Send a stream to its end, or until the reader disconnects."""
        self._loop = asyncio.get_running_loop()
        stream = _Stream(self, follower, send)
        follower.woken_by(partial(self._schedule, stream.wake))
        with self._woken(follower.topics, stream.wake):
            watching = asyncio.create_task(stream.watch(receive))
            try:
                await stream.run()
            finally:
                watching.cancel()

    def close(self, follower: Following) -> None:
        """Release the slot of a stream at once, and trace its last deliveries."""
        follower.release()
        if tracing.is_on():
            self._readers.submit(follower.trace)

    async def call(self, step: Called) -> Any:
        """
        Return the result of a call in a thread; calls with the same key share it.

        A key names the ticket of the listener, so no stream gets the result of a read that began
        before its own ticket was taken.
        """
        if step.key is None:
            return await self._in_thread(step.act)
        shared = self._shared.get(step.key)
        if shared is None:
            shared = self._shared[step.key] = self._in_thread(step.act)
            shared.add_done_callback(lambda _: self._shared.pop(step.key))
        return await asyncio.shield(shared)  # a cancelled stream must not cancel the shared call

    async def wait(self, wake: asyncio.Event, follower: Following, seconds: float) -> None:
        """Return when the follower is woken, at most after some seconds."""
        wake.clear()
        if self._waiting.ended or follower.is_woken():
            return
        timer = asyncio.get_running_loop().call_later(seconds, wake.set)
        await wake.wait()
        timer.cancel()

    def _in_thread(self, act: Any, *args: Any) -> asyncio.Future[Any]:
        return asyncio.get_running_loop().run_in_executor(self._readers, act, *args)

    @contextmanager
    def _woken(self, topics: Sequence[UUID], wake: asyncio.Event) -> Iterator[None]:
        """Set `wake` at each notification about these ids, while the block runs."""
        if not self._is_listening:
            self._is_listening = True
            self._waiting.on_change(self._wake_soon, self._wake_all_soon)
        for topic in topics:
            self._waiters.setdefault(topic, set()).add(wake)
        try:
            yield
        finally:
            for topic in topics:
                self._waiters[topic].remove(wake)
                if not self._waiters[topic]:
                    del self._waiters[topic]

    def _wake_soon(self, game: UUID) -> None:
        if game in self._waiters:  # checked in another thread: most games have no stream here
            self._schedule_wake(game)

    def _wake_all_soon(self) -> None:
        for game in tuple(self._waiters):
            self._schedule_wake(game)

    def _schedule_wake(self, game: UUID) -> None:
        self._call_soon(partial(self._wake, game))

    def _schedule(self, wake: asyncio.Event) -> None:
        if not wake.is_set():
            self._call_soon(wake.set)

    def _call_soon(self, act: Callable[[], None]) -> None:
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop has been closed
                self._loop.call_soon_threadsafe(act)

    def _wake(self, game: UUID) -> None:
        for wake in self._waiters.get(game, ()):
            wake.set()


class _Stream:
    """One stream that a coroutine sends."""

    __slots__ = ("_follower", "_is_disconnected", "_send", "_streams", "wake")

    def __init__(self, streams: _Streams, follower: Following, send: SendMessage) -> None:
        self.wake = asyncio.Event()
        self._streams = streams
        self._follower = follower
        self._send = send
        self._is_disconnected = False

    async def watch(self, receive: Receive) -> None:
        """Wake the stream when its reader disconnects."""
        message: ReceiveEvent = await receive()
        while message["type"] != "http.disconnect":
            message = await receive()
        self._is_disconnected = True
        self.wake.set()

    async def run(self) -> None:
        """Send the stream, and end it."""
        try:
            await self._carry_out()
        except FAULTS as error:
            self._follower.note_fault(error)
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _carry_out(self) -> None:
        """Carry out the steps of the stream."""
        follower, result = self._follower, None
        steps = follower.steps()
        while not self._is_disconnected and (step := next_step(steps, result)) is not None:
            match step:
                case Send():
                    await self._send_frames(step.frames)
                case Called():
                    result = await self._streams.call(step)
                case Wait():
                    result = None  # not held in memory meanwhile
                    await self._streams.wait(self.wake, follower, step.seconds)

    async def _send_frames(self, frames: Sequence[bytes]) -> None:
        """Send frames, and wait while the reader has not read enough of the earlier ones."""
        for piece in _pieces(frames):
            if self._is_disconnected:
                return
            await self._send({"type": "http.response.body", "body": piece, "more_body": True})


def _pieces(frames: Sequence[bytes]) -> Iterator[bytes]:
    """Yield the frames joined to pieces of at least PIECE bytes; the last may be smaller."""
    piece: list[bytes] = []
    size = 0
    for frame in frames:
        piece.append(frame)
        size += len(frame)
        if size >= PIECE:
            yield b"".join(piece)
            piece, size = [], 0
    if piece:
        yield b"".join(piece)
