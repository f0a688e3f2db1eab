"""One dispute in memory: its folded state, and where its chain of events stands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import orjson

from schemas.dispute_events import dispute_data_of, dispute_event_of, dispute_type_of
from service.domain.dispute import Dispute, Moment, evolve_dispute, fold_dispute
from service.domain.dispute_events import DisputeEvent
from service.domain.judging import due_at
from service.event_store.protocol import StreamAppend, StreamKind
from service.record.chain import encode_event, genesis, head
from service.record.times import format_time, parse_time

_BEGIN = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class DisputeRecord:
    """A dispute's state together with the head of its stream and the time of its last event."""

    identity: UUID
    dispute: Dispute
    head: bytes
    at: str

    @property
    def game(self) -> UUID:
        """Return the game that it is about."""
        return UUID(self.dispute.opened.game)

    @property
    def version(self) -> int:
        """Return the number of events."""
        return self.dispute.version


def load_dispute(identity: UUID, lines: Sequence[bytes]) -> DisputeRecord:
    """Return the record that stored lines make."""
    envelopes = [orjson.loads(line) for line in lines]
    steps = ((dispute_event_of(e["type"], e["data"]), moment_of(e["at"])) for e in envelopes)
    return DisputeRecord(
        identity=identity,
        dispute=fold_dispute(steps),
        head=head(lines[-1]),
        at=envelopes[-1]["at"],
    )


def open_dispute(
    identity: UUID, events: Sequence[DisputeEvent], *, at: str
) -> tuple[DisputeRecord, tuple[bytes, ...]]:
    """Return a new dispute's record and its first lines."""
    line = _line(identity, events[0], seq=0, prev=genesis(identity), at=at)
    record, lines = write_dispute(load_dispute(identity, [line]), events[1:], at=at)
    return record, (line, *lines)


def write_dispute(
    record: DisputeRecord, events: Iterable[DisputeEvent], *, at: str
) -> tuple[DisputeRecord, tuple[bytes, ...]]:
    """Return the record after further events, and their lines."""
    at, lines = max(at, record.at), []
    for event in events:
        line = _line(record.identity, event, seq=record.version, prev=record.head, at=at)
        dispute = evolve_dispute(record.dispute, event, moment_of(at))
        record = replace(record, dispute=dispute, head=head(line), at=at)
        lines.append(line)
    return record, tuple(lines)


def dispute_append(
    record: DisputeRecord,
    lines: tuple[bytes, ...],
    *,
    expected: int,
    beside: Mapping[str, Any] | None = None,
) -> StreamAppend:
    """Return the append of new lines; `beside` is what is kept outside the stream with them."""
    return StreamAppend(
        stream=record.identity,
        kind=StreamKind.DISPUTE,
        expected=expected,
        events=lines,
        head=record.head,
        summary={**_summary(record.dispute), **(beside or {})},
    )


def moment_of(text: str) -> Moment:
    """Return the time of an event as the domain counts it."""
    return (parse_time(text) - _BEGIN) // _MICROSECOND


def time_of(moment: Moment) -> datetime:
    """Return a time of the domain as the world knows it."""
    return _BEGIN + moment * _MICROSECOND


def text_of(moment: Moment) -> str:
    """Return a time of the domain as the interface writes it."""
    return format_time(time_of(moment))


def _summary(dispute: Dispute) -> dict[str, Any]:
    opened, due, ruling = dispute.opened, due_at(dispute), dispute.ruling
    return {
        "game_id": opened.game,
        "state": dispute.state.value,
        "accuser": opened.accuser,
        "accused": opened.accused,
        "charge": opened.charge.value,
        "verdict": ruling.verdict.value if ruling else None,
        "opened_at": time_of(dispute.opened_at),
        "found_at": dispute.found_at,
        "wake_at": None if due is None else time_of(due),
        "referees": [
            {"referee": number, "player_id": referee.player, "recused": referee.recused}
            for number, referee in enumerate(dispute.referees)
        ],
    }


def _line(identity: UUID, event: DisputeEvent, *, seq: int, prev: bytes, at: str) -> bytes:
    # `by` is a seat in the format; who acted in a dispute stands in the data.
    return encode_event(
        game=identity,
        seq=seq,
        prev=prev,
        at=at,
        by=None,
        type=dispute_type_of(event),
        data=dispute_data_of(event),
    )
