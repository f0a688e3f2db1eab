"""RQ jobs: due moves of a game, findings of a dispute, trials of a ruleset."""

from __future__ import annotations

import time
from functools import lru_cache
from typing import Any
from uuid import UUID

import redis
import structlog
from rq import get_current_job

from service.bootstrap import Services, services_from
from service.config import settings_from
from service.job_queue import SEARCH_QUEUE, connect, note_outcome
from service.metrics import JOBS
from service.simulation.trials import play_trials


@lru_cache(maxsize=1)
def redis_client() -> redis.Redis:
    """Return this process's connection for the results of trials in Redis."""
    return connect(settings_from().redis_url or "", seconds=5.0)


@lru_cache(maxsize=1)
def services() -> Services:
    """Return the services of this worker process, built at the first call."""
    return services_from(settings_from())


def take_turn(game_id: str, version: int) -> str:
    """
    Make the moves that are due at `version` of a game, and those of bots that follow.

    Safe to run twice, late or concurrently: the second run finds the game past `version` and
    does nothing. The job carries nothing but the game's id and version. A worker passes tables
    with bots that search on to the queue of the process for searches.
    """
    game, job = UUID(game_id), get_current_job()
    searching = job is None or job.origin == SEARCH_QUEUE
    outcome = services().turns.take(game, version, searching=searching)
    JOBS.labels(outcome).inc()
    if outcome == "searches":
        services().notifier.wake(game, version, searches=True)
    if outcome == "again":
        services().wake(game)
    return outcome


def make_findings(dispute_id: str) -> str:
    """
    Run the checks for a dispute and store its findings, and the events of ended periods.

    Safe to run twice or late: findings are made again only if there is further evidence.
    """
    return services().dispute_jobs.process(UUID(dispute_id))


def try_ruleset(settings: dict[str, Any], hands: int) -> dict[str, str | None]:
    """
    Play trial hands with a player's ruleset; return why it cannot be played, or null.

    The result is stored for the waiting request and for repetitions. The time limit counts
    seconds of CPU, so that a busy machine does not make rules fail.
    """
    try:
        refusal = play_trials(settings, hands, now=time.process_time).refusal
    except Exception:  # noqa: BLE001 - an error in one trial must not stop the others
        refusal = "the trial hands failed"
        structlog.stdlib.get_logger("worker").exception("a trial failed")
    note_outcome(redis_client(), settings, refusal)
    return {"refusal": refusal}
