"""Endpoints of notes on events."""

from __future__ import annotations

from uuid import UUID

from flask import Response

from schemas.notes import NoteRequestSchema, NoteSchema, NotesSchema
from schemas.tokens import Scope
from service.api.context import services
from service.api.conventions.caching import private
from service.api.conventions.responses import json_response, page
from service.api.operation import Call, InviteHeaders, Token, blueprint, operation
from service.application.quotas import LIGHT

notes = blueprint("notes", __name__, "Notes on events: outside the record, and never evidence.")

NOTES = "/games/<uuid:game_id>/notes"


@operation(
    notes,
    "GET",
    NOTES,
    answer=NotesSchema,
    token=Token.NEEDED,
    refuses=("not-found",),
    headers=(InviteHeaders,),
    weight=LIGHT,
)
def list_notes(call: Call, game_id: UUID) -> Response:
    """
    List the caller's notes on a game, and after the seal those for its seats and referees.

    Notes for others (`visibility` `dispute`) are listed for seats of the game and referees only.
    """
    found = services().event_notes.of_game(call.caller, game_id)
    return private(json_response(page(found, None)))


@operation(
    notes,
    "PUT",
    f"{NOTES}/<int:seq>",
    body=NoteRequestSchema,
    answer=NoteSchema,
    token=Token.NEEDED,
    scope=Scope.PLAY,
    refuses=("not-found", "sealed", "not-seated", "limit-reached"),
    headers=(InviteHeaders,),
    weight=LIGHT,
)
def keep_note(call: Call, game_id: UUID, seq: int) -> Response:
    """
    Write the caller's note on an event, or replace it.

    Before the seal a note is for its author alone. It is deleted with its author.
    """
    body = call.body
    kept = services().event_notes.keep(call.caller, game_id, seq, body["text"], body["visibility"])
    return private(json_response(kept))


@operation(
    notes,
    "DELETE",
    f"{NOTES}/<int:seq>",
    answer=None,
    status=204,
    token=Token.NEEDED,
    scope=Scope.PLAY,
    refuses=("not-found",),
    headers=(InviteHeaders,),
    weight=LIGHT,
)
def delete_note(call: Call, game_id: UUID, seq: int) -> Response:
    """
    Delete the caller's note on an event.

    Notes of others stay; an operator can delete them.
    """
    services().event_notes.delete(call.caller, game_id, seq)
    return private(Response(status=204))
