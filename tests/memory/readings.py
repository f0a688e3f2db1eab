"""Who read what, of a directory in memory."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID, uuid4

from service.store.events import StreamKind
from service.store.rows import READ_AGAIN, START, Cursor, Page, Reading
from tests.memory.events import MemoryStore


@dataclass(frozen=True, slots=True, kw_only=True)
class _Noted:
    """A reading, with the version that the game was at."""

    reading: Reading
    version: int | None


class MemoryReadings:
    """Readings by game, in a dictionary."""

    def __init__(self, store: MemoryStore) -> None:
        self._read_games = store
        self._noted: dict[UUID, list[_Noted]] = {}
        self._noting = threading.Lock()

    def record_readings(
        self, games: Sequence[UUID], *, at: datetime, reader: UUID | None, what: str
    ) -> None:
        """Note who read something not public; the same look again is the one noted."""
        for game in games:
            with self._read_games.summaries(StreamKind.GAME) as rows:
                version = rows[game]["version"] if game in rows else None
            with self._noting:
                noted = self._noted.setdefault(game, [])
                if not any(
                    (n.reading.reader, n.reading.what, n.version) == (reader, what, version)
                    and n.reading.at > at - READ_AGAIN
                    for n in noted
                ):
                    read = Reading(id=uuid4(), at=at, reader=reader, what=what)
                    noted.append(_Noted(reading=read, version=version))

    def readings(
        self, game: UUID, *, cursor: Cursor | None = None, limit: int = 50
    ) -> Page[Reading]:
        """Return a page of who read what of a game."""
        after = cursor or START
        with self._noting:
            rows = [noted.reading for noted in self._noted.get(game, ())]
        older = [row for row in rows if (row.at, row.id) < (after.at, after.id)]
        return Page[Reading].of(sorted(older, key=lambda r: (r.at, r.id), reverse=True), limit)
