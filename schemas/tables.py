"""Schemas of tables: requests, queries and answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from marshmallow import Schema, ValidationError, fields, validate

from schemas.strict_fields import (
    Chosen,
    Closed,
    PageQuery,
    QueryTruth,
    QueryWhole,
    Text,
    Truth,
    Whole,
    key_field,
    name_field,
    page_of,
    signature_field,
)
from schemas.view_fields import GameViewSchema, RulesetRefSchema
from service.domain.events import Entropy
from service.domain.game import Status
from service.domain.ruleset import MAX_TURN_LIMIT
from service.domain.table import SeatKind, TableStatus
from service.shx.validators import MAX_SEATS

LONGEST_TURN = 30 * 24 * 3600
"""Seconds; long enough for correspondence games."""

ENTROPY = tuple(mode.value for mode in Entropy)
INVITE = 200


class ClockRequestSchema(Closed):
    """Seconds for a turn and for the exchange phase."""

    turn_seconds = Whole(required=True, low=1, high=LONGEST_TURN)
    swap_seconds = Whole(required=True, low=1, high=LONGEST_TURN)


class BotSeatSchema(Closed):
    """A seat for a bot."""

    bot = name_field("bot", required=True)


class SeatRequestField(fields.Field[Any]):
    """`"me"`, `"open"` or `{"bot": name}`."""

    def _deserialize(self, value: Any, *_args: Any, **_kwargs: Any) -> Any:
        if isinstance(value, Mapping):
            return BotSeatSchema().load(value)
        if value not in ("me", "open"):
            raise ValidationError('is neither "me", nor "open", nor {"bot": name}')
        return value


class TableRequestSchema(Closed):
    """A new table; only `ruleset` and `seats` are required."""

    ruleset = name_field("ruleset", required=True, metadata={"example": "leeds"})
    seats = fields.List(
        SeatRequestField(),
        required=True,
        validate=validate.Length(min=2, max=MAX_SEATS),
        metadata={"example": ["me", "open", {"bot": "greedy"}]},
    )
    options = fields.Dict(keys=fields.String(), load_default=dict)
    clock = fields.Nested(ClockRequestSchema, allow_none=True, load_default=None)
    window_seconds = Whole(low=0, high=60, load_default=3)
    visibility = Chosen("public", "private", load_default="public")
    entropy = Chosen(*ENTROPY, load_default="none")
    key = key_field(allow_none=True, load_default=None)
    turn_limit = Whole(low=1, high=MAX_TURN_LIMIT)
    deal = Truth(load_default=True)


class SitSchema(Closed):
    """The seat that the caller takes, by default any open one, with entropy and key."""

    seat = Whole(low=0, high=MAX_SEATS - 1, allow_none=True, load_default=None)
    entropy = Chosen(*ENTROPY, load_default="none")
    key = key_field(allow_none=True, load_default=None)
    invite = Text(longest=INVITE, allow_none=True, load_default=None)


class SeatChangeSchema(Closed):
    """Changes of the caller's seat for future hands; omitted fields stay as they are."""

    entropy = Chosen(*ENTROPY)
    key = key_field(allow_none=True)
    sig = signature_field(allow_none=True)


class TablesQuery(PageQuery):
    """Filters of the list of tables."""

    status = Chosen(*(status.value for status in TableStatus), load_default=None)
    ruleset = name_field("ruleset", load_default=None)
    mine = QueryTruth(load_default=False)


class WaitQuery(Closed):
    """Long poll: how long to wait for a version greater than `after`."""

    after = QueryWhole(load_default=None)
    wait = QueryWhole(
        high=30, load_default=0, metadata={"description": "seconds to wait, at most 30"}
    )


class TableSeatSchema(Closed):
    """A seat of a table, with its number of hands and of losses."""

    seat = Whole(required=True, high=MAX_SEATS - 1)
    kind = Chosen(*(kind.value for kind in SeatKind), required=True)
    name = fields.String(required=True, allow_none=True)
    player = fields.UUID(required=True, allow_none=True)
    bot = fields.String(required=True, allow_none=True)
    entropy = Chosen(*ENTROPY, required=True)
    key = fields.String(required=True, allow_none=True)
    hands = Whole(required=True)
    shithead = Whole(required=True)
    bag = Truth(required=True)


class TableGameSchema(Closed):
    """One of a table's newest hands."""

    id = fields.UUID(required=True)
    hand = Whole(required=True, low=1)
    status = Chosen(*(status.value for status in Status), required=True)
    shithead = Whole(required=True, allow_none=True, high=MAX_SEATS - 1)
    dealer = Whole(required=True, allow_none=True, high=MAX_SEATS - 1)


class TableClockSchema(ClockRequestSchema):
    """The clock of a table."""


class TableSchema(Closed):
    """A table as the caller sees it; `as` is the caller's seat, null without one."""

    id = fields.UUID(required=True)
    host = fields.UUID(required=True, allow_none=True)
    version = Whole(required=True, low=1)
    status = Chosen(*(status.value for status in TableStatus), required=True)
    visibility = Chosen("public", "private", required=True)
    ruleset = fields.Nested(RulesetRefSchema, required=True)
    turn_limit = Whole(required=True, low=1, high=MAX_TURN_LIMIT)
    clock = fields.Nested(TableClockSchema, required=True, allow_none=True)
    window_seconds = Whole(required=True, high=60)
    seats = fields.List(fields.Nested(TableSeatSchema), required=True)
    hand = Whole(required=True)
    game = fields.UUID(required=True, allow_none=True)
    games = fields.List(
        fields.Nested(TableGameSchema), required=True, validate=validate.Length(max=20)
    )
    next_dealer = Whole(required=True, allow_none=True, high=MAX_SEATS - 1)
    as_ = Whole(required=True, allow_none=True, high=MAX_SEATS - 1, data_key="as")


class OpenedTableSchema(TableSchema):
    """A new table; a private one has an `invite`, which is shown only in this answer."""

    invite = fields.String()


class DealtSchema(Closed):
    """The next hand, as the caller sees it."""

    game = fields.Nested(GameViewSchema, required=True)


class ChangeOfKeySchema(Closed):
    """The signed content of a key change: the new key of a seat."""

    v = Whole(required=True, low=1, high=1)
    table = fields.UUID(required=True)
    seat = Whole(required=True, high=MAX_SEATS - 1)
    key = key_field(required=True)


class KeyChangeSchema(Closed):
    """A change of a seat's key between hands, signed with the previous key."""

    change = fields.Nested(ChangeOfKeySchema, required=True)
    sig = signature_field(required=True)


TablePageSchema: type[Schema] = page_of(TableSchema)
KeyChangePageSchema: type[Schema] = page_of(KeyChangeSchema)
