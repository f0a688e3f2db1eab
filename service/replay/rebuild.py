"""Stored lines read back: each event of a log as the domain knows it, with what surrounds it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from schemas.events import event_of
from service.domain.cards import Card
from service.domain.commands import Seat
from service.domain.events import Event
from service.record.chain import head
from service.rulesets.reading import read_ruleset


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """One event of a log: the domain's, and the envelope that it was stored in."""

    seq: int
    at: str
    by: Seat | None
    type: str
    event: Event
    fields: Mapping[str, Any] = field(repr=False)  # the whole object, as stored
    line: bytes = field(repr=False)

    @property
    def version(self) -> int:
        """Return the version of the game after this event."""
        return self.seq + 1

    @property
    def head(self) -> str:
        """Return the head after this event, in hex."""
        return head(self.line).hex()


def rebuild(lines: Iterable[bytes]) -> tuple[Recorded, ...]:
    """
    Return the events of a log from its stored lines.

    The lines are the service's own, checked when they were written: what comes
    from outside goes through the record's reader and `service.verify` instead.
    """
    return tuple(recorded(line) for line in lines)


def recorded(line: bytes) -> Recorded:
    """Return one stored line as an event."""
    fields = orjson.loads(line)
    return Recorded(
        seq=fields["seq"],
        at=fields["at"],
        by=fields["by"],
        type=fields["type"],
        event=event_of(fields["type"], fields["data"], read_ruleset),
        fields=fields,
        line=line,
    )


def sealed_deck(log: Sequence[Recorded]) -> tuple[Card, ...] | None:
    """Return the deck that the last event publishes; None before the seal, or without a deal."""
    if not log or log[-1].type not in ("game_sealed", "game_aborted"):
        return None
    deck = log[-1].fields["data"]["deck"]
    return None if deck is None else tuple(Card(code) for code in deck)
