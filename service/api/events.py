"""The public log of a game: its events, openings and receipts."""

from __future__ import annotations

from uuid import UUID

from flask import Response

from schemas.games_schema import EventPageSchema, EventsQuery, OpeningsSchema
from service.api.blueprint import Blueprint, Call, operation
from service.api.context import services
from service.api.conventions import (
    JSON,
    NDJSON,
    PLAIN,
    json_response,
    own,
    page,
    shared,
    text_response,
    unchanging,
)
from service.api.headers import InviteHeaders
from service.application.entries import GameEntry

events = Blueprint("events", __name__, "What happened, as the stored bytes say it.")

GAME = "/games/<uuid:game_id>"
PAGE = 1000
"""Events of a JSON answer that names no limit."""


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
    Events with seq from `after` on: what a reader of version `after` lacks.

    As x-ndjson the exact stored bytes, a line each; all of them where no limit is given.
    """
    after, limit = call.query["after"], call.query["limit"]
    lines_only = call.media_type == NDJSON
    if limit is None and not lines_only:
        limit = PAGE
    entry = services().games.read(call.caller, game_id)
    lines, version = services().games.lines(call.caller, game_id, after=after, limit=limit)
    reached = after + len(lines)
    more = bool(lines) and reached < version
    # What stands below the version never changes; the JSON tells the version itself as well.
    fixed = entry.record.sealed or (lines_only and more)
    if lines_only:
        response = Response(b"".join(line + b"\n" for line in lines), content_type=NDJSON)
    else:
        next_ = reached if more else None
        body = b'{"items":[%b],"version":%d,"next":%b}'
        said = b"null" if next_ is None else b"%d" % next_
        response = json_response(body % (b",".join(lines), version, said))
    response = _marked(response, entry, fixed=fixed)
    # One address has two forms, and a cache must keep them apart.
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
    """Openings of the cards dealt to the caller or drawn, in order of p; all after the seal."""
    items = services().games.openings(call.caller, game_id)
    return own(json_response(page(items, None)))


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
    """A signed note that says where the game stands; keep it to prove a later change."""
    return own(text_response(services().games.receipt(call.caller, game_id)))


def _marked(response: Response, entry: GameEntry, *, fixed: bool) -> Response:
    """Return the answer with how long it may be kept; events below the version never change."""
    if fixed:
        return unchanging(response, public=entry.public)
    return shared(response) if entry.public else own(response)
