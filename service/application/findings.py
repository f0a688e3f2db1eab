"""The machine's findings for a dispute: the checks of the verifier, and the move in question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from service.application.game_record import load, with_cites
from service.domain.dispute_events import Charge
from service.record.bundle import Bundle
from service.replay.rebuild import recorded
from service.rulesets.citing import rules_behind
from service.verify.finding import Check, Finding, Result
from service.verify.verify import verify_bundle

_ASKS: Final[Mapping[Check, str]] = {
    Check.BYTES: "every event is written as the format asks",
    Check.CHAIN: "no event is missing, changed or put in",
    Check.ORDER: "the events stand in their order",
    Check.COMMITMENTS: "seeds are those that were committed to",
    Check.SHUFFLE: "the deck is the one that the seeds give",
    Check.OPENINGS: "every card shown is the one that was committed to",
    Check.DEAL: "every card went where the deal puts it",
    Check.CUSTODY: "each card was in one place, and nobody played what they did not hold",
    Check.LEGALITY: "the rules allow every action and give its outcome, the clock included",
    Check.HIDDEN: "blind cards that were kept hidden were unplayable",
    Check.SIGNATURES: "signed moves are signed by their seats",
    Check.RECEIPTS: "receipts name heads of this log",
    Check.ANCHOR: "the public log has this game",
    Check.WITNESS: "witnesses saw the public log",
    Check.SEAL: "the game is sealed",
    Check.SEQUENCE: "the table's hands follow one another",
}


def findings_on(
    game: UUID,
    lines: Sequence[bytes],
    seq: int,
    charge: Charge,
    *,
    cites: Mapping[str, str],
) -> list[dict[str, Any]]:
    """
    Return what the checks say of a log, and of the event at `seq`.

    Works on the log alone. Before the seal that is what everybody can see: where what
    is allowed depends on hidden cards, the verifier says nothing, and so does this.
    """
    report = verify_bundle(Bundle(lines=tuple(lines)))
    found = [_finding(finding) for finding in report.findings]
    about = _about(game, lines, seq, report.findings, cites, sealed=report.sealed)
    if charge is Charge.COLLUSION:
        about = {
            **about,
            "result": Result.MISSING.value,
            "text": "whether players spoke to one another cannot be told from a record",
        }
    return [about, *found]


def _finding(finding: Finding) -> dict[str, Any]:
    text = finding.said or _ASKS[finding.check]
    return {
        "check": finding.check.value,
        "result": finding.result.value,
        "seq": finding.seq,
        "text": text,
        "rule": finding.rule,
    }


def _about(
    game: UUID,
    lines: Sequence[bytes],
    seq: int,
    findings: Sequence[Finding],
    cites: Mapping[str, str],
    *,
    sealed: bool,
) -> dict[str, Any]:
    """Return what the record says of the one event that the dispute is about."""
    failed = [f for f in findings if f.result is Result.FAIL]
    every = ((f.check, one) for f in failed for one in f.objections)
    here = next(((check, one) for check, one in every if one.seq == seq), None)
    about: dict[str, Any] = {"check": "event", "seq": seq}
    if here is not None:
        check, one = here
        said = f"{check} fails here: {one.reason}"
        return {**about, "result": "fail", "text": said, "rule": one.rule}
    earlier = [f for f in failed if f.seq is None or f.seq < seq]
    if earlier:
        checks = ", ".join(finding.check for finding in earlier)
        said = f"the record does not hold before this event ({checks}), so it is not judged here"
        return {**about, "result": "missing", "text": said, "rule": None}
    rule = _rule(game, lines, seq, cites)
    if sealed:
        said = "this is what the rules allow, all cards considered"
    else:
        said = (
            "nothing that is public speaks against it; what depends on hidden cards can be "
            "told after the seal"
        )
    return {**about, "result": "pass", "text": said, "rule": rule}


def _rule(game: UUID, lines: Sequence[bytes], seq: int, cites: Mapping[str, str]) -> str | None:
    """Return the statement that decides what the event says; the first event has none."""
    if seq == 0:
        return None
    before = with_cites(load(game, lines[:seq], seed=None), cites).game
    rules = rules_behind(before, recorded(lines[seq]).event)
    return rules[0] if rules else None
