"""Availability: when the service last became able to take moves, for clocks that waited."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

from service.store.games import GameRepository

OUTAGE: Final = timedelta(seconds=5)
"""Shortest gap between two signs of life that counts as an outage."""

AGAIN_SECONDS: Final = 1.0
"""Seconds for which a process reuses its last reading, and between two signs of life."""


class Availability:
    """
    The end of the last outage of the service.

    The sweepers record a sign of life every second in one row of the database; a gap in it is an
    outage, for example a stopped service, a migration, or a database without answer. Until a
    sweeper has recorded the end of an outage, readers take the present as its end: a worker may
    be back before the sweeper.
    """

    def __init__(
        self,
        directory: GameRepository,
        *,
        outage: timedelta = OUTAGE,
        again_seconds: float = AGAIN_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._directory = directory
        self._outage = outage
        self._again = again_seconds
        self._clock = clock
        self._noted_at = float("-inf")
        self._read: tuple[float, datetime | None] = (float("-inf"), None)

    def note(self) -> None:
        """Record a sign of life, at most once in AGAIN_SECONDS; raises StoreUnavailable."""
        now = self._clock()
        if now - self._noted_at >= self._again:
            self._directory.note_able(outage=self._outage)
            self._noted_at = now

    def since(self) -> datetime | None:
        """Return the end of the last outage; None if there was none. Raises StoreUnavailable."""
        now = self._clock()
        if now - self._read[0] >= self._again:
            self._read = (now, self._directory.able_since(outage=self._outage))
        return self._read[1]


class AlwaysAvailable(Availability):
    """A service without outages, for tests that set the time."""

    def __init__(self) -> None:
        """Need no store."""

    def note(self) -> None:
        """Do nothing."""

    def since(self) -> datetime | None:
        """Return None."""
        return None
