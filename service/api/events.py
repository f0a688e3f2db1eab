"""Event log and replay endpoints: events, openings, receipts, frames and transcript of a game."""

from __future__ import annotations

from uuid import UUID

from flask import Response

from schemas.games import (
    AsQuery,
    EventPageSchema,
    EventsQuery,
    OpeningsSchema,
    ReplayQuery,
    ReplaySchema,
)
from service.api.context import services
from service.api.http import (
    JSON,
    NDJSON,
    PLAIN,
    immutable,
    json_response,
    page,
    private,
    shared,
    text_response,
)
from service.api.operation import Call, InviteHeaders, blueprint, operation
from service.application.games.cache import GameEntry

events = blueprint(
    "events", __name__, "The public log of a game: stored events, openings and receipts."
)

GAME = "/games/<uuid:game_id>"
PAGE = 1000
"""Events in a JSON answer without `limit`."""


@operation(
    events,
    "GET",
    f"{GAME}/events",
    query=EventsQuery,
    answer=EventPageSchema,
    produces=(JSON, NDJSON),
    refuses=("not-found",),
    headers=(InviteHeaders,),
)
def list_events(call: Call, game_id: UUID) -> Response:
    """
    List the events with seq ≥ `after`: those that a client with version `after` lacks.

    With `Accept: application/x-ndjson` the answer is the stored bytes, one event a line, and
    without `limit` all of them.
    """
    after, limit = call.query["after"], call.query["limit"]
    lines_only = call.media_type == NDJSON
    if limit is None and not lines_only:
        limit = PAGE
    entry = services().games.read(call.caller, game_id)
    lines, version = services().games.lines(call.caller, game_id, after=after, limit=limit)
    reached = after + len(lines)
    more = bool(lines) and reached < version
    # Events below the version never change; the JSON form also contains the version.
    fixed = entry.record.sealed or (lines_only and more)
    if lines_only:
        response = Response(b"".join(line + b"\n" for line in lines), content_type=NDJSON)
    else:
        next_ = reached if more else None
        body = b'{"items":[%b],"version":%d,"next":%b}'
        next_json = b"null" if next_ is None else b"%d" % next_
        response = json_response(body % (b",".join(lines), version, next_json))
    response = _cached(response, entry, fixed=fixed)
    # A cache must store the two media types of this address separately.
    response.vary.add("Accept")
    return response


@operation(
    events,
    "GET",
    f"{GAME}/openings",
    answer=OpeningsSchema,
    refuses=("not-found",),
    headers=(InviteHeaders,),
)
def openings(call: Call, game_id: UUID) -> Response:
    """List the openings of the caller's dealt and drawn cards; after the seal, of all cards."""
    items = services().games.openings(call.caller, game_id)
    return private(json_response(page(items, None)))


@operation(
    events,
    "GET",
    f"{GAME}/receipt",
    answer=None,
    produces=(PLAIN,),
    refuses=("not-found",),
    headers=(InviteHeaders,),
)
def receipt(call: Call, game_id: UUID) -> Response:
    """Return a signed note of the game's present head, which proves any later change of the log."""
    return private(text_response(services().games.receipt(call.caller, game_id)))


def _cached(response: Response, entry: GameEntry, *, fixed: bool) -> Response:
    """Return the answer with its caching rules; events below the version never change."""
    if fixed:
        return immutable(response, public=entry.public)
    return shared(response) if entry.public else private(response)


replay = blueprint("replay", __name__, "Replays of games: frames with captions, and transcripts.")


@operation(
    replay,
    "GET",
    f"{GAME}/replay",
    query=ReplayQuery,
    answer=ReplaySchema,
    refuses=("not-found", "sealed"),
    headers=(InviteHeaders,),
    replica=True,
)
def frames(call: Call, game_id: UUID) -> Response:
    """Return the frames of versions `from` to `to`, inclusive, at most 1,000."""
    query = call.query
    entry = services().games.entry(call.caller, game_id)
    items, next_ = services().games.frames(
        call.caller, game_id, query["as_"], query["from_"], query["to"]
    )
    return _with_caching(call, entry, json_response(page(items, next_)))


@operation(
    replay,
    "GET",
    f"{GAME}/transcript",
    query=AsQuery,
    answer=None,
    produces=(PLAIN,),
    refuses=("not-found", "sealed"),
    headers=(InviteHeaders,),
    replica=True,
)
def transcript(call: Call, game_id: UUID) -> Response:
    """Return the game as a plain text transcript."""
    entry = services().games.entry(call.caller, game_id)
    text = services().games.transcript(call.caller, game_id, call.query["as_"])
    return _with_caching(call, entry, text_response(text))


def _with_caching(call: Call, entry: GameEntry, response: Response) -> Response:
    """
    Return the answer with its caching rules: immutable after the seal if `as` is explicit.

    `entry` was read before the answer was made: unless it was sealed then, the answer may change.
    """
    if entry.record.sealed and call.query["as_"] is not None:
        return immutable(response, public=entry.public)
    return private(response)
