"""Schemas of statistics: queries and answers."""

from __future__ import annotations

from marshmallow import fields

from schemas.strict_fields import Closed, Integer, PatternString, described


class MeasureSchema(Closed):
    """A statistic; in 99 of 100 cases chance alone leaves it between `low` and `high`."""

    name = fields.String(**described("the name of the statistic"))
    ruleset = fields.String(**described("the ruleset whose games it counts"))
    statistic = fields.Float(**described("the value of chi-square"))
    df = Integer(low=1, **described("its degrees of freedom"))
    p = fields.Float(
        allow_none=True,
        **described("how likely chance alone gives at least this value; null without enough games"),
    )
    low = fields.Float(**described("the lower end of the range of 99 in 100"))
    high = fields.Float(**described("the upper end of that range"))
    n = Integer(**described("the games that were counted"))


class ShufflesSchema(Closed):
    """Tests of all decks together for a uniform shuffle, and what they cannot show."""

    n = Integer(required=True, metadata={"description": "finished games"})
    measures = fields.List(fields.Nested(MeasureSchema), **described("the statistics"))
    cannot_tell = fields.String(**described("what these figures cannot show"))


class BlindChoicesQuery(Closed):
    """The player; by default the caller."""

    player = PatternString(
        "^(me|[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})$",
        "is neither me nor the id of a player",
        load_default="me",
        metadata={"description": "the id of the player, or `me`"},
    )


class BlindChoicesSchema(Closed):
    """Whether cards chosen blind could be played more often than by chance."""

    player = fields.UUID(**described("the id of the player"))
    n = Integer(
        required=True, metadata={"description": "blind choices that could make a difference"}
    )
    e_value = fields.Float(**described("the evidence against chance; 1 speaks for neither side"))
    threshold = fields.Float(**described("the value from which chance is no longer believed"))
    false_alarm = fields.Float(
        **described("how often a player without inside knowledge ever reaches it")
    )
    cannot_tell = fields.String(**described("what these figures cannot show"))
