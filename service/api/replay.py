"""Replays: a game frame by frame, and as text."""

from __future__ import annotations

from uuid import UUID

from flask import Response

from schemas.games_schema import AsQuery, ReplayQuery, ReplaySchema
from service.api.blueprint import Blueprint, Call, operation
from service.api.context import services
from service.api.conventions import PLAIN, json_response, own, page, text_response, unchanging
from service.api.headers import InviteHeaders
from service.application.entries import GameEntry

replay = Blueprint("replay", __name__, "Games of the past, step by step.")

GAME = "/games/<uuid:game_id>"


@operation(
    replay,
    "GET",
    f"{GAME}/replay",
    query=ReplayQuery,
    answer=ReplaySchema,
    refuses=("not-found", "sealed"),
    headers=(InviteHeaders,),
)
def frames(call: Call, game_id: UUID) -> Response:
    """Frames from version `from` to version `to`, at most a thousand at a time."""
    asked = call.query
    entry = services().games.entry(call.caller, game_id)
    items, next_ = services().games.frames(
        call.caller, game_id, asked["as_"], asked["from_"], asked["to"]
    )
    return _marked(call, entry, json_response(page(items, next_)))


@operation(
    replay,
    "GET",
    f"{GAME}/transcript",
    query=AsQuery,
    answer=None,
    produces=(PLAIN,),
    refuses=("not-found", "sealed"),
    headers=(InviteHeaders,),
)
def transcript(call: Call, game_id: UUID) -> Response:
    """The game as text, to read and to compare."""
    entry = services().games.entry(call.caller, game_id)
    text = services().games.transcript(call.caller, game_id, call.query["as_"])
    return _marked(call, entry, text_response(text))


def _marked(call: Call, entry: GameEntry, response: Response) -> Response:
    """
    Return the answer with how long it may be kept: for ever after the seal, as one named.

    `entry` was read before the answer was made: a seal that came between changes it.
    """
    if entry.record.sealed and call.query["as_"] is not None:
        return unchanging(response, public=entry.public)
    return own(response)
