"""Live readers: a game's events as server-sent events, the stored bytes and nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterator
from uuid import UUID

import orjson
from flask import Response, current_app, request

from schemas.games_schema import StreamQuery
from service.api.blueprint import Blueprint, Call, operation
from service.api.context import Context, context
from service.api.conventions import EVENT_STREAM, own
from service.api.headers import InviteHeaders
from service.api.limits import caller_address
from service.application.callers import Caller
from service.application.errors import Refusal

stream = Blueprint("stream", __name__, "Events as they happen.")

COMMENT_SECONDS = 15.0
BATCH = 500
"""Events that are read at a time."""

_LAST_EVENT_ID = re.compile(r"[0-9]{1,9}")


@operation(
    stream,
    "GET",
    "/games/<uuid:game_id>/stream",
    query=StreamQuery,
    answer=None,
    produces=(EVENT_STREAM,),
    refuses=("not-found",),
    headers=(InviteHeaders,),
)
def follow(call: Call, game_id: UUID) -> Response:
    """
    The game's events from `Last-Event-ID` + 1 or `after` on, then each as it happens.

    `id` is its seq, `event` its type, `data` its stored bytes. It is the same for
    everybody: a seat fetches its view. After the seal comes `event: end`.
    """
    parts = context()
    parts.services.games.read(call.caller, game_id)
    if request.method == "HEAD":
        return _response(iter(()))
    address = caller_address()
    if not parts.waiting.places.take(address):
        raise Refusal("unavailable", "too many readers at once", retry_after=5)
    log = _Log(parts, call.caller, game_id, address)
    response = _response(log.told(_first(call.query["after"])))
    # The place is given back however the reader goes, even before the first byte.
    response.call_on_close(log.close)
    return response


class _Log:
    """A game's log as one reader follows it."""

    def __init__(self, parts: Context, caller: Caller, game: UUID, address: str) -> None:
        self._games = parts.services.games
        self._waiting = parts.waiting
        self._caller = caller
        self._game = game
        self._address = address
        self._open = True
        self._log = current_app.logger

    def close(self) -> None:
        """Give the place back, once."""
        if self._open:
            self._open = False
            self._waiting.places.leave(self._address)

    def told(self, after: int) -> Iterator[bytes]:
        """Yield the stream from seq `after` on, until the seal, or the end of this process."""
        yield b"retry: 2000\n\n"
        while True:
            lines, version = self._games.lines(self._caller, self._game, after=after, limit=BATCH)
            for line in lines:
                event = orjson.loads(line)
                yield b"id: %d\nevent: %b\ndata: %b\n\n" % (
                    event["seq"],
                    event["type"].encode(),
                    line,
                )
            after = max(after, after + len(lines))
            if after >= version and self._sealed():
                yield b"event: end\ndata:\n\n"
                return
            if self._waiting.ended:
                return  # in good order: readers come back, and begin after what they have
            if not lines and not self._moved(after):
                yield b": nothing new\n\n"

    def _moved(self, after: int) -> bool:
        return self._waiting.until_past(
            self._game,
            lambda: self._games.entry(self._caller, self._game).record.version,
            after,
            COMMENT_SECONDS,
        )

    def _sealed(self) -> bool:
        return self._games.entry(self._caller, self._game).record.sealed


def _first(after: int) -> int:
    """Return the seq to begin with; a reader that comes back names the last one it has."""
    known = request.headers.get("Last-Event-ID", "")
    return int(known) + 1 if _LAST_EVENT_ID.fullmatch(known) else after


def _response(told: Iterator[bytes]) -> Response:
    response = own(Response(told, content_type=EVENT_STREAM))
    response.headers["X-Accel-Buffering"] = "no"
    return response
