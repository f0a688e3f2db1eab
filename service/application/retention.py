"""Retention periods, the purge of expired data, and the file of erased players."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final
from uuid import UUID

from service.application.games.commits import GAME_TOPIC
from service.application.ports import Doubt, World, no_doubt
from service.runtime.atomic_files import PRIVATE, folder_lock
from service.runtime.config import Setting, Settings, whole_number
from service.shx.canonical import RecordError, format_time, parse_time
from service.store.directory import Directory, Erasure, PlayerRepository
from service.store.events import EventStore

MANY: Final = 10_000
"""Rows that one call of `purge_answers`, `purge_refusals` or `purge_seeks` deletes at most."""

FEW: Final = 1000
"""Players that one call of `purge_players` erases at most."""

BATCH: Final = 1000
"""Outbox rows that one call removes."""

SEEKS: Final = timedelta(days=1)
"""For how long a seek or a challenge that is over is retained."""


_RETENTION: Final = "Retention"

KEEP_ANSWERS: Final = Setting(
    name="keep_answers_hours",
    default=24,
    read=whole_number(24, 24 * 3650),
    section=_RETENTION,
    unit="hours",
    effect="Answers to requests with an `Idempotency-Key`",
)
KEEP_WAKE_UPS: Final = Setting(
    name="keep_wake_ups_hours",
    default=24,
    read=whole_number(1, 24 * 3650),
    section=_RETENTION,
    unit="hours",
    effect="Notifications that no relay has sent",
)
KEEP_REFUSALS: Final = Setting(
    name="keep_refusals_days",
    default=365,
    read=whole_number(0, 36_500),
    section=_RETENTION,
    unit="days; 0: forever",
    effect="Refused moves, counted from the seal of the game",
)
KEEP_UNUSED_PLAYERS: Final = Setting(
    name="keep_unused_players_days",
    default=365,
    read=whole_number(0, 36_500),
    section=_RETENTION,
    unit="days; 0: forever",
    effect="Players who were never active",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """The retention period of each kind of data; None: unlimited."""

    answers: timedelta  # to idempotent requests
    wake_ups: timedelta  # notifications that no relay has sent
    refusals: timedelta | None  # refused moves, after the seal
    unused_players: timedelta | None  # players without any action, after registration


DEFAULT_RETENTION = Retention(
    answers=timedelta(hours=24), wake_ups=timedelta(hours=24), refusals=None, unused_players=None
)
"""Without settings: the periods that api.md promises, the rest unlimited."""


def retention_of(settings: Settings) -> Retention:
    """Return the retention periods of the settings."""
    return Retention(
        answers=timedelta(hours=settings.of(KEEP_ANSWERS)),
        wake_ups=timedelta(hours=settings.of(KEEP_WAKE_UPS)),
        refusals=_days(settings.of(KEEP_REFUSALS)),
        unused_players=_days(settings.of(KEEP_UNUSED_PLAYERS)),
    )


def _days(days: int) -> timedelta | None:
    return timedelta(days=days) if days else None


class Purging:
    """Deletes expired data, a batch of one kind with each call; safe in several processes."""

    def __init__(
        self,
        *,
        store: EventStore,
        directory: Directory,
        world: World,
        retention: Retention,
        clock_doubt: Doubt = no_doubt,
    ) -> None:
        self._store = store
        self._directory = directory
        self._world = world
        self._retention = retention
        self._clock_doubt = clock_doubt

    def answers(self) -> int:
        """Delete a batch of stored answers; return its size, at most MANY."""
        return self._deleted(
            self._retention.answers, lambda before: self._store.purge_answers(older_than=before)
        )

    def wake_ups(self) -> int:
        """
        Remove at most BATCH old notifications for live readers from the outbox; return how many.

        Without a relay their number would grow. Rows for the public log and the statistics are
        pending work, and are retained at any age.
        """
        return self._deleted(self._retention.wake_ups, self._drop_wake_ups)

    def _drop_wake_ups(self, before: datetime) -> int:
        rows = self._store.outbox(topic=GAME_TOPIC, limit=BATCH, older_than=before)
        self._store.drop_outbox(rows)
        return len(rows)

    def seeks(self) -> int:
        """Delete a batch of seeks that are over; return its size, at most MANY."""
        return self._deleted(SEEKS, lambda before: self._directory.purge_seeks(ended_before=before))

    def challenges(self) -> int:
        """Delete a batch of challenges that are over; return its size, at most MANY."""
        return self._deleted(
            SEEKS, lambda before: self._directory.purge_challenges(expired_before=before)
        )

    def handles(self) -> int:
        """Delete a batch of hashes of handles that are free again; return its size."""
        return self._deleted(
            timedelta(0), lambda before: self._directory.purge_handles(free_before=before)
        )

    def refusals(self) -> int:
        """Delete a batch of refused moves; return its size, at most MANY."""
        return self._deleted(
            self._retention.refusals,
            lambda before: self._directory.purge_refusals(ended_before=before),
        )

    def players(self) -> int:
        """Erase a batch of unused players; return its size, at most FEW."""
        now = self._world.now()
        return self._deleted(
            self._retention.unused_players,
            lambda before: self._directory.purge_players(registered_before=before, at=now),
        )

    def _deleted(self, period: timedelta | None, purge: Callable[[datetime], int]) -> int:
        """
        Return what a purge returns of data older than a period; 0 for data without one.

        Nothing is deleted if the clock is in doubt: with one that has jumped ahead, all data would
        look expired.
        """
        if period is None or self._clock_doubt() is not None:
            return 0
        return purge(self._world.now() - period)


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

    def record(self, *, most: int | None = None) -> int:
        """
        Write the first `most` erasures that are not in the file yet; return their number.

        Raises ValueError for a malformed file, OSError if it cannot be read or written.
        """
        if self._file is None:
            return 0
        known = self._read(self._file)
        # After a clock that was ahead is corrected, new erasures are earlier than known ones.
        since = min(max(known.values()), self._now()) - OVERLAP if known else None
        new = [
            one for one in self._directory.erased_players(since=since) if one.player not in known
        ]
        return self._file.add(new[:most]) if new else 0

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
