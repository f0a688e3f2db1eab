"""Checks, the questions they answer, and their findings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

BUDGET: Final = "budget"
"""The reason of a check that was not finished within the time limit."""

MAX_SEQS: Final = 20
"""Maximum number of events named in `Finding.others`; events beyond it are counted."""


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
    """The result of a check."""

    PASS = "pass"  # noqa: S105 - the word of the protocol, no password
    FAIL = "fail"
    MISSING = "missing"  # the check lacks its evidence
    NOT_APPLICABLE = "n/a"


class EvidenceWeight(StrEnum):
    """The weight of an objection against the claim that its check supports."""

    AGAINST = "against"
    UNSIGNED = "unsigned"  # against, if the server signed the evidence, which is not shown
    NOTHING = "nothing"  # the evidence proves nothing, neither for the claim nor against it


@dataclass(frozen=True, slots=True, kw_only=True)
class Objection:
    """One place at which a check fails, and why."""

    seq: int | None
    reason: str
    rule: str | None = None
    weight: EvidenceWeight = EvidenceWeight.AGAINST


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The result of one check; of a failed one, also the first failing event and the reason."""

    check: Check
    result: Result
    seq: int | None = None
    reason: str | None = None
    rule: str | None = None  # the statement that decides it, if there is one
    weight: EvidenceWeight = EvidenceWeight.AGAINST  # of the first place at which it fails
    further: tuple[Objection, ...] = ()  # later failures, if the check could continue
    remarks: tuple[str, ...] = ()  # facts that are no failures, for readers to weigh

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
    def unfinished(self) -> bool:
        """Return whether the time limit was reached before the check ended."""
        return self.result is Result.MISSING and self.reason == BUDGET

    @property
    def others(self) -> str | None:
        """Return in words how many further failures there are, and at which events."""
        if not self.further:
            return None
        found = (one.seq for one in self.further if one.seq is not None)
        seqs = list(dict.fromkeys(found))
        named = ", ".join(map(str, seqs[:MAX_SEQS]))
        beyond = f" and {len(seqs) - MAX_SEQS} other events" if len(seqs) > MAX_SEQS else ""
        return f"{len(self.further)} more" + (f", at seq {named}{beyond}" if seqs else "")

    @property
    def text(self) -> str | None:
        """Return the reason, the number of further failures, and the remarks."""
        remarks = (f"remark: {remark}" for remark in self.remarks)
        return "; ".join(filter(None, (self.reason, self.others, *remarks))) or None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """
    Further output of a check, for the level and the text of the report.

    Of a failed check `reach` and `text` are not used.
    """

    reach: int | None = None  # seq up to which evidence from outside confirms the log
    text: str | None = None  # the reason of a passed check
    outside: tuple[str, ...] = ()  # the evidence from outside, in words
    remarks: tuple[str, ...] = ()
    signed: tuple[int, ...] = ()  # the seqs at which a key of the server signed this log
    contradicted: str | None = None  # the contradicting signature of the server, in words


class Failed(Exception):
    """A check fails: the event, the reason, and the statement that decides it."""

    def __init__(
        self,
        seq: int | None,
        reason: str,
        rule: str | None = None,
        *,
        weight: EvidenceWeight = EvidenceWeight.AGAINST,
    ) -> None:
        super().__init__(reason)
        self.seq = seq
        self.reason = reason
        self.rule = rule
        self.weight = weight


class Unanswered(Exception):
    """A check could not be run, or does not apply; the log is not at fault."""

    def __init__(self, result: Result, reason: str, remarks: tuple[str, ...] = ()) -> None:
        super().__init__(reason)
        self.result = result
        self.reason = reason
        self.remarks = remarks


class Cursor:
    """
    The position of a check in the log, and the failures after which it continued.

    The position is the seq reported for malformed content. The recorded failures let the report
    name every failing event, not only the first one.
    """

    __slots__ = ("contradicted", "failures", "seq", "signed")

    def __init__(self) -> None:
        self.seq: int | None = None
        self.failures: list[Objection] = []
        self.signed: list[int] = []  # as Answer.signed
        self.contradicted: str | None = None  # as Answer.contradicted

    def note(
        self,
        seq: int | None,
        reason: str,
        rule: str | None = None,
        *,
        weight: EvidenceWeight = EvidenceWeight.AGAINST,
    ) -> None:
        """Record a failure after which the check can continue."""
        self.failures.append(Objection(seq=seq, reason=reason, rule=rule, weight=weight))

    def collecting_failures(self) -> CollectedFailures:
        """Return a context that records a failure raised in it, so that the check can continue."""
        return CollectedFailures(self)


class CollectedFailures:
    """The context of `Cursor.collecting_failures`; a class, because a generator would be slower."""

    __slots__ = ("cursor",)

    def __init__(self, cursor: Cursor) -> None:
        self.cursor = cursor

    def __enter__(self) -> None:
        """Begin the block."""

    def __exit__(self, _type: object, error: BaseException | None, _trace: object) -> bool:
        """Record a failure and go on after the block; any other exception is raised."""
        if not isinstance(error, Failed):
            return False
        self.cursor.note(error.seq, error.reason, error.rule, weight=error.weight)
        return True


def missing(reason: str, *, remarks: tuple[str, ...] = ()) -> Unanswered:
    """Return the answer of a check whose evidence is missing."""
    return Unanswered(Result.MISSING, reason, remarks)


def not_applicable(reason: str) -> Unanswered:
    """Return the answer of a check that does not apply to this log."""
    return Unanswered(Result.NOT_APPLICABLE, reason)


def not_followed(cursor: Cursor, until: int) -> Unanswered:
    """
    Return the answer of a check that follows the game up to the event `until`.

    Another check fails there, so failures from there on are not counted: they may follow from that
    one. If there are earlier failures, they are the answer.
    """
    cursor.failures[:] = [one for one in cursor.failures if (one.seq or 0) < until]
    return missing(f"events from seq {until} on are not judged: another check fails there")


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


ASKS: Final[Mapping[Check, str]] = {
    Check.BYTES: "Is every line an event in canonical form, with exactly the fields of its type?",
    Check.CHAIN: "Does every event name the hash of the one before it, and does time go forward?",
    Check.ORDER: "Do set-up, deal and play follow one another, with nothing after the seal?",
    Check.COMMITMENTS: "Do the seed and the values of players match their earlier commitments?",
    Check.SHUFFLE: "Do seed and values give this deck, the commitments to its cards, the dealer?",
    Check.OPENINGS: "Does every card that was shown match the commitment to it?",
    Check.DEAL: "Did each card go where the deal puts it, and each draw take the top of the stock?",
    Check.CUSTODY: "Was every card in exactly one place at all times, and played by its holder?",
    Check.LEGALITY: "Do the rules allow each action, and give exactly the recorded outcomes?",
    Check.HIDDEN: "Were the blind cards that stayed hidden really unplayable?",
    Check.SIGNATURES: "Is every move of a player with a key signed, for its place in the game?",
    Check.RECEIPTS: "Does every supplied receipt name a head of this log?",
    Check.ANCHOR: "Does the public log of the server, signed by its key, contain this game?",
    Check.WITNESS: "Have the required witnesses cosigned the public log?",
    Check.SEAL: "Is the game over, with the seed published and all refused attempts named?",
    Check.SEQUENCE: "Do the hands of the table follow one another, none missing or repeated?",
}
