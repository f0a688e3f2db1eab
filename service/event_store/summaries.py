"""The summary rows that an append may set: their columns, and how values become JSON."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from service.event_store.protocol import StreamKind

_GAME_NEEDED = frozenset(
    {"table_id", "hand", "ruleset_id", "status", "created_at", "public", "seats"}
)
_GAME_MORE = frozenset(
    {
        *("turn", "dealer", "ended_at", "reason", "shithead", "places"),
        *("wake_kind", "wake_at", "wake_seat", "back"),
    }
)
_TABLE_NEEDED = frozenset({"host", "status", "public", "ruleset_id", "created_at", "seats"})
_TABLE_MORE = frozenset({"invite_hash", "hand", "game_id"})
_DISPUTE_NEEDED = frozenset({"game_id", "state", "accuser", "charge", "opened_at"})
_DISPUTE_MORE = frozenset(
    {
        *("accused", "verdict", "found_at", "wake_at"),
        *("referees", "texts", "bundle", "findings"),  # rows beside it
    }
)
_SEAT = frozenset({"seat", "kind", "bot", "player_id"})

NEEDED: Mapping[StreamKind, frozenset[str]] = {
    StreamKind.GAME: _GAME_NEEDED,
    StreamKind.TABLE: _TABLE_NEEDED,
    StreamKind.DISPUTE: _DISPUTE_NEEDED,
}
ALLOWED: Mapping[StreamKind, frozenset[str]] = {
    StreamKind.GAME: _GAME_NEEDED | _GAME_MORE,
    StreamKind.TABLE: _TABLE_NEEDED | _TABLE_MORE,
    StreamKind.DISPUTE: _DISPUTE_NEEDED | _DISPUTE_MORE,
}


def check_summary(kind: StreamKind, summary: Mapping[str, Any], *, first: bool) -> None:
    """
    Raise ValueError where a summary has a column that its kind has not, or lacks a needed one.

    The database would pass over an unknown name in silence. `first` is the append that makes
    the row: afterwards a summary names what changed.
    """
    unknown = summary.keys() - ALLOWED.get(kind, frozenset())
    if unknown:
        raise ValueError(f"a {kind} has no summary column {', '.join(sorted(unknown))}")
    missing = NEEDED[kind] - summary.keys()
    if first and missing:
        raise ValueError(f"the first summary of a {kind} lacks {', '.join(sorted(missing))}")
    for seat in summary.get("seats", ()):
        if seat.keys() != _SEAT:
            raise ValueError(f"a seat has just the columns {', '.join(sorted(_SEAT))}")


def as_json(value: Any) -> Any:
    """Return a summary's value in the form in which the database reads it out of JSON."""
    match value:
        case None | bool() | int():
            return value
        case str():
            return str(value)  # a StrEnum too
        case bytes():
            return "\\x" + value.hex()
        case UUID():
            return str(value)
        case datetime():
            if value.tzinfo is None:
                raise ValueError("a time without a zone")
            return value.isoformat()
        case Mapping():
            return {key: as_json(item) for key, item in value.items()}
        case list() | tuple():
            return [as_json(item) for item in value]
        case _:
            raise ValueError(f"a summary cannot hold {type(value).__name__}")
