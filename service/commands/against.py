"""What the checks say against single events of a log, each event of a stretch by itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from service.record.canonical import RecordError
from service.record.chain import head
from service.record.notes import parse_note
from service.record.receipts import Receipt, check_receipt, parse_receipt_body
from service.verify.finding import Check, Finding, Weight
from service.verify.verify import Given


@dataclass(frozen=True, slots=True, kw_only=True)
class Against:
    """What a check says against an event."""

    seq: int
    check: Check
    reason: str
    rule: str | None = None

    @property
    def line(self) -> str:
        """Return it as one line of text."""
        return f"{self.check}: {self.reason}" + (f" [{self.rule}]" if self.rule else "")


def against_events(
    failed: Sequence[Finding], game: UUID, lines: Sequence[bytes], given: Given
) -> tuple[Against, ...]:
    """
    Return what speaks against each event of a log, in the order of the events.

    A receipt that names another head speaks against every event after the last one
    that a receipt agrees with: which of them were changed it does not tell.
    """
    found = [
        Against(seq=one.seq, check=finding.check, reason=one.reason, rule=one.rule)
        for finding in failed
        for one in finding.objections
        if one.seq is not None and one.weight is not Weight.NOTHING
    ]
    told = {one.seq for one in found if one.check is Check.RECEIPTS}
    if any(finding.check is Check.RECEIPTS for finding in failed):
        found += [one for one in _contradicted(game, lines, given) if one.seq not in told]
    return tuple(sorted(found, key=lambda one: (one.seq, list(Check).index(one.check))))


def marks(against: Sequence[Against]) -> Mapping[int, Sequence[str]]:
    """Return the lines that a transcript has under each event."""
    found: dict[int, list[str]] = {}
    for one in against:
        found.setdefault(one.seq, []).append(one.line)
    return found


def _contradicted(game: UUID, lines: Sequence[bytes], given: Given) -> Iterator[Against]:
    """Yield the events between the last that a receipt agrees with and those contradicted."""
    held = [one for one in _receipts(given) if one.game == game and one.seq < len(lines)]
    receipts = sorted(held, key=lambda receipt: receipt.seq)
    agreed = [one.seq for one in receipts if one.head == head(lines[one.seq])]
    unsure = "" if given.server_keys else " (if the server signed it, which is not shown)"
    done = -1
    for receipt in receipts:
        seq = receipt.seq
        if seq in agreed:
            continue
        since = max((one for one in agreed if one < seq), default=-1) + 1
        from_ = "" if not since else f"a receipt agrees up to seq {since - 1}, and "
        reason = f"{from_}one for seq {seq} is of another history{unsure}"
        for one in range(max(since, done + 1), seq):
            yield Against(seq=one, check=Check.RECEIPTS, reason=reason)
        done = seq


def _receipts(given: Given) -> Iterator[Receipt]:
    """Yield the receipts that say something: where there is a key, those that it signed."""
    keys = given.server_keys
    for note in given.receipts:
        try:
            if keys:
                yield check_receipt(note, keys)
            else:
                yield parse_receipt_body(parse_note(note).text)
        except RecordError:
            continue
