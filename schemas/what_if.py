"""Requests and answers about other lines of finished hands."""

from __future__ import annotations

from marshmallow import fields, validate

from schemas.moves import MoveSchema
from schemas.strict_fields import (
    BoundedList,
    Chosen,
    Closed,
    Integer,
    about,
    described,
    list_of,
    seat_field,
    viewer_field,
)
from schemas.views import GameViewSchema

MAX_LINE = 200
"""Maximum number of moves in a line; about twice as many as in an ordinary hand."""

PLAYERS_ON = ("greedy", "lowest")
"""The bots that play a line on: they do not search, so that a hand takes milliseconds."""


class LineMoveSchema(Closed):
    """A move of a line, and the seat that makes it."""

    seat = seat_field("the seat that moves")
    move = fields.Nested(MoveSchema, **described("the move, as it is posted"))


class WhatIfRequestSchema(Closed):
    """Where the line leaves the hand, its moves, and who plays on."""

    at = Integer(low=1, **described("the version of the hand at which the line begins"))
    as_ = viewer_field(
        load_default=None,
        **about("whose views are returned: `public`, `all` or a seat; by default the caller's"),
    )
    moves = BoundedList(
        fields.Nested(LineMoveSchema),
        most=MAX_LINE,
        **described("the moves of the line, in order; may be empty"),
    )
    then = Chosen(
        *PLAYERS_ON,
        allow_none=True,
        **described("the bot that makes all further moves of every seat; null for none"),
    )


class MadeMoveSchema(LineMoveSchema):
    """A move of a line as it was carried out."""

    by = fields.String(
        allow_none=True, **described("the bot that chose the move; null for one of the request")
    )
    version = Integer(**described("the version of the line after the move"))


class LineEventSchema(Closed):
    """An event of a line; it is in no log, so it has no hash, time or author."""

    type = fields.String(**described("the type of the event"))
    data = fields.Dict(keys=fields.String(), **described("its data, as in a log"))


class LineFrameSchema(Closed):
    """One event of a line with the view after it."""

    version = Integer(**described("the version of the line after the event"))
    caption = fields.String(**described("the event as a sentence; seats from 1"))
    event = fields.Nested(LineEventSchema, **described("the event"))
    view = fields.Nested(GameViewSchema, **described("the view after the event"))


class ActingSeatSchema(Closed):
    """A seat that may move at the end of a line."""

    seat = seat_field("the seat")
    moves = list_of(MoveSchema, "its legal moves")


class WhatIfSchema(Closed):
    """A hypothetical line of a finished hand. Nothing of it is stored."""

    game = fields.UUID(**described("the id of the game"))
    hypothetical = fields.Boolean(validate=validate.Equal(True), **described("always true"))
    wording = fields.String(**described("a sentence on what such a line cannot show"))
    at = Integer(low=1, **described("the version at which the line begins"))
    moves = list_of(MadeMoveSchema, "the moves of the line, those of bots included")
    frames = list_of(LineFrameSchema, "the events of the line, in order")
    view = fields.Nested(
        GameViewSchema,
        **described(
            "the view at the end of the line; its `head` is that of the hand at `at`, because a "
            "line has none"
        ),
    )
    legal = list_of(ActingSeatSchema, "the seats that may move at the end, with their legal moves")
    stopped = fields.String(
        allow_none=True,
        validate=validate.OneOf(["moves", "time"]),
        **described(
            "why bots did not play the hand to its end: the number of moves, or the time of the "
            "request; send the moves back to go on. Null if they did, or without `then`"
        ),
    )
