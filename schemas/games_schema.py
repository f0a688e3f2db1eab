"""Games as queries and answers of the API (api.md, sections 4 and 5)."""

from __future__ import annotations

from marshmallow import Schema, fields, validate

from schemas.lists_schema import PageQuery, page_of
from schemas.strict_fields import (
    Chosen,
    Closed,
    QueryWhole,
    Shaped,
    Truth,
    Whole,
    hex_digits,
    name_field,
    time_field,
)
from schemas.tables_schema import MAX_SEATS, WaitQuery
from schemas.view_schema import FrameSchema, GameViewSchema, ResultSchema, RulesetRefSchema
from service.domain.game import Status

SEAT_OR_WORD = r"^(public|all|[0-9]|[1-5][0-9]|6[0-3])$"


def _viewer() -> Shaped:
    return Shaped(
        SEAT_OR_WORD,
        "is neither public, nor all, nor a seat",
        data_key="as",
        load_default=None,
        metadata={"description": "whose view; the caller's seat, or else the public, if left out"},
    )


class GameQuery(WaitQuery):
    """Whose view, of when, and how long to wait for a newer one."""

    as_ = _viewer()
    at = QueryWhole(low=1, load_default=None, metadata={"description": "a version"})


class GamesQuery(PageQuery):
    """Which games, and which part of the list."""

    table = fields.UUID(load_default=None, allow_none=False)
    player = Shaped(
        r"^(me|[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})$",
        "is neither me nor the id of a player",
        load_default=None,
    )
    ruleset = name_field("ruleset", load_default=None)
    status = Chosen(*(status.value for status in Status), load_default=None)


class EventsQuery(Closed):
    """From which event on, and how many at most."""

    after = QueryWhole(load_default=0)
    limit = QueryWhole(low=1, high=1000, load_default=None)


class StreamQuery(Closed):
    """From which event on."""

    after = QueryWhole(load_default=0)


class ReplayQuery(Closed):
    """Whose view, and the versions of the first frame and the last."""

    as_ = _viewer()
    from_ = QueryWhole(low=1, load_default=1, data_key="from")
    to = QueryWhole(low=1, load_default=None)


class LogProofQuery(Closed):
    """Which game."""

    game = fields.UUID(required=True, allow_none=False)


class AsQuery(Closed):
    """Whose view."""

    as_ = _viewer()


class ProfileQuery(Closed):
    """What a bundle holds: what everybody may see, or what the caller's seat may."""

    profile = Chosen("public", "seat", load_default="public")


class IntentEchoSchema(Closed):
    """A signed intent and its signature, as its player sent them."""

    intent = fields.Dict(keys=fields.String(), required=True)
    sig = fields.String(required=True)


class EventSchema(Closed):
    """One event of a game's public log (SHX/1, section 2)."""

    v = fields.Integer(required=True, strict=True, validate=validate.OneOf([1]))
    game = fields.UUID(required=True)
    seq = Whole(required=True)
    prev = hex_digits(64, required=True)
    at = time_field(required=True)
    by = Whole(required=True, allow_none=True, high=MAX_SEATS - 1)
    type = fields.String(required=True)
    data = fields.Dict(keys=fields.String(), required=True)
    auth = fields.Nested(IntentEchoSchema)


class MovedSchema(Closed):
    """What a move did: the new events, a receipt for the last of them, the game after it."""

    version = Whole(required=True, low=1)
    events = fields.List(fields.Nested(EventSchema), required=True)
    receipt = fields.String(required=True)
    game = fields.Nested(GameViewSchema, required=True)


class EventPageSchema(Closed):
    """Part of the public log; `next` is the next `after`, null at its end."""

    items = fields.List(fields.Nested(EventSchema), required=True)
    version = Whole(required=True, low=1)
    next = Whole(required=True, allow_none=True)


class OpeningSchema(Closed):
    """The opening of a card's commitment."""

    p = Whole(required=True)
    card = fields.String(required=True)
    salt = hex_digits(64, required=True)


class OpeningsSchema(Closed):
    """The openings that the caller may have, in order of p; all at once, so `next` is null."""

    items = fields.List(fields.Nested(OpeningSchema), required=True)
    next = fields.String(required=True, allow_none=True)


class GameSeatSchema(Closed):
    """Who sits at a seat of a game."""

    seat = Whole(required=True, high=MAX_SEATS - 1)
    name = fields.String(required=True, allow_none=True)
    kind = Chosen("human", "bot", required=True)
    player = fields.UUID(required=True, allow_none=True)


class GameItemSchema(Closed):
    """A game in a list."""

    id = fields.UUID(required=True)
    table = fields.UUID(required=True)
    hand = Whole(required=True, low=1)
    ruleset = fields.Nested(RulesetRefSchema, required=True)
    status = Chosen(*(status.value for status in Status), required=True)
    version = Whole(required=True, low=1)
    created_at = time_field(required=True)
    ended_at = time_field(required=True, allow_none=True)
    seats = fields.List(fields.Nested(GameSeatSchema), required=True)
    result = fields.Nested(ResultSchema, required=True, allow_none=True)
    your_turn = Truth(required=True)


GamePageSchema: type[Schema] = page_of(GameItemSchema)


class ReplaySchema(Closed):
    """Frames of a replay; `next` is the version of the first one that is left, or null."""

    items = fields.List(fields.Nested(FrameSchema), required=True)
    next = Whole(required=True, allow_none=True)
