"""The format of a dump: the sealed public hands of a month in files (ops/spec/dump-1.md)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from uuid import UUID

from service.shx.canonical import RecordError, canonical, format_time, parse, parse_time
from service.shx.validators import (
    HASH,
    MAX_SEATS,
    accepts,
    each,
    integer,
    nullable,
    one_of,
    record,
    text,
    time,
    uuid,
)

MANIFEST: Final = "dump.json"
INDEX: Final = "index.ndjson"
CHECKPOINT: Final = "checkpoint"
MAX_TAR: Final = 100_000_000  # bytes of a tar file
MAX_LINE: Final = 1 << 16  # bytes of a line of the index
MAX_MANIFEST: Final = 16 << 20  # bytes
TESTIMONY: Final = (
    "The players in the index and its marks cad are the testimony of the operator: no hash and no"
    " proof covers them."
)
_MONTH: Final = re.compile(r"([0-9]{4})-(0[1-9]|1[0-2])")


@dataclass(frozen=True, slots=True, kw_only=True)
class DumpedHand:
    """A line of the index: where the bundle of a hand is, and what the operator testifies."""

    game: UUID
    leaf: int  # the index of its last leaf in the public log
    tar: str
    sha256: str  # of the bundle
    size: int  # of the bundle, in bytes
    sealed_at: datetime
    players: tuple[UUID | None, ...]  # of the seats; None: a bot, or an erased player
    cad: bool  # whether a final ruling calls a player of it a cad

    @property
    def name(self) -> str:
        """Return the name of the bundle in the tar file."""
        return f"{self.game}.shx"

    @property
    def line(self) -> bytes:
        """Return the line, without its end."""
        return canonical(
            {
                "game": str(self.game),
                "leaf": self.leaf,
                "tar": self.tar,
                "sha256": self.sha256,
                "size": self.size,
                "sealed_at": format_time(self.sealed_at),
                "players": [None if one is None else str(one) for one in self.players],
                "cad": self.cad,
            }
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TarFile:
    """A tar file of a dump."""

    name: str
    sha256: str
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DumpManifest:
    """The content of dump.json."""

    month: str
    previous: str | None  # the last month before it with such hands; None: there is none
    complete: bool  # whether the month was over, and each of its hands in the public log
    origin: str
    tree_size: int  # of the checkpoint
    hands: int
    index: str  # SHA-256
    tars: tuple[TarFile, ...]

    @property
    def content(self) -> bytes:
        """Return the file."""
        tars = [{"name": one.name, "sha256": one.sha256, "size": one.size} for one in self.tars]
        value = {
            "v": 1,
            "month": self.month,
            "previous": self.previous,
            "complete": self.complete,
            "origin": self.origin,
            "tree_size": self.tree_size,
            "hands": self.hands,
            "index": self.index,
            "tars": tars,
            "testimony": TESTIMONY,
        }
        return canonical(value) + b"\n"


def month_of(text: str) -> tuple[datetime, datetime]:
    """
    Return the begin of a month like 2026-11 in UTC, and that of the next.

    Raises ValueError for another text, and for a month that `datetime` has no end of.
    """
    match = _MONTH.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is no month such as 2026-11")
    year, month = int(match[1]), int(match[2])
    after = (year + 1, 1) if month == 12 else (year, month + 1)
    try:
        return datetime(year, month, 1, tzinfo=UTC), datetime(*after, 1, tzinfo=UTC)
    except ValueError:
        raise ValueError(f"{text!r} is no month from 0001-01 to 9999-11") from None


def tar_name(number: int) -> str:
    """Return the name of a tar file, counted from 1."""
    return f"hands-{number:04}.tar"


def read_manifest(folder: Path) -> DumpManifest:
    """Return dump.json of a folder; raises RecordError if it is malformed, and OSError."""
    with (folder / MANIFEST).open("rb") as file:
        data = file.read(MAX_MANIFEST + 1)
    value = parse(data.removesuffix(b"\n"), limit=MAX_MANIFEST)
    _MANIFEST_SHAPE(value, "")
    return DumpManifest(
        month=value["month"],
        previous=value["previous"],
        complete=value["complete"],
        origin=value["origin"],
        tree_size=value["tree_size"],
        hands=value["hands"],
        index=value["index"],
        tars=tuple(TarFile(**one) for one in value["tars"]),
    )


def read_index(folder: Path) -> Iterator[DumpedHand]:
    """
    Yield the lines of the index, one after the other.

    Raises RecordError for a malformed line, one with a leaf that is not after the one before, and
    OSError.
    """
    before = -1
    with (folder / INDEX).open("rb") as file:
        number = 0
        while line := file.readline(MAX_LINE + 1):
            number += 1
            try:
                hand = _hand(parse(line.removesuffix(b"\n"), limit=MAX_LINE))
            except RecordError as error:
                detail = f"{INDEX}, line {number}: {error.detail}"
                raise RecordError("bad_dump", detail) from None
            if not line.endswith(b"\n") or hand.leaf <= before:
                detail = f"{INDEX}, line {number}: cut off, or not in the order of the public log"
                raise RecordError("bad_dump", detail)
            before = hand.leaf
            yield hand


def _hand(value: Any) -> DumpedHand:
    _HAND_SHAPE(value, "")
    players: Sequence[str | None] = value["players"]
    return DumpedHand(
        game=UUID(value["game"]),
        leaf=value["leaf"],
        tar=value["tar"],
        sha256=value["sha256"],
        size=value["size"],
        sealed_at=parse_time(value["sealed_at"]),
        players=tuple(None if one is None else UUID(one) for one in players),
        cad=value["cad"],
    )


@accepts(type="boolean")
def _boolean(value: Any, path: str) -> None:
    if type(value) is not bool:
        raise RecordError("bad_field", f"{path}: neither true nor false")


@accepts(type="string", pattern=r"^hands-[0-9]{4,9}\.tar$")
def _tar(value: Any, path: str) -> None:
    if type(value) is not str or not re.fullmatch(r"hands-[0-9]{4,9}\.tar", value):
        raise RecordError("bad_field", f"{path}: not the name of a tar file")


@accepts(type="string", pattern=f"^{_MONTH.pattern}$")
def _month(value: Any, path: str) -> None:
    if type(value) is not str or not _MONTH.fullmatch(value):
        raise RecordError("bad_field", f"{path}: not a month")


_COUNT: Final = integer()
_HAND_SHAPE: Final = record(
    {
        "game": uuid,
        "leaf": _COUNT,
        "tar": _tar,
        "sha256": HASH,
        "size": _COUNT,
        "sealed_at": time,
        "players": each(nullable(uuid), high=MAX_SEATS),
        "cad": _boolean,
    }
)
_MANIFEST_SHAPE: Final = record(
    {
        "v": integer(1, 1),
        "month": _month,
        "previous": nullable(_month),
        "complete": _boolean,
        "origin": text,
        "tree_size": _COUNT,
        "hands": _COUNT,
        "index": HASH,
        "tars": each(record({"name": _tar, "sha256": HASH, "size": _COUNT}), high=1 << 16),
        "testimony": one_of(TESTIMONY),
    }
)
