"""The report of a verification: text, HTML page, and audit object of the API."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from service.replay.sentences import Sentence
from service.verify.claims import (
    CLAIMS,
    Basis,
    ClaimResult,
    Explanation,
    claim_results,
    claims_against,
)
from service.verify.clauses import sentences
from service.verify.finding import Check, Finding, Result, asks
from service.verify.log import Authorship
from service.verify.shuffle import entropy_lines
from service.verify.substitution import CardNotHeld
from service.verify.summary import FILE, Summary, summary_of

SEQ: Final = "seq is the number of an event, from 0"


def report_text(report: Report, *, name: str | None = None) -> str:
    """
    Return the report on one log as text.

    If a check fails, the first three lines state what was changed, who can have done it and
    what would prove more. The last line is the result.
    """
    summary = report.summary.lines(name or FILE) if report.summary else ()
    head = [printable(line) for line in summary]
    head += [name] if name else []
    sealed = "sealed" if report.sealed else "not sealed"
    head.append(f"game {report.game or 'unknown'}, {report.version} events, {sealed} ({SEQ})")
    lines = [_line(finding) for finding in report.findings]
    lines += [f"remark: {printable(one.text)}" for one in report.remarks]
    lines += entropy_lines(report.entropy)
    lines += [f"not signed: {one.text}" for one in report.unproven]
    outside = " ".join(one.text for one in (*report.outside, *report.unchecked)) or "nothing"
    lines.append(f"from outside: {printable(outside)}")
    lines += [f"for more: {one.text}" for one in report.missing]
    lines += [f"{CLAIMS[one.claim]}: {printable(sentences(one.text))}" for one in report.claims]
    lines += _explanations(report, name or FILE)
    return "\n".join([*head, *lines, printable(report.last_line)]) + "\n"


def _explanations(report: Report, name: str) -> Iterator[str]:
    """Yield the event at which each claim first fails, and the command that shows more."""
    for one in report.explanations:
        text = printable(one.text)
        yield f"what happened ({one.claim}), seq {one.seq}: {text}"
        if one.move:
            same = ", with the same receipts and keys" if report.outside else ""
            yield f"  to see that move{same}: shithead audit {printable(name)} --move {one.seq}"


def _line(finding: Finding) -> str:
    where = "" if finding.seq is None else f"seq {finding.seq}: "
    rule = "" if finding.rule is None else f" [{finding.rule}]"
    further = f" {finding.others}" if finding.further else ""
    text = f"{where}{finding.reason or ''}{rule}{further}"
    ends = f"{finding.result.value}:" if finding.unfinished else f"{finding.result.value:<8}"
    return f"{finding.check.value:<12} {ends} {printable(text)}".rstrip()


def printable(text: str) -> str:
    """Return text from a log without control characters, which could steer a terminal."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


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

AS_A_WHOLE: Final = "So a history replaced as a whole would look the same."
NOTHING_FROM_OUTSIDE: Final = (
    "no evidence from outside was supplied, so a history replaced as a whole would look the same"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The result of verifying one log."""

    game: str | None
    version: int  # the number of events
    sealed: bool
    findings: tuple[Finding, ...]  # in the order of the protocol
    required: tuple[Check, ...]
    level: str | None  # None if the log cannot be read
    up_to: int | None  # seq up to which receipts from outside confirm the log; None without one
    witnessed: bool
    entropy: tuple[Mapping[str, Any], ...]
    timed_out: tuple[int, ...]
    unproven: tuple[Sentence, ...]  # moves without a signature
    made_for: Mapping[int, int]  # by human seat, the number of moves made for it after time-outs
    missing: tuple[Sentence, ...]  # the requirements of the next level that are not met
    outside: tuple[Sentence, ...]  # evidence that does not depend on the operator
    unchecked: tuple[Sentence, ...]  # evidence that could not be checked, and why
    backed: bool  # whether evidence from outside supports the history
    authorship: Authorship  # which events the server signed
    explanations: tuple[Explanation, ...] = ()  # what happened where a claim first fails
    unheld: CardNotHeld | None = None  # a card that a seat played without holding it

    @property
    def result(self) -> Result:
        """Return FAIL if any check fails, MISSING if a required check lacks evidence, or PASS."""
        results = {finding.check: finding.result for finding in self.findings}
        if Result.FAIL in results.values():
            return Result.FAIL
        missing = any(results[check] is Result.MISSING for check in self.required)
        return Result.MISSING if missing else Result.PASS

    @property
    def claims(self) -> tuple[ClaimResult, ...]:
        """Return the results for the deck, the history and the actions, each by itself."""
        basis = Basis(
            backed=self.backed,
            entropy=self.entropy,
            unheld=self.unheld,
            unchecked=self.unchecked,
        )
        return claim_results(self.findings, basis)

    @property
    def summary(self) -> Summary | None:
        """Return what was changed, who can have done it and what would prove more, if known."""
        return summary_of(self.game, self.findings, self.explanations, self.authorship)

    @property
    def remarks(self) -> tuple[Sentence, ...]:
        """Return the remarks of all checks: facts that are no failures, for readers to weigh."""
        every = [one for finding in self.findings for one in finding.remarks]
        return tuple(one for n, one in enumerate(every) if one not in every[:n])

    @property
    def wording(self) -> str:
        """Return the result in one sentence, which never claims more than was checked."""
        if self.result is Result.FAIL:
            return claims_against(self.findings, self.unheld)
        reach = "" if self.up_to in (None, self.version - 1) else f" up to seq {self.up_to}"
        so_far = "" if self.sealed else " so far"
        witnessed = ", witnessed (+W)" if self.witnessed else ""
        judged = all(
            finding.result is not Result.MISSING
            for finding in self.findings
            if finding.check is Check.LEGALITY
        )
        if any(finding.unfinished for finding in self.findings):
            known = self.level and judged
            held = f"; no evidence of tampering, level {self.level}" if known else ""
            return f"not finished within the budget{held}"
        level = f"level {self.level}{reach}{so_far}{witnessed}"
        if not judged:
            return f"record intact, {level}; whether the moves were legal was not checked"
        return "; ".join([f"no evidence of tampering, {level}", *self._made_for()])

    def _made_for(self) -> Iterator[str]:
        """Yield the moves that level L3 does not cover: the server made them after time-outs."""
        for seat, count in self.made_for.items() if self.level == "L3" else ():
            moves = "1 move" if count == 1 else f"{count} moves"
            made = (
                "was made for it after a time-out"
                if count == 1
                else ("were made for it after time-outs")
            )
            yield f"{moves} of seat {seat} {made}"

    @property
    def conclusion(self) -> str:
        """Return the result in one sentence, with the limits of a log without outside evidence."""
        if self.result is Result.FAIL or self.backed:
            return self.wording
        if not self.unchecked:
            return f"{self.wording}; {NOTHING_FROM_OUTSIDE}"
        unchecked = " ".join(one.text for one in self.unchecked)
        return f"{self.wording}. {unchecked} {AS_A_WHOLE}"

    @property
    def last_line(self) -> str:
        """Return the conclusion for text and page; that of a failure is split into sentences."""
        failed = self.result is Result.FAIL
        return sentences(self.conclusion) if failed else self.conclusion


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
                "code": finding.code,
                "values": dict(finding.values),
                "reason": finding.text,
                "rule": finding.rule,
            }
            for finding in report.findings
        ],
        "entropy": [dict(state) for state in report.entropy],
        "timed_out": list(report.timed_out),
        "missing": [one.text for one in report.missing],
        "wording": report.wording,
    }


def level_of(findings: Sequence[Finding], *, up_to: int | None, signed: bool) -> str | None:
    """
    Return the level that the findings reach, None if the log cannot be read.

    L0: the log can be read. L1: no check fails, and the moves were judged. L2: also a receipt
    from outside confirms the log up to the seq `up_to`. L3: also `signed`, which means that each
    human seat has a key from outside and signed a move of this hand. The moves made after
    time-outs need no signature.
    """
    results = {finding.check: finding.result for finding in findings}
    if results[Check.BYTES] is not Result.PASS:
        return None
    if Result.FAIL in results.values() or any(finding.unfinished for finding in findings):
        return "L0"
    if results[Check.LEGALITY] is Result.MISSING:
        return "L0"
    if up_to is None:
        return "L1"
    return "L3" if signed else "L2"


MAX_LINES: Final = 4
"""Maximum number of lines of a list, so that the report fits on a page; the rest is counted."""

MAX_TEXT: Final = 900  # characters: more than any text that the verifier itself writes
CUT: Final = " \N{HORIZONTAL ELLIPSIS} (cut here; the text and the JSON have all of it)"

_SIGNS: Final = {
    Result.PASS: "\N{CHECK MARK}",
    Result.FAIL: "\N{BALLOT X}",
    Result.MISSING: "?",
    Result.NOT_APPLICABLE: "\N{EN DASH}",
}
_CLASSES: Final = {
    Result.PASS: "pass",
    Result.FAIL: "fail",
    Result.MISSING: "missing",
    Result.NOT_APPLICABLE: "na",
}
_LEVELS: Final = {
    "L0": "it can be read",
    "L1": "every check on the log alone passes",
    "L2": "a receipt from outside names its head",
    "L3": "every person signed in this hand, with keys from outside",
}
_LIMITS: Final = (
    "This page reports what was checked and nothing more. No log can show whether the operator"
    " looked at cards in the server's memory, or whether players talked to one another. Against"
    " an operator who replaces a whole game, only evidence from outside counts."
)


def report_html(reports: Sequence[tuple[str, Report]]) -> str:
    """
    Return the page on one or several reports, each printed on a page of its own.

    `reports` come with the names of their files. Text from a log is escaped and never becomes
    markup. The page loads nothing, and the same reports give the same bytes.
    """
    return _template().render(reports=reports)


@cache
def _template() -> Template:
    environment = Environment(
        loader=PackageLoader("service.verify", "."),
        autoescape=True,
        keep_trailing_newline=True,
        undefined=StrictUndefined,
    )
    environment.filters |= {"printable": printable, "shown": _shown, "sentences": sentences}
    environment.globals |= {
        "seq": SEQ,
        "claims": CLAIMS,
        "asks": asks,
        "signs": _SIGNS,
        "kinds": _CLASSES,
        "limits": _LIMITS,
        "levels": _levels,
        "found_by": _found_by,
        "lists": _lists,
    }
    return environment.get_template("report.html.jinja")


def _levels(report: Report) -> Iterator[tuple[bool, str, str]]:
    """Yield whether each level is reached, its name and its meaning; last the mark +W."""
    reached = LEVELS.index(report.level) if report.level else -1
    yield from ((n <= reached, level, _LEVELS[level]) for n, level in enumerate(LEVELS))
    yield report.witnessed, "+W", "the public log, cosigned by witnesses"


def _found_by(finding: Finding) -> str:
    """Return what a check found, as one line."""
    where = "" if finding.seq is None else f"seq {finding.seq}: "
    rule = "" if finding.rule is None else f" [{finding.rule}]"
    further = f" {finding.others}" if finding.further else ""
    return _short(f"{where}{finding.reason or ''}{rule}") + _short(further)


def _lists(report: Report) -> Iterator[tuple[str, Sequence[str], int]]:
    """Yield each list that is not empty: title, first lines, and the number of further lines."""
    lists = (
        ("From outside", _texts((*report.outside, *report.unchecked)) or ("nothing",)),
        ("For more", _texts(report.missing)),
        ("The shuffle", tuple(entropy_lines(report.entropy))),
        ("Not signed", _texts(report.unproven)),
    )
    for title, lines in lists:
        if lines:
            yield title, lines[:MAX_LINES], max(0, len(lines) - MAX_LINES)


def _texts(found: Iterable[Sentence]) -> tuple[str, ...]:
    return tuple(one.text for one in found)


def _shown(text: str) -> str:
    return printable(_short(text))


def _short(text: str) -> str:
    return text if len(text) <= MAX_TEXT else text[:MAX_TEXT] + CUT
