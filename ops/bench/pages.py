"""Pages of results: a benchmark renews the table, the findings below it stay."""

from __future__ import annotations

from pathlib import Path

WIDTH = 118
"""Characters in a line of prose."""

FINDINGS = "## Findings"
"""This heading and what follows it are written by hand."""


def write(page: Path, text: str) -> None:
    """Replace the text of a page by that of a new run; keep its findings below."""
    old = page.read_text() if page.exists() else ""
    _, found, rest = old.partition(FINDINGS)
    page.write_text(text.rstrip("\n") + "\n" + (f"\n{found}{rest}" if found else ""))
