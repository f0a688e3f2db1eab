"""Upkeep: what all parts share, its metrics, stored answers and lost notifications."""

from __future__ import annotations

from typing import Final

from service.application.games.commits import GAME_TOPIC, LOG_TOPIC
from service.application.quotas import Slice, bounds
from service.application.retention import BATCH, KEEP_ANSWERS, KEEP_WAKE_UPS, Purging
from service.bootstrap import Services
from service.feature import Feature, Sweep, Work
from service.features.sweeping import HOUR, MINUTE, purging, seconds_since
from service.runtime.telemetry import (
    CONNECTIONS,
    OLDEST_TRANSACTION,
    OUTBOX_AGE,
    QUERY_CALLS,
    QUERY_SECONDS,
    QUEUED,
    UNCOSIGNED,
    UNSIGNED,
    WAL_HELD,
)
from service.store.disputes import MOST_QUERIES, STATISTICS_TOPIC
from service.store.events import QuotaKind

TOPICS: Final = (GAME_TOPIC, LOG_TOPIC, STATISTICS_TOPIC)


def measures(services: Services) -> Work:
    """
    Set the metrics of the outbox, connections, jobs, and the public log's backlog.

    The sweeper measures them, because a stuck sequencer would measure nothing.
    """

    def work(_part: Slice) -> int:
        now, directory = services.world.now(), services.directory
        for topic in TOPICS:
            since = directory.oldest_outbox_time(topic=topic)
            OUTBOX_AGE.labels(topic).set(seconds_since(since, now))
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


def queries(services: Services) -> Work:
    """Set the metrics of the queries that take most of the database's time."""

    def work(_part: Slice) -> int:
        for name, (calls, seconds) in services.directory.query_times().items():
            QUERY_CALLS.labels(name).set(calls)
            QUERY_SECONDS.labels(name).set(seconds)
        return 0

    return work


UPKEEP: Final = Feature(
    name="upkeep",
    sweeps=(
        Sweep(name="measures", period=5, seconds=1, rows=1, longest_pause=MINUTE, begin=measures),
        Sweep(
            name="queries",
            period=60,
            seconds=1,
            rows=MOST_QUERIES,
            longest_pause=HOUR,
            begin=queries,
        ),
        purging("answers", Purging.answers),
        purging("wake-ups", Purging.wake_ups, rows=BATCH),
    ),
    metrics=(
        CONNECTIONS,
        OLDEST_TRANSACTION,
        OUTBOX_AGE,
        QUERY_CALLS,
        QUERY_SECONDS,
        QUEUED,
        UNCOSIGNED,
        UNSIGNED,
        WAL_HELD,
    ),
    quotas=bounds(QuotaKind.ANSWERS),
    settings=(KEEP_ANSWERS, KEEP_WAKE_UPS),
)
