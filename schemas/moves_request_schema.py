"""What a player posts to a game: moves, signed or not, and entropy (SHX/1, sections 3 and 5)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from marshmallow import Schema, ValidationError, fields, validate, validates_schema

from schemas.strict_fields import Closed, OneOf, Text, Whole, hex_digits, signature_field

MOST_CARDS = 1000
MAX_SEATS = 64


def _cards(*, least: int = 0, **more: Any) -> fields.List[Any]:
    # Any short text may stand for a card: which codes there are depends on the
    # game's deck, and `unknown-card` answers for those that it does not have.
    card = Text(shortest=1, longest=16, metadata={"example": "Th"})
    size = validate.Length(min=least, max=MOST_CARDS)
    return fields.List(card, validate=size, **more)


def _named(name: str) -> fields.String:
    return fields.String(required=True, validate=validate.OneOf([name]))


class PlayIntent(Closed):
    """Play these cards."""

    type = _named("play")
    cards = _cards(required=True, least=1)


class PlayBlindIntent(Closed):
    """Turn the face-down card of a slot."""

    type = _named("play_blind")
    slot = Whole(required=True, high=MOST_CARDS)


class PickUpIntent(Closed):
    """Take the pile, with these face-up cards."""

    type = _named("pick_up")
    with_ = _cards(required=True, data_key="with")


class TryStockIntent(Closed):
    """Try the top card of the stock."""

    type = _named("try_stock")


class PassIntent(Closed):
    """Pass, where nothing can be played on an empty pile."""

    type = _named("pass")


class SwapIntent(Closed):
    """Lay hand cards `up` and take the face-up cards `hand` for them, pair by pair."""

    type = _named("swap")
    up = _cards(required=True, least=1)
    hand = _cards(required=True, least=1)

    @validates_schema
    def check_pairs(self, data: Mapping[str, Any], **_more: Any) -> None:
        """Refuse a swap in which a card has no other to go with."""
        if len(data["up"]) != len(data["hand"]):
            raise ValidationError("has not as many cards as /up", field_name="hand")


class LayIntent(Closed):
    """Lay hand cards face up: for each slot the cards that are added to it."""

    type = _named("lay")
    stacks = fields.List(_cards(), required=True, validate=validate.Length(min=1, max=MAX_SEATS))


class ReadyIntent(Closed):
    """Be done with the exchange."""

    type = _named("ready")


class ForfeitIntent(Closed):
    """Give up the hand and be its shithead."""

    type = _named("forfeit")


INTENTS: Mapping[str, type[Schema]] = {
    "play": PlayIntent,
    "play_blind": PlayBlindIntent,
    "pick_up": PickUpIntent,
    "try_stock": TryStockIntent,
    "pass": PassIntent,
    "swap": SwapIntent,
    "lay": LayIntent,
    "ready": ReadyIntent,
    "forfeit": ForfeitIntent,
}
"""Moves as they stand in a signed intent: `with` is always there."""

NO_MOVE = f"is not one of {', '.join(INTENTS)}"


class SignedMove(OneOf):
    """A move as it stands in an intent."""

    variants = tuple(INTENTS.values())
    none_fits = NO_MOVE
    told_by = "type"

    @classmethod
    def variant(cls, data: Mapping[str, Any]) -> type[Schema] | None:
        """Return the schema of the move's type."""
        return _of_type(INTENTS, data)


class SeenSchema(Closed):
    """The latest event that the player knew."""

    seq = Whole(required=True)
    head = hex_digits(64, required=True)


class IntentSchema(Closed):
    """What a player signs."""

    v = fields.Integer(required=True, strict=True, validate=validate.OneOf([1]))
    game = fields.String(required=True, metadata={"format": "uuid"})
    seat = Whole(required=True, high=MAX_SEATS - 1)
    seen = fields.Nested(SeenSchema, required=True)
    move = fields.Nested(SignedMove, required=True)
    nonce = hex_digits(32, required=True)


class AuthSchema(Closed):
    """An intent and its signature by the seat's key."""

    intent = fields.Nested(IntentSchema, required=True)
    sig = signature_field(required=True)


class _Posted(Closed):
    auth = fields.Nested(AuthSchema)


def _posted(name: str, intent: type[Schema]) -> type[Schema]:
    more: dict[str, Any] = {"__doc__": intent.__doc__}
    if name == "pick_up":
        more["with_"] = _cards(data_key="with")
    return type(intent.__name__.removesuffix("Intent") + "MoveSchema", (intent, _Posted), more)


POSTED: Mapping[str, type[Schema]] = {name: _posted(name, one) for name, one in INTENTS.items()}


class MoveRequestSchema(OneOf):
    """A move; a seat with a key adds `auth`."""

    variants = tuple(POSTED.values())
    none_fits = NO_MOVE
    told_by = "type"

    @classmethod
    def variant(cls, data: Mapping[str, Any]) -> type[Schema] | None:
        """Return the schema of the move's type."""
        return _of_type(POSTED, data)


class CommitSchema(Closed):
    """A commitment to entropy that is revealed later."""

    commit = hex_digits(64, required=True)


class ValueSchema(Closed):
    """Entropy: 32 bytes that the client chose."""

    value = hex_digits(64, required=True)


class EntropyRequestSchema(OneOf):
    """A commitment, or the value itself."""

    variants = (CommitSchema, ValueSchema)
    none_fits = 'has neither "commit" nor "value"'

    @classmethod
    def variant(cls, data: Mapping[str, Any]) -> type[Schema] | None:
        """Return the schema for what is there."""
        if "commit" in data:
            return CommitSchema
        return ValueSchema if "value" in data else None


def _of_type(schemas: Mapping[str, type[Schema]], data: Mapping[str, Any]) -> type[Schema] | None:
    kind = data.get("type")
    return schemas.get(kind) if isinstance(kind, str) else None
