"""Findings in words: no sentence has more than 30 words, and each belongs to a known reason."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from service.verify import plain
from service.verify.plain import MAX_WORDS, sentences

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
    parts = re.split(r"(?<=[.!?])\s|\n", sentences(text))
    return max(len(part.split()) for part in parts)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_no_text_of_the_verifier_has_a_long_sentence(path: Path) -> None:
    found = [text for text in texts(path) if text.strip()]
    assert [text for text in found if longest(text) > MAX_WORDS] == []


REASONS = (
    *SOURCES,
    *sorted((ROOT / "service" / "shx").glob("**/*.py")),
    ROOT / "service" / "replay" / "history.py",
)
"""The modules whose texts are reasons of failed checks."""

VALUE = re.compile(
    r"\([^)]*\)|\\.\+?|\.[*+]|[?$']"  # of a pattern
    r"|(?<= )is(?= )|, the rules give|[:;] | as |, by |it lies (?:among the burned)?"
    r"|none|cards_played|pile_burned"
)
"""The parts of a pattern that stand for values, or where a reason is put together from parts."""


def test_each_sentence_in_plain_words_belongs_to_a_reason_that_a_check_gives() -> None:
    """A pattern that no reason matches any more leaves readers with the technical reason."""
    given = "\n".join(text for path in REASONS if path.name != "plain.py" for text in texts(path))
    fixed = {pattern: max(VALUE.split(pattern), key=len).strip() for pattern, _ in plain._REASONS}
    assert len(fixed) > 100
    assert [pattern for pattern, part in fixed.items() if part not in given] == []
