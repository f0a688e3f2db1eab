"""File of erased players outside the database, applied after a restore from a backup."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final
from uuid import UUID

from service.atomic_files import PRIVATE, folder_lock
from service.shx.canonical import RecordError, format_time, parse_time
from service.store.directory import Erasure, PlayerRepository

OVERLAP: Final = timedelta(hours=1)
"""Erasures this long before the newest one in the file are read again: clocks may differ."""


class ErasureFile:
    """
    Erased players, one line each: id and time.

    The file contains no names. It is outside the database, because a database restored from
    a backup lacks the erasures made since.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> dict[UUID, datetime]:
        """
        Return the erasures in the file, none if there is no file.

        A last line without a line end was cut off by a crash and is left out. Raises
        ValueError for any other malformed line, OSError if the file cannot be read.
        """
        try:
            *lines, _cut = self.path.read_text("utf-8").split("\n")
        except FileNotFoundError:
            return {}
        found = {}
        for number, line in enumerate(lines, 1):
            player, _, at = line.partition(" ")
            try:
                found[UUID(player)] = parse_time(at)
            except (ValueError, RecordError):
                raise ValueError(f"{self.path}: line {number} is not an erasure") from None
        return found

    def add(self, erasures: Iterable[Erasure]) -> int:
        """
        Add and fsync the erasures that are not in the file yet; return their number.

        Raises ValueError for a malformed file, OSError if it cannot be read or written.
        """
        with folder_lock(self.path.parent):
            known = self.read()
            text = "".join(
                f"{one.player} {format_time(one.at)}\n"
                for one in erasures
                if one.player not in known
            )
            if text:
                self._append(text)
        return text.count("\n")

    def _append(self, text: str) -> None:
        handle = os.open(self.path, os.O_RDWR | os.O_CREAT, PRIVATE)
        with os.fdopen(handle, "r+b") as file:
            whole = file.read().rpartition(b"\n")
            file.seek(len(whole[0]) + len(whole[1]))  # overwrites a line that was cut off
            file.truncate()
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())


class Erasures:
    """Copies erasures from the database to the file; safe in several processes at once."""

    def __init__(
        self,
        directory: PlayerRepository,
        path: Path | None,
        *,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._directory = directory
        self._now = now
        self._file = None if path is None else ErasureFile(path)
        self._known: dict[UUID, datetime] = {}
        self._mark: object = None  # inode, size and time of the file when it was read

    def record(self) -> int:
        """
        Write erasures that are not in the file yet; return their number.

        Raises ValueError for a malformed file, OSError if it cannot be read or written.
        """
        if self._file is None:
            return 0
        known = self._read(self._file)
        # An erasure from a clock that was ahead must not hide the erasures after its correction.
        since = min(max(known.values()), self._now()) - OVERLAP if known else None
        new = [
            one for one in self._directory.erased_players(since=since) if one.player not in known
        ]
        return self._file.add(new) if new else 0

    def _read(self, file: ErasureFile) -> dict[UUID, datetime]:
        """Return the erasures in the file, read again only if the file has changed."""
        try:
            found = file.path.stat()
            mark = (found.st_ino, found.st_size, found.st_mtime_ns)
        except FileNotFoundError:
            mark = None
        if mark is None or mark != self._mark:
            self._known, self._mark = file.read(), mark
        return self._known
