"""Measures what piles up where somebody stands still: rows to be told, leaves without signature."""

from __future__ import annotations

from service.application.commits import GAME_TOPIC, LOG_TOPIC
from service.bootstrap import Services
from service.event_store.disputes import STATISTICS_TOPIC
from service.measures import OUTBOX_AGE, UNCOSIGNED, UNSIGNED

TOPICS = (GAME_TOPIC, LOG_TOPIC, STATISTICS_TOPIC)


def measure_backlog(services: Services) -> None:
    """
    Tell how old the outbox is and how far the public log is behind.

    It is the sweeper that looks: a sequencer that is stuck would measure nothing.
    """
    now = services.world.now()
    for topic in TOPICS:
        since = services.directory.outbox_since(topic=topic)
        age = 0.0 if since is None else (now - since).total_seconds()
        OUTBOX_AGE.labels(topic).set(max(0.0, age))
    behind = services.sequencer.behind()
    UNSIGNED.set(behind.unsigned)
    for witness, leaves in behind.uncosigned.items():
        UNCOSIGNED.labels(witness).set(leaves)
