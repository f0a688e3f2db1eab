"""Moves: their schemas, and the conversion between JSON and commands (SHX/1, section 5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, assert_never

from marshmallow import Schema, ValidationError, fields, pre_load, validate, validates_schema

from schemas.strict_fields import (
    BoundedList,
    Chosen,
    Closed,
    Integer,
    OneOfTypes,
    Text,
    about,
    described,
    hex_digits,
    seat_field,
    signature_field,
)
from service.domain.cards import Card
from service.domain.commands import (
    AfterAbsence,
    AgreeEnd,
    ClaimAbsence,
    Forfeit,
    Lay,
    Move,
    Pass,
    PickUp,
    Play,
    PlayBlind,
    Ready,
    Seat,
    Swap,
    TryStock,
)

MAX_MOVE_CARDS = 1000
"""Maximum number of cards in a move, and the highest number of a slot."""

MAX_SLOTS = 64
"""Maximum number of slots on which cards can be laid."""


def listed_moves(moves: Sequence[Move]) -> list[dict[str, Any]]:
    """Return legal moves as the API lists them: `ready` first, before the many exchanges."""
    if Ready in map(type, moves):
        moves = sorted(moves, key=lambda move: not isinstance(move, Ready))
    return [move_json(move) for move in moves]


def move_json(move: Move) -> dict[str, Any]:
    """Return a move as its player would post it."""
    match move:
        case Play(cards=cards):
            return {"type": "play", "cards": list(cards)}
        case PlayBlind(slot=slot):
            return {"type": "play_blind", "slot": slot}
        case PickUp(along=along):
            return {"type": "pick_up", "with": list(along)}
        case TryStock():
            return {"type": "try_stock"}
        case Pass():
            return {"type": "pass"}
        case Swap(up=up, hand=hand):
            return {"type": "swap", "up": list(up), "hand": list(hand)}
        case Lay(stacks=stacks):
            return {"type": "lay", "stacks": [list(stack) for stack in stacks]}
        case Ready():
            return {"type": "ready"}
        case Forfeit():
            return {"type": "forfeit"}
        case AgreeEnd():
            return {"type": "agree_end"}
        case ClaimAbsence(absent=absent, then=then):
            return {"type": "claim_absence", "absent": absent, "then": then.value}
        case _:
            assert_never(move)


def move_of(data: Mapping[str, Any], seat: Seat) -> Move:
    """Return the move of a validated object; raises KeyError for an unknown type."""
    kind = data["type"]
    match kind:
        case "play":
            return Play(seat=seat, cards=_cards(data["cards"]))
        case "play_blind":
            return PlayBlind(seat=seat, slot=int(data["slot"]))
        case "pick_up":
            return PickUp(seat=seat, along=_cards(data.get("with", [])))
        case "try_stock":
            return TryStock(seat=seat)
        case "pass":
            return Pass(seat=seat)
        case "swap":
            return Swap(seat=seat, up=_cards(data["up"]), hand=_cards(data["hand"]))
        case "lay":
            return Lay(seat=seat, stacks=tuple(_cards(stack) for stack in data["stacks"]))
        case "ready":
            return Ready(seat=seat)
        case "forfeit":
            return Forfeit(seat=seat)
        case "agree_end":
            return AgreeEnd(seat=seat)
        case "claim_absence":
            then = AfterAbsence(data["then"])
            return ClaimAbsence(seat=seat, absent=int(data["absent"]), then=then)
        case _:
            raise KeyError(kind)


def _cards(codes: list[str]) -> tuple[Card, ...]:
    return tuple(Card(code) for code in codes)


LONGEST_CODE = 16
"""Maximum number of characters of a card code in a request."""


class _Codes(BoundedList):
    """
    Card codes, of which each may be any short text.

    Valid codes depend on the deck of the game, and `unknown-card` is the answer to others. A
    list without a fault is found valid as a whole, because a field for each code takes 50 times as
    long.
    """

    def __init__(self, *, least: int = 0, **more: Any) -> None:
        card = Text(shortest=1, longest=LONGEST_CODE, metadata={"example": "Th"})
        super().__init__(card, least=least, most=MAX_MOVE_CARDS, **more)

    def _deserialize(self, value: Any, *args: Any, **kwargs: Any) -> list[Any]:
        if isinstance(value, list) and len(value) <= MAX_MOVE_CARDS and all(map(_is_short, value)):
            self.bounds(value)
            return list(value)
        return super()._deserialize(value, *args, **kwargs)


def _is_short(code: Any) -> bool:
    return isinstance(code, str) and 0 < len(code) <= LONGEST_CODE and "\0" not in code


def _named(name: str) -> Chosen:
    return Chosen(name, **described("the type of the move"))


class PlayIntent(Closed):
    """Play these cards."""

    type = _named("play")
    cards = _Codes(
        least=1, **described("cards of the zone played from, in the order in which they are laid")
    )


class PlayBlindIntent(Closed):
    """Play the face-down card of a slot."""

    type = _named("play_blind")
    slot = Integer(high=MAX_MOVE_CARDS, **described("the slot of a face-down card, from 0"))


class PickUpIntent(Closed):
    """Pick up the pile, and these face-up cards with it."""

    type = _named("pick_up")
    with_ = _Codes(data_key="with", **described("face-up cards that go along with the pile"))


class TryStockIntent(Closed):
    """Try the top card of the stock."""

    type = _named("try_stock")


class PassIntent(Closed):
    """Pass, if no card can be played on an empty pile."""

    type = _named("pass")


class SwapIntent(Closed):
    """Exchange the hand cards `up` for the face-up cards `hand`, pair by pair."""

    type = _named("swap")
    up = _Codes(least=1, **described("hand cards that are laid face-up"))
    hand = _Codes(least=1, **described("face-up cards taken for them, in the same order"))

    @validates_schema
    def check_pairs(self, data: Mapping[str, Any], **_more: Any) -> None:
        """Raise ValidationError if the two lists differ in length."""
        if len(data["up"]) != len(data["hand"]):
            raise ValidationError("must have as many cards as /up", field_name="hand")


class LayIntent(Closed):
    """Lay hand cards face up: for each slot the cards that are added to it."""

    type = _named("lay")
    stacks = BoundedList(
        _Codes(),
        least=1,
        most=MAX_SLOTS,
        **described("for each slot the cards added, in order"),
    )


class ReadyIntent(Closed):
    """Finish the exchange phase."""

    type = _named("ready")


class ForfeitIntent(Closed):
    """Give up the hand as its shithead."""

    type = _named("forfeit")


class AgreeEndIntent(Closed):
    """Agree that the hand ends without a result."""

    type = _named("agree_end")


class ClaimAbsenceIntent(Closed):
    """State that another player is away: a bot stands in, or the hand is to end unrated."""

    type = _named("claim_absence")
    absent = seat_field("the seat of the player who is away")
    then = Chosen(
        *AfterAbsence, **described("`stand_in`: a bot plays for the seat; `end`: the hand ends")
    )


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
    "agree_end": AgreeEndIntent,
    "claim_absence": ClaimAbsenceIntent,
}
"""The schema of each type of move as signed: without `auth`, and `with` is required."""


class SignedMove(OneOfTypes):
    """A move in a signed intent."""

    types = INTENTS


class SeenSchema(Closed):
    """The latest event that the player has seen."""

    seq = Integer(**described("the seq of that event"))
    head = hex_digits(64, **described("the head after it"))


class IntentSchema(Closed):
    """A move with its context, which the player signs."""

    v = fields.Integer(
        strict=True, validate=validate.OneOf([1]), **described("the version of the format")
    )
    game = fields.String(
        required=True, metadata={"description": "the id of the game", "format": "uuid"}
    )
    seat = seat_field("the number of the seat")
    seen = fields.Nested(SeenSchema, **described("the latest event that the player has seen"))
    move = fields.Nested(SignedMove, **described("the move as it is posted"))
    nonce = hex_digits(32, **described("16 random bytes in hex, new for each move"))

    @pre_load
    def refuse_fractions(self, data: Any, **_more: Any) -> Any:
        """Raise ValidationError for an integer written as `0.0` or `1e0`: the record has `0`."""
        _refuse_fractions(data)
        return data


def _refuse_fractions(value: Any) -> None:
    if isinstance(value, float):
        raise ValidationError("has a number that is not written as an integer")
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            _refuse_fractions(item)


class AuthSchema(Closed):
    """A signed intent: the signature is made with the seat's key."""

    intent = fields.Nested(IntentSchema, **described("the signed intent"))
    sig = signature_field(
        **described("the signature of the seat's key, in base64 (SHX/1, section 5)")
    )


class _Move(Closed):
    auth = fields.Nested(
        AuthSchema,
        load_only=True,
        **about("the signed intent, required if the seat has a key"),
    )


def _move_schema(name: str, intent: type[Schema]) -> type[Schema]:
    """Return the schema of a move as it is listed and posted: `auth` and `with` are optional."""
    more: dict[str, Any] = {"__doc__": intent.__doc__}
    if name == "pick_up":
        more["with_"] = _Codes(
            data_key="with",
            **about("face-up cards that go along; may be left out if none do"),
        )
    return type(intent.__name__.removesuffix("Intent") + "MoveSchema", (intent, _Move), more)


MOVES: Mapping[str, type[Schema]] = {
    name: _move_schema(name, intent) for name, intent in INTENTS.items()
}
"""The schema of each type of move as the API lists it and accepts it."""


class MoveSchema(OneOfTypes):
    """A move. A listed one can be posted unchanged; a seat with a key adds `auth`."""

    types = MOVES
