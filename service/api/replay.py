"""Replay endpoints: a game frame by frame, and as a transcript."""

from __future__ import annotations

from uuid import UUID

from flask import Response

from schemas.games import AsQuery, ReplayQuery, ReplaySchema
from service.api.context import services
from service.api.headers import InviteHeaders
from service.api.http import PLAIN, immutable, json_response, page, private, text_response
from service.api.operation import Call, blueprint, operation
from service.application.games.cache import GameEntry

replay = blueprint("replay", __name__, "Replays of games: frames with captions, and transcripts.")

GAME = "/games/<uuid:game_id>"


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
    """Return the frames of versions `from` to `to`, inclusive, at most 1000."""
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
    replica=True,
)
def transcript(call: Call, game_id: UUID) -> Response:
    """Return the game as a plain text transcript."""
    entry = services().games.entry(call.caller, game_id)
    text = services().games.transcript(call.caller, game_id, call.query["as_"])
    return _marked(call, entry, text_response(text))


def _marked(call: Call, entry: GameEntry, response: Response) -> Response:
    """
    Return the answer with its caching rules: immutable after the seal if `as` is explicit.

    `entry` was read before the answer was made, which may still change until the seal.
    """
    if entry.record.sealed and call.query["as_"] is not None:
        return immutable(response, public=entry.public)
    return private(response)
