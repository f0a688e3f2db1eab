"""Cache of player names, so that a move does not wait for a query."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from uuid import UUID

from service.store.directory import Directory

KEPT_SECONDS = 5.0


class Names:
    """Names by player, read again after a few seconds so that erased names disappear."""

    def __init__(self, directory: Directory) -> None:
        self._directory = directory
        self._kept: dict[UUID, tuple[float, str | None]] = {}
        self._lock = threading.Lock()

    def of(self, players: Sequence[UUID | None]) -> list[str | None]:
        """Return a name for each player, None for bots and for erased players."""
        now = time.monotonic()
        with self._lock:
            known = {p: self._kept.get(p) for p in players if p is not None}
        missing = [p for p, kept in known.items() if kept is None or kept[0] < now]
        found = {p: kept[1] for p, kept in known.items() if kept is not None}
        if missing:
            read = self._directory.names(missing)
            found |= {p: read.get(p) for p in missing}
            with self._lock:
                if len(self._kept) > 100_000:
                    self._kept.clear()
                self._kept |= {p: (now + KEPT_SECONDS, found[p]) for p in missing}
        return [None if p is None else found[p] for p in players]

    def forget(self, player: UUID) -> None:
        """Remove a changed or erased name from the cache."""
        with self._lock:
            self._kept.pop(player, None)
