"""The report: all findings together, the level that follows, what the next one would need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from service.verify.accounts import Account
from service.verify.claims import Basis, Standing, claims_against, standings
from service.verify.finding import Check, Finding, Result
from service.verify.unheld import Unheld

OF_THE_LOG: Final = (
    Check.BYTES,
    Check.CHAIN,
    Check.ORDER,
    Check.COMMITMENTS,
    Check.SHUFFLE,
    Check.OPENINGS,
    Check.DEAL,
    Check.CUSTODY,
    Check.LEGALITY,
    Check.HIDDEN,
    Check.SIGNATURES,
    Check.SEAL,
)
"""The checks that need nothing but the log: level L1."""

LEVELS: Final = ("L0", "L1", "L2", "L3")

NOTHING_FROM_OUTSIDE: Final = (
    "nothing from outside was given, so a history replaced as a whole would look the same"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What verifying one log came to."""

    game: str | None
    version: int  # the number of events
    sealed: bool
    findings: tuple[Finding, ...]  # in the order of the protocol
    asked: tuple[Check, ...]  # the checks without which the result is not a pass
    level: str | None  # None where it cannot even be read
    up_to: int | None  # how far receipts from outside reach; None without one
    witnessed: bool
    entropy: tuple[Mapping[str, Any], ...]
    timed_out: tuple[int, ...]
    unproven: tuple[str, ...]  # moves that no signature stands for, in words
    missing: tuple[str, ...]  # what the next level would need
    outside: tuple[str, ...]  # what there was that the operator does not hold
    backed: bool  # whether any of that speaks for the history
    accounts: tuple[Account, ...] = ()  # what happened where a claim first fails
    unheld: Unheld | None = None  # a card that was played by who does not hold it

    @property
    def result(self) -> Result:
        """Return the result over all that was asked for; a check that fails is one always."""
        results = {finding.check: finding.result for finding in self.findings}
        if Result.FAIL in results.values():
            return Result.FAIL
        missing = any(results[check] is Result.MISSING for check in self.asked)
        return Result.MISSING if missing else Result.PASS

    @property
    def claims(self) -> tuple[Standing, ...]:
        """Return how the deck, the history and the actions stand, each by itself."""
        basis = Basis(backed=self.backed, entropy=self.entropy, unheld=self.unheld)
        return standings(self.findings, basis)

    @property
    def remarks(self) -> tuple[str, ...]:
        """Return what breaks nothing and should be weighed, of all checks."""
        return tuple(dict.fromkeys(said for f in self.findings for said in f.remarks))

    @property
    def wording(self) -> str:
        """Return the result in one sentence, which never claims more than was checked."""
        if self.result is Result.FAIL:
            return claims_against(self.findings, self.unheld)
        reach = "" if self.up_to in (None, self.version - 1) else f" up to seq {self.up_to}"
        so_far = "" if self.sealed else " so far"
        witnessed = ", witnessed (+W)" if self.witnessed else ""
        return f"no evidence of tampering, level {self.level}{reach}{so_far}{witnessed}"

    @property
    def conclusion(self) -> str:
        """Return the wording for people, with what a log by itself can never show."""
        alone = self.result is not Result.FAIL and not self.backed
        return f"{self.wording}; {NOTHING_FROM_OUTSIDE}" if alone else self.wording


def audit_object(report: Report) -> dict[str, Any]:
    """Return the report as the audit object of the API (api.md, section 6)."""
    return {
        "game": report.game,
        "version": report.version,
        "sealed": report.sealed,
        "level": report.level,
        "witnessed": report.witnessed,
        "result": report.result.value,
        "checks": [
            {
                "check": finding.check.value,
                "result": finding.result.value,
                "seq": finding.seq,
                "reason": finding.said,
                "rule": finding.rule,
            }
            for finding in report.findings
        ],
        "entropy": [dict(state) for state in report.entropy],
        "timed_out": list(report.timed_out),
        "missing": list(report.missing),
        "wording": report.wording,
    }


def level_of(findings: Sequence[Finding], *, up_to: int | None, signed: bool) -> str | None:
    """
    Return the level that the findings give: L0 readable, L1 the log holds.

    L2: and a receipt from outside names a head. L3: and every human seat signed
    its moves with a key from outside.
    """
    results = {finding.check: finding.result for finding in findings}
    if results[Check.BYTES] is not Result.PASS:
        return None
    if Result.FAIL in results.values():
        return "L0"
    if up_to is None:
        return "L1"
    return "L3" if signed else "L2"
