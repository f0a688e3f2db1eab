"""No sentence in the texts of the verifier and of the audit has more than 30 words."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from service.verify.clauses import MAX_WORDS

ROOT = Path(__file__).parents[3]
SOURCES = (
    *sorted((ROOT / "service" / "verify").glob("*.py")),
    *sorted((ROOT / "service" / "audit").glob("*.py")),
    ROOT / "service" / "application" / "disputes" / "findings.py",
    ROOT / "service" / "domain" / "plays.py",
    ROOT / "service" / "domain" / "decide.py",
)
"""The modules whose texts appear in reports, findings and answers of the audit."""

VALUE_WORDS = 4
"""How many words a value in a text counts for: a card or an event in words has about as many."""


def texts(path: Path) -> Iterator[str]:
    """Yield every text of a module but docstrings; each value in it becomes VALUE_WORDS words."""
    tree = ast.parse(path.read_text("utf-8"))
    docstrings = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    inner = {
        part
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        for part in ast.walk(node)
        if part is not node
    }
    for node in ast.walk(tree):
        if node in docstrings or node in inner:
            continue
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.JoinedStr):
            yield "".join(
                str(part.value) if isinstance(part, ast.Constant) else " ".join("x" * VALUE_WORDS)
                for part in node.values
            )


def longest(text: str) -> int:
    """Return how many words the longest sentence has after a report split the text."""
    parts = re.split(r"(?<=[.!?;])\s|\n", text)
    return max(len(part.split()) for part in parts)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_no_text_of_the_verifier_has_a_long_sentence(path: Path) -> None:
    found = [text for text in texts(path) if text.strip()]
    assert [text for text in found if longest(text) > MAX_WORDS] == []
