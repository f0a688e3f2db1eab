"""
What every event stream has in common: its slot, its steps, and the thread that carries them out.

A follower yields what to do, in order: send, read, call, wait, trace. In the API a thread carries
the steps out, in the stream process a coroutine (`stream_server`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, NamedTuple
from uuid import UUID

import structlog
from flask import Response, request
from msgspec.structs import replace

from service.api.call import present_call
from service.api.context import Context, context
from service.api.conventions.caching import private
from service.api.conventions.media_types import EVENT_STREAM
from service.api.parsing import caller_address
from service.application.calls import Caller
from service.application.errors import Refusal
from service.store.events import QuotaFull, StoreUnavailable, StreamArchived

COMMENT_SECONDS: Final = 5.0
"""Seconds with nothing to send after which a heartbeat is sent; pages show that two are missing."""

TOKEN_SECONDS: Final = 15.0
"""Seconds after which the token of a stream of a game is checked."""

FAULTS = (Refusal, QuotaFull, StoreUnavailable, StreamArchived)
"""Errors that end an open stream; its reader reconnects, and is answered with the problem."""

HAND_OVER: Final = "shithead.hand_over"
"""The key in the WSGI environment under which the stream process offers to send the stream."""

_log = structlog.get_logger("api")


class Send(NamedTuple):
    """Send these frames to the reader."""

    frames: Sequence[bytes]


class Read(NamedTuple):
    """Read the events from seq `after` on, and send the batch to the generator."""

    after: int
    ticket: int  # of the listener, taken before the read


class Called(NamedTuple):
    """Call a function that may read from the store, and send its result to the generator."""

    act: Callable[[], Any]


class Wait(NamedTuple):
    """Wait for a notification later than the ticket."""

    ticket: int
    seconds: float


class Pause(NamedTuple):
    """Wait until something is in the mailbox of the follower."""

    seconds: float


class Trace(NamedTuple):
    """Trace the earlier deliveries, which can take a while."""


Step = Send | Read | Called | Wait | Pause | Trace


class FrameBatch(NamedTuple):
    """Frames of consecutive events, and the version of the game when they were read."""

    frames: tuple[bytes, ...]
    version: int
    has_seal: bool  # as the last event


def next_step(steps: Generator[Step, Any, None], result: Any) -> Step | None:
    """Return the next step after the one with this result; None at the end of the stream."""
    try:
        return steps.send(result)
    except StopIteration:
        return None


class Following(ABC):
    """One client that follows something; it holds one of the slots for waiting."""

    topics: tuple[UUID, ...] = ()
    """The ids whose notifications wake the stream."""

    names: Mapping[str, str] = MappingProxyType({})
    """What a line of the log says of the stream besides its fault."""

    def __init__(self, parts: Context, caller: Caller, slot: str) -> None:
        self._waiting = parts.waiting
        self._first_reads = parts.services.first_reads
        self._token = None if caller.read is None else caller.read.token
        path = caller.what()  # computed now, so that the stream does not keep the request
        self._caller = replace(caller, read=None, what=lambda: path)
        self._slots = parts.streams
        self._slot = slot

    @abstractmethod
    def steps(self) -> Generator[Step, Any, None]:
        """Yield the steps of the stream until its end, or until the process stops."""

    @abstractmethod
    def stream(self) -> Iterator[bytes]:
        """Yield the frames of the stream one by one; the calling thread waits for them."""

    def release(self) -> None:
        """Release the slot, once."""
        self._slots.release(self._slot)

    def close(self) -> None:
        """Release the slot, and do what is left to do."""
        self.release()
        self.trace()

    def trace(self) -> None:  # noqa: B027 - only streams of games are traced
        """Trace earlier deliveries, in the traces that published what they contain."""

    def woken_by(self, wake: Callable[[], None]) -> None:  # noqa: B027 - few have a mailbox
        """Call `wake`, from another thread, when there is something in the mailbox."""

    def has_mail(self) -> bool:
        """Return whether there is something in the mailbox."""
        return False

    def check_token(self) -> None:
        """Raise Refusal `unauthorized` if the token of the stream has ended."""
        if self._token is not None:
            self._first_reads.check(self._token)

    def note_fault(self, error: Exception) -> None:
        """Log one of FAULTS, which ends the stream."""
        problem = error.code if isinstance(error, Refusal) else "unavailable"
        level = _log.info if isinstance(error, Refusal) else _log.warning
        level("stream ended", **self.names, problem=problem, reason=str(error))


@dataclass(slots=True)
class HandOver:
    """Receives the follower of a stream from the call that opens it; the call then ends."""

    follower: Following | None = None


def slot_for_stream(player: UUID | None) -> str:
    """
    Return a slot for a stream of the caller.

    Raises the refusals of `StreamSlots.acquire`, which are no error of the service.
    """
    try:
        return context().streams.acquire(caller_address(), player)
    except Refusal:
        present_call().is_full = True
        raise


UNWAITED_SECONDS: Final = 2
"""Retry-After of a long poll that is answered at once, because no slot is free."""


@contextmanager
def slot_for_poll() -> Iterator[bool]:
    """Hold a slot for a long poll; if none is free, yield false, and let the answer say so."""
    with context().waiting.slots.slot(caller_address()) as free:
        if not free:
            present_call().retry_after = UNWAITED_SECONDS
        yield free


def streamed(follower: Following, media_type: str = EVENT_STREAM) -> Response:
    """Return the response of a stream, which the stream process sends itself."""
    hand_over: HandOver | None = request.environ.get(HAND_OVER)
    if hand_over is not None:
        hand_over.follower = follower
        return stream_response(iter(()), media_type)
    response = stream_response(follower.stream(), media_type)
    # The slot is released however the stream ends, even before the first byte.
    response.call_on_close(follower.close)
    return response


def stream_response(body: Iterator[bytes], media_type: str = EVENT_STREAM) -> Response:
    """Return the response with the head of a stream."""
    response = private(Response(body, content_type=media_type))
    response.headers["X-Accel-Buffering"] = "no"
    return response
