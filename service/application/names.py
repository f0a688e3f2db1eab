"""Cache of player names, so that a move does not wait for a query."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from uuid import UUID

from service.store.directory import Directory

KEPT_SECONDS = 5.0
MOST_NAMES = 100_000
"""Number of cached names above which the cache is cleared."""


class Names:
    """Names by player, read again after a few seconds so that erased names disappear."""

    def __init__(self, directory: Directory) -> None:
        self._directory = directory
        self._kept: dict[UUID, tuple[float, str | None]] = {}
        self._lock = threading.Lock()

    def of(self, players: Sequence[UUID | None]) -> list[str | None]:
        """Return a name for each player, None for bots and for erased players."""
        names = self._cached(players)
        if missing := _others(players, names):
            read = self._directory.names(missing)
            new = {player: read.get(player) for player in missing}
            self.learn(new)
            names |= new
        return [None if player is None else names[player] for player in players]

    def expired(self, players: Sequence[UUID | None]) -> list[UUID]:
        """Return the players whose names are not cached or have to be read again."""
        return _others(players, self._cached(players))

    def learn(self, names: Mapping[UUID, str | None]) -> None:
        """Cache names that were read just now."""
        if not names:
            return
        end = time.monotonic() + KEPT_SECONDS
        with self._lock:
            if len(self._kept) > MOST_NAMES:
                self._kept.clear()
            self._kept |= {player: (end, name) for player, name in names.items()}

    def forget(self, player: UUID) -> None:
        """Remove a changed or erased name from the cache."""
        with self._lock:
            self._kept.pop(player, None)

    def _cached(self, players: Sequence[UUID | None]) -> dict[UUID, str | None]:
        """Return the names that need not be read again; None for erased players."""
        now = time.monotonic()
        with self._lock:
            known = {player: self._kept.get(player) for player in players if player is not None}
        return {player: one[1] for player, one in known.items() if one and one[0] >= now}


def _others(players: Sequence[UUID | None], names: Mapping[UUID, str | None]) -> list[UUID]:
    """Return the players that have no entry in `names`."""
    return [player for player in players if player is not None and player not in names]
