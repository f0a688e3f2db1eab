"""One run and its page: what was sent, acknowledged and found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from ops.bench.faults.calls import Notes
from ops.bench.faults.checks import Checked
from ops.bench.faults.load import Reader

_LOST, _DOUBLED, _GAP = "lost:", ("two requests", "moved", "public log twice"), ("a gap", "a fork")


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """The size of a run."""

    seconds: float = 120.0  # under load
    tables: int = 10
    readers: int = 6
    seed: int = 1


@dataclass(slots=True, kw_only=True)
class Report:
    """The results of a run."""

    title: str
    parts: list[str] = field(default_factory=list)  # the programs that ran, one line each
    timeline: list[tuple[float, str]] = field(default_factory=list)
    notes: Notes = field(default_factory=Notes)
    checked: Checked = field(default_factory=Checked)
    readers: list[Reader] = field(default_factory=list)
    measured: list[tuple[str, str]] = field(default_factory=list)
    seconds: float = 0.0

    def add_failed_jobs(self, allowed: Counter[str], wrong: Sequence[str]) -> None:
        """Add the failed jobs of a run: those that it allows as figures, the others as findings."""
        self.measured.append(("failed jobs, not expected", str(len(wrong))))
        self.measured += [
            (f"failed jobs while a server was down: {name}", str(count))
            for name, count in sorted(allowed.items())
        ]
        self.notes.wrong += wrong


def page(report: Report, command: str) -> str:
    """Return the page in Markdown, as it is stored in the repository."""
    notes, checked = report.notes, report.checked
    requests = notes.requests
    answers = Counter(one.status for one in requests)
    wrong = checked.wrong
    lost = sum(one.startswith(_LOST) for one in wrong)
    doubled = sum(any(word in one for word in _DOUBLED) for one in wrong)
    gaps = sum(any(word in one for word in _GAP) for one in wrong)
    read = sum((reader.counts for reader in report.readers), Counter[str]())
    rows = [
        ("changes sent (moves, entropy)", len(requests)),
        (
            "times they were sent, without those that the client cut off",
            sum(one.tries for one in requests),
        ),
        ("acknowledged with 201", answers[201]),
        ("refused: the game had moved on, or the rules", _refused(answers)),
        ("outcome unknown: sent once without a key, no answer", answers[None]),
        *_found(checked.counts, lost),
        ("**acknowledged and lost**", lost),
        ("**carried out twice**", doubled),
        ("**streams with a gap or a fork**", gaps),
        ("**other failed checks**", len(wrong) - lost - doubled - gaps),
    ]
    return "\n".join(
        [
            f"# {report.title}",
            "",
            f"Written by `{command}`.",
            f"{report.seconds:.0f} s from the first hand to the end of the last; load and all",
            "processes on two cores shared with other programs.",
            "",
            *(f"- {part}" for part in report.parts),
            "",
            "| moves | count |",
            "| --- | ---: |",
            *(f"| {name} | {count} |" for name, count in rows),
            "",
            "| answer | count |",
            "| --- | ---: |",
            *(f"| {status} | {n} |" for status, n in sorted(notes.statuses.items())),
            f"| none: the connection was lost | {notes.broken} |",
            f"| stored answers to repeated requests, included above | {notes.replayed} |",
            "",
            "| checked afterwards | count |",
            "| --- | ---: |",
            *(f"| {name} | {count} |" for name, count in sorted(checked.counts.items())),
            "",
            *_readers(read),
            *_measured(report.measured),
            "## Timeline",
            "",
            *(f"- {at:.1f} s: {text}" for at, text in report.timeline),
            "",
            *_wrong(wrong),
        ]
    )


def _refused(answers: Counter[int | None]) -> int:
    return sum(count for status, count in answers.items() if status not in (201, None))


def _found(counts: Counter[str], lost: int) -> list[tuple[str, int]]:
    """Return the row of moves found in the database; none if the run did not count them."""
    looked = counts["acknowledged moves, each in the log exactly once"]
    name = "acknowledged and found in the database, byte for byte"
    return [(name, looked - lost)] if looked else []


def _readers(read: Counter[str]) -> list[str]:
    if not read:
        return []
    rows = [f"| {name} | {count} |" for name, count in sorted(read.items())]
    return ["| live readers | count |", "| --- | ---: |", *rows, ""]


def _measured(rows: Sequence[tuple[str, str]]) -> list[str]:
    if not rows:
        return []
    return ["| measured | value |", "| --- | ---: |", *(f"| {a} | {b} |" for a, b in rows), ""]


def _wrong(wrong: Sequence[str]) -> list[str]:
    return ["## Failed checks", "", *(f"- {one[:200]}" for one in wrong), ""] if wrong else []
