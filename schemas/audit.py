"""Schemas of decisions, custody and knowledge (api.md, section 6)."""

from __future__ import annotations

from marshmallow import fields

from schemas.moves import MoveSchema
from schemas.strict_fields import (
    Chosen,
    Closed,
    QueryWhole,
    Truth,
    Whole,
    card_field,
    page_of,
    time_field,
)
from schemas.view_fields import GameViewSchema
from service.shx.validators import MAX_SEATS

ZONES = ("stock", "pile", "burned", "hand", "up", "down")


def _seat(**more: bool) -> Whole:
    return Whole(required=True, high=MAX_SEATS - 1, **more)


def _rules() -> fields.List[str]:
    return fields.List(
        fields.String(required=True),
        required=True,
        metadata={"description": "statements of the ruleset, the deciding one first"},
    )


class LegalSchema(Closed):
    """A move that was legal, with the statements that allow it."""

    move = fields.Nested(MoveSchema, required=True)
    rules = _rules()


class NotLegalSchema(Closed):
    """A card of the zone played from that no legal move uses, and why."""

    card = card_field(required=True)
    rules = _rules()
    text = fields.String(required=True)


class EffectSchema(Closed):
    """An event of a move, with the statements that decide it."""

    seq = Whole(required=True)
    type = fields.String(required=True)
    rules = _rules()
    text = fields.String(required=True)


class RefusedSchema(Closed):
    """A move that was refused, and by which statement."""

    at = time_field(required=True)
    move = fields.Nested(MoveSchema, required=True)
    rule = fields.String(required=True)


class DecisionSchema(Closed):
    """What a seat could see and do at one moment, what it did, what followed."""

    game = fields.UUID(required=True)
    first = Whole(required=True)
    last = Whole(required=True)
    at = time_field(required=True)
    seat = _seat(allow_none=True)
    timed_out = Truth(required=True)
    saw = fields.Nested(GameViewSchema, required=True, allow_none=True)
    legal = fields.List(fields.Nested(LegalSchema), required=True, allow_none=True)
    not_legal = fields.List(fields.Nested(NotLegalSchema), required=True, allow_none=True)
    did = fields.Nested(MoveSchema, required=True, allow_none=True)
    effects = fields.List(fields.Nested(EffectSchema), required=True)
    milliseconds = Whole(required=True, allow_none=True)
    refused = fields.List(fields.Nested(RefusedSchema), required=True, allow_none=True)
    unproven = fields.String(
        metadata={
            "description": "there only where `refused` has items that no seal names (before the"
            " seal, or in a game of version 1 of the record): why they prove nothing"
        },
    )


class SeenByField(fields.Field[object]):
    """Who sees a card: `all`, or a list of seats."""

    def _deserialize(self, value: object, *_args: object, **_kwargs: object) -> object:
        seats = isinstance(value, list) and all(type(seat) is int for seat in value)
        if value != "all" and not seats:
            raise self.make_error("validator_failed")
        return value


class StretchSchema(Closed):
    """From which event to which a card lay at one place."""

    from_seq = Whole(required=True)
    to_seq = Whole(required=True)
    zone = Chosen(*ZONES, required=True)
    seat = _seat(allow_none=True)
    slot = Whole(required=True, allow_none=True)
    seen_by = SeenByField(
        required=True,
        metadata={
            "oneOf": [
                {"type": "string", "enum": ["all"]},
                {"type": "array", "items": {"type": "integer", "minimum": 0}},
            ]
        },
    )


class CustodySchema(Closed):
    """The path of a card; before the seal the stretches that were public, or the caller's own."""

    card = card_field(required=True)
    p = Whole(required=True, allow_none=True)
    path = fields.List(fields.Nested(StretchSchema), required=True)


class KnowledgeQuery(Closed):
    """Whose knowledge, and at which version."""

    seat = QueryWhole(
        high=MAX_SEATS - 1,
        load_default=None,
        metadata={"description": "the caller's seat if left out"},
    )
    at = QueryWhole(
        low=1, load_default=None, metadata={"description": "a version; the present if left out"}
    )


class KnownCardSchema(Closed):
    """A card that a seat could know, since which event and from what."""

    card = card_field(required=True)
    zone = Chosen(*ZONES, required=True)
    seat = _seat(allow_none=True)
    since_seq = Whole(required=True)
    by = Chosen("own", "table", "pile", "shown", "drawn", required=True)


class KnowledgeSchema(Closed):
    """What a seat could know; the cards that it could not place are `unseen`."""

    seat = _seat()
    version = Whole(required=True, low=1)
    cards = fields.List(fields.Nested(KnownCardSchema), required=True)
    unseen = fields.List(card_field(required=True), required=True)


class ReadingSchema(Closed):
    """Somebody read of a game what is neither public nor theirs."""

    at = time_field(required=True)
    reader = fields.UUID(
        required=True,
        allow_none=True,
        metadata={"description": "null for a caller with an invite and without a token"},
    )
    what = fields.String(required=True)


ReadingPageSchema = page_of(ReadingSchema)
