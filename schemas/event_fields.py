"""Schemas of the 22 event types of a game, with a description of every field."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from marshmallow import Schema, fields, validate

from schemas.moves import AuthSchema
from schemas.strict_fields import (
    Chosen,
    Closed,
    Integer,
    OneOfTypes,
    about,
    card_field,
    card_list,
    described,
    hex_digits,
    key_field,
    list_of,
    seat_field,
    time_field,
)
from service.domain.events import AbortCause, BurnCause, EndReason, Entropy, Zone
from service.shx.event_shapes import ACTIONS
from service.shx.validators import MAX_SEATS, RANKS


def _acting() -> Integer:
    return seat_field("the seat that acts")


def _turn() -> Integer:
    return seat_field("the seat that acts next; null once the hand is over", allow_none=True)


def _direction() -> fields.Integer:
    return fields.Integer(
        strict=True,
        validate=validate.OneOf([1, -1]),
        **described("the direction of play after the event: 1 to rising seat numbers, or -1"),
    )


def _cards(text: str) -> fields.List[Any]:
    return card_list(**about(text))


class OpeningSchema(Closed):
    """The opening of a card's commitment: position in the deck, card and salt."""

    p = Integer(**described("the position in the deck; 0 is dealt first"))
    card = card_field(**described("the card at this position"))
    salt = hex_digits(64, **described("the salt of the commitment"))


class EventRulesetSchema(Closed):
    """The rules of a game, as its log names them."""

    id = fields.String(
        **described("an id of the catalogue, or `custom-` and 16 hex digits of the settings' hash")
    )
    options = fields.Dict(
        keys=fields.String(), **described("the options that differ from their defaults")
    )
    settings = fields.Dict(
        keys=fields.String(),
        allow_none=True,
        **described("the full tree of settings; may be null for an id of the catalogue"),
    )


class EventDeckSchema(Closed):
    """The cards that a game is played with."""

    decks = Integer(**described("the number of whole decks"))
    jokers = Integer(**described("the number of jokers"))
    partial_ = fields.List(
        Chosen(*RANKS, required=True),
        data_key="partial",
        **described("the ranks of a partial deck, sorted"),
    )


class EngineSchema(Closed):
    """The program that wrote the log; no rule depends on it."""

    name = fields.String(**described("the name of the program"))
    version = fields.String(**described("the release of the program"))


class EventSeatSchema(Closed):
    """A seat as the game begins."""

    kind = Chosen("human", "bot", **described("whether a person or a bot has the seat"))
    bot = fields.String(allow_none=True, **described("the name of the bot, null for a person"))
    key = key_field(
        allow_none=True, **described("the Ed25519 public key of the seat, or null without one")
    )
    entropy = Chosen(*Entropy, **described("how the seat contributes to the shuffle"))


class EventClockSchema(Closed):
    """The time limits of a game."""

    turn_seconds = Integer(low=1, **described("seconds for a turn"))
    swap_seconds = Integer(low=1, **described("seconds for set-up and exchange phase"))


class GameCreatedData(Closed):
    """The rules, the seats and the server's commitment to its seed, before any entropy of seats."""

    table = fields.UUID(**described("the id of the table"))
    hand = Integer(low=1, **described("the number of the hand at the table, from 1 without gaps"))
    ruleset = fields.Nested(EventRulesetSchema, **described("the rules of the game"))
    ruleset_hash = hex_digits(64, **described("SHA-256 of the canonical `ruleset`"))
    deck = fields.Nested(EventDeckSchema, **described("the cards of the game"))
    engine = fields.Nested(EngineSchema, **described("the program that wrote the log"))
    seats = list_of(EventSeatSchema, "the seats, in order of their numbers")
    dealer = seat_field("the dealer; null if one is drawn with the deck", allow_none=True)
    prev_game = fields.UUID(
        allow_none=True,
        **described("the table's last game, sealed or aborted; null for the first"),
    )
    commit = hex_digits(64, **described("the commitment C_S to the server's seed"))
    clock = fields.Nested(
        EventClockSchema, allow_none=True, **described("the time limits, null without a clock")
    )
    turn_limit = Integer(low=1, **described("the number of actions at which the hand ends"))


class EntropyCommittedData(Closed):
    """A seat commits to its entropy, which it reveals later."""

    seat = _acting()
    commit = hex_digits(64, **described("the commitment C_i to the seat's entropy"))


class EntropyRevealedData(Closed):
    """A seat reveals its entropy."""

    seat = _acting()
    value = hex_digits(64, **described("the entropy R_i: 32 bytes"))


class DeckCommittedData(Closed):
    """The deck is fixed: a commitment to each card."""

    cards = fields.List(
        hex_digits(64, required=True), **described("the commitments c_0, c_1, …, one for each card")
    )


class CardsDealtData(Closed):
    """The deal, with the cards that lie open after it."""

    dealer = seat_field("the dealer")
    down = Integer(**described("face-down cards of each seat, which is also its number of slots"))
    up = Integer(**described("face-up cards of each seat; 0 in a layout deal"))
    hand = Integer(**described("hand cards of each seat, including those to lay in a layout deal"))
    stock = Integer(**described("cards in the stock after the event"))
    face_up = fields.List(
        fields.List(fields.Nested(OpeningSchema), required=True),
        **described("for each seat the openings of its face-up cards, in order of the slots"),
    )
    starter = fields.Nested(
        OpeningSchema, allow_none=True, **described("the card that starts the pile, or null")
    )
    returned = list_of(
        OpeningSchema,
        "special cards turned before the starter, now under the stock; only with the setting "
        "`deal.starter` = `plain`, as in `shit-boot`",
    )


class CardsThrownData(Closed):
    """A seat throws cards right after the deal; only with `deal.throws`, as in `reverse`."""

    seat = seat_field("the seat that throws")
    cards = _cards("the cards thrown")
    count = Integer(**described("cards drawn in their place"))


class CardsSwappedData(Closed):
    """A seat exchanges hand cards for face-up cards, pair by pair."""

    seat = _acting()
    up = _cards("hand cards that are laid face-up")
    hand = _cards("face-up cards taken for them, in the same order")


class TableLaidData(Closed):
    """A seat lays its face-up cards in a layout deal; repeated if stacks can grow."""

    seat = _acting()
    stacks = fields.List(
        card_list(), **described("for each slot the cards added, in order; may be empty")
    )
    count = Integer(**described("cards drawn after it"))


class SeatReadyData(Closed):
    """A seat has finished the exchange phase."""

    seat = _acting()


class PlayStartedData(Closed):
    """Play begins, once the last seat is ready."""

    turn = seat_field(
        "the seat that plays first; null if the opening is first come, first served",
        allow_none=True,
    )


class CardsPlayedData(Closed):
    """A seat plays cards on the pile, on turn or as a follow-up."""

    seat = _acting()
    zone = Chosen(*Zone, **described("the zone that the cards come from"))
    cards = _cards("the cards, in the order in which they lie on the pile")
    slot = Integer(
        allow_none=True, **described("the slot of a face-down card; null for other zones")
    )
    opening = fields.Nested(
        OpeningSchema,
        allow_none=True,
        **described("the opening of a card from `down` or `stock`; null for other zones"),
    )
    turn = _turn()
    direction = _direction()


class CardsDrawnData(Closed):
    """A seat refills its hand from the stock."""

    seat = _acting()
    count = Integer(low=1, **described("the number of cards drawn"))


class PileBurnedData(Closed):
    """The pile leaves the game."""

    seat = seat_field("the seat whose play burned the pile")
    cause = Chosen(*BurnCause, **described("a burning rank, or a set of one rank"))
    count = Integer(low=1, **described("the cards that leave, those just played included"))
    cleared_by = seat_field(
        "the seat that clears the pile: the flusher, else the one that burned it"
    )


class _PickedUp(Closed):
    seat = _acting()
    taker = seat_field("the seat whose hand takes the pile")
    count = Integer(**described("the number of cards of the pile"))
    turn = _turn()
    direction = _direction()


class PilePickedUpData(_PickedUp):
    """A seat does not play, and the pile goes to its hand or to that of the previous player."""

    with_ = card_list(data_key="with", **about("face-up cards that go along with the pile"))


class BlindFailedData(_PickedUp):
    """A face-down card is turned and cannot be played."""

    slot = Integer(**described("the slot of the card"))
    opening = fields.Nested(
        OpeningSchema,
        allow_none=True,
        **described("the opening of the card; null if the ruleset keeps it hidden"),
    )


class StockFailedData(_PickedUp):
    """The top card of the stock is tried and cannot be played."""

    opening = fields.Nested(OpeningSchema, **described("the opening of the card"))


class TurnPassedData(Closed):
    """A seat passes on an empty pile."""

    seat = _acting()
    reason = Chosen("no_play", **described("nothing that the seat holds can be played"))
    turn = _turn()


class TurnTimedOutData(Closed):
    """A seat's time is over; the move made for it follows."""

    seat = seat_field("the seat whose time is over")


class SeatOutData(Closed):
    """A seat has no cards left."""

    seat = seat_field("the seat")
    place = Integer(low=1, high=MAX_SEATS, **described("its finishing place, from 1"))


class GameEndedData(Closed):
    """The hand is over."""

    reason = Chosen(*EndReason, **described("how the hand ended"))
    shithead = seat_field("the seat that lost, null if none did", allow_none=True)
    places = fields.List(
        seat_field("a seat"),
        **described(
            "seats in the order in which they went out; with reason `shithead` the shithead last"
        ),
    )


class SealedRefusalsSchema(Closed):
    """The refused attempts of a game: their number, and the hash of their file."""

    count = Integer(**described("the number of lines of `refusals.jsonl`"))
    sha256 = hex_digits(64, **described("SHA-256 of its bytes"))


class _Seal(Closed):
    refusals = fields.Nested(
        SealedRefusalsSchema,
        **about("the refused attempts; present if and only if `v` is 2"),
    )


class GameSealedData(_Seal):
    """The seed and the deck are published; nothing follows."""

    seed = hex_digits(64, **described("the server's seed S"))
    deck = _cards("the deck in order; position 0 was dealt first")


class GameAbortedData(_Seal):
    """A game that cannot be finished ends, with its seed published."""

    cause = Chosen(*AbortCause, **described("why it was aborted"))
    seat = seat_field(
        "the seat that did not respond, left or was on turn; null if none", allow_none=True
    )
    seed = hex_digits(64, **described("the server's seed S"))
    deck = card_list(
        allow_none=True,
        **about("the deck in order; null before `deck_committed`"),
    )


DATA: Mapping[str, type[Schema]] = {
    "game_created": GameCreatedData,
    "entropy_committed": EntropyCommittedData,
    "entropy_revealed": EntropyRevealedData,
    "deck_committed": DeckCommittedData,
    "cards_dealt": CardsDealtData,
    "cards_thrown": CardsThrownData,
    "cards_swapped": CardsSwappedData,
    "table_laid": TableLaidData,
    "seat_ready": SeatReadyData,
    "play_started": PlayStartedData,
    "cards_played": CardsPlayedData,
    "cards_drawn": CardsDrawnData,
    "pile_burned": PileBurnedData,
    "pile_picked_up": PilePickedUpData,
    "blind_failed": BlindFailedData,
    "stock_failed": StockFailedData,
    "turn_passed": TurnPassedData,
    "turn_timed_out": TurnTimedOutData,
    "seat_out": SeatOutData,
    "game_ended": GameEndedData,
    "game_sealed": GameSealedData,
    "game_aborted": GameAbortedData,
}
"""The schema of each type's `data`, in the order of a game."""

_IN_TWO_VERSIONS = ("game_created", "game_sealed", "game_aborted")
_SIGNED = (*ACTIONS, "game_ended")


class _Envelope(Closed):
    game = fields.UUID(**described("the id of the game"))
    seq = Integer(**described("the place in the log, from 0"))
    prev = hex_digits(64, **described("the head before the event"))
    at = time_field(**described("the server's time; the same for all events of a move"))
    by = seat_field("the seat that acted, null for the server", allow_none=True)


def _event_schema(kind: str, data: type[Schema]) -> type[Schema]:
    """Return the schema of a whole event of one type."""
    versions = [1, 2] if kind in _IN_TWO_VERSIONS else [1]
    members: dict[str, Any] = {
        "__doc__": data.__doc__,
        "v": fields.Integer(
            strict=True,
            validate=validate.OneOf(versions),
            **described("the version of the event's format"),
        ),
        "type": Chosen(kind, **described("the type of the event")),
        "data": fields.Nested(data, **described("the fields of this event type")),
    }
    if kind in _SIGNED:
        members["auth"] = fields.Nested(
            AuthSchema,
            **about("the signed move; only on the first event of a signed move"),
        )
    return type(data.__name__.removesuffix("Data") + "EventSchema", (_Envelope,), members)


EVENTS: Mapping[str, type[Schema]] = {
    kind: _event_schema(kind, data) for kind, data in DATA.items()
}
"""The schema of each type of event as a whole."""


class EventSchema(OneOfTypes):
    """One event of a game's log (SHX/1, section 2), by its `type`."""

    types = EVENTS
