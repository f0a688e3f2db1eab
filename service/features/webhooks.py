"""Webhooks: a player's own events as requests to a receiver."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import BoundedSemaphore
from typing import Final
from uuid import UUID

import structlog
from prometheus_client import Counter, Gauge

from service.api.webhooks import webhooks
from service.application.quotas import Bound, Slice
from service.application.webhooks import SEND_WEBHOOK
from service.bootstrap import Services
from service.feature import Feature, Job, JobContext, Sweep, Work
from service.features.sweeping import MINUTE, seconds_since
from service.runtime.receivers import LOOPBACK

WEBHOOK_JOBS: Final = Counter("shithead_webhook_jobs", "Jobs of webhooks, by outcome", ["outcome"])

WEBHOOKS_IN_USE: Final = Gauge(
    "shithead_webhooks",
    "Webhooks that are not off: all, and those whose last request failed",
    ["which"],
    multiprocess_mode="mostrecent",
)

WEBHOOKS_LAG: Final = Gauge(
    "shithead_webhooks_lag_seconds",
    "Seconds for which the most overdue webhook has waited for a process, 0 for none",
    multiprocess_mode="mostrecent",
)

_log = structlog.stdlib.get_logger("worker")


def measures(services: Services) -> Work:
    """Set the metrics of webhooks: those in use, and for how long they wait."""

    def work(_part: Slice) -> int:
        found = services.directory.webhooks_in_use()
        WEBHOOKS_IN_USE.labels("all").set(found.used)
        WEBHOOKS_IN_USE.labels("failing").set(found.failing)
        WEBHOOKS_LAG.set(seconds_since(found.due, services.world.now()))
        return 0

    return work


SENDERS: Final = 32
"""Receivers to which a process sends at a time: one that hangs delays no other one."""

WAIT_SECONDS: Final = 30.0
"""Time that a job waits for a thread, below its time limit; jobs of receivers take 15 s at most."""

_SENDERS: Final = ThreadPoolExecutor(SENDERS, thread_name_prefix="webhook")
_FREE: Final = BoundedSemaphore(SENDERS)


def send(work: JobContext, player_id: str, claim: int) -> None:
    """
    Let a thread send a player's receiver what is new; wait while all threads are sending.

    If no thread is free in time, or the process ends before the thread does, the claim expires, and
    another job is enqueued.
    """
    if not _FREE.acquire(timeout=WAIT_SECONDS):
        WEBHOOK_JOBS.labels("full").inc()
        return
    _SENDERS.submit(_deliver, work.services(), UUID(player_id), claim)


def _deliver(services: Services, player: UUID, claim: int) -> None:
    try:
        outcome = services.webhooks.deliver(player, claim)
    except Exception:  # noqa: BLE001 - the claim expires, and the next job tries again
        outcome = "error"
        _log.exception("a webhook was not sent")
    finally:
        _FREE.release()
    WEBHOOK_JOBS.labels(outcome).inc()


WEBHOOKS: Final = Feature(
    name="webhooks",
    operations=(webhooks,),
    jobs=(Job(kind=SEND_WEBHOOK, run=send),),
    sweeps=(
        Sweep(name="webhooks", period=5, seconds=1, rows=1, longest_pause=MINUTE, begin=measures),
    ),
    metrics=(WEBHOOK_JOBS, WEBHOOKS_IN_USE, WEBHOOKS_LAG),
    quotas={
        "webhooks": Bound(
            of="player",
            most=1,
            counts="webhook; a new one replaces it",
            rows=("webhooks", "webhook_deliveries"),
            problem=None,
        )
    },
    settings=(LOOPBACK,),
)
