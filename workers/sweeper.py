"""Finds in Postgres what is due: bots whose wake-up was lost, deadlines, windows that are over."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta

import structlog

from service.bootstrap import Services
from service.event_store.protocol import StoreUnavailable

INTERVAL = 0.25
"""Seconds between two looks; how late a deadline or the end of a window may be noticed."""

BATCH = 200
AGAIN_AFTER = timedelta(seconds=5)
"""A game that was woken at a version is woken again after so long without a move."""

ATTEND_EVERY = 1.0
"""Seconds between two looks at disputes."""

PURGE_EVERY = 600.0


class Sweeper:
    """Wakes workers for games whose time has come."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._woken: dict[tuple[str, int], float] = {}
        self._purged = 0.0
        self._log = structlog.get_logger("sweeper")

    def sweep(self) -> int:
        """Wake a worker for each game that is due and was not woken just now; return how many."""
        now, woken = time.monotonic(), 0
        due = self._services.directory.due_games(now=self._services.world.now(), limit=BATCH)
        for game in due:
            key = (str(game.id), game.version)
            if self._woken.get(key, -1e9) > now - AGAIN_AFTER.total_seconds():
                continue
            self._services.bell.wake(game.id, game.version)
            self._woken[key] = now
            woken += 1
        if len(self._woken) > 10_000:
            self._woken = {k: t for k, t in self._woken.items() if t > now - 60}
        return woken

    def attend(self) -> int:
        """See to disputes: findings that no worker made, silence of referees; return how many."""
        due = self._services.attendance.due(limit=BATCH)
        for dispute in due:
            self._services.attendance.attend(dispute)
        return len(due)

    def purge(self) -> None:
        """Forget answers that were kept long enough."""
        if time.monotonic() - self._purged > PURGE_EVERY:
            self._purged = time.monotonic()
            self._services.purge()

    def run(self, stopped: Callable[[], bool]) -> None:
        """Sweep until `stopped`."""
        attended = 0.0
        while not stopped():
            try:
                self.sweep()
                if time.monotonic() - attended > ATTEND_EVERY:
                    self.attend()
                    attended = time.monotonic()
                self.purge()
            except StoreUnavailable as error:
                self._log.warning("database does not answer", error=str(error))
                time.sleep(1)
            time.sleep(INTERVAL)
