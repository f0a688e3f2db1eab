"""Cache of player names, so that a move does not wait for a query."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
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
        if missing := self.expired(players):
            read = self._directory.names(missing)
            self.learn({player: read.get(player) for player in missing})
        with self._lock:
            kept = [None if player is None else self._kept.get(player) for player in players]
        return [None if one is None else one[1] for one in kept]

    def expired(self, players: Sequence[UUID | None]) -> list[UUID]:
        """Return those of the players whose names have to be read again."""
        now = time.monotonic()
        with self._lock:
            known = [(p, self._kept.get(p)) for p in players if p is not None]
        return [player for player, kept in known if kept is None or kept[0] < now]

    def learn(self, names: Mapping[UUID, str | None]) -> None:
        """Cache names that were read just now."""
        if not names:
            return
        end = time.monotonic() + KEPT_SECONDS
        with self._lock:
            if len(self._kept) > 100_000:
                self._kept.clear()
            self._kept |= {player: (end, name) for player, name in names.items()}

    def forget(self, player: UUID) -> None:
        """Remove a changed or erased name from the cache."""
        with self._lock:
            self._kept.pop(player, None)
