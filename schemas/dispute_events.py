"""Conversion between dispute events and plain values; their stream is internal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from enum import StrEnum
from typing import Any

from service.domain.dispute import (
    Appealed,
    Charge,
    DisputeClosed,
    DisputeEvent,
    DisputeOpened,
    FindingsMade,
    Periods,
    RefereeRefused,
    RefereeReplaced,
    RefereeSeated,
    Ruled,
    Side,
    StatementMade,
    Verdict,
    Vote,
    VoteCommitted,
    VoteRevealed,
    VotingOpened,
)

_TYPES: Mapping[type[DisputeEvent], str] = {
    DisputeOpened: "dispute_opened",
    FindingsMade: "findings_made",
    StatementMade: "statement_made",
    RefereeSeated: "referee_seated",
    RefereeRefused: "referee_refused",
    RefereeReplaced: "referee_replaced",
    VotingOpened: "voting_opened",
    VoteCommitted: "vote_committed",
    VoteRevealed: "vote_revealed",
    Ruled: "dispute_ruled",
    Appealed: "dispute_appealed",
    DisputeClosed: "dispute_closed",
}


def dispute_type_of(event: DisputeEvent) -> str:
    """Return the name of a dispute event's type."""
    return _TYPES[type(event)]


def dispute_data_of(event: DisputeEvent) -> dict[str, Any]:
    """Return the event's fields as plain values."""
    return {name: _plain(value) for name, value in asdict(event).items()}


def dispute_event_of(type_: str, data: Mapping[str, Any]) -> DisputeEvent:
    """Return the event of a type and its stored data; raises KeyError for an unknown type."""
    return _READERS[type_](data)


def _plain(value: Any) -> Any:
    if isinstance(value, StrEnum):
        return value.value
    return list(value) if isinstance(value, tuple) else value


def _opened(data: Mapping[str, Any]) -> DisputeOpened:
    typed: dict[str, Any] = {"charge": Charge(data["charge"]), "barred": tuple(data["barred"])}
    if "periods" in data:
        typed["periods"] = Periods(**data["periods"])
    return DisputeOpened(**{**data, **typed})


def _sided(data: Mapping[str, Any]) -> dict[str, Any]:
    return {**data, "side": Side(data["side"])}


_READERS: Mapping[str, Callable[[Mapping[str, Any]], DisputeEvent]] = {
    "dispute_opened": _opened,
    "findings_made": lambda data: FindingsMade(**data),
    "statement_made": lambda data: StatementMade(**_sided(data)),
    "referee_seated": lambda data: RefereeSeated(**data),
    "referee_refused": lambda data: RefereeRefused(**_sided(data)),
    "referee_replaced": lambda data: RefereeReplaced(**data),
    "voting_opened": lambda data: VotingOpened(referees=tuple(data["referees"])),
    "vote_committed": lambda data: VoteCommitted(**data),
    "vote_revealed": lambda data: VoteRevealed(**{**data, "vote": Vote(data["vote"])}),
    "dispute_ruled": lambda data: Ruled(
        verdict=Verdict(data["verdict"]), referees=tuple(data["referees"])
    ),
    "dispute_appealed": lambda data: Appealed(**_sided(data)),
    "dispute_closed": lambda _: DisputeClosed(),
}
