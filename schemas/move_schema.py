"""Moves as the OpenAPI document describes them: one schema a type, told apart by `type`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from marshmallow import RAISE, Schema, ValidationError, fields, validate

CARD_PATTERN = r"^(?:[2-9TJQKA][cdhs](?:/(?:[2-9]|[1-9][0-9]))?|X[1-9][0-9]?)$"


def card_list(**more: Any) -> fields.List[Any]:
    """Return a required list of card codes."""
    card = fields.String(
        required=True,
        validate=validate.Regexp(CARD_PATTERN, error="is not a card"),
        metadata={"example": "Th"},
    )
    return fields.List(card, required=True, **more)


class _Move(Schema):
    class Meta:
        unknown = RAISE


def _named(name: str) -> fields.String:
    return fields.String(required=True, validate=validate.Equal(name), metadata={"enum": [name]})


class PlaySchema(_Move):
    """Play these cards."""

    type = _named("play")
    cards = card_list()


class PlayBlindSchema(_Move):
    """Turn the face-down card of a slot."""

    type = _named("play_blind")
    slot = fields.Integer(required=True, strict=True, validate=validate.Range(min=0))


class PickUpSchema(_Move):
    """Take the pile, with these face-up cards."""

    type = _named("pick_up")
    with_ = card_list(data_key="with")


class TryStockSchema(_Move):
    """Try the top card of the stock."""

    type = _named("try_stock")


class PassSchema(_Move):
    """Pass, where nothing can be played on an empty pile."""

    type = _named("pass")


class SwapSchema(_Move):
    """Lay hand cards `up` and take the face-up cards `hand` for them, pair by pair."""

    type = _named("swap")
    up = card_list()
    hand = card_list()


class LaySchema(_Move):
    """Lay hand cards face up: for each slot the cards that are added to it."""

    type = _named("lay")
    stacks = fields.List(card_list(), required=True)


class ReadySchema(_Move):
    """Be done with the exchange."""

    type = _named("ready")


class ForfeitSchema(_Move):
    """Give up the hand and be its shithead."""

    type = _named("forfeit")


MOVE_SCHEMAS: Mapping[str, type[Schema]] = {
    "play": PlaySchema,
    "play_blind": PlayBlindSchema,
    "pick_up": PickUpSchema,
    "try_stock": TryStockSchema,
    "pass": PassSchema,
    "swap": SwapSchema,
    "lay": LaySchema,
    "ready": ReadySchema,
    "forfeit": ForfeitSchema,
}
"""The schema of each type of move."""


class MoveField(fields.Field[dict[str, Any]]):
    """A complete move, checked by the schema of its type."""

    def _deserialize(self, value: Any, *_args: Any, **_kwargs: Any) -> dict[str, Any]:
        kind = value.get("type") if isinstance(value, Mapping) else None
        schema = MOVE_SCHEMAS.get(kind) if isinstance(kind, str) else None
        if schema is None:
            raise ValidationError("is not a move")
        schema().load(value)
        return dict(value)
