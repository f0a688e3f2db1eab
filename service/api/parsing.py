"""Request bodies and queries: received within a deadline, parsed strictly."""

from __future__ import annotations

import io
import json
import math
import shutil
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv6Address, ip_address
from queue import SimpleQueue
from typing import IO, Any, Final, NoReturn, cast
from urllib.parse import parse_qsl

from flask import Flask, Request, current_app, g, request
from flask.ctx import _AppCtxGlobals

from service.application.errors import Refusal, invalid_body
from service.application.quotas import Slots
from service.shx.canonical import MAX_INTEGER

MAX_DEPTH = 32
"""Maximum nesting depth of a body; the schemas of the API need eight levels."""

MAX_NAMES = 500
"""Maximum number of names in an object, because each unknown name is reported."""


def malformed(detail: str, at: str | None = None) -> Refusal:
    """Return the refusal of a malformed request; `at` names the parameter or header."""
    if at is None:
        return Refusal("malformed", detail)
    return Refusal("malformed", f"{at} {detail}", errors=[{"at": at, "message": detail}])


def _behind(proxy: Any) -> Callable[[], Any]:
    """
    Return the function that returns the object behind one of Flask's proxies.

    Reading an attribute through the proxy takes ten times as long as reading it directly, so the
    functions that every call runs read the object first.
    """
    return cast("Callable[[], Any]", proxy._get_current_object)  # noqa: SLF001 - documented


present_request: Callable[[], Request] = _behind(request)
"""Return the request that this thread answers."""

present_app: Callable[[], Flask] = _behind(current_app)
"""Return the application that answers the present request."""

present_notes: Callable[[], _AppCtxGlobals] = _behind(g)
"""Return the notes about this request, Flask's `g`."""


def caller_address() -> str:
    """
    Return the client address under which a request is counted.

    For IPv6 this is the /64 network, because its owner has every address in it.
    `X-Forwarded-For` has been evaluated already, for as many proxies as the settings trust.
    """
    return counted_address(present_request().remote_addr or "")


@lru_cache(maxsize=4096)
def counted_address(text: str) -> str:
    """Return the key under which an IP address is counted: itself, or its /64 network."""
    try:
        address = ip_address(text)
    except ValueError:
        return text
    if isinstance(address, IPv6Address):
        mapped = address.ipv4_mapped
        return str(mapped) if mapped else f"{IPv6Address(int(address) >> 64 << 64)}/64"
    return str(address)


def body_bytes() -> bytes:
    """Return the raw body; raises `too-large` or `unsupported-media-type`."""
    notes = present_notes()
    body: bytes | None = notes.get("body")
    if body is None:
        check_encoding()
        present = present_request()
        length, limit = present.content_length, present.max_content_length
        if length is not None and limit is not None and length <= limit:
            body = present.environ["wsgi.input"].read(length)  # what `get_data` does in 20 calls
        else:
            body = present.get_data(cache=False)
            _check_size(len(body))
        notes.body = body
    return body


def copy_body(file: IO[bytes]) -> None:
    """Copy the raw body into a file and rewind it; raises as `body_bytes` does."""
    check_encoding()
    shutil.copyfileobj(request.stream, file)
    _check_size(file.tell())
    file.seek(0)


def check_encoding() -> None:
    """Raise `unsupported-media-type` for a compressed body."""
    if present_request().environ.get("HTTP_CONTENT_ENCODING") not in (None, "", "identity"):
        raise Refusal("unsupported-media-type", "send the body without Content-Encoding")


def _check_size(size: int) -> None:
    """Raise `too-large` for a body without Content-Length that Flask cut off at the limit."""
    present = present_request()
    if present.content_length is not None:
        return
    limit = present.max_content_length
    if limit is not None and size >= limit:
        raise Refusal(
            "too-large", f"the body is larger than {limit} bytes, the limit of this operation"
        )


def json_body(*, required: bool) -> Any:
    """
    Return the JSON value of the body; an empty object if an optional body is missing.

    Raises `unsupported-media-type`, `too-large`, and what `parse_json` raises.
    """
    raw = body_bytes()
    if not raw and not required:
        return {}
    _check_json_type()
    if not raw:
        raise malformed("the body is empty: send a JSON object")
    return parse_json(raw)


def parse_json(raw: bytes) -> Any:
    """
    Return the value of JSON text.

    Raises `malformed` for text that is not strict JSON or is nested too deeply, and
    `invalid-body` for a string with a NUL character.
    """
    try:
        text = raw.decode("utf-8")
        value = _DECODER.decode(text)
        if "\\u" in text:
            # Fails for a lone surrogate, an escape that encodes no character.
            json.dumps(value, ensure_ascii=False).encode("utf-8")
        if text.count("[") + text.count("{") > MAX_DEPTH:
            _refuse_depth(value)
    except UnicodeDecodeError:
        raise malformed("the body is not UTF-8") from None
    except UnicodeEncodeError:
        raise malformed(
            "the body has an escape that encodes no character (a lone surrogate)"
        ) from None
    except RecursionError:
        raise malformed(f"the body is nested more than {MAX_DEPTH} levels deep") from None
    except ValueError as error:
        raise malformed(f"the body is not JSON: {error}") from None
    if "\\u0000" in text:
        _refuse_nul(value)
    return value


def query_values() -> dict[str, str]:
    """
    Return the query parameters.

    Raises `malformed` for a repeated parameter, a NUL character, a query that is not
    percent-encoded UTF-8, and more than 50 parameters.
    """
    try:
        pairs = parse_qsl(
            request.query_string.decode("ascii"),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=50,
        )
    except (UnicodeDecodeError, ValueError):
        raise malformed(
            "the query is not percent-encoded UTF-8, or has more than 50 parameters"
        ) from None
    values: dict[str, str] = {}
    for name, value in pairs:
        if name in values:
            raise malformed("is repeated in the query", name)
        if "\x00" in value or "\x00" in name:
            raise malformed("contains a NUL character", name.replace("\x00", ""))
        values[name] = value
    return values


def _check_json_type() -> None:
    present = present_request()
    if present.environ.get("CONTENT_TYPE") == "application/json":
        return
    charset = present.mimetype_params.get("charset", "utf-8").lower()
    if present.mimetype != "application/json" or charset not in ("utf-8", "utf8"):
        raise Refusal("unsupported-media-type", "send the body as application/json, in UTF-8")


def _object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    if len(pairs) > MAX_NAMES:
        raise ValueError(f"an object has more than {MAX_NAMES} names")
    for name, value in pairs:
        if name in result:
            raise ValueError("a name is repeated in an object")
        result[name] = value
    return result


def _constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _float(text: str) -> float | int:
    """Return a number; 1.0 is the integer 1, as in JSON Schema."""
    value = float(text)
    if value.is_integer() and abs(value) <= MAX_INTEGER:
        return int(value)
    if not math.isfinite(value):
        raise ValueError("a number is too large")
    return value


def _integer(text: str) -> int:
    if len(text) > 17 or abs(int(text)) > MAX_INTEGER:
        raise ValueError("a number is too large")
    return int(text)


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_object, parse_constant=_constant, parse_float=_float, parse_int=_integer
)


def _refuse_depth(value: Any) -> None:
    """Raise RecursionError for a value that is nested too deeply."""
    level, depth = [value], 0
    while level:
        depth += 1
        if depth > MAX_DEPTH + 1:
            raise RecursionError
        containers = [list(v.values()) if isinstance(v, Mapping) else v for v in level]
        level = [item for items in containers if isinstance(items, list) for item in items]


def _refuse_nul(value: Any, at: str = "") -> None:
    if isinstance(value, str) and "\x00" in value:
        errors = [{"at": at, "message": "contains a NUL character"}]
        raise invalid_body(errors)
    if isinstance(value, Mapping):
        for name, inner in value.items():
            _refuse_nul(name, at)
            _refuse_nul(inner, f"{at}/{name.replace('~', '~0').replace('/', '~1')}")
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            _refuse_nul(inner, f"{at}/{index}")


GRACE_SECONDS = 0.5
"""Seconds after which a body needs one of the slots for slow bodies."""

BYTES_A_SECOND = 1 << 16
"""Received bytes that extend the deadline of a body by one second."""

FLUSH_SECONDS = 0.05
"""Time for the server to send a refusal before the connection is closed."""

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
    503. `seconds` is the deadline; each 64 KiB received extends it by one second.

    A body that arrives within half a second needs no slot for slow bodies, so that
    ordinary requests succeed during an attack from the same address.
    """

    def __init__(self, app: Application, slots: BodySlots, *, seconds: float) -> None:
        self._app = app
        self._slots = slots
        self._seconds = seconds
        self._readers = _Readers()

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        """Answer a request; if its body was abandoned, the connection is closed afterwards."""
        length = environ.get("CONTENT_LENGTH") or None
        if length in (None, "0") and "HTTP_TRANSFER_ENCODING" not in environ:
            return _buffered(self._app, environ, start_response)
        body = _Body(environ["wsgi.input"], length, self._slots, self._readers, self._seconds)
        environ["wsgi.input"] = body

        def start(status: str, headers: list[tuple[str, str]], *more: Any) -> Any:
            return start_response(status, _closing(headers) if body.abandoned else headers, *more)

        try:
            answer = _buffered(self._app, environ, start)
        finally:
            body.release()
        return _ended_early(answer) if body.abandoned else answer


class _Body(io.RawIOBase):
    """A request body as a file that the application reads."""

    def __init__(
        self,
        stream: IO[bytes],
        length: str | None,
        slots: BodySlots,
        readers: _Readers,
        seconds: float,
    ) -> None:
        super().__init__()
        self._stream = stream
        self._left = int(length) if length and length.isascii() and length.isdigit() else None
        self._slots = slots
        self._readers = readers
        self._seconds = seconds
        self._began: float | None = None
        self._received = 0
        self._held: list[tuple[Slots, str]] = []
        self.abandoned = False

    def readable(self) -> bool:
        """Return true: a body is readable, not writable or seekable."""
        return True

    def read(self, size: int = -1) -> bytes:
        """
        Return up to `size` bytes; fewer only at the end of the body or of its connection.

        Raises Refusal `unavailable` if the body arrives too slowly, or if no slot is free.
        """
        if size < 0:
            return self.readall()
        if self._left is not None:
            size = min(size, self._left)
        if not size or self.abandoned:
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
            raise Refusal(
                "unavailable",
                f"the body arrives too slowly: it may take {self._seconds:g} s, and one more for "
                f"each {BYTES_A_SECOND >> 10} KiB",
                retry_after=1,
            )
        except Refusal:
            self.abandoned = True
            read.abandon(self._held)
            self._held = []
            raise

    def _take(self, slots: Slots) -> None:
        address = caller_address()
        if not slots.acquire(address):
            detail = "too many request bodies are arriving at the same time"
            raise Refusal("unavailable", detail, retry_after=1)
        self._held.append((slots, address))


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
    """
    Return the headers of an answer after which the connection closes.

    The server keeps reading a body after the answer, for as long as the client keeps
    the connection open. It drops the connection if an answer is shorter than its
    Content-Length, so Content-Length is one byte too large here.
    """
    others = [(name, value) for name, value in headers if name.lower() != "connection"]
    lengthened = [
        (name, str(int(value) + 1) if name.lower() == "content-length" else value)
        for name, value in others
    ]
    return [*lengthened, ("Connection", "close")]


def _ended_early(answer: Iterable[bytes]) -> Iterator[bytes]:
    """Yield an answer, give the server time to send it, then end one byte early."""
    try:
        yield b"".join(answer)
        time.sleep(FLUSH_SECONDS)
    finally:
        close = getattr(answer, "close", None)
        if close is not None:
            close()
