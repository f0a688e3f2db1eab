"""Schemas of games: queries, event log, openings, lists and replays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from marshmallow import Schema, fields, validate

from schemas.strict_fields import (
    Chosen,
    Closed,
    OneOf,
    PageQuery,
    QueryWhole,
    Shaped,
    Truth,
    Whole,
    hex_digits,
    name_field,
    page_of,
    time_field,
)
from schemas.tables import WaitQuery
from schemas.view_fields import FrameSchema, GameViewSchema, ResultSchema, RulesetRefSchema
from service.domain.game import Status
from service.shx.validators import MAX_SEATS

SEAT_OR_WORD = r"^(public|all|[0-9]|[1-5][0-9]|6[0-3])$"


def _viewer() -> Shaped:
    return Shaped(
        SEAT_OR_WORD,
        "is neither public, nor all, nor a seat",
        data_key="as",
        load_default=None,
        metadata={
            "description": "whose view: `public`, `all` or a seat; by default the caller's seat, "
            "or `public`. Before the seal, `all` and other seats are refused"
        },
    )


class GameQuery(WaitQuery):
    """Whose view, at which version, and how long to wait for a newer one."""

    as_ = _viewer()
    at = QueryWhole(
        low=1,
        load_default=None,
        metadata={"description": "a past version, from 1; by default the present one"},
    )


class GamesQuery(PageQuery):
    """Filters of the list of games."""

    table = fields.UUID(load_default=None, allow_none=False)
    player = Shaped(
        r"^(me|[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})$",
        "is neither me nor the id of a player",
        load_default=None,
    )
    ruleset = name_field("ruleset", load_default=None)
    status = Chosen(*(status.value for status in Status), load_default=None)


class EventsQuery(Closed):
    """The first seq, and the maximum number of events."""

    after = QueryWhole(load_default=0)
    limit = QueryWhole(low=1, high=1000, load_default=None)


class StreamQuery(Closed):
    """The first seq."""

    after = QueryWhole(load_default=0)


class ReplayQuery(Closed):
    """Whose view, and the versions of the first and the last frame."""

    as_ = _viewer()
    from_ = QueryWhole(low=1, load_default=1, data_key="from")
    to = QueryWhole(low=1, load_default=None)


class LogProofQuery(Closed):
    """The game whose leaf is to be proved."""

    game = fields.UUID(required=True, allow_none=False)


class AsQuery(Closed):
    """Whose view."""

    as_ = _viewer()


class ProfileQuery(Closed):
    """The content of a bundle: what is public, or what the caller's seat can see."""

    profile = Chosen("public", "seat", load_default="public")


class CommitSchema(Closed):
    """A commitment to entropy that is revealed later."""

    commit = hex_digits(64, required=True)


class ValueSchema(Closed):
    """The entropy itself: 32 random bytes of the client."""

    value = hex_digits(64, required=True)


class EntropyRequestSchema(OneOf):
    """A commitment, or the value itself."""

    variants = (CommitSchema, ValueSchema)
    none_fits = 'must have "commit" or "value"'

    @classmethod
    def variant(cls, data: Mapping[str, Any]) -> type[Schema] | None:
        """Return the schema for the field that is present."""
        if "commit" in data:
            return CommitSchema
        return ValueSchema if "value" in data else None


class IntentEchoSchema(Closed):
    """A signed intent and its signature, as its player sent them."""

    intent = fields.Dict(keys=fields.String(), required=True)
    sig = fields.String(required=True)


class EventSchema(Closed):
    """One event of a game's public log (SHX/1, section 2)."""

    v = fields.Integer(
        required=True,
        strict=True,
        validate=validate.OneOf([1, 2]),
        metadata={
            "description": "1; 2 for `game_created` and the seal of a game whose seal names the"
            " refused attempts"
        },
    )
    game = fields.UUID(required=True)
    seq = Whole(required=True)
    prev = hex_digits(64, required=True)
    at = time_field(required=True)
    by = Whole(required=True, allow_none=True, high=MAX_SEATS - 1)
    type = fields.String(required=True)
    data = fields.Dict(keys=fields.String(), required=True)
    auth = fields.Nested(IntentEchoSchema)


class MovedSchema(Closed):
    """The effect of a move: the new events, a receipt for the new head, the view after it."""

    version = Whole(required=True, low=1)
    events = fields.List(fields.Nested(EventSchema), required=True)
    receipt = fields.String(required=True)
    game = fields.Nested(GameViewSchema, required=True)


class EventPageSchema(Closed):
    """A page of the public log; `next` is the next `after`, null at the end."""

    items = fields.List(fields.Nested(EventSchema), required=True)
    version = Whole(required=True, low=1)
    next = Whole(required=True, allow_none=True)


class OpeningSchema(Closed):
    """The opening of a card's commitment: position in the deck, card and salt."""

    p = Whole(required=True)
    card = fields.String(required=True)
    salt = hex_digits(64, required=True)


class OpeningsSchema(Closed):
    """The openings that the caller can see, in order of `p`; `next` is always null."""

    items = fields.List(fields.Nested(OpeningSchema), required=True)
    next = fields.String(required=True, allow_none=True)


class GameSeatSchema(Closed):
    """The player or bot at a seat of a game."""

    seat = Whole(required=True, high=MAX_SEATS - 1)
    name = fields.String(required=True, allow_none=True)
    kind = Chosen("human", "bot", required=True)
    player = fields.UUID(required=True, allow_none=True)


class GameItemSchema(Closed):
    """A game in a list; `your_turn` is true if the caller is to act."""

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
    """Frames of a replay; `next` is the version of the next frame, null at the end."""

    items = fields.List(fields.Nested(FrameSchema), required=True)
    next = Whole(required=True, allow_none=True)
