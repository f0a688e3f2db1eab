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


_Kept = tuple[float, str | None]
"""When a name has to be read again, and the name; None for an erased player."""


class Names:
    """Names by player, read again after a few seconds so that erased names disappear."""

    def __init__(self, directory: Directory) -> None:
        self._directory = directory
        self._kept: dict[UUID, _Kept] = {}
        self._lock = threading.Lock()

    def of(self, players: Sequence[UUID | None]) -> list[str | None]:
        """Return a name for each player, None for bots and for erased players."""
        found, expired = self._cached(players)
        names = [None if one is None else one[1] for one in found]
        if not expired:
            return names
        read = self._directory.names(expired)
        new = {player: read.get(player) for player in expired}
        self.learn(new)
        return [
            name if player is None else new.get(player, name)
            for player, name in zip(players, names, strict=True)
        ]

    def expired(self, players: Sequence[UUID | None]) -> list[UUID]:
        """Return the players whose names are not cached or have to be read again."""
        return self._cached(players)[1]

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

    def _cached(self, players: Sequence[UUID | None]) -> tuple[list[_Kept | None], list[UUID]]:
        """Return what is cached for each player, and the players that have to be read again."""
        with self._lock:
            found = [None if player is None else self._kept.get(player) for player in players]
        now = time.monotonic()
        expired = [
            player
            for player, one in zip(players, found, strict=True)
            if player is not None and (one is None or one[0] < now)
        ]
        return found, expired
