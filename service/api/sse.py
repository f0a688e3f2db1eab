"""Server-sent events: a game's log as a live stream of the stored bytes."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple
from uuid import UUID

import orjson
from flask import Response, current_app, request

from schemas.games import StreamQuery
from service import tracing
from service.api.context import Context, context
from service.api.http import EVENT_ID, EVENT_STREAM, private
from service.api.limits import caller_address
from service.api.operation import Call, InviteHeaders, ResumeHeaders, blueprint, operation
from service.api.parsing import malformed
from service.application.callers import Caller
from service.application.errors import Refusal

stream = blueprint("stream", __name__, "A game's events as they happen.")

COMMENT_SECONDS = 15.0
SEALS = ("game_sealed", "game_aborted")
"""The types of the last event of a log."""

BATCH = 500
"""Events that are read from the store at once."""

MOST_TRACED = 32
"""Events of a delivery that is traced; a reader who catches up gets more at once."""


@operation(
    stream,
    "GET",
    "/games/<uuid:game_id>/stream",
    query=StreamQuery,
    answer=None,
    produces=(EVENT_STREAM,),
    refuses=("not-found",),
    headers=(InviteHeaders, ResumeHeaders),
)
def follow(call: Call, game_id: UUID) -> Response:
    """
    Stream the events of a game: from `Last-Event-ID` + 1 or `after`, then each as it happens.

    `id` is the seq of an event, `event` its type, `data` its stored bytes. Every caller gets
    the same stream; a seat fetches its view. After the seal comes `event: end`.
    """
    parts = context()
    parts.services.games.read(call.caller, game_id)
    if request.method == "HEAD":
        return _response(iter(()))
    first, address = _first_seq(call.query["after"]), caller_address()
    if not parts.waiting.slots.acquire(address):
        raise Refusal(
            "unavailable",
            "too many streams at once: poll GET /v1/games/{id}/events instead",
            retry_after=5,
        )
    log = _Follower(parts, call.caller, game_id, address)
    response = _response(log.stream(first))
    # The slot is released however the stream ends, even before the first byte.
    response.call_on_close(log.close)
    return response


class _Delivery(NamedTuple):
    """Events sent to a reader."""

    first: int  # seq
    events: int
    since: int  # nanoseconds since 1970, as `until`
    until: int


class _Follower:
    """One client that follows a game's log, in a slot for waiting."""

    def __init__(self, parts: Context, caller: Caller, game: UUID, address: str) -> None:
        self._games = parts.services.games
        self._notifier = parts.services.notifier
        self._waiting = parts.waiting
        self._caller = replace(caller, read=None)
        self._game = game
        self._address = address
        self._open = True
        self._log = current_app.logger
        self._deliveries: list[_Delivery] = []  # not yet traced

    def close(self) -> None:
        """Release the slot, once."""
        if self._open:
            self._open = False
            self._waiting.slots.release(self._address)
            self._trace()

    def stream(self, after: int) -> Iterator[bytes]:
        """Yield the stream from seq `after` until the seal, or until the process stops."""
        yield b"retry: 2000\n\n"
        ended, comment = self._ends_at(after), time.monotonic() + COMMENT_SECONDS
        while not ended:
            ticket = self._waiting.ticket(self._game)
            since = time.time_ns()
            lines, version = self._games.lines(self._caller, self._game, after=after, limit=BATCH)
            for line in lines:
                event = orjson.loads(line)
                yield b"id: %d\nevent: %b\ndata: %b\n\n" % (
                    event["seq"],
                    event["type"].encode(),
                    line,
                )
                ended = event["type"] in SEALS
            if tracing.is_on() and 0 < len(lines) <= MOST_TRACED:
                self._trace()
                self._deliveries.append(_Delivery(after, len(lines), since, time.time_ns()))
            after += len(lines)
            if self._waiting.ended and not ended:
                return  # in good order: clients reconnect with Last-Event-ID
            if lines:
                comment = time.monotonic() + COMMENT_SECONDS
            elif time.monotonic() > comment:
                self._trace()
                yield b": nothing new\n\n"
                comment = time.monotonic() + COMMENT_SECONDS
            del lines  # not held in memory while the stream waits
            if not ended and after >= version:
                self._waiting.wait(self._game, ticket, max(0.0, comment - time.monotonic()))
        yield b"event: end\ndata:\n\n"

    def _trace(self) -> None:
        """
        Trace earlier deliveries, in the traces that published their events.

        Not at once: a reader can be faster than the notification that names the trace.
        """
        deliveries, self._deliveries = self._deliveries, []
        for one in deliveries:
            versions = [(self._game, one.first + n) for n in range(1, one.events + 1)]
            for trace in self._notifier.traces(versions).values():
                tracing.delivered(trace, events=one.events, since=one.since, until=one.until)

    def _ends_at(self, after: int) -> bool:
        """Return whether the log is sealed and has no event from `after` on: both in one read."""
        record = self._games.entry(self._caller, self._game).record
        return record.sealed and after >= record.version


def _first_seq(after: int) -> int:
    """
    Return the seq to begin with; a returning reader sends the last one that it has.

    Raises Refusal `malformed` for a Last-Event-ID that is no seq.
    """
    known = request.headers.get("Last-Event-ID", "")
    if not known:  # a browser sends none before the first event
        return after
    if not re.fullmatch(EVENT_ID, known):
        raise malformed("is no seq of an event", "Last-Event-ID")
    return int(known) + 1


def _response(body: Iterator[bytes]) -> Response:
    response = private(Response(body, content_type=EVENT_STREAM))
    response.headers["X-Accel-Buffering"] = "no"
    return response
