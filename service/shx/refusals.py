"""Refused attempts: their file in a bundle, and its hash in the seal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from service.shx.canonical import RecordError, canonical, parse
from service.shx.hashing import sha256
from service.shx.validators import MAX_SEATS, SEAT, Check, free_object, record, text, time

MAX_PER_SEAT: Final = 200
"""Maximum of refused attempts recorded for one seat in a game; later ones are not recorded."""

MAX_PER_GAME: Final = MAX_PER_SEAT * MAX_SEATS

UNPROVEN: Final = "they rest on the file alone"
"""The reason why refused attempts that no seal names prove nothing."""

_ROW: Final[Check] = record({"at": time, "move": free_object, "rule": text, "seat": SEAT})


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedRefusals:
    """The refused attempts in a seal of version 2: their number and the hash of their file."""

    count: int
    sha256: str  # of the bytes of refusals.jsonl, in hex

    def as_json(self) -> dict[str, Any]:
        """Return the value of the field `refusals` in the data of a seal."""
        return {"count": self.count, "sha256": self.sha256}


def refusals_file(rows: Iterable[Mapping[str, Any]]) -> bytes:
    """
    Return the bytes of `refusals.jsonl`: one line for each attempt, in the order of `rows`.

    Raises RecordError for a value that has no canonical JSON.
    """
    return b"".join(canonical(dict(row)) + b"\n" for row in rows)


def seal_of(data: bytes) -> SealedRefusals:
    """Return the fields of a seal for the bytes of `refusals.jsonl`."""
    return SealedRefusals(count=data.count(b"\n"), sha256=sha256(data).hex())


NONE_REFUSED: Final = seal_of(b"")


def sealed_refusals(event: Mapping[str, Any]) -> SealedRefusals | None:
    """
    Return the count and hash of refused attempts in a decoded seal; None for one of version 1.

    Code that reads seals uses this instead of the fields, to support both versions.
    """
    if event["v"] == 1:
        return None
    sealed = event["data"]["refusals"]
    return SealedRefusals(count=sealed["count"], sha256=sealed["sha256"])


def check_refusals(data: bytes, *, seats: int) -> None:
    """
    Raise RecordError unless `data` is a valid `refusals.jsonl` of a game with `seats` seats.

    Each line is canonical JSON and ends with a line feed, no line is earlier than the line
    before it, and a seat has at most MAX_PER_SEAT lines.
    """
    lines = data.split(b"\n")
    if lines.pop():
        raise RecordError("bad_refusals", "the last line does not end with a line feed")
    before, of_seat = "", Counter[int]()
    for number, line in enumerate(lines, 1):
        try:
            row = parse(line)
            _ROW(row, "")
        except RecordError as error:
            raise RecordError("bad_refusals", f"line {number}: {error.detail}") from None
        of_seat[row["seat"]] += 1
        if row["seat"] >= seats or of_seat[row["seat"]] > MAX_PER_SEAT:
            reason = f"line {number}: there is no seat {row['seat']}, or it has too many attempts"
            raise RecordError("bad_refusals", reason)
        if row["at"] < before:
            raise RecordError("bad_refusals", f"line {number}: earlier than the line before")
        before = row["at"]
