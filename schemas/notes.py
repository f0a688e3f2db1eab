"""Notes of players on the events of a game."""

from __future__ import annotations

from marshmallow import fields

from schemas.strict_fields import (
    Chosen,
    Closed,
    Integer,
    MultilineText,
    described,
    list_of,
    time_field,
)

LONGEST_NOTE = 1000


class NoteRequestSchema(Closed):
    """A note, and who sees it."""

    text = MultilineText(shortest=1, longest=LONGEST_NOTE, **described("the note"))
    visibility = Chosen(
        *("me", "dispute"),
        **described(
            "`me`: the author alone; `dispute`, after the seal: also the seats of the game and the "
            "referees of its disputes"
        ),
    )


class NoteSchema(Closed):
    """A note on an event. It is no part of the record, and never evidence."""

    seq = Integer(**described("the seq of the event"))
    author = fields.UUID(**described("the player who wrote it"))
    name = fields.String(allow_none=True, **described("the name of the author"))
    text = fields.String(**described("the note"))
    visibility = Chosen(*("me", "dispute"), **described("who sees it"))
    at = time_field(**described("the time at which it was written last"))


class NotesSchema(Closed):
    """The notes on a game that the caller may see."""

    items = list_of(NoteSchema, "the notes, in the order of the events")
    next = fields.String(allow_none=True, **described("null: the list is whole"))
