"""The report as text: one line a check, and what it comes to."""

from __future__ import annotations

from service.verify.claims import CLAIMS
from service.verify.finding import Finding
from service.verify.report import Report


def report_text(report: Report, *, name: str | None = None) -> str:
    """Return the report on one log, to be printed; the last line is the result."""
    head = [name] if name else []
    sealed = "sealed" if report.sealed else "not sealed"
    head.append(f"game {report.game or 'unknown'}, {report.version} events, {sealed}")
    lines = [_line(finding) for finding in report.findings]
    lines += [f"entropy of seat {e['seat']}: {e['mode']}, {e['state']}" for e in report.entropy]
    lines += [f"not signed: {said}" for said in report.unproven]
    lines.append(f"from outside: {'; '.join(report.outside) or 'nothing'}")
    lines += [f"for more: {said}" for said in report.missing]
    lines += [f"{CLAIMS[one.claim]}: {one.said}" for one in report.claims]
    return "\n".join([*head, *lines, report.wording]) + "\n"


def _line(finding: Finding) -> str:
    where = "" if finding.seq is None else f"seq {finding.seq}: "
    rule = "" if finding.rule is None else f" [{finding.rule}]"
    further = f"; {finding.others}" if finding.further else ""
    said = f"{where}{finding.reason or ''}{rule}{further}"
    return f"{finding.check.value:<12} {finding.result.value:<8} {printable(said)}".rstrip()


def printable(text: str) -> str:
    """Return text of a log, which is somebody else's: nothing in it may steer a terminal."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
