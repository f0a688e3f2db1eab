"""Text that people write for others: what is permitted in it, and names that look alike."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

import regex

BYTES_A_CHARACTER: Final = 4
"""Most bytes of UTF-8 for each character of a name: 160 for 40 characters."""

INVISIBLE: Final = "has a control character, or an invisible one"
REFUSED: Final = "has a control character, a noncharacter, or one that turns the direction of text"

_BLANK: Final = "\u2800"  # the blank of Braille, which is no default-ignorable code point
_IGNORABLE = r"\p{Default_Ignorable_Code_Point}" + _BLANK
_SPACES: Final = " \u00a0\u1680\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
_TURNING = r"\u202A-\u202E\u2066-\u2069"
"""Characters that turn or isolate the direction of all that follows them on the page."""

_NO_TEXT = r"\p{Noncharacter_Code_Point}\p{Cs}"
_UNSEEN: Final = regex.compile(rf"[{_IGNORABLE}{_NO_TEXT}\p{{Cc}}\p{{Zl}}\p{{Zp}}]")
_REFUSED: Final = regex.compile(rf"[{_TURNING}{_NO_TEXT}]|(?![\t\n\r])\p{{Cc}}")
_VISIBLE: Final = regex.compile(rf"(?![{_IGNORABLE}])[\p{{L}}\p{{N}}\p{{P}}\p{{S}}]")
_CLUSTER: Final = regex.compile(r"\X")
_PART = r"\p{Extended_Pictographic}\p{Emoji_Modifier}?[\uFE0E\uFE0F]?"
_EMOJI: Final = regex.compile(
    rf"(?:{_PART})(?:\u200D{_PART})*"
    r"|\U0001F3F4[\U000E0030-\U000E0039\U000E0061-\U000E007A]+\U000E007F"  # a flag by its tags
    r"|[0-9#*]\uFE0F\u20E3"
)


def clusters(text: str) -> list[str]:
    """
    Return the characters of a text as its reader counts them (UAX 29, extended grapheme clusters).

    >>> len(clusters("e\u0301")), len(clusters("\U0001f469\u200d\U0001f467"))
    (1, 1)
    """
    return list(_CLUSTER.findall(text))


def tidied(text: str, *, lines: bool) -> str:
    """
    Return a text in normal form NFC, without spaces at its edges; with `lines` nor line breaks.

    >>> tidied(" Ada\u00a0", lines=False)
    'Ada'
    """
    return unicodedata.normalize("NFC", text).strip(_SPACES + "\t\n\r" if lines else _SPACES)


def text_fault(text: str) -> str | None:
    """
    Return why a text of several lines is not permitted; None if it is.

    Characters without a shape are permitted, because some scripts need them, but not those that
    turn the direction of what the page shows after the text.
    """
    if _REFUSED.search(text):
        return REFUSED
    return None if is_visible(text) else "is empty"


def is_visible(text: str) -> bool:
    """Return whether a text has a visible character."""
    return _VISIBLE.search(text) is not None


def name_fault(text: str, *, longest: int) -> str | None:
    """
    Return why a text is no name of 1 to `longest` characters; None if it is one.

    Characters without a shape of their own are permitted only within emoji, which need them.
    """
    if not 1 <= len(text) <= BYTES_A_CHARACTER * longest:
        return _wrong_length(longest)
    parts = clusters(text)
    if len(parts) > longest:
        return _wrong_length(longest)
    if any(_UNSEEN.search(part) and not _EMOJI.fullmatch(part) for part in parts):
        return INVISIBLE
    if len(text.encode()) > BYTES_A_CHARACTER * longest:
        return f"has more than {BYTES_A_CHARACTER * longest} bytes in UTF-8"
    return None if is_visible(text) else "is empty"


def _wrong_length(longest: int) -> str:
    return f"is not 1 to {longest} characters long"


def told_apart(names: Sequence[str | None], ids: Sequence[object]) -> list[str | None]:
    """
    Return the names of a table; those that look alike, with the first four digits of their ids.

    Capitals, variants of a character (NFKC), spaces and invisible characters make no difference.

    >>> told_apart(["Ada", "ada ", "Bob"], ["1f2e9", "7c8d0", "3a4b5"])
    ['Ada (1f2e)', 'ada  (7c8d)', 'Bob']
    """
    shapes = [None if name is None else _shape(name) for name in names]
    known = [shape for shape in shapes if shape is not None]
    if len(set(known)) == len(known):
        return list(names)  # as nearly always; every view asks
    seen = Counter(known)
    return [
        name if shape is None or seen[shape] == 1 else f"{name} ({str(identity)[:4]})"
        for name, shape, identity in zip(names, shapes, ids, strict=True)
    ]


@lru_cache(maxsize=4096)
def _shape(name: str) -> str:
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    return " ".join(_UNSEEN.sub("", folded).split())
