"""The report as text: one line a check, what happened where one fails, and what it comes to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from service.verify.claims import CLAIMS
from service.verify.entropy import entropy_lines
from service.verify.finding import Finding
from service.verify.report import Report

SEQ: Final = "seq is the number of an event, from 0"


def report_text(report: Report, *, name: str | None = None) -> str:
    """Return the report on one log, to be printed; the last line is the result."""
    head = [name] if name else []
    sealed = "sealed" if report.sealed else "not sealed"
    head.append(f"game {report.game or 'unknown'}, {report.version} events, {sealed} ({SEQ})")
    lines = [_line(finding) for finding in report.findings]
    lines += [f"remark: {printable(said)}" for said in report.remarks]
    lines += entropy_lines(report.entropy)
    lines += [f"not signed: {said}" for said in report.unproven]
    outside = "; ".join(report.outside) or "nothing"
    lines.append(f"from outside: {printable(outside)}")
    lines += [f"for more: {said}" for said in report.missing]
    lines += [f"{CLAIMS[one.claim]}: {printable(one.said)}" for one in report.claims]
    lines += _accounts(report, name or "FILE")
    return "\n".join([*head, *lines, printable(report.conclusion)]) + "\n"


def _accounts(report: Report, name: str) -> Iterator[str]:
    """Yield what happened where a claim first fails, and the command that shows more of it."""
    for account in report.accounts:
        said = printable(account.said)
        yield f"what happened ({account.claim}), seq {account.seq}: {said}"
        if account.move:
            same = ", given the same receipts and keys" if report.outside else ""
            yield f"  to see that move{same}: shithead audit {printable(name)} --move {account.seq}"


def _line(finding: Finding) -> str:
    where = "" if finding.seq is None else f"seq {finding.seq}: "
    rule = "" if finding.rule is None else f" [{finding.rule}]"
    further = f"; {finding.others}" if finding.further else ""
    said = f"{where}{finding.reason or ''}{rule}{further}"
    return f"{finding.check.value:<12} {finding.result.value:<8} {printable(said)}".rstrip()


def printable(text: str) -> str:
    """Return text of a log, which is somebody else's: nothing in it may steer a terminal."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
