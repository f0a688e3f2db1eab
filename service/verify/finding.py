"""Checks, the questions they answer, and their findings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from service.replay.sentences import Sentence, Value, Values, sentence

BUDGET: Final = "open.budget"
"""The code of a check that was not finished within the time limit."""

DETAIL: Final = "detail"
"""The value of a code with the technical text of a parser, which no sentence contains."""

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
    code: str
    values: Values = field(default_factory=dict)
    rule: str | None = None
    weight: EvidenceWeight = EvidenceWeight.AGAINST
    notes: tuple[Sentence, ...] = ()  # what else is known about it

    @property
    def reason(self) -> str:
        """Return the reason in words, with the technical detail and the notes on it."""
        return _reason(self.code, self.values, self.notes)


def _reason(code: str | None, values: Values, notes: Iterable[Sentence]) -> str:
    texts = [] if code is None else [sentence(code, values)]
    if DETAIL in values:
        texts.append(f"({values[DETAIL]})")
    return " ".join((*texts, *(note.text for note in notes)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The result of one check; of a failed one, also the first failing event and the reason."""

    check: Check
    result: Result
    code: str | None = None  # of the reason, in the catalogue of sentences
    seq: int | None = None
    values: Values = field(default_factory=dict)  # of the sentence with this code
    rule: str | None = None  # the statement that decides it, if there is one
    weight: EvidenceWeight = EvidenceWeight.AGAINST  # of the first place at which it fails
    notes: tuple[Sentence, ...] = ()  # what else is known about the reason
    further: tuple[Objection, ...] = ()  # later failures, if the check could continue
    remarks: tuple[Sentence, ...] = ()  # facts that are no failures, for readers to weigh

    @property
    def sentence(self) -> str | None:
        """Return the reason in words, without notes and technical detail."""
        return None if self.code is None else sentence(self.code, self.values)

    @property
    def reason(self) -> str | None:
        """Return the reason in words, with the technical detail and the notes on it."""
        return _reason(self.code, self.values, self.notes) or None

    @property
    def objections(self) -> tuple[Objection, ...]:
        """Return every place at which the check fails, the first included."""
        if self.result is not Result.FAIL or self.code is None:
            return ()
        first = Objection(
            seq=self.seq,
            code=self.code,
            values=self.values,
            rule=self.rule,
            weight=self.weight,
            notes=self.notes,
        )
        return (first, *self.further)

    @property
    def unfinished(self) -> bool:
        """Return whether the time limit was reached before the check ended."""
        return self.result is Result.MISSING and self.code == BUDGET

    @property
    def cited(self) -> str:
        """Return the statement that decides it, in brackets; '' if there is none."""
        return f"[{self.rule}]" if self.rule else ""

    @property
    def others(self) -> Sentence | None:
        """Return how many further failures there are, and at which events."""
        if not self.further:
            return None
        found = (one.seq for one in self.further if one.seq is not None)
        seqs = list(dict.fromkeys(found))
        values: dict[str, Value] = {"n": len(self.further)}
        if not seqs:
            return Sentence(code="report.others", values=values)
        values["seqs"] = tuple(map(str, seqs[:MAX_SEQS]))
        if len(seqs) > MAX_SEQS:
            values["beyond"] = len(seqs) - MAX_SEQS
            return Sentence(code="report.others.many", values=values)
        return Sentence(code="report.others.at", values=values)

    @property
    def more(self) -> tuple[Sentence, ...]:
        """Return what is known beyond the reason: notes on it, further failures, and remarks."""
        others = () if self.others is None else (self.others,)
        return (*self.notes, *others, *self.remarks)

    @property
    def text(self) -> str | None:
        """Return the reason, the number of further failures, and the remarks."""
        remarks = (f"{sentence('report.remark')}: {one.text}" for one in self.remarks)
        others = None if self.others is None else self.others.text
        return " ".join(filter(None, (self.reason, others, *remarks))) or None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """
    Further output of a check, for the level and the text of the report.

    Of a failed check `reach` and `notes` are not used.
    """

    reach: int | None = None  # seq up to which evidence from outside confirms the log
    notes: tuple[Sentence, ...] = ()  # what a passed check found
    outside: tuple[Sentence, ...] = ()  # the evidence from outside
    remarks: tuple[Sentence, ...] = ()
    signed: tuple[int, ...] = ()  # the seqs at which a key of the server signed this log
    contradicted: Sentence | None = None  # the contradicting signature of the server


class Failed(Exception):
    """A check fails: the event, the code and values of the reason, and the deciding statement."""

    def __init__(
        self,
        seq: int | None,
        code: str,
        rule: str | None = None,
        *,
        weight: EvidenceWeight = EvidenceWeight.AGAINST,
        notes: tuple[Sentence, ...] = (),
        **values: Value,
    ) -> None:
        super().__init__(code)
        self.objection = Objection(
            seq=seq, code=code, values=values, rule=rule, weight=weight, notes=notes
        )

    @classmethod
    def of(cls, objection: Objection) -> Failed:
        """Return the failure with an objection."""
        failed = cls(objection.seq, objection.code)
        failed.objection = objection
        return failed


class Unanswered(Exception):
    """A check could not be run, or does not apply; the log is not at fault."""

    def __init__(
        self,
        result: Result,
        code: str,
        *,
        values: Values | None = None,
        notes: tuple[Sentence, ...] = (),
        remarks: tuple[Sentence, ...] = (),
    ) -> None:
        super().__init__(code)
        self.result = result
        self.code = code
        self.values = values or {}
        self.notes = notes
        self.remarks = remarks


class Position:
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
        self.contradicted: Sentence | None = None  # as Answer.contradicted

    def note(
        self,
        seq: int | None,
        code: str,
        rule: str | None = None,
        *,
        weight: EvidenceWeight = EvidenceWeight.AGAINST,
        notes: tuple[Sentence, ...] = (),
        **values: Value,
    ) -> None:
        """Record a failure after which the check can continue."""
        failed = Failed(seq, code, rule, weight=weight, notes=notes, **values)
        self.failures.append(failed.objection)

    def collecting_failures(self) -> CollectedFailures:
        """Return a context that records a failure raised in it, so that the check can continue."""
        return CollectedFailures(self)


class CollectedFailures:
    """The context of `Position.collecting_failures`: a class is faster than a generator."""

    __slots__ = ("position",)

    def __init__(self, position: Position) -> None:
        self.position = position

    def __enter__(self) -> None:
        """Begin the block."""

    def __exit__(self, _type: object, error: BaseException | None, _trace: object) -> bool:
        """Record a failure and go on after the block; any other exception is raised."""
        if not isinstance(error, Failed):
            return False
        self.position.failures.append(error.objection)
        return True


def missing(code: str, *, remarks: tuple[Sentence, ...] = (), **values: Value) -> Unanswered:
    """Return the answer of a check whose evidence is missing."""
    return Unanswered(Result.MISSING, code, values=values, remarks=remarks)


def not_applicable(code: str, *, notes: tuple[Sentence, ...] = ()) -> Unanswered:
    """Return the answer of a check that does not apply to this log."""
    return Unanswered(Result.NOT_APPLICABLE, code, notes=notes)


def not_followed(position: Position, until: int) -> Unanswered:
    """
    Return the answer of a check that follows the game up to the event `until`.

    Another check fails there, so failures from there on are not counted: they may follow from that
    one. If there are earlier failures, they are the answer.
    """
    position.failures[:] = [one for one in position.failures if (one.seq or 0) < until]
    return missing("open.not_followed", seq=until)


def finding_of(
    check: Check, failures: Sequence[Objection], *, remarks: tuple[Sentence, ...] = ()
) -> Finding:
    """Return the finding of a check that failed: the first event that fails, then the others."""
    in_order = sorted(failures, key=lambda one: (one.seq is None, one.seq or 0))
    first, *others = in_order
    return Finding(
        check=check,
        result=Result.FAIL,
        code=first.code,
        seq=first.seq,
        values=first.values,
        rule=first.rule,
        weight=first.weight,
        notes=first.notes,
        further=tuple(others),
        remarks=remarks,
    )


def asks(check: Check) -> str:
    """Return the question that a check answers."""
    return sentence(f"asks.{check}")


def fails(check: Check) -> str:
    """Return the meaning of a failure of the check, in one sentence."""
    return sentence(f"fails.{check}")


def passes(check: Check) -> str:
    """Return the meaning of a passed check, in one sentence."""
    return sentence(f"passes.{check}")
