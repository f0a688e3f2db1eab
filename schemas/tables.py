"""Tables as JSON: requests, queries, answers, and the stored events of a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from marshmallow import Schema, ValidationError, fields, pre_load, validate, validates_schema

from schemas.events import read_fields
from schemas.strict_fields import (
    Boolean,
    BoundedList,
    Chosen,
    Closed,
    FreeObject,
    Integer,
    PageQuery,
    QueryBoolean,
    Text,
    about,
    described,
    from_plain_data,
    key_field,
    list_of,
    name_field,
    page_of,
    plain_data,
    seat_field,
    signature_field,
    time_field,
)
from schemas.views import GameViewSchema, RulesetRefSchema
from service.domain.events import Entropy
from service.domain.game import Status
from service.domain.ruleset import MAX_TURN_LIMIT
from service.domain.table import (
    HandDealt,
    HandDisputed,
    HandFinished,
    SeatChanged,
    SeatFilled,
    SeatKind,
    SeatLeft,
    SeatPaused,
    SeatResumed,
    SeatTaken,
    TableClosed,
    TableEvent,
    TableOpened,
    TableStatus,
)
from service.shx.validators import MAX_SEATS

MAX_CLOCK_SECONDS = 30 * 24 * 3600
"""Maximum time limit of a turn or exchange phase: 30 days, for correspondence games."""

NEXT_HAND_SECONDS = 8
"""Time from the seal to the next hand, at a table that deals by itself."""

ENTROPY = tuple(mode.value for mode in Entropy)
LONGEST_INVITE = 200
"""Maximum number of characters of an invite."""


class ClockRequestSchema(Closed):
    """Seconds for a turn, for the exchange phase, and in reserve."""

    turn_seconds = Integer(low=1, high=MAX_CLOCK_SECONDS, **described("seconds for a turn"))
    swap_seconds = Integer(
        low=1, high=MAX_CLOCK_SECONDS, **described("seconds for set-up and exchange phase")
    )
    reserve_seconds = Integer(
        low=0,
        high=MAX_CLOCK_SECONDS,
        load_default=0,
        **about(
            "seconds that each seat has in addition, once in a hand: a turn takes them when its "
            "own are over"
        ),
    )


class BotSeatSchema(Closed):
    """A seat for a bot."""

    bot = name_field("bot", **described("the name of a bot, from `/v1/bots`"))


class SeatRequestField(fields.Field[Any]):
    """`"me"`, `"open"` or `{"bot": name}`."""

    def _deserialize(self, value: Any, *_args: Any, **_kwargs: Any) -> Any:
        if isinstance(value, Mapping):
            return BotSeatSchema().load(value)
        if value not in ("me", "open"):
            raise ValidationError('is neither "me", nor "open", nor {"bot": name}')
        return value


class Dealing(fields.Field[Any]):
    """`true`, `false` or `"always"`."""

    def _deserialize(self, value: Any, *_args: Any, **_kwargs: Any) -> Any:
        if value is not True and value is not False and value != "always":
            raise ValidationError('is neither a boolean nor "always"')
        return value


class TableRequestSchema(Closed):
    """A new table: `ruleset` and `seats`, the rest as needed; or `like` alone."""

    ruleset = name_field(
        "ruleset",
        metadata={"description": "the id of a ruleset, from `/v1/rulesets`", "example": "leeds"},
    )
    seats = BoundedList(
        SeatRequestField(),
        least=2,
        most=MAX_SEATS,
        metadata={
            "description": 'the seats from 0: `"me"` at most once, `"open"`, or `{"bot": name}`',
            "example": ["me", "open", {"bot": "greedy"}],
        },
    )
    options = FreeObject(
        keys=fields.String(),
        load_default=dict,
        **about("options of the ruleset, by name"),
    )
    clock = fields.Nested(
        ClockRequestSchema,
        allow_none=True,
        load_default=None,
        **about("time limits; null for none"),
    )
    window_seconds = Integer(
        low=0,
        high=60,
        load_default=3,
        **about(
            "seconds that bots wait: at an opening that the first qualified seat makes, and after"
            " a play that its player may continue with a card just drawn; 0: no wait"
        ),
    )
    visibility = Chosen(
        "public",
        "private",
        load_default="public",
        **about(
            "`private` hides the table from all but its host, its seats, invited players and "
            "holders of its invite"
        ),
    )
    entropy = Chosen(
        *ENTROPY,
        load_default="none",
        **about("how the caller's own seat contributes to the shuffle"),
    )
    key = key_field(
        allow_none=True,
        load_default=None,
        **about("the Ed25519 public key of the caller's own seat, in base64"),
    )
    turn_limit = Integer(
        low=1,
        high=MAX_TURN_LIMIT,
        **about(
            "actions after which a hand ends as a stalemate, by default 400 a seat;"
            " exchanges of cards before play and `ready` do not count"
        ),
    )
    deal = Dealing(
        load_default=True,
        metadata={
            "description": "whether the first hand is dealt as soon as all seats are taken; "
            f'`"always"`: and each next one by itself, {NEXT_HAND_SECONDS} seconds after the seal, '
            "while all seats are taken, no seat has paused, and a person moved in the last hand",
            "example": True,
        },
    )
    invited = BoundedList(
        fields.UUID(),
        most=MAX_SEATS,
        load_default=list,
        **about("players to invite; an invitation also shows a private table to its player"),
    )
    like = fields.UUID(
        **about(
            "a table that the caller hosts or sits at: the new one has its settings, bots and the "
            "caller's seat, and the other players are invited; no other field may be sent with it"
        )
    )

    @pre_load
    def _alone(self, data: Any, **_: Any) -> Any:
        if isinstance(data, Mapping):
            others = [name for name in data if name != "like"]
            if "like" in data and others:
                raise ValidationError("is not allowed beside `like`", others[0])
        return data

    @validates_schema(pass_original=True, skip_on_field_errors=False)
    def _whole(self, _data: Any, original: Mapping[str, Any], **_: Any) -> None:
        missing = [name for name in ("ruleset", "seats") if name not in original]
        if "like" not in original and missing:
            raise ValidationError("Missing data for required field.", missing[0])


class SeatShareSchema(Closed):
    """The entropy and key of the seat that the caller takes."""

    may_be_missing = True

    entropy = Chosen(
        *ENTROPY,
        load_default="none",
        **about("how the seat contributes to the shuffle"),
    )
    key = key_field(
        allow_none=True,
        load_default=None,
        **about("the Ed25519 public key of the seat, in base64"),
    )


class SitSchema(SeatShareSchema):
    """The seat that the caller takes, by default any open one, with entropy and key."""

    may_be_missing = False

    seat = Integer(
        low=0,
        high=MAX_SEATS - 1,
        allow_none=True,
        load_default=None,
        **about("the number of an open seat; null for any"),
    )
    invite = Text(
        longest=LONGEST_INVITE,
        allow_none=True,
        load_default=None,
        **about("the invite of a private table"),
    )


class DealSchema(Closed):
    """The next hand, with all seats taken; or with bots on the open ones."""

    fill_with = name_field(
        "bot",
        allow_none=True,
        load_default=None,
        **about(
            "the name of a bot, from `/v1/bots`, that takes every open seat for good before the"
            " deal; of the host only. Null: all seats have to be taken"
        ),
    )


class SeatChangeSchema(Closed):
    """Changes of the caller's seat for future hands; omitted fields stay as they are."""

    entropy = Chosen(*ENTROPY, **about("how the seat contributes to the shuffle"))
    key = key_field(
        allow_none=True,
        **about("the new Ed25519 public key in base64; null for none"),
    )
    paused = Boolean(
        **about(
            'at a table with `deal` "always": whether no hand is dealt by itself; alone also '
            "during a hand. `false` also starts a table again that stopped because no person moved"
        )
    )
    sig = signature_field(
        allow_none=True,
        **about("the signature of the old key over the change (SHX/1, section 5)"),
    )


class TablesQuery(PageQuery):
    """Filters of the list of tables."""

    status = Chosen(
        *TableStatus,
        load_default=None,
        **about("tables in this state only"),
    )
    ruleset = name_field("ruleset", load_default=None, **about("tables with this ruleset only"))
    mine = QueryBoolean(
        load_default=False,
        **about("`true` for tables that the caller hosts or has a seat at"),
    )


class TableSeatSchema(Closed):
    """A seat of a table, with its number of hands and of losses."""

    seat = seat_field("the number of the seat")
    kind = Chosen(
        *SeatKind,
        **described("whether a player or a bot has the seat, or it is open"),
    )
    name = fields.String(
        allow_none=True,
        **described("the player's name; null for bots, open seats and erased players"),
    )
    player = fields.UUID(
        allow_none=True, **described("the player's id; null for bots and open seats")
    )
    bot = fields.String(allow_none=True, **described("the name of the bot; null for others"))
    entropy = Chosen(*ENTROPY, **described("how the seat contributes to the shuffle"))
    key = fields.String(
        allow_none=True,
        **described("the Ed25519 public key of the seat in base64; null without one"),
    )
    hands = Integer(**described("finished hands of this player at this seat"))
    shithead = Integer(
        **described("hands that the player lost; in `reverse`, lost matches of two hands")
    )
    bag = Boolean(**described("whether the seat wears the paper bag (M14)"))
    paused = Boolean(**described("whether the player asked that no hand is dealt by itself"))


class TableGameSchema(Closed):
    """One of a table's newest hands."""

    id = fields.UUID(**described("the id of the game"))
    hand = Integer(low=1, **described("the number of the hand, from 1"))
    status = Chosen(*Status, **described("the state of the game"))
    shithead = seat_field("the seat that lost; null if none did, or not yet", allow_none=True)
    dealer = seat_field("the dealer; null until one is drawn", allow_none=True)


class TableClockSchema(ClockRequestSchema):
    """The clock of a table."""

    reserve_seconds = Integer(
        low=0, **described("seconds that each seat has in addition, once in a hand")
    )


class TableSchema(Closed):
    """A table as the caller sees it; `as` is the caller's seat, null without one."""

    id = fields.UUID(**described("the id of the table"))
    host = fields.UUID(
        allow_none=True,
        **described("the id of the player who opened the table, also after the player's erasure"),
    )
    version = Integer(low=1, **described("the number of changes, which is also in the ETag"))
    status = Chosen(
        *TableStatus,
        **described(
            "`open`: seats are free; `between`: no hand runs; `playing`: a hand runs; `closed`"
        ),
    )
    visibility = Chosen(
        "public",
        "private",
        **described(
            "`private` tables are visible to seats, host, invited players and holders of the invite"
        ),
    )
    ruleset = fields.Nested(RulesetRefSchema, **described("the ruleset with the table's options"))
    turn_limit = Integer(
        low=1,
        high=MAX_TURN_LIMIT,
        **described(
            "the number of actions at which a hand ends as a stalemate;"
            " exchanges of cards and `ready` do not count"
        ),
    )
    clock = fields.Nested(
        TableClockSchema, allow_none=True, **described("the time limits; null for none")
    )
    window_seconds = Integer(
        high=60,
        **described(
            "seconds that bots wait: at an opening that the first qualified seat makes, and after a"
            " play that its player may continue"
        ),
    )
    seats = list_of(TableSeatSchema, "the seats, in order of their numbers")
    hand = Integer(**described("the number of the last hand; 0 before the first"))
    game = fields.UUID(allow_none=True, **described("the id of the hand being played, or null"))
    games = fields.List(
        fields.Nested(TableGameSchema),
        validate=validate.Length(max=20),
        **described("the newest 20 hands, newest first"),
    )
    next_dealer = seat_field(
        "the seat that deals the next hand; null if it is drawn", allow_none=True
    )
    deal = Dealing(**described("as in the request that opened the table"))
    next_deal_at = time_field(
        allow_none=True,
        **described("when the next hand is dealt by itself; null if it is not, or not now"),
    )
    as_ = Integer(
        allow_none=True,
        high=MAX_SEATS - 1,
        data_key="as",
        **described("the caller's seat, or null"),
    )


class SentInvitationSchema(Closed):
    """An invitation to a table, as its host sees it."""

    player = fields.UUID(**described("the id of the invited player"))
    name = fields.String(allow_none=True, **described("the player's name"))
    status = Chosen(
        *("open", "declined"),
        **described("whether the player declined; an accepted invitation is not listed"),
    )
    at = time_field(**described("the time of the invitation"))


class InvitationSchema(Closed):
    """An open invitation of the caller; `POST /v1/tables/{table}/seats` accepts it."""

    table = fields.UUID(**described("the id of the table"))
    host = fields.UUID(**described("the id of the player who invites"))
    name = fields.String(allow_none=True, **described("the name of that player"))
    ruleset = fields.String(**described("the id of the table's ruleset"))
    visibility = Chosen("public", "private", **described("the visibility of the table"))
    at = time_field(**described("the time of the invitation"))


SentInvitationPageSchema: type[Schema] = page_of(SentInvitationSchema)


class InvitationPageSchema(Closed):
    """A page of invitations."""

    items = list_of(
        InvitationSchema, "the invitations: the newest of each host, then the next of each"
    )
    next = fields.String(
        allow_none=True, **described("the `cursor` of the next page; null at the end")
    )


class OpenedTableSchema(TableSchema):
    """A new table; a private one has an `invite`, which is shown only in this answer."""

    invite = fields.String(**about("the invite of a private table, shown only in this answer"))


class DealtSchema(Closed):
    """The next hand, as the caller sees it."""

    game = fields.Nested(GameViewSchema, **described("the hand as the caller sees it"))


class ChangeOfKeySchema(Closed):
    """The signed content of a key change: the new key of a seat."""

    v = Integer(low=1, high=1, **described("the version of the format"))
    table = fields.UUID(**described("the id of the table"))
    seat = seat_field("the seat whose key changes")
    key = key_field(**described("the new Ed25519 public key, in base64"))


class KeyChangeSchema(Closed):
    """A change of a seat's key between hands, signed with the previous key."""

    change = fields.Nested(ChangeOfKeySchema, **described("the signed content"))
    sig = signature_field(
        **described("the signature of the previous key, in base64 (SHX/1, section 5)")
    )


TablePageSchema: type[Schema] = page_of(TableSchema)
KeyChangePageSchema: type[Schema] = page_of(KeyChangeSchema)


_EVENTS: Mapping[str, type[TableEvent]] = {
    "table_opened": TableOpened,
    "seat_taken": SeatTaken,
    "seat_filled": SeatFilled,
    "seat_left": SeatLeft,
    "seat_changed": SeatChanged,
    "seat_paused": SeatPaused,
    "seat_resumed": SeatResumed,
    "hand_dealt": HandDealt,
    "hand_finished": HandFinished,
    "dispute_opened": HandDisputed,
    "table_closed": TableClosed,
}
_TYPES = {event: name for name, event in _EVENTS.items()}
read_fields(_TYPES)


def table_data_of(event: TableEvent) -> dict[str, Any]:
    """Return the data of a table event as stored."""
    data = plain_data(event)
    if isinstance(event, HandFinished) and event.moved is None:
        del data["moved"]
    return data


def table_type_of(event: TableEvent) -> str:
    """Return the name of a table event's type."""
    return _TYPES[type(event)]


def table_event_of(type_: str, data: Mapping[str, Any]) -> TableEvent:
    """Return the event of a type and its stored data; raises KeyError for an unknown type."""
    return from_plain_data(_EVENTS[type_], data)
