"""Schemas of statistics: queries and answers."""

from __future__ import annotations

from marshmallow import fields

from schemas.strict_fields import Closed, Shaped, Whole


class MeasureSchema(Closed):
    """A statistic; in 99 of 100 cases chance alone leaves it between `low` and `high`."""

    name = fields.String(required=True)
    ruleset = fields.String(required=True)
    statistic = fields.Float(required=True)
    df = Whole(required=True, low=1)
    p = fields.Float(required=True, allow_none=True)
    low = fields.Float(required=True)
    high = fields.Float(required=True)
    n = Whole(required=True)


class ShufflesSchema(Closed):
    """Tests of all decks together for a uniform shuffle, and what they cannot show."""

    n = Whole(required=True, metadata={"description": "finished games"})
    measures = fields.List(fields.Nested(MeasureSchema), required=True)
    cannot_tell = fields.String(required=True)


class BlindChoicesQuery(Closed):
    """The player; by default the caller."""

    player = Shaped(
        r"^(me|[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})$",
        "is neither me nor the id of a player",
        load_default="me",
    )


class BlindChoicesSchema(Closed):
    """Whether cards chosen blind could be played more often than by chance."""

    player = fields.UUID(required=True)
    n = Whole(required=True, metadata={"description": "blind choices that could make a difference"})
    e_value = fields.Float(required=True)
    threshold = fields.Float(required=True)
    false_alarm = fields.Float(required=True)
    cannot_tell = fields.String(required=True)
