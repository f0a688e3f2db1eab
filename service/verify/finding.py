"""What a check answers: a finding, and the failure that makes one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

MOST_SEQS: Final = 20
"""Of the further events that fail a check, so many are named; how many there are is said."""


class Check(StrEnum):
    """The checks of SHX/1, section 8, in the order in which they are reported."""

    BYTES = "bytes"
    CHAIN = "chain"
    ORDER = "order"
    COMMITMENTS = "commitments"
    SHUFFLE = "shuffle"
    OPENINGS = "openings"
    DEAL = "deal"
    CUSTODY = "custody"
    LEGALITY = "legality"
    HIDDEN = "hidden"
    SIGNATURES = "signatures"
    RECEIPTS = "receipts"
    ANCHOR = "anchor"
    WITNESS = "witness"
    SEAL = "seal"
    SEQUENCE = "sequence"


class Result(StrEnum):
    """How a check ends."""

    PASS = "pass"  # noqa: S105 - the word of the protocol, no password
    FAIL = "fail"
    MISSING = "missing"  # the evidence for it is not there
    NOT_APPLICABLE = "n/a"


class Weight(StrEnum):
    """What an objection says against the claim that its check speaks for."""

    AGAINST = "against"
    UNSIGNED = "unsigned"  # it would, were it shown that the server signed what was brought
    NOTHING = "nothing"  # what was brought proves nothing, neither for it nor against it


@dataclass(frozen=True, slots=True, kw_only=True)
class Objection:
    """One place at which a check fails, and why."""

    seq: int | None
    reason: str
    rule: str | None = None
    weight: Weight = Weight.AGAINST


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The answer of one check: for a fail, the first event that fails and why."""

    check: Check
    result: Result
    seq: int | None = None
    reason: str | None = None
    rule: str | None = None  # the statement that decides it, where one does
    weight: Weight = Weight.AGAINST  # of the first place at which it fails
    further: tuple[Objection, ...] = ()  # after the first, as far as the check could go on
    remarks: tuple[str, ...] = ()  # what breaks nothing, and a reader should weigh

    @property
    def objections(self) -> tuple[Objection, ...]:
        """Return every place at which the check fails, the first included."""
        if self.result is not Result.FAIL:
            return ()
        first = Objection(
            seq=self.seq, reason=self.reason or "", rule=self.rule, weight=self.weight
        )
        return (first, *self.further)

    @property
    def others(self) -> str | None:
        """Return in words how often else the check fails, and at which events."""
        if not self.further:
            return None
        found = (one.seq for one in self.further if one.seq is not None)
        seqs = list(dict.fromkeys(found))
        named = ", ".join(map(str, seqs[:MOST_SEQS]))
        beyond = f" and {len(seqs) - MOST_SEQS} other events" if len(seqs) > MOST_SEQS else ""
        return f"{len(self.further)} more" + (f", at seq {named}{beyond}" if seqs else "")

    @property
    def said(self) -> str | None:
        """Return the reason, with how often else it fails and what there is to remark."""
        remarks = (f"remark: {remark}" for remark in self.remarks)
        return "; ".join(filter(None, (self.reason, self.others, *remarks))) or None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """
    What a check found beside its result: how far it reaches, and what a reader should know.

    `outside` and `remarks` stand also where the check failed.
    """

    reach: int | None = None
    said: str | None = None
    outside: tuple[str, ...] = ()  # what there was from outside, in words
    remarks: tuple[str, ...] = ()


class Failed(Exception):
    """A check does not hold: the event, the reason, the statement it breaks."""

    def __init__(
        self,
        seq: int | None,
        reason: str,
        rule: str | None = None,
        *,
        weight: Weight = Weight.AGAINST,
    ) -> None:
        super().__init__(reason)
        self.seq = seq
        self.reason = reason
        self.rule = rule
        self.weight = weight


class Unanswered(Exception):
    """A check could not be made, or does not apply; no fault of the log."""

    def __init__(self, result: Result, reason: str) -> None:
        super().__init__(reason)
        self.result = result
        self.reason = reason


class Cursor:
    """
    Where in the log a check is reading, and the failures that it could go on after.

    So malformed content is reported with its seq, and who settles a case is told of
    every event that fails, not of the first alone.
    """

    __slots__ = ("failures", "seq")

    def __init__(self) -> None:
        self.seq: int | None = None
        self.failures: list[Objection] = []

    def note(
        self,
        seq: int | None,
        reason: str,
        rule: str | None = None,
        *,
        weight: Weight = Weight.AGAINST,
    ) -> None:
        """Keep a failure that the check can go on after."""
        self.failures.append(Objection(seq=seq, reason=reason, rule=rule, weight=weight))

    @contextmanager
    def going_on(self) -> Iterator[None]:
        """Keep a failure within: what comes after it can be judged without it."""
        try:
            yield
        except Failed as failed:
            self.note(failed.seq, failed.reason, failed.rule, weight=failed.weight)


def missing(reason: str) -> Unanswered:
    """Return the answer of a check whose evidence is not there."""
    return Unanswered(Result.MISSING, reason)


def not_applicable(reason: str) -> Unanswered:
    """Return the answer of a check that has nothing to look at."""
    return Unanswered(Result.NOT_APPLICABLE, reason)


def finding_of(
    check: Check, failures: Sequence[Objection], *, remarks: tuple[str, ...] = ()
) -> Finding:
    """Return the finding of a check that failed: the first event that fails, then the others."""
    in_order = sorted(failures, key=lambda one: (one.seq is None, one.seq or 0))
    first, *others = in_order
    return Finding(
        check=check,
        result=Result.FAIL,
        seq=first.seq,
        reason=first.reason,
        rule=first.rule,
        weight=first.weight,
        further=tuple(others),
        remarks=remarks,
    )
