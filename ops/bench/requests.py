"""Tables for benchmarks: a ruleset with its default options, no window, no clock."""

from __future__ import annotations

from typing import Any

from service.application.tables.record import TableRequest
from service.domain.events import Entropy


def plain_table(ruleset: str, seats: tuple[Any, ...]) -> TableRequest:
    """Return the request for a public table that deals as soon as it is full."""
    return TableRequest(
        ruleset=ruleset,
        seats=seats,
        options={},
        clock=None,
        window_seconds=0,
        public=True,
        entropy=Entropy.NONE,
        key=None,
        turn_limit=None,
        deal=True,
    )
