"""Disputes as streams of events, and a dispute's folded record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import UUID

from schemas.disputes import dispute_event_of, dispute_type_of
from schemas.strict_fields import plain_data
from service.application.handler import Envelope, Stream
from service.domain.dispute import (
    Dispute,
    DisputeEvent,
    DisputeState,
    Moment,
    Verdict,
    evolve_dispute,
    fold_dispute,
)
from service.domain.dispute_rules import RUNNING, SECOND, OutsideFacts, due_at, due_events
from service.shx.canonical import format_time, parse_time
from service.store.events import StreamAppend, StreamKind
from service.store.summaries import DisputeSummary

_BEGIN = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)

SOONEST: Final = 2 * SECOND
"""Microseconds: minimum time between two checks whether the public log proves a game."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DisputeRecord:
    """
    A dispute's state together with the head of its stream and the time of its last event.

    `outside` has the inputs of the dispute's rules that are not in its stream.
    """

    identity: UUID
    dispute: Dispute
    head: bytes
    at: str
    outside: OutsideFacts = field(default=RUNNING, repr=False)

    @property
    def game(self) -> UUID:
        """Return the game of the dispute."""
        return UUID(self.dispute.opened.game)

    @property
    def version(self) -> int:
        """Return the number of events."""
        return self.dispute.version


def advance(record: DisputeRecord, *, now: str) -> tuple[DisputeRecord, tuple[bytes, ...]]:
    """Return the record with the events of all periods that ended by `now`, and their lines."""
    lines: tuple[bytes, ...] = ()
    for event, at in due_events(record.dispute, moment_of(now), record.outside):
        record, more = DISPUTES.write(record, [event], at=text_of(at))
        lines += more
    return record, lines


def dispute_append(
    record: DisputeRecord,
    lines: tuple[bytes, ...],
    *,
    expected: int,
    attachments: Mapping[str, Any] | None = None,
) -> StreamAppend:
    """Return the append of new lines; `attachments` are stored with them, outside the stream."""
    summary = {**_summary(record), **(attachments or {})}
    return DISPUTES.append(record, lines, expected=expected, summary=summary)


def wake_at(record: DisputeRecord, *, now: str | None = None) -> datetime | None:
    """
    Return the end of the current period, or when findings are to be made again if that is sooner.

    Returns None if there is neither. `now` is the time of the last event if it is omitted.
    """
    present = moment_of(record.at if now is None else now)
    times = (due_at(record.dispute, record.outside.sealed_at), _findings_at(record, present))
    due = min((time for time in times if time is not None), default=None)
    return None if due is None else time_of(due)


def _findings_at(record: DisputeRecord, now: Moment) -> Moment | None:
    """
    Return when to look next whether findings have to be made again, None if never.

    After a new receipt this is at once. After the seal it is, until the public log proves the
    game, half the time waited so far from now.
    """
    dispute, sealed_at = record.dispute, record.outside.sealed_at
    if not dispute.found_at or dispute.state is DisputeState.FINAL:
        return None
    if len(dispute.receipts) > dispute.found_with:
        return now
    if sealed_at is None or dispute.anchored:
        return None
    waited = now - max(sealed_at, dispute.opened_at)
    return now + max(SOONEST, waited // 2)


def moment_of(text: str) -> Moment:
    """Return the time of an event in the unit of the domain: microseconds since 1970."""
    return (parse_time(text) - _BEGIN) // _MICROSECOND


def time_of(moment: Moment) -> datetime:
    """Return a time of the domain as a datetime."""
    return _BEGIN + moment * _MICROSECOND


def text_of(moment: Moment) -> str:
    """Return a time of the domain in the format of the API."""
    return format_time(time_of(moment))


def _summary(record: DisputeRecord) -> DisputeSummary:
    dispute, opened, ruling = record.dispute, record.dispute.opened, record.dispute.ruling
    verdict = ruling.verdict if ruling else None
    proven = verdict is Verdict.PROVEN  # the verdict against the server has its own column
    return DisputeSummary(
        game_id=opened.game,
        state=dispute.state.value,
        accuser=opened.accuser,
        accused=opened.accused,
        charge=opened.charge.value,
        move=opened.move,
        verdict=None if verdict is None or proven else verdict.value,
        proven=True if proven else None,
        opened_at=time_of(dispute.opened_at),
        found_at=dispute.found_at,
        wake_at=wake_at(record),
        referees=[
            {"referee": number, "player_id": referee.player, "recused": referee.recused}
            for number, referee in enumerate(dispute.referees)
        ],
    )


def _begun(identity: UUID, event: DisputeEvent, envelope: Envelope, head: bytes) -> DisputeRecord:
    at = envelope["at"]
    dispute = fold_dispute([(event, moment_of(at))])
    return DisputeRecord(identity=identity, dispute=dispute, head=head, at=at)


def _evolved(
    record: DisputeRecord, event: DisputeEvent, envelope: Envelope, head: bytes
) -> DisputeRecord:
    at = envelope["at"]
    dispute = evolve_dispute(record.dispute, event, moment_of(at))
    return replace(record, dispute=dispute, head=head, at=at)


DISPUTES: Final[Stream[DisputeRecord, DisputeEvent]] = Stream(
    kind=StreamKind.DISPUTE,
    encode=lambda _, event: {"type": dispute_type_of(event), "data": plain_data(event)},
    decode=dispute_event_of,
    begin=_begun,
    evolve=_evolved,
)
"""Dispute streams. `by` of an event is always null, because the data names the player."""
