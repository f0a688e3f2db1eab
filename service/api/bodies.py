"""Request bodies: received within a deadline, so that unfinished ones block few threads."""

from __future__ import annotations

import io
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from queue import SimpleQueue
from typing import IO, Any

from service.api.parsing import counted_address
from service.application.errors import Refusal
from service.application.quotas import Slots
from service.replay.sentences import said

GRACE_SECONDS = 0.5
"""Seconds after which a body needs one of the slots for slow bodies."""

BYTES_A_SECOND = 1 << 16
"""Received bytes that extend the deadline of a body by one second."""

LINGER_SECONDS = 0.2
"""Time for a client to close the connection after the refusal of its body."""

MAX_DISCARDED = 1 << 20
"""Maximum number of bytes of a body that are read although the application does not need them."""

_WITH_BODIES = frozenset({"POST", "PUT", "PATCH"})
"""Methods whose bodies are left unread if the request is refused first, so that no thread waits."""

MAX_IDLE_READERS = 64

Environ = dict[str, Any]
StartResponse = Callable[..., Any]
Application = Callable[[Environ, StartResponse], Iterable[bytes]]


@dataclass(frozen=True, slots=True, kw_only=True)
class BodySlots:
    """Slots for the bodies that a process receives concurrently, in all and from one address."""

    arriving: Slots  # every body, from its first read
    slow: Slots  # bodies that have taken longer than GRACE_SECONDS


class RequestBodies:
    """
    WSGI middleware that reads every request body within a deadline.

    The server's own `wsgi.input` blocks for as long as the client keeps the connection
    open, and with it the thread of the request. Here a reader thread makes the blocking
    call; the thread of the request waits for it until the deadline at most, and then answers
    408. `seconds` is the deadline; each 64 KiB received extends it by one second. The server
    would go on reading the body for as long as the client keeps the connection open, so
    `hang_up` closes it a moment later if the client does not.

    A body that arrives within half a second needs no slot for slow bodies, so that
    ordinary requests succeed during an attack from the same address.
    """

    def __init__(
        self,
        app: Application,
        slots: BodySlots,
        *,
        seconds: float,
        hang_up: Callable[[str, float], object],
    ) -> None:
        self._app = app
        self._slots = slots
        self._seconds = seconds
        self._hang_up = hang_up  # takes the address of the peer, and when the answer was sent
        self._readers = _Readers()

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        """Answer a request; after one whose body was abandoned the connection is closed."""
        length = environ.get("CONTENT_LENGTH") or None
        if length in (None, "0") and "HTTP_TRANSFER_ENCODING" not in environ:
            return _buffered(self._app, environ, start_response)
        address = counted_address(environ.get("REMOTE_ADDR") or "")
        stream = environ["wsgi.input"]
        body = _Body(stream, length, self._slots, self._readers, self._seconds, address)
        environ["wsgi.input"] = body

        def start(status: str, headers: list[tuple[str, str]], *more: Any) -> Any:
            if environ["REQUEST_METHOD"] not in _WITH_BODIES:
                body.discard()  # before the headers, which differ for a body that was abandoned
            return start_response(
                status, _closing(headers) if body.abandoned is not None else headers, *more
            )

        try:
            answer = _buffered(self._app, environ, start)
        finally:
            body.release()
        if body.abandoned is None:
            return answer
        peer = environ.get("werkzeug.proxy_fix.orig", environ).get("REMOTE_ADDR") or ""
        return self._lingering(answer, body.abandoned, peer)

    def _lingering(self, answer: Iterable[bytes], read: _Read, peer: str) -> Iterator[bytes]:
        """
        Yield an answer, then return when the read of its body has ended.

        The server hangs if a request ends while its body is being read.
        """
        try:
            yield b"".join(answer)
            sent = time.monotonic()
            if not read.wait(LINGER_SECONDS):
                self._hang_up(peer, sent)
                read.wait(LINGER_SECONDS)
        finally:
            close = getattr(answer, "close", None)
            if close is not None:
                close()


class _Body(io.RawIOBase):
    """A request body as a file that the application reads."""

    def __init__(
        self,
        stream: IO[bytes],
        length: str | None,
        slots: BodySlots,
        readers: _Readers,
        seconds: float,
        address: str,
    ) -> None:
        super().__init__()
        self._address = address
        self._stream = stream
        self._left = int(length) if length and length.isascii() and length.isdigit() else None
        self._slots = slots
        self._readers = readers
        self._seconds = seconds
        self._began: float | None = None
        self._received = 0
        self._held: list[tuple[Slots, str]] = []
        self.abandoned: _Read | None = None

    def readable(self) -> bool:
        """Return true: a body is readable, not writable or seekable."""
        return True

    def read(self, size: int = -1) -> bytes:
        """
        Return up to `size` bytes; fewer only at the end of the body or of its connection.

        Raises Refusal `body-timeout` if the body arrives too slowly, `unavailable` if no slot is
        free.
        """
        if size < 0:
            return self.readall()
        if self._left is not None:
            size = min(size, self._left)
        if not size or self.abandoned is not None:
            return b""
        data = self._receive(size)
        self._received += len(data)
        if self._left is not None:
            self._left = self._left - len(data) if data else 0
        return data

    def readinto(self, buffer: Any) -> int:
        """Read into a buffer."""
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def discard(self) -> None:
        """
        Read a body that the application did not need, such as one of a GET.

        The server resets a connection with unread bytes, and the client loses the answer.
        """
        if self._left is not None and self._left > MAX_DISCARDED:
            return
        discarded = 0
        with suppress(Refusal):  # it arrives too slowly, or no slot is free
            while discarded < MAX_DISCARDED and (data := self.read(BYTES_A_SECOND)):
                discarded += len(data)

    def release(self) -> None:
        """Release the slots; a read that still runs releases its own when it ends."""
        while self._held:
            slots, address = self._held.pop()
            slots.release(address)

    def _receive(self, size: int) -> bytes:
        now = time.monotonic()
        if self._began is None:
            self._began = now
            self._take(self._slots.arriving)
        read = _Read(self._stream, size)
        self._readers.run(read)
        if read.wait(self._began + GRACE_SECONDS - now):
            return read.data
        try:
            if len(self._held) < 2:  # has no slot for slow bodies yet
                self._take(self._slots.slow)
            deadline = self._began + self._seconds + self._received / BYTES_A_SECOND
            if read.wait(deadline - time.monotonic()):
                return read.data
            size = BYTES_A_SECOND >> 10
            raise Refusal(
                "body-timeout", said("limit.slow_body", n=f"{self._seconds:g}", size=size)
            )
        except Refusal:
            self.abandoned = read
            read.abandon(self._held)
            self._held = []
            raise

    def _take(self, slots: Slots) -> None:
        if not slots.acquire(self._address):
            raise Refusal("unavailable", said("limit.bodies"), retry_after=1)
        self._held.append((slots, self._address))


class _Read:
    """One blocking read of the server's stream in a reader thread; the caller may abandon it."""

    def __init__(self, stream: IO[bytes], size: int) -> None:
        self.data = b""
        self._stream = stream
        self._size = size
        self._running = threading.Lock()
        self._running.acquire()
        self._lock = threading.Lock()
        self._ended = False
        self._held: list[tuple[Slots, str]] = []

    def run(self) -> None:
        """Read into `data`, which stays empty if the read fails, as after a connection reset."""
        try:
            with suppress(OSError, ValueError):
                self.data = self._stream.read(self._size)
        finally:
            with self._lock:
                self._ended = True
                self._release()
            self._running.release()

    def wait(self, seconds: float) -> bool:
        """Return whether the read ended within `seconds`."""
        return self._running.acquire(timeout=max(0.0, seconds))

    def abandon(self, held: list[tuple[Slots, str]]) -> None:
        """Hold the slots until the read ends; its result is discarded."""
        with self._lock:
            self._held = held
            if self._ended:
                self._release()

    def _release(self) -> None:
        while self._held:
            slots, address = self._held.pop()
            slots.release(address)


class _Readers:
    """A pool of threads for blocking reads that grows with the concurrent reads."""

    def __init__(self) -> None:
        self._queue: SimpleQueue[_Read] = SimpleQueue()
        self._lock = threading.Lock()
        self._idle = 0

    def run(self, read: _Read) -> None:
        """Run a read in an idle thread, or in a new one."""
        with self._lock:
            start = not self._idle
            if not start:
                self._idle -= 1
        self._queue.put(read)
        if start:
            threading.Thread(target=self._work, name="body", daemon=True).start()

    def _work(self) -> None:
        while True:
            self._queue.get().run()
            with self._lock:
                if self._idle >= MAX_IDLE_READERS:
                    return
                self._idle += 1


def _buffered(app: Application, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
    """Return an answer; if it has a Content-Length, as a list, which the server sends at once."""
    sent: list[tuple[str, str]] = []

    def start(status: str, headers: list[tuple[str, str]], *more: Any) -> Any:
        nonlocal sent
        sent = headers
        return start_response(status, headers, *more)

    answer = app(environ, start)
    if isinstance(answer, list) or not any(name == "Content-Length" for name, _ in sent):
        return answer
    try:
        return [b"".join(answer)]
    finally:
        close = getattr(answer, "close", None)
        if close is not None:
            close()


def _closing(headers: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the headers of an answer after which the connection closes."""
    others = [(name, value) for name, value in headers if name.lower() != "connection"]
    return [*others, ("Connection", "close")]
