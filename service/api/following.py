"""
The transport of every event stream: its slot, its heartbeat, its end, and its steps.

A follower yields what to do, in order: send, call, wait. In the API a thread carries the steps
out, in the stream process a coroutine (`stream_server`). What is sent is in its class: `events`
has the log of a game, `own_stream` what concerns a player.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Hashable, Iterator, Mapping, Sequence
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


class Called(NamedTuple):
    """Call a function that may read from the store, and send its result to the generator."""

    act: Callable[[], Any]
    key: Hashable = None  # calls with the same key at the same time are one, unless it is None


class Wait(NamedTuple):
    """Wait until the follower is woken."""

    seconds: float  # at most


Step = Send | Called | Wait


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
    """The fields of a log line about the stream, besides its fault."""

    def __init__(
        self, parts: Context, caller: Caller, slot: str, media_type: str = EVENT_STREAM
    ) -> None:
        self._waiting = parts.waiting
        self._first_reads = parts.services.first_reads
        self._token = None if caller.read is None else caller.read.token
        path = caller.what()  # computed now, so that the stream does not keep the request
        self._caller = replace(caller, read=None, what=lambda: path)
        self._slots = parts.streams
        self._slot = slot
        self.media_type = media_type
        self._heartbeat = 0.0  # when the next one is due
        self._tickets: tuple[int, ...] = ()

    @abstractmethod
    def look(self) -> Generator[Step, Any, float | None]:
        """Send what is new; return in how many seconds to look again, None at the end."""

    def steps(self) -> Generator[Step, Any, None]:
        """Yield the steps of the stream until its end, or until the process stops."""
        is_sse = self.media_type == EVENT_STREAM
        if is_sse:
            yield self.send((b"retry: 2000\n\n",))
        while (seconds := (yield from self.look())) is not None and not self._waiting.ended:
            if self.is_quiet():
                yield self.send((b": nothing new\n\n" if is_sse else b"\n",))
            if seconds > 0:
                yield Wait(max(0.0, min(seconds, self._heartbeat - time.monotonic())))

    def send(self, frames: Sequence[bytes]) -> Send:
        """Return the step that sends frames: the next heartbeat is due COMMENT_SECONDS later."""
        self._heartbeat = time.monotonic() + COMMENT_SECONDS
        return Send(frames)

    def is_quiet(self) -> bool:
        """Return whether a heartbeat is due."""
        return time.monotonic() >= self._heartbeat

    def stream(self) -> Iterator[bytes]:
        """Yield the frames of the stream one by one; the calling thread waits for them."""
        steps, result = self.steps(), None
        try:
            while (step := next_step(steps, result)) is not None:
                result = None
                match step:
                    case Send():
                        yield from step.frames
                    case Called():
                        result = step.act()
                    case Wait():
                        self.wait(step.seconds)
        except FAULTS as error:
            self.note_fault(error)

    def take_tickets(self) -> tuple[int, ...]:
        """Return the tickets of the topics, from before what is read next."""
        self._tickets = tuple(map(self._waiting.ticket, self.topics))
        return self._tickets

    def is_woken(self) -> bool:
        """Return whether something came after the last look."""
        return self._tickets != tuple(map(self._waiting.ticket, self.topics))

    def wait(self, seconds: float) -> None:
        """Wait in this thread until something comes, at most `seconds`."""
        self._waiting.wait(self.topics[0], self._tickets[0], seconds)

    def woken_by(self, wake: Callable[[], None]) -> None:  # noqa: B027 - few have a mailbox
        """Call `wake`, from another thread, when something comes that no topic announces."""

    def release(self) -> None:
        """Release the slot, once."""
        self._slots.release(self._slot)

    def close(self) -> None:
        """Release the slot, and do what is left to do."""
        self.release()
        self.trace()

    def trace(self) -> None:  # noqa: B027 - only streams of games are traced
        """Trace earlier deliveries, in the traces that published what they contain."""

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


def streamed(
    player: UUID | None, follow: Callable[[str], Following], media_type: str = EVENT_STREAM
) -> Response:
    """
    Return the response of a stream in a slot of the player; the stream process sends it itself.

    `follow` makes its follower, with the slot. Raises the refusals of `slot_for_stream`.
    """
    if request.method == "HEAD":
        return _stream_response(iter(()), media_type)
    slot = slot_for_stream(player)
    try:
        follower = follow(slot)
    except BaseException:
        context().streams.release(slot)
        raise
    hand_over: HandOver | None = request.environ.get(HAND_OVER)
    if hand_over is not None:
        hand_over.follower = follower
        return _stream_response(iter(()), media_type)
    response = _stream_response(follower.stream(), media_type)
    # The slot is released however the stream ends, even before the first byte.
    response.call_on_close(follower.close)
    return response


def _stream_response(body: Iterator[bytes], media_type: str) -> Response:
    """Return the response with the head of a stream."""
    response = private(Response(body, content_type=media_type))
    response.headers["X-Accel-Buffering"] = "no"
    return response
