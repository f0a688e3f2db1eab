"""The sweeps of the service: due games, and the periodic work that players share."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Final, Protocol
from uuid import UUID

import structlog

from service.application.games.commits import GAME_TOPIC, LOG_TOPIC
from service.application.operations import MAX_STUCK, stuck_games
from service.application.quotas import Slice
from service.application.ratings import LEAVES
from service.application.retention import BATCH, FEW, MANY, Purging
from service.application.tables.record import NEXT_HAND
from service.bootstrap import Services
from service.runtime.telemetry import (
    CONNECTIONS,
    OLDEST_TRANSACTION,
    OUTBOX_AGE,
    QUEUED,
    STUCK,
    SWEEPER_LAG,
    UNANSWERED,
    UNCOSIGNED,
    UNSIGNED,
    WAL_HELD,
    WEBHOOKS,
    WEBHOOKS_LAG,
)
from service.store.disputes import STATISTICS_TOPIC
from service.store.events import StoreUnavailable
from service.store.games import IdleGame
from workers.sweeper import Sweep, Work

TOPICS: Final = (GAME_TOPIC, LOG_TOPIC, STATISTICS_TOPIC)

AGAIN_AFTER: Final = timedelta(seconds=5)
"""Time without a change after which a game or table is woken again at the same version."""

FAILED_SECONDS: Final = 30.0
"""For how long a stream that cannot be processed is left out."""

STUCK_AFTER: Final = timedelta(seconds=60)
"""How long a game is overdue until it counts as stuck, as in `shithead admin stuck`."""

_log = structlog.get_logger("sweeper")


class _Woken:
    """What was woken within AGAIN_AFTER, so that it is not woken again at once."""

    def __init__(self) -> None:
        self._at: dict[tuple[UUID, int, datetime], float] = {}

    def forget_old(self) -> int:
        """Forget what was woken long ago; return the number of the others."""
        since = time.monotonic() - AGAIN_AFTER.total_seconds()
        self._at = {key: at for key, at in self._at.items() if at > since}
        return len(self._at)

    def is_new(self, identity: UUID, version: int, since: datetime) -> bool:
        """Note something as woken now; return whether it had not been."""
        # The time is part of the key: a player's return changes it, but not the version.
        key = (identity, version, since)
        if key in self._at:
            return False
        self._at[key] = time.monotonic()
        return True


def due_games(services: Services) -> Work:
    """Wake a worker for each due game that was not woken recently, and again if none came."""
    woken = _Woken()

    def work(part: Slice) -> int:
        services.availability.note()  # first: an outage makes the deadlines of games later
        now, count = services.world.now(), 0
        # The games woken recently are the oldest and come first: read enough rows to get others.
        due = services.directory.due_games(now=now, limit=part.rows + woken.forget_old())
        SWEEPER_LAG.set((now - due[0].at).total_seconds() if due else 0)
        for game in due:
            if part.is_over(count):
                break
            if woken.is_new(game.id, game.version, game.at):
                services.notifier.wake(game.id, game.version)
                count += 1
        services.notifier.wake_again()
        return count

    return work


def ready_tables(services: Services) -> Work:
    """Wake a worker for each table that has to deal by itself."""
    woken = _Woken()

    def work(part: Slice) -> int:
        since, count = services.world.now() - NEXT_HAND, 0
        ready = services.directory.ready_tables(since=since, limit=part.rows + woken.forget_old())
        for table in ready:
            if part.is_over(count):
                break
            if woken.is_new(table.id, table.version, table.since):
                services.notifier.deal(table.id, table.version)
                count += 1
        return count

    return work


def seeks(services: Services) -> Work:
    """Open tables for seeks that match, or whose time for bots has come."""
    return services.matchmaker.sweep


def ratings(services: Services) -> Work:
    """Count the hands of some more leaves of the public log in the ratings."""
    return lambda part: part.rows if services.ratings.advance() else 0


def disputes(services: Services) -> Work:
    """Store missing findings of disputes, and the events of ended periods."""
    jobs = services.dispute_jobs
    return _each(jobs.process, jobs.due)


def statistics(services: Services) -> Work:
    """Count finished games in the statistics."""
    return _each(services.statistics.count, services.statistics.uncounted)


class _Found(Protocol):
    """Returns streams that have to be processed, at most `limit`."""

    def __call__(self, *, limit: int) -> Sequence[UUID]: ...


def _each(process: Callable[[UUID], object], found: _Found) -> Work:
    """
    Process each of the streams that are found.

    An error with one is logged: an unreadable stream must not stop the others, and is left out for
    a while, so that many of them do not hide others.
    """
    failed: dict[UUID, float] = {}

    def work(part: Slice) -> int:
        now, count = time.monotonic(), 0
        for identity in [one for one, until in failed.items() if until <= now]:
            del failed[identity]
        for identity in found(limit=part.rows + len(failed)):
            if part.is_over(count):
                break
            if identity in failed:
                continue
            count += 1
            try:
                process(identity)
            except StoreUnavailable:
                raise
            except Exception:  # noqa: BLE001 - see above
                failed[identity] = now + FAILED_SECONDS
                _log.exception("maintenance failed", id=str(identity))
        return count

    return work


def measures(services: Services) -> Work:
    """
    Set the metrics of the outbox, webhooks, connections, jobs, and the public log's backlog.

    The sweeper measures them, because a stuck sequencer would measure nothing.
    """

    def work(_part: Slice) -> int:
        now, directory = services.world.now(), services.directory
        for topic in TOPICS:
            since = directory.oldest_outbox_time(topic=topic)
            OUTBOX_AGE.labels(topic).set(_seconds(since, now))
        found = directory.webhooks_in_use()
        WEBHOOKS.labels("all").set(found.used)
        WEBHOOKS.labels("failing").set(found.failing)
        WEBHOOKS_LAG.set(_seconds(found.due, now))
        used, most = directory.connections_in_use()
        CONNECTIONS.labels("used").set(used)
        CONNECTIONS.labels("allowed").set(most)
        oldest, held = directory.cleanup_held()
        OLDEST_TRANSACTION.set(oldest)
        WAL_HELD.set(held)
        queued = services.notifier.queued()
        if queued is not None:
            QUEUED.set(queued)
        backlog = services.sequencer.backlog()
        UNSIGNED.set(backlog.unsigned)
        for witness, leaves in backlog.uncosigned.items():
            UNCOSIGNED.labels(witness).set(leaves)
        return 0

    return work


def _seconds(since: datetime | None, now: datetime) -> float:
    return 0.0 if since is None else max(0.0, (now - since).total_seconds())


def stuck(services: Services) -> Work:
    """Count stuck games."""

    def work(_part: Slice) -> int:
        before = services.world.now() - STUCK_AFTER
        STUCK.set(len(stuck_games(services.directory, services.keyring.present, before=before)))
        return 0

    return work


def unanswered(services: Services) -> Work:
    """Count the disputes that wait for the operator."""

    def work(part: Slice) -> int:
        UNANSWERED.set(services.disputes.unanswered(limit=part.rows))
        return 0

    return work


def idle_games(services: Services) -> Work:
    """
    Wake workers to close abandoned games.

    Each slice continues after the previous one, and starts over at the end; otherwise games that
    cannot be closed would hide all others.
    """
    last: list[IdleGame] = []

    def work(part: Slice) -> int:
        idle = services.idle.found(limit=part.rows, beyond=last[-1] if last else None)
        for game in idle:
            services.notifier.wake(game.id, game.version)
        last[:] = idle[-1:] if len(idle) == part.rows else []
        return len(idle)

    return work


def erasures(services: Services) -> Work:
    """Add erased players to the list outside the database."""
    return lambda part: services.erasures.record(most=part.rows)


def purge(kind: str, batch: Callable[[Purging], int]) -> Callable[[Services], Work]:
    """Delete a batch of expired data."""

    def begin(services: Services) -> Work:
        def work(_part: Slice) -> int:
            count = batch(services.purging)
            if count:
                _log.info("purged", **{kind: count})
            return count

        return work

    return begin


DUE_GAMES: Final = Sweep(
    name="due games", period=0, seconds=2, rows=200, longest_pause=1, begin=due_games
)

MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0

SWEEPS: Final = (
    Sweep(name="tables", period=1, seconds=1, rows=200, longest_pause=30, begin=ready_tables),
    Sweep(name="seeks", period=0.5, seconds=0.5, rows=20, longest_pause=30, begin=seeks),
    Sweep(name="ratings", period=1, seconds=1, rows=LEAVES, longest_pause=MINUTE, begin=ratings),
    Sweep(name="disputes", period=2, seconds=1, rows=20, longest_pause=MINUTE, begin=disputes),
    Sweep(name="statistics", period=2, seconds=1, rows=20, longest_pause=MINUTE, begin=statistics),
    Sweep(name="measures", period=5, seconds=1, rows=1, longest_pause=MINUTE, begin=measures),
    Sweep(name="stuck", period=60, seconds=1, rows=MAX_STUCK, longest_pause=HOUR, begin=stuck),
    Sweep(name="unanswered", period=60, seconds=1, rows=100, longest_pause=HOUR, begin=unanswered),
    Sweep(name="idle", period=60, seconds=1, rows=200, longest_pause=HOUR, begin=idle_games),
    Sweep(name="erasures", period=5, seconds=1, rows=1000, longest_pause=MINUTE, begin=erasures),
    Sweep(
        name="old answers",
        period=600,
        seconds=1,
        rows=MANY,
        longest_pause=HOUR,
        begin=purge("answers", Purging.answers),
    ),
    Sweep(
        name="old wake-ups",
        period=600,
        seconds=1,
        rows=BATCH,
        longest_pause=HOUR,
        begin=purge("wake-ups", Purging.wake_ups),
    ),
    Sweep(
        name="old seeks",
        period=600,
        seconds=1,
        rows=MANY,
        longest_pause=HOUR,
        begin=purge("seeks", Purging.seeks),
    ),
    Sweep(
        name="old refusals",
        period=600,
        seconds=1,
        rows=MANY,
        longest_pause=HOUR,
        begin=purge("refusals", Purging.refusals),
    ),
    Sweep(  # each slice looks at all players
        name="unused players",
        period=DAY,
        seconds=5,
        rows=FEW,
        longest_pause=DAY,
        begin=purge("players", Purging.players),
    ),
)
"""All sweeps beside the due games."""
