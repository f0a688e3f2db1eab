"""The table of all event types (SHX/1, section 2), and the check of an event."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from service.shx.canonical import RecordError
from service.shx.moves import MAX_REFUSALS_PER_GAME, check_auth
from service.shx.validators import (
    CARDS,
    COUNT,
    HASH,
    MAX_CARDS,
    MAX_EVENTS,
    MAX_SEATS,
    OPENING,
    POSITIVE_COUNT,
    RANKS,
    SEAT,
    SLOT,
    SOME_CARDS,
    Check,
    Field,
    Shape,
    base64,
    check_names,
    each,
    free_object,
    integer,
    nullable,
    one_of,
    record,
    refuse,
    text,
    time,
    uuid,
)


class Role(StrEnum):
    """The role of an event, and so which seat `by` names."""

    SET_UP = "set_up"  # the server: the game and its deck
    ENTROPY = "entropy"  # a seat, for its own entropy
    DEAL = "deal"  # the server: cards that the rules move before play
    EXCHANGE = "exchange"  # a move in the exchange phase
    PLAY = "play"  # a move in play
    RESULT = "result"  # what follows from a move
    LEAVING = "leaving"  # a person's word on the end of the hand, which is no action
    COURSE = "course"  # the server: start, time-out and end of play
    SEAL = "seal"  # the server: the last event


@dataclass(frozen=True, slots=True)
class EventShape:
    """A type of event: its role, its meaning and its fields."""

    role: Role
    meaning: str
    fields: Mapping[str, Field]

    @property
    def data(self) -> Shape:
        """Return the shape of `data`."""
        return record(self.fields)


def _seat(meaning: str, *, or_null: bool = False) -> Field:
    return Field(nullable(SEAT) if or_null else SEAT, meaning)


_AT_LEAST_ONE: Final = integer(1)
_ACTING: Final = _seat("the seat that acts")
_TURN: Final = _seat("the seat that acts next; null once the hand is over", or_null=True)
_DIRECTION: Final = Field(
    one_of(1, -1), "the direction of play after the event: 1 to rising seat numbers, or -1"
)
_PICKED_UP: Final[Mapping[str, Field]] = {
    "seat": _ACTING,
    "taker": _seat("the seat whose hand takes the pile"),
    "count": Field(COUNT, "the number of cards of the pile"),
    "turn": _TURN,
    "direction": _DIRECTION,
}
_SEED: Final = Field(HASH, "the server's seed S")
_REFUSALS: Final = Field(
    record(
        {
            "count": Field(
                integer(0, MAX_REFUSALS_PER_GAME), "the number of lines of `refusals.jsonl`"
            ),
            "sha256": Field(HASH, "SHA-256 of its bytes"),
        },
        title="SealedRefusals",
        meaning="The refused attempts of a game: their number, and the hash of their file.",
    ),
    "the attempts that the rules refused",
)

_RULESET: Final = record(
    {
        "id": Field(
            text, "an id of the catalogue, or `custom-` and 16 hex digits of the settings' hash"
        ),
        "options": Field(free_object, "the options that differ from their defaults"),
        "settings": Field(
            nullable(free_object),
            "the full tree of settings; may be null for an id of the catalogue",
        ),
    },
    title="EventRuleset",
    meaning="The rules of a game, as its log names them.",
)
_DECK: Final = record(
    {
        "decks": Field(COUNT, "the number of whole decks"),
        "jokers": Field(COUNT, "the number of jokers"),
        "partial": Field(
            each(one_of(*RANKS), high=len(RANKS)), "the ranks of a partial deck, sorted"
        ),
    },
    title="EventDeck",
    meaning="The cards that a game is played with.",
)
_ENGINE: Final = record(
    {
        "name": Field(text, "the name of the program"),
        "version": Field(text, "the release of the program"),
    },
    title="Engine",
    meaning="The program that wrote the log; no rule depends on it.",
)
_SEAT_SETUP: Final = record(
    {
        "kind": Field(one_of("human", "bot"), "whether a person or a bot has the seat"),
        "bot": Field(nullable(text), "the name of the bot, null for a person"),
        "key": Field(
            nullable(base64(32)), "the Ed25519 public key of the seat, or null without one"
        ),
        "entropy": Field(
            one_of("none", "value", "commit"), "how the seat contributes to the shuffle"
        ),
    },
    title="EventSeat",
    meaning="A seat as the game begins.",
)
_CLOCK: Final = record(
    {
        "turn_seconds": Field(_AT_LEAST_ONE, "seconds for a turn"),
        "swap_seconds": Field(_AT_LEAST_ONE, "seconds for set-up and exchange phase"),
        "reserve_seconds": Field(
            _AT_LEAST_ONE,
            "seconds in reserve of each seat in the hand; absent without a reserve",
            optional=True,
        ),
    },
    title="EventClock",
    meaning="The time limits of a game.",
)

EVENTS: Final[Mapping[str, EventShape]] = {
    "game_created": EventShape(
        Role.SET_UP,
        "The rules, the seats and the server's commitment to its seed, before any entropy of "
        "seats.",
        {
            "table": Field(uuid, "the id of the table"),
            "hand": Field(
                _AT_LEAST_ONE, "the number of the hand at the table, from 1 without gaps"
            ),
            "ruleset": Field(_RULESET, "the rules of the game"),
            "ruleset_hash": Field(HASH, "SHA-256 of the canonical `ruleset`"),
            "deck": Field(_DECK, "the cards of the game"),
            "engine": Field(_ENGINE, "the program that wrote the log"),
            "seats": Field(
                each(_SEAT_SETUP, low=1, high=MAX_SEATS), "the seats, in order of their numbers"
            ),
            "dealer": _seat("the dealer; null if one is drawn with the deck", or_null=True),
            "prev_game": Field(
                nullable(uuid), "the table's last game, sealed or aborted; null for the first"
            ),
            "commit": Field(HASH, "the commitment C_S to the server's seed"),
            "clock": Field(nullable(_CLOCK), "the time limits, null without a clock"),
            "turn_limit": Field(_AT_LEAST_ONE, "the number of actions at which the hand ends"),
        },
    ),
    "entropy_committed": EventShape(
        Role.ENTROPY,
        "A seat commits to its entropy, which it reveals later.",
        {"seat": _ACTING, "commit": Field(HASH, "the commitment C_i to the seat's entropy")},
    ),
    "entropy_revealed": EventShape(
        Role.ENTROPY,
        "A seat reveals its entropy.",
        {"seat": _ACTING, "value": Field(HASH, "the entropy R_i: 32 bytes")},
    ),
    "deck_committed": EventShape(
        Role.SET_UP,
        "The deck is fixed: a commitment to each card.",
        {"cards": Field(each(HASH, low=1), "the commitments c_0, c_1, …, one for each card")},
    ),
    "cards_dealt": EventShape(
        Role.DEAL,
        "The deal, with the cards that lie open after it.",
        {
            "dealer": _seat("the dealer"),
            "down": Field(COUNT, "face-down cards of each seat, which is also its number of slots"),
            "up": Field(COUNT, "face-up cards of each seat; 0 in a layout deal"),
            "hand": Field(
                COUNT, "hand cards of each seat, including those to lay in a layout deal"
            ),
            "stock": Field(COUNT, "cards in the stock after the event"),
            "face_up": Field(
                each(each(OPENING), low=1, high=MAX_SEATS),
                "for each seat the openings of its face-up cards, in order of the slots",
            ),
            "starter": Field(nullable(OPENING), "the card that starts the pile, or null"),
            "returned": Field(
                each(OPENING),
                "special cards turned before the starter, now under the stock; only with the "
                "setting `deal.starter` = `plain`, as in `shit-boot`",
            ),
        },
    ),
    "cards_thrown": EventShape(
        Role.DEAL,
        "A seat throws cards right after the deal; only with `deal.throws`, as in `reverse`.",
        {
            "seat": _seat("the seat that throws"),
            "cards": Field(CARDS, "the cards thrown"),
            "count": Field(COUNT, "cards drawn in their place"),
        },
    ),
    "cards_swapped": EventShape(
        Role.EXCHANGE,
        "A seat exchanges hand cards for face-up cards, pair by pair.",
        {
            "seat": _ACTING,
            "up": Field(SOME_CARDS, "hand cards that are laid face-up"),
            "hand": Field(SOME_CARDS, "face-up cards taken for them, in the same order"),
        },
    ),
    "table_laid": EventShape(
        Role.EXCHANGE,
        "A seat lays its face-up cards in a layout deal; repeated if stacks can grow.",
        {
            "seat": _ACTING,
            "stacks": Field(each(CARDS), "for each slot the cards added, in order; may be empty"),
            "count": Field(COUNT, "cards drawn after it"),
        },
    ),
    "seat_ready": EventShape(
        Role.EXCHANGE, "A seat has finished the exchange phase.", {"seat": _ACTING}
    ),
    "play_started": EventShape(
        Role.COURSE,
        "Play begins, once the last seat is ready.",
        {
            "turn": _seat(
                "the seat that plays first; null if the opening is first come, first served",
                or_null=True,
            )
        },
    ),
    "cards_played": EventShape(
        Role.PLAY,
        "A seat plays cards on the pile, on turn or as a follow-up.",
        {
            "seat": _ACTING,
            "zone": Field(
                one_of("hand", "up", "down", "stock"), "the zone that the cards come from"
            ),
            "cards": Field(SOME_CARDS, "the cards, in the order in which they lie on the pile"),
            "slot": Field(nullable(SLOT), "the slot of a face-down card; null for other zones"),
            "opening": Field(
                nullable(OPENING),
                "the opening of a card from `down` or `stock`; null for other zones",
            ),
            "turn": _TURN,
            "direction": _DIRECTION,
        },
    ),
    "cards_drawn": EventShape(
        Role.RESULT,
        "A seat refills its hand from the stock.",
        {"seat": _ACTING, "count": Field(POSITIVE_COUNT, "the number of cards drawn")},
    ),
    "pile_burned": EventShape(
        Role.RESULT,
        "The pile leaves the game.",
        {
            "seat": _seat("the seat whose play burned the pile"),
            "cause": Field(one_of("rank", "set"), "a burning rank, or a set of one rank"),
            "count": Field(POSITIVE_COUNT, "the cards that leave, those just played included"),
            "cleared_by": _seat(
                "the seat that clears the pile: the flusher, else the one that burned it"
            ),
        },
    ),
    "pile_picked_up": EventShape(
        Role.PLAY,
        "A seat does not play, and the pile goes to its hand or to that of the previous player.",
        {**_PICKED_UP, "with": Field(CARDS, "face-up cards that go along with the pile")},
    ),
    "blind_failed": EventShape(
        Role.PLAY,
        "A face-down card is turned and cannot be played.",
        {
            **_PICKED_UP,
            "slot": Field(SLOT, "the slot of the card"),
            "opening": Field(
                nullable(OPENING),
                "the opening of the card; null if the ruleset keeps it hidden",
            ),
        },
    ),
    "stock_failed": EventShape(
        Role.PLAY,
        "The top card of the stock is tried and cannot be played.",
        {**_PICKED_UP, "opening": Field(OPENING, "the opening of the card")},
    ),
    "turn_passed": EventShape(
        Role.PLAY,
        "A seat passes on an empty pile.",
        {
            "seat": _ACTING,
            "reason": Field(one_of("no_play"), "nothing that the seat holds can be played"),
            "turn": _TURN,
        },
    ),
    "turn_timed_out": EventShape(
        Role.COURSE,
        "A seat's time is over; the move made for it follows.",
        {"seat": _seat("the seat whose time is over")},
    ),
    "seat_out": EventShape(
        Role.RESULT,
        "A seat has no cards left.",
        {
            "seat": _seat("the seat"),
            "place": Field(integer(1, MAX_SEATS), "its finishing place, from 1"),
        },
    ),
    "end_agreed": EventShape(
        Role.LEAVING,
        "A person agrees that the hand ends without a result; it stands until the seat's next "
        "move.",
        {"seat": _seat("the seat that agrees")},
    ),
    "absence_claimed": EventShape(
        Role.LEAVING,
        "A person states that another one is away. A bot stands in until the absent player makes a "
        "move, or the hand ends once all other people ask for it. No record shows the absence.",
        {
            "seat": _seat("the seat that states it"),
            "absent": _seat("the seat whose player is away"),
            "then": Field(
                one_of("stand_in", "end"), "whether a bot stands in, or the hand is to end"
            ),
        },
    ),
    "game_ended": EventShape(
        Role.COURSE,
        "The hand is over.",
        {
            "reason": Field(
                one_of("shithead", "winner", "stalemate", "forfeit"), "how the hand ended"
            ),
            "shithead": _seat("the seat that lost, null if none did", or_null=True),
            "places": Field(
                each(SEAT, high=MAX_SEATS),
                "seats in the order in which they went out; with reason `shithead` the shithead "
                "last",
            ),
        },
    ),
    "game_sealed": EventShape(
        Role.SEAL,
        "The seed and the deck are published; nothing follows.",
        {
            "seed": _SEED,
            "deck": Field(SOME_CARDS, "the deck in order; position 0 was dealt first"),
            "refusals": _REFUSALS,
        },
    ),
    "game_aborted": EventShape(
        Role.SEAL,
        "A game that cannot be finished ends, with its seed published.",
        {
            "cause": Field(
                one_of("no_entropy", "left", "idle", "operator", "agreed"), "why it was aborted"
            ),
            "seat": _seat(
                "the seat that did not respond, left or was on turn; null if none", or_null=True
            ),
            "seed": _SEED,
            "deck": Field(nullable(SOME_CARDS), "the deck in order; null before `deck_committed`"),
            "refusals": _REFUSALS,
        },
    ),
}
"""
Every type of event, in the order of a game.

The checks of a log, the fields of `schemas/events.py`, the OpenAPI document, the tables of the
specification and the lists of types below are made from it.
"""


def types_of(*roles: Role) -> frozenset[str]:
    """Return the event types with one of these roles."""
    return frozenset(kind for kind, shape in EVENTS.items() if shape.role in roles)


_SHAPES: Final = {kind: shape.data.check for kind, shape in EVENTS.items()}

VERSION: Final = 1
"""The version of every event."""

EVENT_TYPES: Final = frozenset(EVENTS)

BY_SERVER: Final = types_of(Role.SET_UP, Role.DEAL, Role.COURSE, Role.SEAL)
"""Types that only the server writes: `by` is null."""

EXCHANGE: Final = types_of(Role.EXCHANGE)
PLAY: Final = types_of(Role.PLAY)
ACTIONS: Final = EXCHANGE | PLAY
"""Types of the events that record a player's move, which a player with a key signs (`auth`)."""

LEAVING: Final = types_of(Role.LEAVING)
"""Types of the events with which a person ends the hand, signed as actions are."""

SIGNED: Final = ACTIONS | LEAVING | {"game_ended"}
"""Types of the events that can have `auth`; the end of the hand only if a seat gives it up."""

SEALS: Final = types_of(Role.SEAL)

_ENTROPY: Final = types_of(Role.ENTROPY)
ENVELOPE: Final[Mapping[str, Check]] = {
    "at": time,
    "by": nullable(SEAT),
    "game": uuid,
    "prev": HASH,
    "seq": integer(0, MAX_EVENTS - 1),
}
_ENVELOPE_CHECKS: Final = tuple((name, f"/{name}", check) for name, check in ENVELOPE.items())
_NAMES: Final = frozenset(ENVELOPE) | {"v", "type", "data"}


def check_event(event: Any) -> None:
    """
    Raise RecordError unless `event` has the shape of a game's event.

    Codes: `made_before`, `unknown_version`, `unknown_type`, `bad_field`; the detail begins with
    a JSON pointer. Checks that need other events are in the verifier.
    """
    if type(event) is not dict:
        raise refuse("/", "not an object")
    version, kind = event.get("v"), event.get("type")
    if type(kind) is not str or kind not in EVENTS:
        raise RecordError("unknown_type", f"/type: {kind!r}")
    if _was_made_before(kind, version, event.get("data")):
        raise RecordError("made_before", "/v: the form of records made before 0.1.0")
    if type(version) is not int or version != VERSION:
        raise RecordError("unknown_version", f"/v: {version!r} is not {VERSION}")
    check_names(event, "/", _NAMES | {"auth"} if "auth" in event else _NAMES)
    for name, path, check in _ENVELOPE_CHECKS:
        check(event[name], path)
    _SHAPES[kind](event["data"], "/data")
    _check_together(kind, event["data"])
    _check_by(kind, event)
    if "auth" in event:
        _check_auth(kind, event)


def _was_made_before(kind: str, version: Any, data: Any) -> bool:
    """Return whether an event has a form that only builds before 0.1.0 wrote."""
    if kind in SEALS and type(data) is dict and "refusals" not in data:
        return True
    return version == 2 and kind in (*SEALS, "game_created")


def _check_together(kind: str, data: Mapping[str, Any]) -> None:
    """Refuse fields that contradict one another."""
    match kind:
        case "game_created":
            _check_game_created(data)
        case "cards_swapped" if len(data["up"]) != len(data["hand"]):
            raise refuse("/data", "up and hand have different lengths")
        case "cards_played":
            blind = data["zone"] in ("down", "stock")
            if (data["opening"] is not None) != blind:
                raise refuse(
                    "/data/opening",
                    "present for a card from down or stock, null for any other",
                )
            if (data["slot"] is not None) != (data["zone"] == "down"):
                raise refuse("/data/slot", "present for a card from down, null for any other")


def _check_game_created(data: Mapping[str, Any]) -> None:
    for index, seat in enumerate(data["seats"]):
        if (seat["bot"] is None) != (seat["kind"] == "human"):
            raise refuse(f"/data/seats/{index}/bot", "a bot has a name here, a person has null")
    if data["dealer"] is not None and data["dealer"] >= len(data["seats"]):
        raise refuse("/data/dealer", "no such seat")
    ruleset = data["ruleset"]
    if ruleset["settings"] is None and ruleset["id"].startswith("custom-"):
        raise refuse("/data/ruleset/settings", "a custom ruleset states its settings")
    deck = data["deck"]
    places = [RANKS.index(rank) for rank in deck["partial"]]
    if places != sorted(set(places)):
        raise refuse("/data/deck/partial", "not sorted by rank")
    size = 52 * deck["decks"] + 4 * len(places) + deck["jokers"]
    if not 0 < size <= MAX_CARDS:
        raise refuse("/data/deck", f"{size} cards, at most {MAX_CARDS}, at least one")


def _check_by(kind: str, event: Mapping[str, Any]) -> None:
    by, seat = event["by"], event["data"].get("seat")
    if kind in BY_SERVER and by is not None:
        raise refuse("/by", f"{kind} is written by the server: by is null")
    if kind in _ENTROPY and by != seat:
        raise refuse("/by", "a seat commits and reveals only its own entropy")
    if kind in LEAVING and by != seat:
        raise refuse("/by", "a seat speaks only for itself")
    if kind in ACTIONS and by not in (None, seat):
        raise refuse("/by", "the seat that acts, or null")


def _check_auth(kind: str, event: Mapping[str, Any]) -> None:
    forfeit = kind == "game_ended" and event["data"]["reason"] == "forfeit"
    own_act = kind in ACTIONS and event["by"] is not None
    if not (forfeit or own_act or kind in LEAVING):
        raise refuse("/auth", "only a player's own act is signed")
    check_auth(event["auth"], "/auth")
