"""Trial hands in a worker: the request waits for the result, not for the work."""

from __future__ import annotations

import time
from typing import Any

import redis
from rq import Queue
from rq.exceptions import NoSuchJobError
from rq.job import Job, JobStatus
from rq.serializers import JSONSerializer

from schemas.settings import Tree
from service.application.errors import Refusal
from service.wakeups import QUEUE

TRY_RULESET = "workers.jobs.try_ruleset"
WITHIN_SECONDS = 25.0
POLL_SECONDS = 0.05
HANDS = 300


class QueuedTrials:
    """Has rules tried by the workers."""

    def __init__(self, client: redis.Redis | None) -> None:
        self._client = client

    def refusal(self, settings: Tree) -> str | None:
        """
        Return why rules cannot be played, None where trial hands went well.

        Raises `unavailable` where no worker answers in time.
        """
        if self._client is None:
            raise _nobody()
        try:
            return self._tried(self._client, settings)
        except redis.RedisError:
            raise _nobody() from None

    def _tried(self, client: redis.Redis, settings: Tree) -> str | None:
        queue = Queue(QUEUE, connection=client, serializer=JSONSerializer)
        job = queue.enqueue(
            TRY_RULESET,
            settings,
            HANDS,
            job_timeout=int(WITHIN_SECONDS),
            ttl=int(WITHIN_SECONDS),
            result_ttl=int(WITHIN_SECONDS),
            failure_ttl=int(WITHIN_SECONDS),
        )
        end = time.monotonic() + WITHIN_SECONDS
        while time.monotonic() < end:
            result = _result(job)
            if result is not None:
                refusal: str | None = result["refusal"]
                return refusal
            time.sleep(POLL_SECONDS)
        raise _nobody()


NO_TRIALS = QueuedTrials(None)
"""Of services without workers."""


def _result(job: Job) -> dict[str, Any] | None:
    try:
        status = job.get_status()
    except NoSuchJobError:
        raise _nobody() from None
    if status is JobStatus.FAILED:
        return {"refusal": "the trial hands broke off"}
    value = job.return_value() if status is JobStatus.FINISHED else None
    return value if isinstance(value, dict) else None


def _nobody() -> Refusal:
    return Refusal("unavailable", "no worker is there to try the rules out, try again")
