"""Accused move: the events of one move in a log, and the seat that made it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from service.domain.commands import Seat

_FOLLOWING: Final = frozenset(
    {"play_started", "cards_drawn", "pile_burned", "seat_out", "game_ended", "game_sealed"}
)
"""The events that follow from an action (SHX/1, section 2); a forfeit begins a move itself."""

_TIME_OUT: Final = "turn_timed_out"


@dataclass(frozen=True, slots=True, kw_only=True)
class AccusedMove:
    """The events `first` to `last` of a log: one move, or one step of the server."""

    first: int
    last: int
    seat: Seat | None  # that made the move, or timed out; None: a step of the server

    def __contains__(self, seq: int) -> bool:
        """Return whether an event belongs to the move."""
        return self.first <= seq <= self.last


def move_at(lines: Sequence[bytes], seq: int) -> AccusedMove:
    """
    Return the move or step that the event `seq` belongs to.

    Only the events around it are read: a log may have 100,000.
    """
    first = seq
    while first > 0 and _follows(_event(lines, first)):
        first -= 1
    action = first
    while first > 0 and _same_move(lines, first):
        first -= 1
    last = max(action, seq)
    while last + 1 < len(lines) and _goes_on(lines, first, last):
        last += 1
    return AccusedMove(first=first, last=last, seat=_seat(_event(lines, first)))


def _event(lines: Sequence[bytes], seq: int) -> dict[str, Any]:
    event: dict[str, Any] = orjson.loads(lines[seq])
    return event


def _follows(event: dict[str, Any]) -> bool:
    """Return whether an event is a consequence of an action before it."""
    return event["type"] in _FOLLOWING and not _is_forfeit(event)


def _is_forfeit(event: dict[str, Any]) -> bool:
    return (event["type"], event["data"].get("reason")) == ("game_ended", "forfeit")


def _same_move(lines: Sequence[bytes], seq: int) -> bool:
    """Return whether `seq` is part of a time-out, together with the event before it."""
    event, before = _event(lines, seq), _event(lines, seq - 1)
    if before["type"] == _TIME_OUT:
        return True
    laid = event["type"] == "seat_ready" and before["type"] == "table_laid"
    return laid and seq > 1 and _event(lines, seq - 2)["type"] == _TIME_OUT


def _goes_on(lines: Sequence[bytes], first: int, last: int) -> bool:
    """Return whether the event after `last` belongs to the move that begins at `first`."""
    following = _event(lines, last + 1)
    if _follows(following):
        return True
    if _event(lines, first)["type"] != _TIME_OUT:
        return False
    laid = _event(lines, last)["type"] == "table_laid"
    return last == first or (laid and following["type"] == "seat_ready")


def _seat(begin: dict[str, Any]) -> Seat | None:
    """Return the seat of a move by its first event: `by`, or the seat of a time-out or forfeit."""
    seat: Seat | None = begin["by"]
    if begin["type"] == _TIME_OUT:
        seat = begin["data"]["seat"]
    elif _is_forfeit(begin):
        seat = begin["data"]["shithead"]
    return seat
