"""Sweeper: wakes due games whose notification was lost, and does periodic maintenance."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from uuid import UUID

import structlog

from service.application.availability import AGAIN_SECONDS
from service.application.games.commits import GAME_TOPIC, LOG_TOPIC
from service.application.operations import stuck_games
from service.application.quotas import Slice
from service.application.tables.record import NEXT_HAND
from service.bootstrap import Services
from service.runtime.telemetry import (
    CONNECTIONS,
    OUTBOX_AGE,
    QUEUED,
    ROUNDS,
    STUCK,
    SWEEPER_LAG,
    UNANSWERED,
    UNCOSIGNED,
    UNSIGNED,
    WEBHOOKS,
    WEBHOOKS_LAG,
)
from service.store.disputes import STATISTICS_TOPIC
from service.store.events import StoreUnavailable
from service.store.games import IdleGame

TOPICS = (GAME_TOPIC, LOG_TOPIC, STATISTICS_TOPIC)


def measure_backlog(services: Services) -> None:
    """
    Set the metrics of the outbox's age, webhooks, connections and the public log's backlog.

    The sweeper measures them, because a stuck sequencer would measure nothing.
    """
    now = services.world.now()
    for topic in TOPICS:
        since = services.directory.oldest_outbox_time(topic=topic)
        age = 0.0 if since is None else (now - since).total_seconds()
        OUTBOX_AGE.labels(topic).set(max(0.0, age))
    found = services.directory.webhooks_in_use()
    WEBHOOKS.labels("all").set(found.used)
    WEBHOOKS.labels("failing").set(found.failing)
    WEBHOOKS_LAG.set(0.0 if found.due is None else max(0.0, (now - found.due).total_seconds()))
    used, most = services.directory.connections_in_use()
    CONNECTIONS.labels("used").set(used)
    CONNECTIONS.labels("allowed").set(most)
    backlog = services.sequencer.backlog()
    UNSIGNED.set(backlog.unsigned)
    for witness, leaves in backlog.uncosigned.items():
        UNCOSIGNED.labels(witness).set(leaves)


INTERVAL = 0.25
"""Seconds between two sweeps: deadlines and ends of windows are noticed at most this late."""

BATCH = 200
"""Maximum number of games read in one search, not counting those woken recently."""

AGAIN_AFTER = timedelta(seconds=5)
"""Time without a move after which a game is woken again at the same version."""

MAINTENANCE_SECONDS = 2.0
"""Seconds between two rounds of disputes and statistics."""

TABLES_SECONDS = 1.0
"""Seconds between two searches for tables that have to deal, seeks that match, and ratings."""

MAINTENANCE_BATCH = 20
"""Maximum number of disputes, games or new tables in one round: due games are not delayed long."""

MEASURE_EVERY = 5.0
"""Seconds between two measurements of queues: each takes a query for every queue."""

IDLE_EVERY = 60.0
"""Seconds between two searches for abandoned games."""

STUCK_EVERY = 60.0
"""Seconds between two counts of stuck games, and of disputes that wait for the operator."""

DISPUTES_COUNTED = 100
"""Disputes against the server that are read for their count."""

STUCK_AFTER = timedelta(seconds=60)
"""How long a game is overdue until it counts as stuck, as in `shithead admin stuck`."""

PURGE_EVERY = 600.0
"""Seconds between two deletions of expired data."""

LIST_EVERY = 5.0
"""Seconds between two updates of the list of erased players outside the database."""


class Sweeper:
    """Wakes workers for due games, and does periodic maintenance."""

    def __init__(
        self, services: Services, *, queued: Callable[[], int | None] = lambda: None
    ) -> None:
        self._queued = queued
        self._services = services
        self._woken: dict[tuple[str, int, datetime], float] = {}
        self._purged_at = 0.0
        self._idle_searched_at = 0.0
        self._maintained_at = 0.0
        self._tables_at = 0.0
        self._measured_at = 0.0
        self._stuck_counted_at = 0.0
        self._erasures_listed_at = 0.0
        self._last_idle: IdleGame | None = None  # the last game of a full batch
        self._log = structlog.get_logger("sweeper")

    def sweep(self) -> int:
        """
        Wake a worker for each due game not woken recently; return how many.

        Once in TABLES_SECONDS also wake one for each table that has to deal, seat the seeks that
        match, and advance the ratings.
        """
        self._services.availability.note()  # first: an outage makes the deadlines of games later
        now, woken = time.monotonic(), 0
        present = self._services.world.now()
        since = now - AGAIN_AFTER.total_seconds()
        self._woken = {key: at for key, at in self._woken.items() if at > since}
        # The games woken recently are the oldest and come first: read enough rows to get others.
        limit = BATCH + len(self._woken)
        due = self._services.directory.due_games(now=present, limit=limit)
        SWEEPER_LAG.set((present - due[0].at).total_seconds() if due else 0)
        for game in due:
            # The time is part of the key: a player's return changes it, but not the version.
            key = (str(game.id), game.version, game.at)
            if key in self._woken:
                continue
            self._services.notifier.wake(game.id, game.version)
            self._woken[key] = now
            woken += 1
        if now - self._tables_at >= TABLES_SECONDS:
            self._tables_at = now
            woken += self._deal(present, now)
            self._match_seeks()
            self._rate()
        return woken

    def _deal(self, present: datetime, now: float) -> int:
        """Wake a worker for each table that has to deal by itself; return how many."""
        woken, limit = 0, BATCH + len(self._woken)
        ready = self._services.directory.ready_tables(since=present - NEXT_HAND, limit=limit)
        for table in ready:
            key = (str(table.id), table.version, table.since)
            if key not in self._woken:
                self._services.notifier.deal(table.id, table.version)
                self._woken[key] = now
                woken += 1
        return woken

    def maintain(self) -> None:
        """
        Update metrics, disputes and statistics, wake idle games, purge old data.

        An error with one dispute or game is logged, and the others are still processed. Raises
        StoreUnavailable.
        """
        if time.monotonic() - self._maintained_at < MAINTENANCE_SECONDS:
            return
        self.measure()
        dispute_jobs, statistics = self._services.dispute_jobs, self._services.statistics
        for dispute in dispute_jobs.due(limit=MAINTENANCE_BATCH):
            self._one(dispute_jobs.process, dispute)
        for game in statistics.uncounted(limit=MAINTENANCE_BATCH):
            self._one(statistics.count, game)
        self.wake_idle()
        self.purge()
        self.list_erasures()
        self._maintained_at = time.monotonic()

    def _one(self, work: Callable[[UUID], object], identity: UUID) -> None:
        try:
            work(identity)
        except StoreUnavailable:
            raise
        except Exception:  # noqa: BLE001 - one unreadable stream must not stop the sweeper
            self._log.exception("maintenance failed", id=str(identity))

    def _match_seeks(self) -> None:
        """Open tables for seeks that match, or whose time for bots has come; errors are logged."""
        try:
            self._services.matchmaker.sweep(Slice(rows=MAINTENANCE_BATCH, seconds=0.25))
        except StoreUnavailable:
            raise
        except Exception:  # noqa: BLE001 - seeks must not stop the sweeper
            self._log.exception("seeks failed")

    def _rate(self) -> None:
        """Count the hands of some more leaves in the ratings; errors are logged."""
        try:
            self._services.ratings.advance()
        except StoreUnavailable:
            raise
        except Exception:  # noqa: BLE001 - ratings must not stop the sweeper
            self._log.exception("ratings failed")

    def measure(self) -> None:
        """Update the metrics of the outbox, the public log and the job queue."""
        if time.monotonic() - self._measured_at < MEASURE_EVERY:
            return
        self._measured_at = time.monotonic()
        measure_backlog(self._services)
        queued = self._queued()
        if queued is not None:
            QUEUED.set(queued)
        self._count_stuck()

    def _count_stuck(self) -> None:
        if time.monotonic() - self._stuck_counted_at > STUCK_EVERY:
            self._stuck_counted_at = time.monotonic()
            services = self._services
            before = services.world.now() - STUCK_AFTER
            keyring = services.keyring.present
            STUCK.set(len(stuck_games(services.directory, keyring, before=before)))
            self._count_unanswered()

    def _count_unanswered(self) -> None:
        """Count the disputes that wait for the operator; errors are logged."""
        try:
            UNANSWERED.set(self._services.disputes.unanswered(limit=DISPUTES_COUNTED))
        except StoreUnavailable:
            raise
        except Exception:  # noqa: BLE001 - one unreadable dispute must not stop the sweeper
            self._log.exception("disputes were not counted")

    def wake_idle(self) -> int:
        """Wake workers to close abandoned games; return how many were found."""
        if time.monotonic() - self._idle_searched_at < IDLE_EVERY:
            return 0
        self._idle_searched_at = time.monotonic()
        # Each search continues after the previous one, and starts over at the end; otherwise games
        # that cannot be closed would hide all others.
        idle = self._services.idle.found(limit=BATCH, beyond=self._last_idle)
        for game in idle:
            self._services.notifier.wake(game.id, game.version)
        self._last_idle = idle[-1] if len(idle) == BATCH else None
        return len(idle)

    def purge(self) -> None:
        """Delete expired data, and log how much."""
        if time.monotonic() - self._purged_at > PURGE_EVERY:
            self._purged_at = time.monotonic()
            deleted = {
                kind: count for kind, count in self._services.purging.purge().items() if count
            }
            if deleted:
                self._log.info("purged", **deleted)

    def list_erasures(self) -> None:
        """Add erased players to the list outside the database; errors are logged."""
        if time.monotonic() - self._erasures_listed_at < LIST_EVERY:
            return
        self._erasures_listed_at = time.monotonic()
        try:
            self._services.erasures.record()
        except (OSError, ValueError) as error:
            self._log.error("the list of erased players was not written", error=str(error))

    def run(self, stopped: Callable[[], bool]) -> None:
        """Run rounds until `stopped` returns true."""
        life = threading.Thread(target=self._show_life, args=(stopped,), daemon=True)
        life.start()
        while not stopped():
            try:
                self.sweep()
                self.maintain()
                ROUNDS.labels("sweeper").set_to_current_time()
            except StoreUnavailable as error:
                self._log.warning("database does not answer", error=str(error))
                time.sleep(1)
            time.sleep(INTERVAL)
        life.join(1.0)

    def _show_life(self, stopped: Callable[[], bool]) -> None:
        """Record that the service runs, beside the rounds: a long round is no outage."""
        while not stopped():
            with contextlib.suppress(StoreUnavailable):
                self._services.availability.note()
            time.sleep(AGAIN_SECONDS / 2)
