"""The view of a game as the OpenAPI document describes it; `views.py` makes what this checks."""

from __future__ import annotations

from typing import Any

from marshmallow import RAISE, Schema, ValidationError, fields, validate

from schemas.move_schema import MoveField, card_list
from service.domain.events import EndReason, Entropy
from service.domain.game import EntropyState, Status
from service.domain.ruleset import ALL_RANKS, Asks

MAX_SEATS = 64


def _seat(**more: Any) -> fields.Integer:
    inside = validate.Range(min=0, max=MAX_SEATS - 1)
    return fields.Integer(required=True, strict=True, validate=inside, **more)


def _count() -> fields.Integer:
    return fields.Integer(required=True, strict=True, validate=validate.Range(min=0))


def _one_of(*values: Any, **more: Any) -> fields.String:
    return fields.String(required=True, validate=validate.OneOf([*values]), **more)


def _rank(**more: Any) -> fields.String:
    return _one_of(*(str(rank) for rank in ALL_RANKS), **more)


def _hex() -> fields.String:
    return fields.String(required=True, validate=validate.Regexp(r"^[0-9a-f]{64}$"))


def _time() -> fields.String:
    text = validate.Regexp(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$")
    return fields.String(required=True, allow_none=True, validate=text)


def _check_viewer(value: Any) -> None:
    if value in ("public", "all"):
        return
    if type(value) is not int or not 0 <= value < MAX_SEATS:
        raise ValidationError("is neither a seat, nor public, nor all")


class _Closed(Schema):
    class Meta:
        unknown = RAISE


class RulesetRefSchema(_Closed):
    """Which rules a game is played by."""

    id = fields.String(required=True)
    hash = _hex()
    options = fields.Dict(keys=fields.String(), required=True)


class ClockSchema(_Closed):
    """Seconds for a turn and for the exchange."""

    turn_seconds = fields.Integer(required=True, strict=True)
    swap_seconds = fields.Integer(required=True, strict=True)


class SetupSeatSchema(_Closed):
    """How far a seat's share of the shuffle is."""

    seat = _seat()
    entropy = _one_of(*(mode.value for mode in Entropy))
    state = _one_of(*(state.value for state in EntropyState))


class DemandSchema(_Closed):
    """What the pile asks of the next play, and the ranks that fit."""

    kind = _one_of(*(asks.value for asks in Asks if asks is not Asks.TRANSPARENT))
    rank = _rank(allow_none=True)
    ranks = fields.List(_rank(), required=True)


class HandSchema(_Closed):
    """A hand: its size, its cards where the caller may see them, and what everybody knows of it."""

    count = _count()
    cards = card_list(allow_none=True)
    known = card_list()


class SeatViewSchema(_Closed):
    """One seat of a game."""

    seat = _seat()
    name = fields.String(required=True, allow_none=True)
    kind = _one_of("human", "bot")
    bot = fields.String(required=True, allow_none=True)
    stand_in = fields.Boolean(required=True)
    key = fields.Boolean(required=True)
    entropy = _one_of(*(mode.value for mode in Entropy))
    ready = fields.Boolean(required=True)
    out = fields.Integer(
        required=True, strict=True, allow_none=True, validate=validate.Range(min=1)
    )
    hand = fields.Nested(HandSchema, required=True)
    up = fields.List(card_list(), required=True)
    down = fields.List(fields.Boolean(required=True), required=True)


class ResultSchema(_Closed):
    """How a hand ended."""

    reason = _one_of(*(reason.value for reason in EndReason))
    shithead = _seat(allow_none=True)
    places = fields.List(_seat(), required=True)


class GameViewSchema(_Closed):
    """A game as one seat sees it, or the public."""

    id = fields.UUID(required=True)
    table = fields.UUID(required=True)
    hand = fields.Integer(required=True, strict=True, validate=validate.Range(min=1))
    ruleset = fields.Nested(RulesetRefSchema, required=True)
    status = _one_of(*(status.value for status in Status))
    version = _count()
    head = _hex()
    as_ = fields.Raw(
        required=True,
        data_key="as",
        validate=_check_viewer,
        metadata={
            "oneOf": [
                {"type": "integer", "minimum": 0},
                {"type": "string", "enum": ["public", "all"]},
            ]
        },
    )
    dealer = _seat(allow_none=True)
    turn = _seat(allow_none=True)
    direction = fields.Integer(required=True, strict=True, validate=validate.OneOf([1, -1]))
    deadline = _time()
    window_until = _time()
    clock = fields.Nested(ClockSchema, required=True, allow_none=True)
    commit = _hex()
    prev_game = fields.UUID(required=True, allow_none=True)
    setup = fields.List(fields.Nested(SetupSeatSchema), required=True, allow_none=True)
    stock = _count()
    pile = card_list()
    demand = fields.Nested(DemandSchema, required=True)
    burned = card_list()
    seats = fields.List(fields.Nested(SeatViewSchema), required=True)
    moves = fields.List(MoveField(), required=True)
    result = fields.Nested(ResultSchema, required=True, allow_none=True)


class FrameSchema(_Closed):
    """One step of a replay."""

    version = _count()
    seq = _count()
    at = fields.String(required=True)
    caption = fields.String(required=True)
    event = fields.Dict(keys=fields.String(), required=True)
    view = fields.Nested(GameViewSchema, required=True)
