"""Pages of results: a benchmark renews the table, the findings below it stay."""

from __future__ import annotations

from pathlib import Path

WIDTH = 118
"""Of a line of prose."""

FINDINGS = "## Findings"
"""This heading and what follows it are written by hand."""


def write(page: Path, made: str) -> None:
    """Write what a run made to a page; its findings, if it has some, are kept below it."""
    old = page.read_text() if page.exists() else ""
    _, found, rest = old.partition(FINDINGS)
    page.write_text(made.rstrip("\n") + "\n" + (f"\n{found}{rest}" if found else ""))
