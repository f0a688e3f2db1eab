"""The report as one self-contained page of HTML, without scripts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Final

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from service.verify.claims import CLAIMS
from service.verify.finding import ASKS, Finding, Result
from service.verify.plain import sentences
from service.verify.report import LEVELS, SEQ, Report, printable
from service.verify.shuffle import entropy_lines

MOST_LINES: Final = 4
"""The most lines of a list, so that the report fits on a page; the rest is counted."""

MAX_TEXT: Final = 900  # characters: more than any sentence of the verifier's own
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
        "questions": ASKS,
        "signs": _SIGNS,
        "kinds": _CLASSES,
        "limits": _LIMITS,
        "levels": _levels,
        "found_by": _found_by,
        "lists": _lists,
    }
    return environment.get_template("report.html.jinja")


def _levels(report: Report) -> Iterator[tuple[bool, str, str]]:
    """Yield each level, whether it is reached, and what it means; +W is the witnesses' mark."""
    reached = LEVELS.index(report.level) if report.level else -1
    yield from ((n <= reached, level, _LEVELS[level]) for n, level in enumerate(LEVELS))
    yield report.witnessed, "+W", "the public log, cosigned by witnesses"


def _found_by(finding: Finding) -> str:
    """Return what a check found, as one line."""
    where = "" if finding.seq is None else f"seq {finding.seq}: "
    rule = "" if finding.rule is None else f" [{finding.rule}]"
    further = f"; {finding.others}" if finding.further else ""
    return sentences(_short(f"{where}{finding.reason or ''}{rule}") + _short(further))


def _lists(report: Report) -> Iterator[tuple[str, Sequence[str], int]]:
    """Yield each list that is not empty: its title, its first lines, and how many are left out."""
    lists = (
        ("From outside", (*report.outside, *report.unchecked) or ("nothing",)),
        ("For more", report.missing),
        ("The shuffle", tuple(entropy_lines(report.entropy))),
        ("Not signed", report.unproven),
    )
    for title, lines in lists:
        if lines:
            yield title, lines[:MOST_LINES], max(0, len(lines) - MOST_LINES)


def _shown(text: str) -> str:
    return printable(_short(text))


def _short(text: str) -> str:
    return text if len(text) <= MAX_TEXT else text[:MAX_TEXT] + CUT
