"""Statistics as queries and answers of the API (api.md, section 6)."""

from __future__ import annotations

from marshmallow import fields

from schemas.strict_fields import Closed, Shaped, Whole


class MeasureSchema(Closed):
    """One figure; chance leaves it between low and high in 99 of 100 cases."""

    name = fields.String(required=True)
    ruleset = fields.String(required=True)
    statistic = fields.Float(required=True)
    df = Whole(required=True, low=1)
    p = fields.Float(required=True, allow_none=True)
    low = fields.Float(required=True)
    high = fields.Float(required=True)
    n = Whole(required=True)


class ShufflesSchema(Closed):
    """What all decks together say of the shuffle."""

    n = Whole(required=True, metadata={"description": "finished games"})
    measures = fields.List(fields.Nested(MeasureSchema), required=True)
    cannot_tell = fields.String(required=True)


class BlindChoicesQuery(Closed):
    """Whose choices; the caller's own where nobody is named."""

    player = Shaped(
        r"^(me|[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})$",
        "is neither me nor the id of a player",
        load_default="me",
    )


class BlindChoicesSchema(Closed):
    """Whether cards chosen blind fitted more often than chance has it."""

    player = fields.UUID(required=True)
    n = Whole(required=True, metadata={"description": "choices that could make a difference"})
    e_value = fields.Float(required=True)
    threshold = fields.Float(required=True)
    false_alarm = fields.Float(required=True)
    cannot_tell = fields.String(required=True)
