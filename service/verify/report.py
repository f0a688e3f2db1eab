"""The report of a verification: text, HTML page, and audit object of the API."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from service.replay.sentences import Sentence, Values, sentence, values_json
from service.verify.claims import (
    Basis,
    ClaimResult,
    Explanation,
    asserts,
    claim_results,
    claims_against,
    following,
)
from service.verify.finding import Check, Finding, Result, asks
from service.verify.log import Authorship
from service.verify.shuffle import entropy_lines
from service.verify.substitution import CardNotHeld
from service.verify.summary import FILE, Summary, summary_of


def report_text(report: Report, *, name: str | None = None) -> str:
    """
    Return the report on one log as text.

    If a check fails, the first three lines state what was changed, who can have done it and
    what would prove more. The last line is the result.
    """
    first = report.summary.lines(name or FILE) if report.summary else ()
    lines = [printable(line) for line in first]
    lines += [name] if name else []
    lines.append(report.headline)
    lines += [_line(finding) for finding in report.findings]
    lines += [_labelled("report.remark", one.text) for one in report.remarks]
    lines += [one.text for one in entropy_lines(report.entropy)]
    lines += [_labelled("report.unsigned", one.text) for one in report.unproven]
    lines.append(_labelled("report.outside", " ".join(_outside(report))))
    lines += [_labelled("report.more", one.text) for one in report.missing]
    lines += [f"{asserts(one.claim)}: {printable(one.text)}" for one in report.claims]
    lines += _explanations(report, name or FILE)
    return "\n".join([*lines, printable(report.last_line)]) + "\n"


def _labelled(code: str, text: str, values: Values | None = None) -> str:
    label = sentence(code, values)
    return f"{label[:1].lower()}{label[1:]}: {printable(text)}"


def _outside(report: Report) -> tuple[str, ...]:
    return _texts((*report.outside, *report.unchecked)) or (sentence("report.nothing"),)


def report_line(report: Report, *, name: str) -> str:
    """Return the report as one line; of a failure the first failed check, its event and reason."""
    fault = next((one for one in report.findings if one.result is Result.FAIL), None)
    text = report.wording if fault is None else failure_text(fault)
    return f"{report.result.value:<8} {printable(f'{name}: {text}')}\n"


def failure_text(failed: Finding) -> str:
    """Return the check of a failed finding, its event, its reason and the rule, as one line."""
    place = "place.of" if failed.seq is None else "place.at"
    where = sentence(place, {"check": failed.check.value, "at": failed.seq})
    return f"{where}: {failed.reason or ''} {failed.cited}".rstrip()


def _explanations(report: Report, name: str) -> Iterator[str]:
    """Yield the event at which each claim first fails, and the command that shows more."""
    for one in report.explanations:
        values = {"claim": one.claim.value, "at": one.seq}
        yield _labelled("report.happened", one.text, values)
        if one.move:
            code = "report.see.evidence" if report.outside else "report.see"
            command = sentence("report.command", {"file": printable(name), "at": one.seq})
            yield f"  {_labelled(code, command)}"


def _line(finding: Finding) -> str:
    ends = f"{finding.result.value}:" if finding.unfinished else f"{finding.result.value:<8}"
    return f"{finding.check.value:<12} {ends} {printable(_found(finding))}".rstrip()


def _found(finding: Finding) -> str:
    """Return what a check found, with the event, the statement and the further failures."""
    where = "" if finding.seq is None else f"seq {finding.seq}:"
    further = None if finding.others is None else finding.others.text
    return " ".join(filter(None, (where, finding.reason, finding.cited, further)))


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
    def headline(self) -> str:
        """Return which game it is, and how far its record goes."""
        code = "report.sealed" if self.sealed else "report.unsealed"
        game = printable(self.game) if self.game else Sentence(code="report.unknown")
        return sentence(code, {"game": game, "n": self.version})

    @property
    def results(self) -> tuple[Sentence, ...]:
        """Return the result, which never claims more than was checked."""
        if self.result is Result.FAIL:
            return claims_against(self.findings, self.unheld)
        judged = all(
            finding.result is not Result.MISSING
            for finding in self.findings
            if finding.check is Check.LEGALITY
        )
        if any(finding.unfinished for finding in self.findings):
            known = self.level and judged
            plain = {"level": Sentence(code="level", values={"level": self.level})}
            held = (Sentence(code="result.untampered", values=plain),) if known else ()
            return (Sentence(code="result.unfinished"), *held)
        reached = {"level": self._level}
        if not judged:
            intact = Sentence(code="result.intact", values=reached)
            return (intact, Sentence(code="result.unjudged"))
        return (Sentence(code="result.untampered", values=reached), *self._made_for())

    @property
    def _level(self) -> Sentence:
        """Return the level that was reached, up to which event, and whether it is witnessed."""
        whole = self.up_to in (None, self.version - 1)
        code = ("level" if whole else "level.up_to") + ("" if self.sealed else ".so_far")
        level = Sentence(code=code, values={"level": self.level, "at": self.up_to})
        if not self.witnessed:
            return level
        return Sentence(code="level.witnessed", values={"level": level})

    def _made_for(self) -> Iterator[Sentence]:
        """Yield the moves that level L3 does not cover: the server made them after time-outs."""
        for seat, count in self.made_for.items() if self.level == "L3" else ():
            yield Sentence(code="result.made_for", values={"n": count, "seat": seat})

    @property
    def wording(self) -> str:
        """Return the result in words."""
        return "; ".join(one.text for one in self.results)

    @property
    def conclusion(self) -> str:
        """Return the result in words, with the limits of a log without outside evidence."""
        if self.result is Result.FAIL or self.backed:
            return self.wording
        if not self.unchecked:
            return f"{self.wording}; {sentence('result.alone')}"
        unchecked = " ".join((*_texts(self.unchecked), sentence("result.replaced")))
        return f"{self.wording}. {unchecked}"

    @property
    def last_line(self) -> str:
        """Return the conclusion for text and page; that of a failure is split into sentences."""
        return following(self.results) if self.result is Result.FAIL else self.conclusion


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
                "values": values_json(finding.values),
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


def report_html(reports: Sequence[tuple[str, Report]]) -> str:
    """
    Return the page on one or several reports, each printed on a page of its own.

    `reports` come with the names of their files. Text from a log is escaped and never becomes
    markup. The page loads nothing, and the same reports give the same bytes.
    """
    return "".join(html_parts(reports))


def html_parts(reports: Iterable[tuple[str, Report]]) -> Iterator[str]:
    """Yield the parts of the page of `report_html`; each report is taken when it is written."""
    return _template().generate(reports=reports)


@cache
def _template() -> Template:
    environment = Environment(
        loader=PackageLoader("service.verify", "."),
        autoescape=True,
        keep_trailing_newline=True,
        undefined=StrictUndefined,
    )
    environment.filters |= {"printable": printable, "shown": _shown}
    environment.globals |= {
        "asserts": asserts,
        "asks": asks,
        "signs": _SIGNS,
        "kinds": _CLASSES,
        "levels": _levels,
        "found_by": _found_by,
        "lists": _lists,
        "t": sentence,
    }
    return environment.get_template("report.html.jinja")


def _levels(report: Report) -> Iterator[tuple[bool, str, str]]:
    """Yield whether each level is reached, its name and its meaning; last the mark +W."""
    reached = LEVELS.index(report.level) if report.level else -1
    for n, level in enumerate(LEVELS):
        yield n <= reached, level, sentence(f"reached.{level}")
    yield report.witnessed, "+W", sentence("reached.witnessed")


def _found_by(finding: Finding) -> str:
    """Return what a check found, as one line; an overlong reason is cut before what follows it."""
    further = None if finding.others is None else finding.others.text
    return " ".join(filter(None, (_short(_found(replace(finding, further=()))), further)))


def _lists(report: Report) -> Iterator[tuple[str, Sequence[str], int]]:
    """Yield each list that is not empty: title, first lines, and the number of further lines."""
    lists = (
        ("report.outside", _outside(report)),
        ("report.more", _texts(report.missing)),
        ("report.shuffle", _texts(entropy_lines(report.entropy))),
        ("report.unsigned", _texts(report.unproven)),
    )
    for code, lines in lists:
        if lines:
            yield sentence(code), lines[:MAX_LINES], max(0, len(lines) - MAX_LINES)


def _texts(found: Iterable[Sentence]) -> tuple[str, ...]:
    return tuple(one.text for one in found)


def _shown(text: str) -> str:
    return printable(_short(text))


def _short(text: str) -> str:
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]} {sentence('report.cut')}"
