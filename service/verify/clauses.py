"""Shortening of technical texts, so that no sentence of a finding is too long."""

from __future__ import annotations

import re
from typing import Final

MAX_WORDS: Final = 30
"""Maximum number of words of a sentence in a summary or a finding."""

_CLAUSE_END: Final = re.compile(r"[;\n]|(?<=[a-z\])])[.:] ")


def shortened(text: str, words: int = MAX_WORDS) -> str:
    """
    Return the first clause of a technical text, with at most a number of words.

    A longer clause ends at the last comma among these words, or after them with "…".

    >>> shortened("seat 2 does not hold 7h; 3 more, at seq 4, 5, 6")
    'seat 2 does not hold 7h'
    >>> shortened("one two three four", 3)
    'one two three …'
    """
    clause = _CLAUSE_END.split(text, maxsplit=1)[0].split()
    if len(clause) <= words:
        return " ".join(clause)
    cut = " ".join(clause[:words])
    return cut.rpartition(",")[0] or f"{cut} …"
