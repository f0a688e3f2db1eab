"""Declarations of restores: the operator states which moves may be missing."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from service.shx.canonical import RecordError, format_time, parse_time
from service.shx.tlog.notes import NoteVerifier, check_name, open_note

MAX_RESTORES: Final = 1000
"""Maximum number of declarations in a list."""

_BODY: Final = re.compile(
    r"(?P<origin>[^\n]+)/restored\n(?P<leaf>0|[1-9][0-9]{0,18})\n"
    r"(?P<since>[0-9TZ:.-]+)\n(?P<at>[0-9TZ:.-]+)\n"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Restore:
    """
    A restore: moves that were acknowledged after `since` and before `at` may be missing.

    `leaf` is the number of the declaration among the leaves of the public log. Nothing that the
    leaves before it name is missing.
    """

    origin: str
    leaf: int
    since: str
    at: str

    @property
    def body(self) -> str:
        """Return the signed text, which is also the data of the leaf."""
        return f"{self.origin}/restored\n{self.leaf}\n{self.since}\n{self.at}\n"


def new_restore(origin: str, *, leaf: int, since: datetime, at: datetime) -> Restore:
    """
    Return the declaration of a restore at `at` of a database whose last change was at `since`.

    Raises RecordError for an origin that cannot be the name of a key, or `since` after `at`.
    """
    check_name(origin)
    made = Restore(origin=origin, leaf=leaf, since=format_time(since), at=format_time(at))
    return parse_restore(made.body)


def parse_restore(text: str) -> Restore:
    """
    Return the declaration in the text of a note, or in a leaf.

    Raises RecordError if the text is malformed.

    >>> times = ("2026-11-26T01:00:00.000000Z", "2026-11-26T02:00:00.000000Z")
    >>> parse_restore("".join(f"{line}{chr(10)}" for line in ("e.org/restored", 7, *times))).leaf
    7
    """
    match = _BODY.fullmatch(text)
    if match is None or parse_time(match["since"]) > parse_time(match["at"]):
        raise RecordError("bad_restore", "not the text of a declaration of a restore")
    return Restore(
        origin=match["origin"], leaf=int(match["leaf"]), since=match["since"], at=match["at"]
    )


def restore_in(data: bytes, index: int) -> Restore:
    """
    Return the declaration that is the data of the leaf with this number.

    Raises RecordError if the data is malformed, or is the declaration of another leaf.
    """
    restore = parse_restore(data.decode("utf-8", "replace"))
    if restore.leaf != index:
        raise RecordError("bad_restore", f"the declaration of a restore of leaf {restore.leaf}")
    return restore


def open_restore(note: bytes, verifiers: tuple[NoteVerifier, ...]) -> Restore:
    """
    Return a declaration that a known key of its origin signed.

    Raises RecordError for any other note.
    """
    opened, signed = open_note(note, verifiers)
    restore = parse_restore(opened.text)
    if all(verifier.name != restore.origin for verifier in signed):
        raise RecordError("bad_restore", "signed by a key whose name is not the origin")
    return restore
