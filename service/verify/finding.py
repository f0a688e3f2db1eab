"""What a check answers: a finding, and the failure that makes one."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The answer of one check: for a fail, the first event that fails and why."""

    check: Check
    result: Result
    seq: int | None = None
    reason: str | None = None
    rule: str | None = None  # the statement that decides it, where one does


class Failed(Exception):
    """A check does not hold: the event, the reason, the statement it breaks."""

    def __init__(self, seq: int | None, reason: str, rule: str | None = None) -> None:
        super().__init__(reason)
        self.seq = seq
        self.reason = reason
        self.rule = rule


class Unanswered(Exception):
    """A check could not be made, or does not apply; no fault of the log."""

    def __init__(self, result: Result, reason: str) -> None:
        super().__init__(reason)
        self.result = result
        self.reason = reason


class Cursor:
    """Where in the log a check is reading, so that malformed content is reported with its seq."""

    __slots__ = ("seq",)

    def __init__(self) -> None:
        self.seq: int | None = None


def missing(reason: str) -> Unanswered:
    """Return the answer of a check whose evidence is not there."""
    return Unanswered(Result.MISSING, reason)


def not_applicable(reason: str) -> Unanswered:
    """Return the answer of a check that has nothing to look at."""
    return Unanswered(Result.NOT_APPLICABLE, reason)
