"""Results of fault injection: a page, and JSON that can be added up over runs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from ops.bench.faults.run import RunResult


@dataclass(slots=True, kw_only=True)
class Totals:
    """The totals over all runs."""

    runs: int = 0
    seconds: float = 0.0
    faults: Counter[str] = field(default_factory=Counter)
    at_once: int = 0
    places: set[str] = field(default_factory=set)
    counts: Counter[str] = field(default_factory=Counter)
    statuses: Counter[str] = field(default_factory=Counter)
    broken: int = 0
    replayed: int = 0
    unknown: int = 0
    wrong: list[str] = field(default_factory=list)

    def add(self, done: RunResult) -> None:
        """Add one run."""
        notes = done.notes
        self.runs += 1
        self.seconds += done.seconds
        self.faults += done.faults
        self.at_once += done.at_once
        self.places |= done.places
        self.counts += done.checked.counts
        self.statuses += Counter({str(status): n for status, n in notes.statuses.items()})
        self.broken += notes.broken
        self.replayed += notes.replayed
        self.unknown += sum(request.status is None for request in notes.requests)
        self.wrong += done.checked.wrong


def load(path: Path) -> Totals:
    """Return the saved totals of earlier runs."""
    if not path.exists():
        return Totals()
    saved: dict[str, Any] = json.loads(path.read_text())
    made = Totals(runs=saved["runs"], seconds=saved["seconds"], at_once=saved["at_once"])
    made.faults, made.counts = Counter(saved["faults"]), Counter(saved["counts"])
    made.places, made.statuses = set(saved["places"]), Counter(saved["statuses"])
    made.broken, made.replayed = saved["broken"], saved["replayed"]
    made.unknown, made.wrong = saved["unknown"], saved["wrong"]
    return made


def save(path: Path, total: Totals) -> None:
    """Save the totals of all runs."""
    saved = {name: getattr(total, name) for name in Totals.__slots__}
    saved["places"] = sorted(total.places)
    path.write_text(json.dumps(saved, indent=1))


BY_HAND: Final = "<!-- What follows was written by hand; `--page` retains it. -->"
"""The line of a page after which nothing is replaced."""


def page(total: Totals, before: str = "") -> str:
    """
    Return the results page in Markdown, with what the page had `before` from BY_HAND on.

    >>> page(Totals(), f"old rows\\n{BY_HAND}\\n\\n## Causes\\n").endswith("## Causes\\n")
    True
    """
    steps = Counter(place.split(" ", 1)[0] for place in total.places)
    lines = [
        "# Injected faults and their effects",
        "",
        "Written by `python -m ops.bench.faults`. Decision 0032 defines the kinds of faults and",
        "what each of them simulates.",
        "",
        _summary(total),
        "",
        "## Faults",
        "",
        *_table("fault", total.faults.most_common()),
        f"| **all** | {total.faults.total()} |",
        "",
        "Between two steps: number of different places in the code at which a program was killed:",
        ", ".join(f"{count} of the {kind}" for kind, count in sorted(steps.items())) + ".",
        "",
        "## Checks after every run",
        "",
        *_table("passed", sorted(total.counts.items())),
        f"| **failed** | {len(total.wrong)} |",
        "",
        "## Responses to clients",
        "",
        *_table("answer", sorted(total.statuses.items())),
        f"| none: the connection was lost | {total.broken} |",
        f"| stored answers to repeated requests, included above | {total.replayed} |",
        f"| changes with unknown outcome (sent once, without a key) | {total.unknown} |",
        "",
    ]
    if total.wrong:
        lines += ["## Failed checks", "", *(f"- {one[:150]}" for one in total.wrong), ""]
    _, marker, by_hand = before.partition(BY_HAND)
    return "\n".join(lines) + (f"\n{marker}{by_hand}" if marker else "")


def _summary(total: Totals) -> str:
    return (
        f"{total.faults.total()} faults in {total.runs} runs, {total.seconds / 60:.0f} minutes; "
        f"{total.at_once} of them injected together with another. **{_verdict(total)}**"
    )


def _verdict(total: Totals) -> str:
    if total.wrong:
        return f"{len(total.wrong)} failed checks, listed below."
    return "No move lost or repeated, every game ended, one tree."


def _table(name: str, rows: Iterable[tuple[str, int]]) -> list[str]:
    return [f"| {name} | count |", "| --- | ---: |", *(f"| {key} | {n} |" for key, n in rows)]
