"""Results of mutation testing: one line for each mistake, and explained survivors."""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from ops.mutation.session import Mistake

EXPLAINED = Path(__file__).with_name("explained.toml")

Key = tuple[str, str, str, int]
"""Module, function, change and its number among equal changes; line numbers may change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One mistake and what it was killed by; None for a survivor."""

    module: str
    function: str
    change: str
    number: int
    line: int
    killed_by: str | None

    @property
    def key(self) -> Key:
        return self.module, self.function, self.change, self.number

    def written(self) -> str:
        return json.dumps(asdict(self), ensure_ascii=False)


def line_of(mistake: Mistake, killed_by: str | None) -> Line:
    """Return the line of a mistake."""
    change = mistake.change
    return Line(
        module=mistake.module.split(".")[-1],
        function=change.function or "",
        change=change.text,
        number=change.number,
        line=change.first,
        killed_by=killed_by,
    )


def read(path: Path) -> list[Line]:
    """Return the lines of a file of results."""
    found = (json.loads(line) for line in path.read_text().splitlines())
    return [Line(**{**line, "function": line["function"] or ""}) for line in found]


def unexplained(path: Path) -> list[Line]:
    """Return the survivors without an explanation."""
    return [line for line in _survivors(path) if line.key not in _explained()]


def summary(path: Path, *, as_markdown: bool) -> str:
    """Return the counts and the survivors: those that are not explained, or all in tables."""
    lines, survivors, left = read(path), _survivors(path), unexplained(path)
    counts = (
        f"{len(lines)} mistakes, {len(lines) - len(survivors)} noticed, "
        f"{len(survivors) - len(left)} explained, {len(left)} not"
    )
    if not as_markdown:
        places = [f"{s.module}.py:{s.line} {s.function}: {s.change}" for s in left]
        return "\n".join([*places, counts])
    return "\n".join([counts, "", *_modules(lines), "", *_reasons(survivors)])


def _survivors(path: Path) -> list[Line]:
    return [line for line in read(path) if line.killed_by is None]


@cache
def _explained() -> dict[Key, str]:
    entries = tomllib.loads(EXPLAINED.read_text())["survivor"]
    return {
        (entry["module"], entry["function"], change, entry.get("number", 1)): entry["why"]
        for entry in entries
        for change in entry["changes"]
    }


def _modules(lines: list[Line]) -> list[str]:
    total = Counter(line.module for line in lines)
    alive = Counter(line.module for line in lines if line.killed_by is None)
    rows = [
        f"| {name} | {count} | {count - alive[name]} | {alive[name]} |"
        for name, count in sorted(total.items())
    ]
    return ["| module | mistakes | noticed | survive |", "| --- | --- | --- | --- |", *rows]


def _reasons(survivors: list[Line]) -> list[str]:
    rows = []
    for line in sorted(survivors, key=lambda s: (s.module, s.line)):
        change = line.change if len(line.change) < 160 else _shortened(line.change)
        why = _explained().get(line.key, "**not explained**")
        code = change.replace("|", "\\|")
        rows.append(f"| {line.module}.py:{line.line} {line.function} | `{code}` | {why} |")
    return ["| where | mistake | why nothing notices it |", "| --- | --- | --- |", *rows]


def _shortened(change: str) -> str:
    before, after = change.split(" → ")
    start = next(i for i, (a, b) in enumerate(zip(before, after, strict=False)) if a != b)
    start = max(0, start - 40)
    return f"…{before[start : start + 80]}… → …{after[start : start + 60]}…"
