"""Schemas of rulesets and bots."""

from __future__ import annotations

from marshmallow import INCLUDE, Schema, fields

from schemas.strict_fields import (
    Boolean,
    Chosen,
    Closed,
    FreeObject,
    Integer,
    Name,
    described,
    hex_digits,
    list_of,
    name_field,
    page_of,
)


class SourceSchema(Closed):
    """The source of a ruleset."""

    file = fields.String(allow_none=True, **described("the file name of the source document"))
    title = fields.String(allow_none=True, **described("the title of the source document"))


class SeatsSchema(Closed):
    """The minimum and maximum number of seats."""

    min = Integer(**described("the minimum number of seats"))
    max = Integer(**described("the maximum number of seats"))


class OptionSchema(Closed):
    """An option that a table can choose within a ruleset."""

    values = fields.List(fields.Raw(), **described("the values that a table may choose"))
    default = fields.Raw(allow_none=True, **described("the value if the table chooses none"))


class StatementSchema(Closed):
    """A statement of the rules; `reading` marks a decision where the source is silent."""

    id = fields.String(**described("the id by which rulings and refusals cite the statement"))
    section = Chosen(
        "deal",
        "opening",
        "play",
        "special",
        "end",
        **described("the part of the game that the statement is about"),
    )
    text = fields.String(**described("the rule in a sentence or two"))
    reading = Boolean(
        **described(
            "whether the statement is a decision where the source is silent or contradicts itself"
        )
    )


class DifferenceSchema(Closed):
    """A setting in which two rulesets differ, with the statement about it."""

    setting = fields.String(**described("the path of the setting, such as `ranks.7.asks`"))
    from_ = fields.Raw(
        allow_none=True,
        data_key="from",
        **described("the value in the ruleset to compare with, which may be null"),
    )
    to = fields.Raw(allow_none=True, **described("the value in this ruleset, which may be null"))
    rule = fields.String(allow_none=True, **described("the id of the statement about the setting"))
    text = fields.String(allow_none=True, **described("the difference in words"))


class RulesetItemSchema(Closed):
    """
    A ruleset in a list, without its settings and statements.

    Both hashes are for `options` {}; tables and games have the `ruleset_hash` with theirs.
    """

    id = fields.String(**described("the id by which tables refer to it"))
    name = fields.String(**described("the name shown to people"))
    base = fields.String(
        allow_none=True,
        **described(
            "the id of the ruleset that this one changes; null for a ruleset without a base"
        ),
    )
    ruleset_hash = hex_digits(
        64,
        allow_none=True,
        **described("the hash of id, options and settings; null if it cannot be played"),
    )
    settings_hash = hex_digits(
        64,
        allow_none=True,
        **described("the hash of the settings alone; null if it cannot be played"),
    )
    source = fields.Nested(
        SourceSchema,
        allow_none=True,
        **described("the document that the rules come from; of a custom ruleset, that of its base"),
    )
    reconstruction = Boolean(
        **described("whether the source names the game without describing its rules")
    )
    playable = Boolean(
        **described("whether a table can play it; false if it is known by name only")
    )
    seats = fields.Nested(
        SeatsSchema,
        allow_none=True,
        **described("the number of seats; null if it cannot be played"),
    )
    options = fields.Dict(
        keys=fields.String(),
        values=fields.Nested(OptionSchema),
        **described("the options of a table, by name"),
    )


class SpecialRankSchema(Closed):
    """A rank with rules of its own."""

    rank = fields.String(**described("the rank, as in codes of cards; `X` for jokers"))
    does = fields.List(
        fields.String(), **described("codes of what it does, the most telling first")
    )


class InShortSchema(Closed):
    """A ruleset for a newcomer, made from the settings; exceptions are in the statements."""

    played_for = Chosen(
        "loser", "winner", **described("what ends the hand: one seat with cards, or one without")
    )
    burning_set = Integer(
        **described("how many cards of a rank burn the pile; 0: sets burn nothing")
    )
    special = list_of(SpecialRankSchema, "the special ranks, low to high")


class RulesetSchema(RulesetItemSchema):
    """
    A ruleset: settings, statements, and the differences from its base.

    Both hashes are for `options` {}; tables and games have the `ruleset_hash` with theirs.
    `settings` is null for a ruleset known by name only.
    """

    settings = fields.Dict(
        keys=fields.String(),
        allow_none=True,
        **described(
            "all settings, as `/v1/rulesets/schema` describes them; null if it cannot be played"
        ),
    )
    in_short = fields.Nested(
        InShortSchema,
        allow_none=True,
        **described("the rules in short; null if it cannot be played"),
    )
    statements = list_of(StatementSchema, "the statements, in the order of a hand")
    differs = list_of(DifferenceSchema, "the settings in which the ruleset differs from its base")


RulesetPageSchema: type[Schema] = page_of(
    RulesetItemSchema,
    order="the catalogue, then rulesets known by name only, then custom ones, newest first",
)


class DifferencesQuery(Closed):
    """The ruleset to compare with."""

    from_ = name_field(
        "ruleset", data_key="from", **described("the id of the ruleset to compare with")
    )


DifferencePageSchema: type[Schema] = page_of(DifferenceSchema, order="by section of the settings")


class RulesetRequestSchema(Closed):
    """A custom ruleset: a base, and changes of its settings."""

    name = Name(longest=80, **described("1 to 80 visible characters, at most 320 bytes"))
    base = name_field("ruleset", **described("the id of the ruleset that is changed"))
    changes = FreeObject(
        keys=fields.String(),
        **described("a tree of settings, as /v1/rulesets/schema describes it"),
    )


class BotSchema(Closed):
    """A bot that can take a seat; `strength` rises from 1 to 5."""

    name = fields.String(**described("the name, as in `seats` of a table"))
    description = fields.String(**described("how the bot plays"))
    strength = Integer(low=1, high=5, **described("the strength, from 1 (weakest) to 5"))


BotPageSchema: type[Schema] = page_of(BotSchema, order="weakest first")


class JsonSchemaSchema(Schema):
    """A JSON Schema (2020-12)."""

    class Meta:
        """Any keyword is permitted."""

        unknown = INCLUDE
