"""Schemas of ratings."""

from __future__ import annotations

from marshmallow import fields

from schemas.strict_fields import (
    Boolean,
    Closed,
    Integer,
    OffsetQuery,
    about,
    described,
    list_of,
    name_field,
)


class RatingNumbersSchema(Closed):
    """A rating: OpenSkill's mean and deviation, and the number of hands behind them."""

    rating = fields.Float(
        **described("mu - 3 sigma, by which lists are sorted; all numbers have four decimals")
    )
    mu = fields.Float(**described("the mean of the skill"))
    sigma = fields.Float(**described("its standard deviation"))
    hands = Integer(low=1, **described("rated hands"))
    provisional = Boolean(**described("whether fewer than 10 hands were rated"))


class PlayerRatingSchema(RatingNumbersSchema):
    """The rating of a player in a ruleset."""

    ruleset = fields.String(**described("the id of the ruleset"))


class RatingSchema(RatingNumbersSchema):
    """The rating of a player or a bot in a list."""

    rank = Integer(low=1, **described("the place in the list, from 1"))
    player = fields.UUID(allow_none=True, **described("the player's id; null for a bot"))
    bot = fields.String(allow_none=True, **described("the bot; null for a player"))
    name = fields.String(allow_none=True, **described("the player's name; null for a bot"))


class RatingsQuery(OffsetQuery):
    """The ruleset, and the page."""

    ruleset = name_field("ruleset", required=True, **about("the id of the ruleset"))


class RatingsSchema(Closed):
    """A page of the ratings of a ruleset, the best first."""

    ruleset = fields.String(**described("the id of the ruleset"))
    leaves = Integer(**described("the leaves of the public log that are counted"))
    items = list_of(RatingSchema, "the ratings, the best first")
    cannot_tell = fields.String(**described("what no rating can show"))
    next = fields.String(
        allow_none=True, **described("the `cursor` of the next page; null at the end")
    )
