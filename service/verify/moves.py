"""Which events are one move: read by the order of SHX/1, section 2, not by their times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from service.verify.finding import Failed


class Kind(StrEnum):
    """What a move is."""

    SETUP = "setup"  # creation, entropy, the deck
    DEAL = "deal"  # the deal, and each throw after it
    EXCHANGE = "exchange"
    PLAY = "play"
    FORFEIT = "forfeit"
    ABORT = "abort"


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """The events `first` to `last` of a log, which belong to one action of `seat`."""

    first: int
    last: int
    kind: Kind
    seat: int | None
    timed_out: bool

    @property
    def action(self) -> int:
        """Return the seq of the action itself, after a time-out the event behind it."""
        return self.first + self.timed_out


SETUP: Final = frozenset(
    {"game_created", "entropy_committed", "entropy_revealed", "deck_committed"}
)
DEAL: Final = frozenset({"cards_dealt", "cards_thrown"})
EXCHANGE: Final = frozenset({"cards_swapped", "table_laid", "seat_ready"})
PLAY: Final = frozenset(
    {"cards_played", "pile_picked_up", "blind_failed", "stock_failed", "turn_passed"}
)
ACTIONS: Final = EXCHANGE | PLAY

_ENDING: Final = ("game_ended", "game_sealed")
_TAILS: Final = {
    "seat_ready": ("play_started",),
    "cards_played": ("cards_drawn", "pile_burned", "seat_out", *_ENDING),
    "pile_picked_up": _ENDING,
    "blind_failed": _ENDING,
    "stock_failed": _ENDING,
    "turn_passed": _ENDING,
}


def moves_of(events: Sequence[Any]) -> tuple[tuple[Move, ...], Failed | None]:
    """
    Return the moves of a log, and the first place where its events make none.

    `events` are decoded events of the right shape. Reading stops at that place.
    """
    moves: list[Move] = []
    at = 0
    while at < len(events):
        try:
            move = _move(events, at)
        except Failed as failed:
            return tuple(moves), failed
        moves.append(move)
        at = move.last + 1
    return tuple(moves), None


def _move(events: Sequence[Any], first: int) -> Move:
    kind = events[first]["type"]
    seat = events[first]["data"].get("seat")
    if kind in SETUP or kind in DEAL:
        group = Kind.SETUP if kind in SETUP else Kind.DEAL
        return Move(first=first, last=first, kind=group, seat=seat, timed_out=False)
    if kind == "game_aborted":
        return Move(first=first, last=first, kind=Kind.ABORT, seat=seat, timed_out=False)
    if kind == "game_ended":
        return _forfeit(events, first)
    timed_out = kind == "turn_timed_out"
    action = first + timed_out
    if action >= len(events) or events[action]["type"] not in ACTIONS:
        raise Failed(first, f"{kind} begins no move")
    if timed_out and events[action]["data"]["seat"] != seat:
        raise Failed(action, "another seat acts after the time-out")
    last = _last(events, action, timed_out=timed_out)
    group = Kind.EXCHANGE if events[action]["type"] in EXCHANGE else Kind.PLAY
    return Move(first=first, last=last, kind=group, seat=seat, timed_out=timed_out)


def _forfeit(events: Sequence[Any], first: int) -> Move:
    data = events[first]["data"]
    if data["reason"] != "forfeit":
        raise Failed(first, "game_ended follows no move that could end the game")
    last = _tail(events, first, ("game_sealed",))
    if last == first:
        raise Failed(first, "game_ended without game_sealed")
    return Move(first=first, last=last, kind=Kind.FORFEIT, seat=data["shithead"], timed_out=False)


def _last(events: Sequence[Any], action: int, *, timed_out: bool) -> int:
    """Return the seq of the last event of a move."""
    kind, seat = events[action]["type"], events[action]["data"]["seat"]
    following = events[action + 1 : action + 2]
    if timed_out and kind == "table_laid" and following:
        # A silent seat's cards are laid and it is made ready in one move.
        made_ready = following[0]["type"] == "seat_ready"
        if made_ready and following[0]["data"]["seat"] == seat:
            return _tail(events, action + 1, _TAILS["seat_ready"])
    last = _tail(events, action, _TAILS.get(kind, ()))
    if events[last]["type"] == "game_ended":
        raise Failed(last, "game_ended without game_sealed")
    return last


def _tail(events: Sequence[Any], at: int, allowed: tuple[str, ...]) -> int:
    """Return how far the events after `at` are of these types, each at most once, in order."""
    for kind in allowed:
        following = events[at + 1] if at + 1 < len(events) else None
        if following is None or following["type"] != kind:
            continue
        if kind == "game_ended" and following["data"]["reason"] == "forfeit":
            break
        if kind == "game_sealed" and events[at]["type"] != "game_ended":
            break
        at += 1
    return at
