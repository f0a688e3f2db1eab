"""Disputes as JSON (api.md, section 6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from schemas.strict_fields import plain_data
from service.application.disputes.record import DisputeRecord, text_of
from service.domain.dispute import Dispute, DisputeState, Moment, Ruling, Verdict
from service.domain.dispute_rules import acts_of, deadline, voting_opens_at
from service.shx.receipts import claimed_receipt
from service.store.disputes import StatementText


def dispute_json(
    record: DisputeRecord,
    *,
    findings: Sequence[Mapping[str, Any]],
    words: Mapping[int, StatementText] | None,
    player: UUID | None = None,
) -> dict[str, Any]:
    """
    Return a dispute; `words` are the statements, None for callers who may not read them.

    Without `words` the ids of the referees are omitted as well. `player` is the caller, whose
    role in the dispute is shown; None in an evidence file, which has no caller.
    """
    dispute, opened = record.dispute, record.dispute.opened
    opens = voting_opens_at(dispute, record.outside.sealed_at)
    return {
        "id": str(record.identity),
        "game": opened.game,
        "by": opened.accuser_seat,
        "accused": opened.accused_seat,
        "seq": opened.seq,
        "charge": opened.charge.value,
        "state": dispute.state.value,
        "opened_at": text_of(dispute.opened_at),
        "voting_from": _time(opens if opens is not None else _voting_from(dispute)),
        "deadline": _time(deadline(dispute, record.outside.sealed_at)),
        "bundle_sha256": opened.bundle,
        "findings": [dict(finding) for finding in findings],
        "statements": _statements(dispute, words),
        "receipts": _receipts(dispute),
        "referees": _referees(dispute, named=words is not None),
        "votes": _votes(dispute),
        "ruling": _ruling(shown_rulings(dispute)),
        "rulings": _rulings(dispute),
        "periods": plain_data(opened.periods),
        "you": None if player is None else _role_of(dispute, str(player)),
    }


def shown_rulings(dispute: Dispute) -> tuple[Ruling, ...]:
    """
    Return the public rulings: none if one has the verdict cad and the dispute is not final.

    Such a verdict can still be appealed.
    """
    final = dispute.state is DisputeState.FINAL
    if not final and any(ruling.verdict is Verdict.CAD for ruling in dispute.rulings):
        return ()
    return dispute.rulings


def _rulings(dispute: Dispute) -> list[dict[str, Any]]:
    """Return all rulings, oldest first, with their states; `against`: they blame the accused."""
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


def _referees(dispute: Dispute, *, named: bool) -> list[dict[str, Any]]:
    return [
        {
            "referee": number,
            "player": referee.player if named else None,
            "state": referee.state.value,
            "sealed_by": referee.sealed_by.value if referee.sealed_by else None,
            "voted_at": _time(referee.voted_at),
            "revealed_at": _time(referee.revealed_at),
            "refused_by": None if referee.refused_by is None else referee.refused_by.value,
        }
        for number, referee in enumerate(dispute.referees)
    ]


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


def _votes(dispute: Dispute) -> list[dict[str, Any]]:
    """Return the votes that led to a ruling; others stay hidden until their panel is complete."""
    counted = {number for ruling in dispute.rulings for number in ruling.referees}
    return [
        {"referee": number, "vote": vote.value}
        for number, referee in enumerate(dispute.referees)
        if number in counted and (vote := referee.vote) is not None
    ]


def _ruling(rulings: Sequence[Ruling]) -> dict[str, Any] | None:
    """Return the first ruling; `superseded_by` contains the next one."""
    if not rulings:
        return None
    first, *later = rulings
    return {
        "verdict": first.verdict.value,
        "at": text_of(first.at),
        "superseded_by": _ruling(later),
    }
