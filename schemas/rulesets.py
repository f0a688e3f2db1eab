"""Schemas of rulesets and bots."""

from __future__ import annotations

from marshmallow import INCLUDE, Schema, fields

from schemas.strict_fields import (
    Chosen,
    Closed,
    Name,
    Truth,
    Whole,
    hex_digits,
    name_field,
    page_of,
)


class SourceSchema(Closed):
    """The source of a ruleset."""

    file = fields.String(required=True, allow_none=True)
    title = fields.String(required=True, allow_none=True)


class SeatsSchema(Closed):
    """The minimum and maximum number of seats."""

    min = Whole(required=True)
    max = Whole(required=True)


class OptionSchema(Closed):
    """An option that a table can choose within a ruleset."""

    values = fields.List(fields.Raw(), required=True)
    default = fields.Raw(required=True, allow_none=True)


class StatementSchema(Closed):
    """A statement of the rules; `reading` marks a decision where the source is silent."""

    id = fields.String(required=True)
    section = Chosen("deal", "opening", "play", "special", "end", required=True)
    text = fields.String(required=True)
    reading = Truth(required=True)


class DifferenceSchema(Closed):
    """A setting in which two rulesets differ, with the statement about it."""

    setting = fields.String(required=True)
    from_ = fields.Raw(required=True, allow_none=True, data_key="from")
    to = fields.Raw(required=True, allow_none=True)
    rule = fields.String(required=True, allow_none=True)
    text = fields.String(required=True, allow_none=True)


class RulesetSchema(Closed):
    """
    A ruleset: settings, statements, and the differences from its base.

    `hash` is for `options` {}; tables and games have the hash with their options. `settings`
    is null for a ruleset known by name only.
    """

    id = fields.String(required=True)
    name = fields.String(required=True)
    base = fields.String(required=True, allow_none=True)
    hash = hex_digits(64, required=True, allow_none=True)
    source = fields.Nested(SourceSchema, required=True, allow_none=True)
    reconstruction = Truth(required=True)
    playable = Truth(required=True)
    seats = fields.Nested(SeatsSchema, required=True, allow_none=True)
    options = fields.Dict(keys=fields.String(), values=fields.Nested(OptionSchema), required=True)
    settings = fields.Dict(keys=fields.String(), required=True, allow_none=True)
    statements = fields.List(fields.Nested(StatementSchema), required=True)
    differs = fields.List(fields.Nested(DifferenceSchema), required=True)


RulesetPageSchema: type[Schema] = page_of(RulesetSchema)


class DifferencesQuery(Closed):
    """The ruleset to compare with."""

    from_ = name_field("ruleset", required=True, data_key="from")


DifferencePageSchema: type[Schema] = page_of(DifferenceSchema)


class RulesetRequestSchema(Closed):
    """A custom ruleset: a base, and changes of its settings."""

    name = Name(required=True, longest=80)
    base = name_field("ruleset", required=True)
    changes = fields.Dict(
        keys=fields.String(),
        required=True,
        metadata={"description": "a tree of settings, as /v1/rulesets/schema describes it"},
    )


class BotSchema(Closed):
    """A bot that can take a seat; `strength` rises from 1 to 5."""

    name = fields.String(required=True)
    description = fields.String(required=True)
    strength = Whole(required=True, low=1, high=5)


BotPageSchema: type[Schema] = page_of(BotSchema)


class JsonSchemaSchema(Schema):
    """A JSON Schema (2020-12)."""

    class Meta:
        """Any keyword is permitted."""

        unknown = INCLUDE
