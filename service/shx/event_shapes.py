"""The fields of every event type (SHX/1, section 2), and the check of an event."""

from __future__ import annotations

from collections.abc import Mapping
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

_AT_LEAST_ONE: Final = integer(1)
_SEAT_OR_NULL: Final = nullable(SEAT)
_TURN: Final[Mapping[str, Check]] = {"turn": _SEAT_OR_NULL, "direction": one_of(1, -1)}
_PICKED_UP: Final[Mapping[str, Check]] = {"seat": SEAT, "taker": SEAT, "count": COUNT, **_TURN}

_SEAT_SETUP: Final = record(
    {
        "kind": one_of("human", "bot"),
        "bot": nullable(text),
        "key": nullable(base64(32)),
        "entropy": one_of("commit", "value", "none"),
    }
)

_GAME_CREATED: Final[Mapping[str, Check]] = {
    "table": uuid,
    "hand": _AT_LEAST_ONE,
    "ruleset": record({"id": text, "options": free_object, "settings": nullable(free_object)}),
    "ruleset_hash": HASH,
    "deck": record(
        {
            "decks": COUNT,
            "jokers": COUNT,
            "partial": each(one_of(*RANKS), high=len(RANKS)),
        }
    ),
    "engine": record({"name": text, "version": text}),
    "seats": each(_SEAT_SETUP, low=1, high=MAX_SEATS),
    "dealer": _SEAT_OR_NULL,
    "prev_game": nullable(uuid),
    "commit": HASH,
    "clock": nullable(record({"turn_seconds": _AT_LEAST_ONE, "swap_seconds": _AT_LEAST_ONE})),
    "turn_limit": _AT_LEAST_ONE,
}

_DATA: Final[Mapping[str, Mapping[str, Check]]] = {
    "game_created": _GAME_CREATED,
    "entropy_committed": {"seat": SEAT, "commit": HASH},
    "entropy_revealed": {"seat": SEAT, "value": HASH},
    "deck_committed": {"cards": each(HASH, low=1)},
    "cards_dealt": {
        "dealer": SEAT,
        "down": COUNT,
        "up": COUNT,
        "hand": COUNT,
        "stock": COUNT,
        "face_up": each(each(OPENING), low=1, high=MAX_SEATS),
        "starter": nullable(OPENING),
        "returned": each(OPENING),
    },
    "cards_thrown": {"seat": SEAT, "cards": CARDS, "count": COUNT},
    "cards_swapped": {"seat": SEAT, "up": SOME_CARDS, "hand": SOME_CARDS},
    "table_laid": {"seat": SEAT, "stacks": each(CARDS), "count": COUNT},
    "seat_ready": {"seat": SEAT},
    "play_started": {"turn": _SEAT_OR_NULL},
    "cards_played": {
        "seat": SEAT,
        "zone": one_of("hand", "up", "down", "stock"),
        "cards": SOME_CARDS,
        "slot": nullable(SLOT),
        "opening": nullable(OPENING),
        **_TURN,
    },
    "cards_drawn": {"seat": SEAT, "count": POSITIVE_COUNT},
    "pile_burned": {
        "seat": SEAT,
        "cause": one_of("rank", "set"),
        "count": POSITIVE_COUNT,
        "cleared_by": SEAT,
    },
    "pile_picked_up": {**_PICKED_UP, "with": CARDS},
    "blind_failed": {**_PICKED_UP, "slot": SLOT, "opening": nullable(OPENING)},
    "stock_failed": {**_PICKED_UP, "opening": OPENING},
    "turn_passed": {"seat": SEAT, "reason": one_of("no_play"), "turn": _SEAT_OR_NULL},
    "turn_timed_out": {"seat": SEAT},
    "seat_out": {"seat": SEAT, "place": integer(1, MAX_SEATS)},
    "game_ended": {
        "reason": one_of("shithead", "winner", "stalemate", "forfeit"),
        "shithead": _SEAT_OR_NULL,
        "places": each(SEAT, high=MAX_SEATS),
    },
    "game_sealed": {"seed": HASH, "deck": SOME_CARDS},
    "game_aborted": {
        "cause": one_of("no_entropy", "left", "idle", "operator"),
        "seat": _SEAT_OR_NULL,
        "seed": HASH,
        "deck": nullable(SOME_CARDS),
    },
}
_REFUSALS: Final = record({"count": integer(0, MAX_REFUSALS_PER_GAME), "sha256": HASH})
_DATA_OF_VERSION_2: Final[Mapping[str, Mapping[str, Check]]] = {
    "game_created": _GAME_CREATED,
    "game_sealed": {**_DATA["game_sealed"], "refusals": _REFUSALS},
    "game_aborted": {**_DATA["game_aborted"], "refusals": _REFUSALS},
}
"""The event types of version 2; `game_created` has the same fields as in version 1."""

_SHAPES: Final = {(kind, 1): record(fields) for kind, fields in _DATA.items()} | {
    (kind, 2): record(fields) for kind, fields in _DATA_OF_VERSION_2.items()
}

LATEST: Final = 2
"""The version of new games unless the operator sets another one."""

EVENT_TYPES: Final = frozenset(_DATA)

BY_SERVER: Final = frozenset(
    {
        "game_created",
        "deck_committed",
        "cards_dealt",
        "cards_thrown",
        "play_started",
        "turn_timed_out",
        "game_ended",
        "game_sealed",
        "game_aborted",
    }
)
"""Types that only the server writes: `by` is null."""

ACTIONS: Final = frozenset(
    {
        "cards_swapped",
        "table_laid",
        "seat_ready",
        "cards_played",
        "pile_picked_up",
        "blind_failed",
        "stock_failed",
        "turn_passed",
    }
)
"""Types of the events that record a player's move, which a player with a key signs (`auth`)."""

_ENTROPY: Final = frozenset({"entropy_committed", "entropy_revealed"})
_ENVELOPE: Final[Mapping[str, Check]] = {
    "at": time,
    "by": _SEAT_OR_NULL,
    "game": uuid,
    "prev": HASH,
    "seq": integer(0, MAX_EVENTS - 1),
}
_ENVELOPE_CHECKS: Final = tuple((name, f"/{name}", check) for name, check in _ENVELOPE.items())
_NAMES: Final = frozenset(_ENVELOPE) | {"v", "type", "data"}


def check_event(event: Any) -> None:
    """
    Raise RecordError unless `event` has the shape of a game's event, of version 1 or 2.

    Codes: `unknown_version`, `unknown_type`, `bad_field`; the detail begins with a JSON
    pointer. Checks that need other events are in the verifier.
    """
    if type(event) is not dict:
        raise refuse("/", "not an object")
    version, kind = event.get("v"), event.get("type")
    if type(version) is not int or version not in (1, 2):
        raise RecordError("unknown_version", f"/v: {version!r} is neither 1 nor 2")
    if type(kind) is not str or kind not in _DATA:
        raise RecordError("unknown_type", f"/type: {kind!r}")
    if (kind, version) not in _SHAPES:
        raise RecordError("unknown_version", f"/v: there is no {kind} of version {version}")
    check_names(event, "/", _NAMES | {"auth"} if "auth" in event else _NAMES)
    for name, path, check in _ENVELOPE_CHECKS:
        check(event[name], path)
    _SHAPES[kind, version](event["data"], "/data")
    _check_together(kind, event["data"])
    _check_by(kind, event)
    if "auth" in event:
        _check_auth(kind, event)


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
    if kind in ACTIONS and by not in (None, seat):
        raise refuse("/by", "the seat that acts, or null")


def _check_auth(kind: str, event: Mapping[str, Any]) -> None:
    forfeit = kind == "game_ended" and event["data"]["reason"] == "forfeit"
    own_act = kind in ACTIONS and event["by"] is not None
    if not (forfeit or own_act):
        raise refuse("/auth", "only a player's own act is signed")
    check_auth(event["auth"], "/auth")
