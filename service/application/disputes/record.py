"""Disputes as streams of events, a dispute's folded record, and its JSON (api.md, section 6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any, Final
from uuid import UUID

from schemas.disputes import dispute_event_of, dispute_type_of
from schemas.strict_fields import plain_data
from service.application.streams import Envelope, Stream
from service.domain.dispute import (
    Dispute,
    DisputeEvent,
    DisputeState,
    Moment,
    Ruling,
    Verdict,
    Vote,
    evolve_dispute,
    fold_dispute,
)
from service.domain.dispute_rules import (
    RUNNING,
    SECOND,
    OutsideFacts,
    acts_of,
    deadline,
    due_at,
    due_events,
    needs_reason,
    voting_opens_at,
)
from service.shx.canonical import format_time, parse_time
from service.shx.receipts import claimed_receipt
from service.store.disputes import Experience, StatementText
from service.store.events import StreamAppend, StreamKind
from service.store.summaries import DisputeSummary

_BEGIN = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)

MIN_WAIT: Final = 2 * SECOND
"""Minimum time between two checks whether the public log proves a game, in microseconds."""


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
    if reasons := _revealed_reasons(record):
        summary["texts"] = [*summary.get("texts", ()), *reasons]
    return DISPUTES.append(record, lines, expected=expected, summary=summary)


def _revealed_reasons(record: DisputeRecord) -> list[dict[str, Any]]:
    """Return the reasons of votes that the server has revealed now, as stored with the stream."""
    judges = record.dispute.referees
    return [
        {
            "seq": judges[number].voted_seq,
            "author": judges[number].player,
            "salt": bytes.fromhex(stored.reason.salt),
            "words": stored.reason.text,
        }
        for number, stored in sorted(record.outside.votes.items())
        if stored.reason is not None and judges[number].vote is not None
    ]


def reasons_of(record: DisputeRecord, texts: Mapping[int, StatementText]) -> Mapping[int, str]:
    """Return the reasons of votes by referee; `texts` are the stored ones, some may be erased."""
    unstored = {text["seq"]: text["words"] for text in _revealed_reasons(record)}
    found = {seq: text.text for seq, text in texts.items()} | unstored
    return {
        number: text
        for number, referee in enumerate(record.dispute.referees)
        if referee.voted_seq is not None and (text := found.get(referee.voted_seq)) is not None
    }


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
    Return when to check next whether findings have to be made again, None if never.

    After a new receipt this is at once. After the seal, until the public log proves the game, each
    wait is half as long as the time that has passed so far.
    """
    dispute, sealed_at = record.dispute, record.outside.sealed_at
    if not dispute.found_at or dispute.state is DisputeState.FINAL:
        return None
    if len(dispute.receipts) > dispute.found_with:
        return now
    if sealed_at is None or dispute.anchored:
        return None
    waited = now - max(sealed_at, dispute.opened_at)
    return now + max(MIN_WAIT, waited // 2)


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
        partner=opened.partner,
        charge=opened.charge.value,
        move=opened.move,
        verdict=None if verdict is None or proven else verdict.value,
        proven=True if proven else None,
        withdrawn=True if dispute.withdrawn else None,
        opened_at=time_of(dispute.opened_at),
        found_at=dispute.found_at,
        wake_at=wake_at(record),
        referees=[
            {
                "referee": number,
                "player_id": referee.player,
                "recused": referee.recused,
                "ruled": any(number in ruling.referees for ruling in dispute.rulings),
            }
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


def dispute_json(
    record: DisputeRecord,
    *,
    findings: Sequence[Mapping[str, Any]],
    words: Mapping[int, StatementText] | None,
    reasons: Mapping[int, str] = MappingProxyType({}),
    experience: Mapping[UUID, Experience] = MappingProxyType({}),
    player: UUID | None = None,
) -> dict[str, Any]:
    """
    Return a dispute as JSON; `words` are the statements, None if the caller may not read them.

    Without `words` the ids of the referees are omitted as well. `reasons` are those of votes, by
    referee, `experience` that of players whom a side may refuse. `player` is the caller, whose
    role in the dispute is shown; None in an evidence file, which has no caller.
    """
    dispute, opened = record.dispute, record.dispute.opened
    opens = voting_opens_at(dispute, record.outside.sealed_at)
    shown = shown_rulings(dispute)
    return {
        "id": str(record.identity),
        "game": opened.game,
        "by": opened.accuser_seat,
        "accused": opened.accused_seat,
        "partner": opened.partner_seat,
        "seq": opened.seq,
        "charge": opened.charge.value,
        "state": dispute.state.value,
        "withdrawn": dispute.withdrawn,
        "opened_at": text_of(dispute.opened_at),
        "voting_from": _time(opens if opens is not None else _voting_from(dispute)),
        "deadline": _time(deadline(dispute, record.outside.sealed_at)),
        "bundle_sha256": opened.bundle,
        "findings": [dict(finding) for finding in findings],
        "statements": _statements(dispute, words),
        "receipts": _receipts(dispute),
        "referees": _referees(dispute, experience, named=words is not None),
        "reason_needed": needs_reason(dispute, Vote.CHEATED),
        "votes": _votes(dispute, reasons),
        "ruling": _ruling(shown[-1]) if shown else None,
        "earlier": [_ruling(ruling) for ruling in shown[:-1]],
        "rulings": _rulings(dispute),
        "periods": plain_data(opened.periods),
        "you": None if player is None else _role_of(dispute, str(player)),
    }


def shown_rulings(dispute: Dispute) -> tuple[Ruling, ...]:
    """
    Return the rulings whose verdict is shown, oldest first.

    There are none while one is `cad` and the dispute is not final.

    Such a ruling can still be appealed or superseded. Meanwhile `rulings` shows only its result.
    """
    final = dispute.state is DisputeState.FINAL
    if not final and any(ruling.verdict is Verdict.CAD for ruling in dispute.rulings):
        return ()
    return dispute.rulings


def _rulings(dispute: Dispute) -> list[dict[str, Any]]:
    """Return all rulings, oldest first; `against` is true if a ruling blames the accused."""
    states = {DisputeState.FINAL: "final", DisputeState.RULED: "appealable"}
    last = len(dispute.rulings) - 1
    return [
        {
            "at": text_of(ruling.at),
            "referees": list(ruling.referees),
            "against": ruling.verdict is not Verdict.CLEARED,
            "state": states.get(dispute.state, "appealed") if number == last else "superseded",
        }
        for number, ruling in enumerate(dispute.rulings)
    ]


def _role_of(dispute: Dispute, player: str) -> dict[str, Any]:
    """Return the caller's side or number as a referee, and the commands allowed now."""
    side = dispute.side_of(player)
    numbers = [n for n, referee in enumerate(dispute.referees) if referee.player == player]
    return {
        "side": None if side is None else side.value,
        "referee": numbers[-1] if numbers else None,
        "may": [act.value for act in acts_of(dispute, player)],
    }


def is_insider(dispute: Dispute, player: UUID | None) -> bool:
    """Return whether a player may read statements and referees' ids, as a side or referee."""
    if player is None:
        return False
    judges = {referee.player for referee in dispute.referees if not referee.recused}
    return dispute.side_of(str(player)) is not None or str(player) in judges


def _time(moment: Moment | None) -> str | None:
    return None if moment is None else text_of(moment)


def _voting_from(dispute: Dispute) -> Moment | None:
    """Return when the voting of the present or last panel began, None before it began."""
    waits = dispute.state in (DisputeState.OPEN, DisputeState.APPEALED)
    return None if waits else dispute.voting_from


def _referees(
    dispute: Dispute, experience: Mapping[UUID, Experience], *, named: bool
) -> list[dict[str, Any]]:
    return [
        {
            "referee": number,
            "player": referee.player if named else None,
            "experience": _experience(experience.get(UUID(referee.player))),
            "state": referee.state.value,
            "sealed_by": referee.sealed_by.value if referee.sealed_by else None,
            "voted_at": _time(referee.voted_at),
            "revealed_at": _time(referee.revealed_at),
            "refused_by": None if referee.refused_by is None else referee.refused_by.value,
        }
        for number, referee in enumerate(dispute.referees)
    ]


def _experience(found: Experience | None) -> dict[str, Any] | None:
    if found is None:
        return None
    registered_at = format_time(found.registered_at)
    return {"registered_at": registered_at, "hands": found.hands, "judged": found.judged}


def _statements(
    dispute: Dispute, words: Mapping[int, StatementText] | None
) -> list[dict[str, Any]]:
    return [
        {
            "by": statement.side.value,
            "at": text_of(statement.at),
            "text": words[statement.seq].text if words and statement.seq in words else None,
        }
        for statement in dispute.statements
    ]


def _receipts(dispute: Dispute) -> list[dict[str, Any]]:
    return [
        {
            "by": receipt.side.value,
            "at": text_of(receipt.at),
            "seq": claimed_receipt(receipt.note.encode()).seq,
            "note": receipt.note,
        }
        for receipt in dispute.receipts
    ]


def _votes(dispute: Dispute, reasons: Mapping[int, str]) -> list[dict[str, Any]]:
    """Return the votes that led to a ruling; others stay hidden until their panel is complete."""
    counted = {number for ruling in dispute.rulings for number in ruling.referees}
    return [
        {"referee": number, "vote": vote.value, "reason": reasons.get(number)}
        for number, referee in enumerate(dispute.referees)
        if number in counted and (vote := referee.vote) is not None
    ]


def _ruling(ruling: Ruling) -> dict[str, Any]:
    return {"verdict": ruling.verdict.value, "at": text_of(ruling.at)}
