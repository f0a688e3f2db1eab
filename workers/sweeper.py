"""Finds in Postgres what is due: bots whose wake-up was lost, deadlines, windows that are over."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime, timedelta
from uuid import UUID

import structlog

from service.bootstrap import Services
from service.event_store.protocol import StoreUnavailable
from service.event_store.rows import IdleGame
from service.measures import ROUNDS, SWEEPER_LAG
from workers.backlog import measure_backlog

INTERVAL = 0.25
"""Seconds between two looks; how late a deadline or the end of a window may be noticed."""

BATCH = 200
AGAIN_AFTER = timedelta(seconds=5)
"""A game that was woken at a version is woken again after so long without a move."""

BESIDE_EVERY = 1.0
"""Seconds between two looks at disputes and statistics."""

A_FEW = 20
"""Disputes or games seen to at one look; a deadline waits no longer than for these."""

IDLE_EVERY = 60.0
"""Seconds between two looks for games that nobody touches any more."""

PURGE_EVERY = 600.0


class Sweeper:
    """Wakes workers for games whose time has come."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._woken: dict[tuple[str, int, datetime], float] = {}
        self._purged = 0.0
        self._looked = 0.0
        self._beside = 0.0
        self._idle_to: IdleGame | None = None  # the last one of a look that left some
        self._log = structlog.get_logger("sweeper")

    def sweep(self) -> int:
        """Wake a worker for each game that is due and was not woken just now; return how many."""
        now, woken = time.monotonic(), 0
        today = self._services.world.now()
        since = now - AGAIN_AFTER.total_seconds()
        self._woken = {key: at for key, at in self._woken.items() if at > since}
        # Those woken just now come first, being the oldest: the others must be seen beside them.
        limit = BATCH + len(self._woken)
        due = self._services.directory.due_games(now=today, limit=limit)
        SWEEPER_LAG.set((today - due[0].at).total_seconds() if due else 0)
        for game in due:
            # With its time: a seat whose player is back waits for its clock, at the same version.
            key = (str(game.id), game.version, game.at)
            if key in self._woken:
                continue
            self._services.bell.wake(game.id, game.version)
            self._woken[key] = now
            woken += 1
        return woken

    def beside(self) -> None:
        """
        Do now and then what no game waits for: measures, disputes, statistics, old answers.

        Whatever goes wrong with one of them is told in the log, and keeps neither the
        others nor any game waiting.
        """
        if time.monotonic() - self._beside < BESIDE_EVERY:
            return
        measure_backlog(self._services)
        attendance, statistics = self._services.attendance, self._services.statistics
        for dispute in attendance.due(limit=A_FEW):
            self._one(attendance.attend, dispute)
        for game in statistics.uncounted(limit=A_FEW):
            self._one(statistics.count, game)
        self.wake_idle()
        self.purge()
        self._beside = time.monotonic()

    def _one(self, work: Callable[[UUID], object], identity: UUID) -> None:
        try:
            work(identity)
        except StoreUnavailable:
            raise
        except Exception:  # noqa: BLE001 - one that cannot be read must not stop the sweeper
            self._log.exception("cannot be attended to", id=str(identity))

    def wake_idle(self) -> int:
        """Have workers close the games that nobody touches; return how many were found."""
        if time.monotonic() - self._looked < IDLE_EVERY:
            return 0
        self._looked = time.monotonic()
        # Each look goes on where the last one stopped, and at the end from the beginning: games
        # that cannot be closed would else stand before all the others.
        idle = self._services.idle.found(limit=BATCH, beyond=self._idle_to)
        for game in idle:
            self._services.bell.wake(game.id, game.version)
        self._idle_to = idle[-1] if len(idle) == BATCH else None
        return len(idle)

    def purge(self) -> None:
        """Forget what was kept long enough, and say how much."""
        if time.monotonic() - self._purged > PURGE_EVERY:
            self._purged = time.monotonic()
            gone = {kind: count for kind, count in self._services.purging.purge().items() if count}
            if gone:
                self._log.info("forgotten", **gone)

    def run(self, stopped: Callable[[], bool]) -> None:
        """Sweep until `stopped`."""
        while not stopped():
            try:
                self.sweep()
                self.beside()
                ROUNDS.labels("sweeper").set_to_current_time()
            except StoreUnavailable as error:
                self._log.warning("database does not answer", error=str(error))
                time.sleep(1)
            time.sleep(INTERVAL)
