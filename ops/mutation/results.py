"""Results of mutation testing: one line for each mutant, and the explained survivors."""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from ops.mutation.session import Mutant

EXPLAINED = Path(__file__).with_name("explained.toml")

Key = tuple[str, str, str, int]
"""Module, function, mutation and its number among equal ones; line numbers change with edits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """The result of one mutant: what killed it, None for a survivor."""

    module: str
    function: str
    mutation: str
    number: int
    line: int
    killed_by: str | None

    @property
    def key(self) -> Key:
        return self.module, self.function, self.mutation, self.number

    def written(self) -> str:
        return json.dumps(asdict(self), ensure_ascii=False)


def line_of(mutant: Mutant, killed_by: str | None) -> Line:
    """Return the result of a mutant."""
    mutation = mutant.mutation
    return Line(
        module=mutant.module.split(".")[-1],
        function=mutation.function or "",
        mutation=mutation.text,
        number=mutation.number,
        line=mutation.first,
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
        f"{len(lines)} mutants, {len(lines) - len(survivors)} killed, "
        f"{len(survivors) - len(left)} survived with an explanation, {len(left)} without"
    )
    if not as_markdown:
        places = [f"{s.module}.py:{s.line} {s.function}: {s.mutation}" for s in left]
        return "\n".join([*places, counts])
    return "\n".join([counts, "", *_modules(lines), "", *_reasons(survivors)])


def _survivors(path: Path) -> list[Line]:
    return [line for line in read(path) if line.killed_by is None]


@cache
def _explained() -> dict[Key, str]:
    entries = tomllib.loads(EXPLAINED.read_text())["survivor"]
    return {
        (entry["module"], entry["function"], mutation, entry.get("number", 1)): entry["why"]
        for entry in entries
        for mutation in entry["mutations"]
    }


def _modules(lines: list[Line]) -> list[str]:
    total = Counter(line.module for line in lines)
    alive = Counter(line.module for line in lines if line.killed_by is None)
    rows = [
        f"| {name} | {count} | {count - alive[name]} | {alive[name]} |"
        for name, count in sorted(total.items())
    ]
    return ["| module | mutants | killed | survived |", "| --- | --- | --- | --- |", *rows]


def _reasons(survivors: list[Line]) -> list[str]:
    rows = []
    for line in sorted(survivors, key=lambda s: (s.module, s.line)):
        mutation = line.mutation if len(line.mutation) < 160 else _shortened(line.mutation)
        why = _explained().get(line.key, "**not explained**")
        code = mutation.replace("|", "\\|")
        rows.append(f"| {line.module}.py:{line.line} {line.function} | `{code}` | {why} |")
    return ["| where | mutation | why no test kills it |", "| --- | --- | --- |", *rows]


def _shortened(mutation: str) -> str:
    before, after = mutation.split(" → ")
    start = next(i for i, (a, b) in enumerate(zip(before, after, strict=False)) if a != b)
    start = max(0, start - 40)
    return f"…{before[start : start + 80]}… → …{after[start : start + 60]}…"
