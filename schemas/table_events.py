"""Conversion between table events and plain values; their stream is internal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from enum import StrEnum
from typing import Any

from service.domain.events import AbortCause, Clock, EndReason, Entropy
from service.domain.ruleset import NextDealer
from service.domain.table import (
    Conditions,
    HandDealt,
    HandFinished,
    SeatChanged,
    SeatKind,
    SeatLeft,
    SeatTaken,
    TableClosed,
    TableEvent,
    TableOpened,
    TableSeat,
)

_TYPES: Mapping[type[TableEvent], str] = {
    TableOpened: "table_opened",
    SeatTaken: "seat_taken",
    SeatLeft: "seat_left",
    SeatChanged: "seat_changed",
    HandDealt: "hand_dealt",
    HandFinished: "hand_finished",
    TableClosed: "table_closed",
}


def table_type_of(event: TableEvent) -> str:
    """Return the name of a table event's type."""
    return _TYPES[type(event)]


def table_data_of(event: TableEvent) -> dict[str, Any]:
    """Return the event's fields as plain values."""
    return {name: _plain(value) for name, value in asdict(event).items()}


def table_event_of(type_: str, data: Mapping[str, Any]) -> TableEvent:
    """Return the event of a type and its stored data; raises KeyError for an unknown type."""
    return _READERS[type_](data)


def _opened(data: Mapping[str, Any]) -> TableOpened:
    given = dict(data["conditions"])
    given["next_dealer"] = NextDealer(given["next_dealer"])
    given["clock"] = Clock(**given["clock"]) if given["clock"] else None
    return TableOpened(
        host=data["host"],
        conditions=Conditions(**given),
        seats=tuple(
            TableSeat(
                **{**seat, "kind": SeatKind(seat["kind"]), "entropy": Entropy(seat["entropy"])}
            )
            for seat in data["seats"]
        ),
    )


def _finished(data: Mapping[str, Any]) -> HandFinished:
    return HandFinished(
        game=data["game"],
        dealer=data["dealer"],
        reason=EndReason(data["reason"]) if data["reason"] else None,
        cause=AbortCause(data["cause"]) if data["cause"] else None,
        shithead=data["shithead"],
        places=tuple(data["places"]),
    )


def _plain(value: Any) -> Any:
    if isinstance(value, StrEnum):
        return value.value
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


def _with_entropy(data: Mapping[str, Any]) -> dict[str, Any]:
    return {**data, "entropy": Entropy(data["entropy"])}


_READERS: Mapping[str, Callable[[Mapping[str, Any]], TableEvent]] = {
    "table_opened": _opened,
    "seat_taken": lambda data: SeatTaken(**_with_entropy(data)),
    "seat_left": lambda data: SeatLeft(**data),
    "seat_changed": lambda data: SeatChanged(**_with_entropy(data)),
    "hand_dealt": lambda data: HandDealt(**data),
    "hand_finished": _finished,
    "table_closed": lambda _: TableClosed(),
}
