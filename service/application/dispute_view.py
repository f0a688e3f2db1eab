"""A dispute as JSON (api.md, section 6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from service.application.dispute_record import DisputeRecord, text_of
from service.domain.dispute import Dispute, Ruling
from service.event_store.disputes import Words


def dispute_json(
    record: DisputeRecord,
    *,
    findings: Sequence[Mapping[str, Any]],
    words: Mapping[int, Words] | None,
) -> dict[str, Any]:
    """Return a dispute; `words` is what was said, None for those who are not to read it."""
    dispute, opened = record.dispute, record.dispute.opened
    return {
        "id": str(record.identity),
        "game": opened.game,
        "by": opened.accuser_seat,
        "accused": opened.accused_seat,
        "seq": opened.seq,
        "charge": opened.charge.value,
        "state": dispute.state.value,
        "opened_at": text_of(dispute.opened_at),
        "bundle_sha256": opened.bundle,
        "findings": [dict(finding) for finding in findings],
        "statements": _statements(dispute, words),
        "referees": [
            {"referee": number, "player": referee.player, "state": referee.state.value}
            for number, referee in enumerate(dispute.referees)
        ],
        "votes": _votes(dispute),
        "ruling": _ruling(dispute.rulings),
    }


def reads_statements(dispute: Dispute, player: UUID | None) -> bool:
    """Return whether a player reads what was said: both sides do, and the referees."""
    if player is None:
        return False
    judges = {referee.player for referee in dispute.referees if not referee.recused}
    return dispute.side_of(str(player)) is not None or str(player) in judges


def _statements(
    dispute: Dispute, words: Mapping[int, Words] | None
) -> list[dict[str, Any]]:
    return [
        {
            "by": said.side.value,
            "at": text_of(said.at),
            "text": words[said.seq].text if words and said.seq in words else None,
        }
        for said in dispute.statements
    ]


def _votes(dispute: Dispute) -> list[dict[str, Any]]:
    """Return the votes that led to a ruling; others stay closed until all of their panel are in."""
    counted = {number for ruling in dispute.rulings for number in ruling.referees}
    return [
        {"referee": number, "vote": vote.value}
        for number, referee in enumerate(dispute.referees)
        if number in counted and (vote := referee.vote) is not None
    ]


def _ruling(rulings: Sequence[Ruling]) -> dict[str, Any] | None:
    """Return the first ruling, as it was given, with the one that supersedes it in it."""
    if not rulings:
        return None
    first, *later = rulings
    return {
        "verdict": first.verdict.value,
        "at": text_of(first.at),
        "superseded_by": _ruling(later),
    }
