"""Verification of a log or bundle: all checks, a time limit, and the report."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from types import FrameType
from typing import Any, Final, TypeVar

from service.replay.sentences import Sentence, Values
from service.shx.bundle import OPENINGS, PROOF, STAMP, STAMPED, Bundle
from service.shx.canonical import MAX_LINE, RecordError, parse
from service.shx.validators import OPENING, each
from service.verify.anchoring import Policy, TimeStamp, check_anchor, check_witness
from service.verify.claims import explanations_of
from service.verify.custody import check_custody, check_deal, check_hidden, positions_obtained
from service.verify.evidence import OutsideEvidence
from service.verify.finding import (
    BUDGET,
    Answer,
    Check,
    Failed,
    Finding,
    Position,
    Result,
    Unanswered,
    finding_of,
)
from service.verify.integrity import (
    check_bytes,
    check_chain,
    check_order,
    check_seal,
    entropy_states,
)
from service.verify.legality import check_legality
from service.verify.log import Authorship, Log, authorship_of
from service.verify.log_summary import summary_of_log
from service.verify.receipts import Notes, Trust, check_receipts
from service.verify.report import OF_THE_LOG, Report, level_of
from service.verify.sequence import check_sequence
from service.verify.shuffle import check_commitments, check_openings, check_shuffle
from service.verify.signatures import (
    check_signatures,
    moves_after_time_outs,
    pinned_keys,
    signers,
    unproven,
)
from service.verify.substitution import CardNotHeld, unheld_of

Run = Callable[[Position], Answer | None]

CHECKED_BY: Final[Mapping[Check, Callable[..., Answer | None]]] = {
    Check.BYTES: check_bytes,
    Check.CHAIN: check_chain,
    Check.ORDER: check_order,
    Check.COMMITMENTS: check_commitments,
    Check.SHUFFLE: check_shuffle,
    Check.OPENINGS: check_openings,
    Check.DEAL: check_deal,
    Check.CUSTODY: check_custody,
    Check.LEGALITY: check_legality,
    Check.HIDDEN: check_hidden,
    Check.SIGNATURES: check_signatures,
    Check.RECEIPTS: check_receipts,
    Check.ANCHOR: check_anchor,
    Check.WITNESS: check_witness,
    Check.SEAL: check_seal,
    Check.SEQUENCE: check_sequence,
}
"""The function of each check, whose module has its source."""


def verify_bundle(bundle: Bundle, outside: OutsideEvidence | None = None) -> Report:
    """
    Return the report on a bundle or plain log.

    Malformed content raises nothing: it is reported as a failed check, with the event
    at which the check stopped.
    """
    outside = outside or OutsideEvidence()
    others = [summary_of_log(Log(other.lines)) for other in outside.others]
    log = Log(bundle.lines)

    def sequence(at: Position) -> Answer:
        readable = [other for other in others if other is not None]
        return check_sequence(summary_of_log(log), readable, outside.key_changes, at)

    return verify_log(log, bundle, outside, sequence)


def verify_log(
    log: Log,
    bundle: Bundle,
    outside: OutsideEvidence,
    sequence: Run,
    budget: Budget | None = None,
) -> Report:
    """
    Return the report on `bundle`; `log` is its parsed log.

    `sequence` is the check that compares it with the other logs of its table. Without `budget`
    there is no time limit. Malformed content raises nothing, as in `verify_bundle`.
    """
    budget = budget or Budget()
    found: list[Finding] = []
    answers = _run_all(_runs(log, bundle, outside, sequence, found), log, budget, found)
    authorship = _authorship(log, found, answers)
    unheld = budget.attempt(lambda: _unheld(log, found), None)
    findings = tuple(_with_unheld(finding, unheld, authorship) for finding in found)
    up_to = answers.get(Check.RECEIPTS, Answer()).reach
    needs = _keys_needed(log, outside)
    level = level_of(findings, up_to=up_to, signed=not needs)
    seqs = enumerate(log.events)
    return Report(
        game=str(log.game) if log.events else None,
        version=log.count,
        sealed=log.seal is not None and log.broken is None,
        findings=findings,
        required=_required(outside),
        level=level,
        up_to=up_to,
        witnessed=_passed(findings, Check.ANCHOR) and _passed(findings, Check.WITNESS),
        entropy=tuple(entropy_states(log)) if log.begins else (),
        timed_out=tuple(seq for seq, event in seqs if event["type"] == "turn_timed_out"),
        unproven=tuple(unproven(log)) if log.begins else (),
        made_for=moves_after_time_outs(log) if log.begins else {},
        missing=tuple(_missing(log, level, up_to, needs, outside, unfinished=budget.spent)),
        outside=tuple(_outside(outside, answers, findings, authorship)),
        unchecked=tuple(_unchecked(outside)),
        backed=_backed(outside, up_to, findings),
        authorship=authorship,
        explanations=budget.attempt(lambda: explanations_of(log, findings, authorship), ()),
        unheld=unheld,
    )


def _run_all(
    runs: Mapping[Check, Run], log: Log, budget: Budget, findings: list[Finding]
) -> dict[Check, Answer]:
    """Run the checks in their order: add each finding to `findings`, and return the answers."""
    answers: dict[Check, Answer] = {}
    for check in Check:
        late = Finding(check=check, result=Result.MISSING, code=BUDGET), Answer()
        if check is not Check.BYTES and not log.events and not budget.spent:
            nothing = Finding(check=check, result=Result.MISSING, code="open.nothing_read")
            findings.append(nothing)
            continue
        run = partial(_run, check, runs[check])
        finding, answers[check] = budget.attempt(run, late)
        findings.append(finding)
    return answers


def _first_fault(findings: Sequence[Finding]) -> int | None:
    """Return the first event out of order, or whose cards are not where they should be."""
    checks = (Check.ORDER, Check.DEAL, Check.CUSTODY)
    failed = [f.seq or 0 for f in findings if f.check in checks and f.result is Result.FAIL]
    return min(failed, default=None)


def _runs(
    log: Log,
    bundle: Bundle,
    outside: OutsideEvidence,
    sequence: Run,
    found: Sequence[Finding],
) -> dict[Check, Run]:
    """Return the function of each check; `found` has the findings of those that have run."""
    proof = bundle.files.get(PROOF) if outside.proof is None else outside.proof
    policy = Policy(keys=outside.witness_keys, quorum=outside.quorum, required=outside.witnessed)
    trust = Trust(keys=outside.server_keys, listed=outside.listed, restores=outside.restores)
    stamp = TimeStamp(
        proof=bundle.files.get(STAMPED), answer=bundle.files.get(STAMP), roots=outside.authorities
    )
    own = {bundle.files[name]: name for name in sorted(bundle.files)}
    notes = Notes(
        supplied=outside.receipts, bundled=bundle.receipts, files={**own, **outside.files}
    )
    return {
        Check.BYTES: lambda at: check_bytes(log, bundle, at),
        Check.CHAIN: lambda at: check_chain(log, bundle, at),
        Check.ORDER: lambda at: check_order(log, at),
        Check.COMMITMENTS: lambda at: check_commitments(log, at),
        Check.SHUFFLE: lambda at: check_shuffle(log, at),
        Check.OPENINGS: lambda at: check_openings(log, lambda: _shown(bundle, log), at),
        Check.DEAL: lambda at: check_deal(log, at, until=_first_fault(found)),
        Check.CUSTODY: lambda at: check_custody(log, at, until=_first_fault(found)),
        Check.LEGALITY: lambda at: check_legality(log, at, until=_first_fault(found)),
        Check.HIDDEN: lambda at: check_hidden(log, at, until=_first_fault(found)),
        Check.SIGNATURES: lambda at: check_signatures(
            log, outside.seat_keys, outside.key_changes, at
        ),
        Check.RECEIPTS: lambda at: check_receipts(log, notes, trust, at),
        Check.ANCHOR: lambda at: check_anchor(log, proof, trust, at, stamp),
        Check.WITNESS: lambda at: check_witness(log, proof, policy, at),
        Check.SEAL: lambda at: check_seal(log, bundle, at),
        Check.SEQUENCE: sequence,
    }


def _run(check: Check, run: Run) -> tuple[Finding, Answer]:
    """Run one check, and return its finding and its answer; an exception is a failure."""
    at, answer, left = Position(), Answer(), None
    try:
        answer = run(at) or answer
    except Failed as failed:
        at.failures.append(failed.objection)
    except Unanswered as other:
        left = Finding(
            check=check,
            result=other.result,
            code=other.code,
            values=other.values,
            notes=other.notes,
            remarks=other.remarks,
        )
    except Exception as error:  # noqa: BLE001 - malformed content is a finding, never a crash
        if not at.failures:  # after a recorded failure the error is only its consequence
            if isinstance(error, ValueError | LookupError):
                at.note(at.seq, "unfollowed")
            else:
                at.note(at.seq, "stopped", error=f"{type(error).__name__}: {error}"[:200])
    answer = replace(answer, signed=tuple(at.signed), contradicted=at.contradicted)
    if at.failures:
        answer = replace(answer, reach=None)
        return finding_of(check, at.failures, remarks=answer.remarks), answer
    passed = Finding(check=check, result=Result.PASS, notes=answer.notes, remarks=answer.remarks)
    return left or passed, answer


def _authorship(
    log: Log, findings: Sequence[Finding], answers: Mapping[Check, Answer]
) -> Authorship:
    """Return which events the server signed, as shown by receipts and the public log."""
    signed = [seq for answer in answers.values() for seq in answer.signed]
    contradicted = next((a.contradicted for a in answers.values() if a.contradicted), None)
    return authorship_of(log, findings, signed, contradicted)


def _unheld(log: Log, findings: Sequence[Finding]) -> CardNotHeld | None:
    """Return the card that a seat played without holding it, if `custody` failed; else None."""
    try:
        return unheld_of(log) if _failed(findings, Check.CUSTODY) else None
    except Exception:  # noqa: BLE001 - the check itself has reported malformed content
        return None


def _with_unheld(finding: Finding, unheld: CardNotHeld | None, authorship: Authorship) -> Finding:
    """
    Return `finding`, with the possible author if it is that of `custody` on an unheld card.

    A passed `deal` then covers only the cards that were shown, and its finding states this.
    """
    if unheld is None:
        return finding
    if unheld.unseen and finding.check is Check.DEAL and finding.result is Result.PASS:
        return replace(finding, notes=(Sentence(code="deal.shown_only"),))
    if (finding.check, finding.seq) != (Check.CUSTODY, unheld.seq):
        return finding
    authors = authorship.authors(unheld.seq, unheld.by_server)
    return replace(finding, notes=(*finding.notes, *authors, *unheld.explained))


def _required(outside: OutsideEvidence) -> tuple[Check, ...]:
    """
    Return the checks that must not lack evidence: those of the log and of supplied evidence.

    `witness` is always one of them, because without required witnesses it does not apply.
    """
    receipts = (Check.RECEIPTS,) if outside.receipts else ()
    anchor = (Check.ANCHOR,) if outside.witnessed or outside.proof is not None else ()
    return (*OF_THE_LOG, *receipts, *anchor, Check.WITNESS)


def _shown(bundle: Bundle, log: Log) -> list[Mapping[str, Any]]:
    """Return the openings in the bundle of a seat; raises Failed if they are invalid."""
    data = bundle.files.get(OPENINGS)
    if data is None:
        return []
    try:
        shown = parse(data, limit=64 * MAX_LINE)
        each(OPENING)(shown, OPENINGS)
    except RecordError as error:
        raise Failed(log.end, "openings.malformed", detail=error.detail) from None
    _check_own(bundle, log, shown)
    return list(shown)


def _check_own(bundle: Bundle, log: Log, shown: Sequence[Mapping[str, Any]]) -> None:
    """Raise Failed if an unsealed bundle opens a card that its own seat has not seen."""
    profile, _, seat = (bundle.profile or "").partition("-")
    if log.seal is not None or log.broken is not None or not shown:
        return
    if profile != "seat":
        raise Failed(log.end, "openings.not_of_a_seat")
    own = positions_obtained(log, int(seat))
    if own is None:
        return
    others = sorted(opening["p"] for opening in shown if opening["p"] not in own)
    if others:
        raise Failed(log.end, "openings.not_own", p=others[0], seat=int(seat))


def _keys_needed(log: Log, outside: OutsideEvidence) -> list[Sentence]:
    """Return what is missing for L3, which needs a key and a signed move of each human seat."""
    if not log.begins:
        return [Sentence(code="more.readable")]
    humans = [s for s, setup in enumerate(log.created["seats"]) if setup["kind"] == "human"]
    if not humans:
        return [Sentence(code="more.no_human")]
    pinned = pinned_keys(log)
    keyless = [seat for seat in humans if seat not in pinned]
    needs = [_needed("more.no_key", seat) for seat in keyless]
    asked = [seat for seat in humans if seat in pinned and seat not in outside.seat_keys]
    needs += [_needed("more.seat_key", seat) for seat in asked]
    silent = sorted(set(humans) & set(pinned) - signers(log))
    return needs + [_needed("more.no_move", seat) for seat in silent]


def _needed(code: str, seat: int) -> Sentence:
    return Sentence(code=code, values={"seat": seat})


def _passed(findings: Sequence[Finding], check: Check) -> bool:
    return any(f.check is check and f.result is Result.PASS for f in findings)


def _failed(findings: Sequence[Finding], check: Check) -> bool:
    return any(f.check is check and f.result is Result.FAIL for f in findings)


def _backed(outside: OutsideEvidence, up_to: int | None, findings: Sequence[Finding]) -> bool:
    """Return whether evidence from outside supports the history."""
    public = _passed(findings, Check.ANCHOR) or _passed(findings, Check.WITNESS)
    return up_to is not None or bool(outside.seat_keys) or public


def _outside(
    outside: OutsideEvidence,
    answers: Mapping[Check, Answer],
    findings: Sequence[Finding],
    authorship: Authorship,
) -> list[Sentence]:
    """Return the evidence from outside, whether it supports or contradicts the log."""
    lines = [*answers.get(Check.RECEIPTS, Answer()).outside]
    if outside.seat_keys:
        keys: Values = {"seats": tuple(sorted(outside.seat_keys)), "n": len(outside.seat_keys)}
        lines.append(Sentence(code="outside.seat_keys", values=keys))
    if _passed(findings, Check.ANCHOR):
        lines.append(Sentence(code="outside.anchor"))
    if _passed(findings, Check.WITNESS):
        lines.append(Sentence(code="outside.witness"))
    if _failed(findings, Check.CHAIN) and authorship.signed:
        covered = {"ranges": authorship.signed_ranges}
        lines.append(Sentence(code="outside.signed", values=covered))
    return lines


def _unchecked(outside: OutsideEvidence) -> Iterator[Sentence]:
    """Yield evidence from outside that proves nothing because its key or receipt is missing."""
    if outside.server_keys:
        if not outside.receipts and outside.proof is None:
            yield Sentence(code="unchecked.key")
        return
    count = len(outside.receipts)
    if count:
        yield Sentence(code="unchecked.receipts", values={"n": count})
    if outside.proof is not None:
        yield Sentence(code="unchecked.proof")


def _missing(
    log: Log,
    level: str | None,
    up_to: int | None,
    needs: list[Sentence],
    outside: OutsideEvidence,
    *,
    unfinished: bool,
) -> list[Sentence]:
    """Return the requirements of the next level that are not met."""
    lines = []
    if unfinished:
        return [Sentence(code="more.time")]
    if log.seal is None:
        lines.append(Sentence(code="more.seal"))
    match level:
        case None | "L0":
            return []
        case "L1":
            keyless = outside.receipts and not outside.server_keys
            lines.append(Sentence(code="more.server_key" if keyless else "more.receipt"))
        case "L2":
            lines += needs
    if up_to is not None and up_to < log.end:
        lines.append(Sentence(code="more.later_receipt", values={"at": up_to}))
    return lines


_REPEAT: Final = 0.1  # seconds until BudgetSpent is raised again, if a check swallowed it

T = TypeVar("T")


class BudgetSpent(BaseException):
    """The time limit is reached; a BaseException, which no check reports as malformed content."""


class Budget:
    """A time limit for checks, initially none; `spent` is true once it is reached."""

    def __init__(self) -> None:
        self.spent = False
        self._attempting = False

    @contextmanager
    def running(self, seconds: float | None) -> Iterator[None]:
        """
        Limit the block to a number of seconds; None is no limit.

        A limit needs the main thread, because it uses SIGALRM.
        """
        if seconds is None:
            yield
            return
        before = signal.signal(signal.SIGALRM, self._over)
        signal.setitimer(signal.ITIMER_REAL, seconds, _REPEAT)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)

    def attempt(self, act: Callable[[], T], otherwise: T) -> T:
        """Return the result of `act`, or `otherwise` if the limit is reached before it returns."""
        if self.spent:
            return otherwise
        try:
            self._attempting = True
            result = act()
            self._attempting = False
        except BudgetSpent:
            return otherwise
        finally:
            self._attempting = False
        return result

    def _over(self, _number: int, _frame: FrameType | None) -> None:
        self.spent = True
        if self._attempting:
            raise BudgetSpent
