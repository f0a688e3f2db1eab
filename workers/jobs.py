"""RQ jobs of the service, and the worker that runs only these."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from functools import lru_cache, partial
from typing import Any

import structlog
from rq import Queue, SimpleWorker
from rq.exceptions import DeserializationError
from rq.job import Job, JobStatus

from service.application.games.schedule import INTERVAL_SECONDS
from service.bootstrap import Services, services_from
from service.feature import Feature, JobContext, jobs_of, settings_of
from service.features import FEATURES
from service.job_queue import JOB_SECONDS, TAKE_DUE_TURNS, TRACE
from service.runtime import tracing
from service.runtime.config import settings_from


@lru_cache(maxsize=1)
def services() -> Services:
    """Return the services of this worker process, built at the first call."""
    return services_from(settings_from(declared=settings_of(FEATURES)))


_log = structlog.stdlib.get_logger("worker")


class JobRefused(Exception):
    """A job in Redis was not enqueued by this service."""


class AllowedJob(Job):
    """
    A job read from Redis, where any client with write access may have stored it.

    RQ imports and calls any dotted name in a job as its function or callback, and sends
    requests to any address in its webhooks: write access to Redis would mean code execution
    as the service. This class never uses callbacks and webhooks, not even when RQ cleans up
    abandoned jobs.
    """

    run: Callable[[], object] | None = None
    """The job of this name, as a feature of the service declares it."""

    def refusal(self, allowed: Container[str]) -> str | None:
        """Return why this job is refused; None if it is one of the service's own."""
        try:
            name, instance = self.func_name, self.instance
        except DeserializationError:
            return "its data cannot be read"
        if instance is not None or name not in allowed:
            return f"it names the function {str(name)[:100]!r}"
        callbacks = (
            self._success_callback_name,
            self._failure_callback_name,
            self._stopped_callback_name,
        )
        if any(callbacks):
            return "it names a callback"
        if self.webhooks:
            return "it names a webhook"
        if self.number_of_retries or self.retries_left or self.repeats_left:
            return "it asks to be repeated"
        return None

    @property
    def func(self) -> Any:
        """Return the function that the worker found; raises JobRefused before that."""
        if self.run is None:
            raise JobRefused
        return self.run

    @property
    def success_callback(self) -> None:
        """Return None: no callback is called."""

    @property
    def failure_callback(self) -> None:
        """Return None: no callback is called."""

    @property
    def stopped_callback(self) -> None:
        """Return None: no callback is called."""

    def send_webhooks(self, status: object, *, exc_string: str | None = None) -> None:
        """Send nothing."""


class GuardedWorker(SimpleWorker):
    """
    Runs the service's own jobs; removes any other from Redis and logs it.

    It accepts no commands over Redis: those of RQ can stop the process.
    """

    job_class = AllowedJob

    def __init__(self, *args: Any, features: Sequence[Feature] = FEATURES, **more: Any) -> None:
        super().__init__(*args, **more)
        self._jobs = jobs_of(features)
        for queue in self.queues:
            queue.job_class = AllowedJob  # RQ's maintenance reads jobs by the class of the queue

    def execute_job(self, job: Job, queue: Queue) -> None:
        """Run a job within the time limit of the service's jobs, or refuse it."""
        reason: str | None = "it was read by another class"
        if isinstance(job, AllowedJob):
            reason = job.refusal(self._jobs)
        if reason is not None or not isinstance(job, AllowedJob):
            _log.error("a job was refused", job=job.id[:100], reason=reason)
            self.connection.delete(job.key)
            self.connection.lrem(queue.intermediate_queue_key, 1, job.id)
            return
        if not job.timeout or not 0 < job.timeout <= JOB_SECONDS:
            job.timeout = JOB_SECONDS
        work = JobContext(services=services, connection=self.connection, queue=queue.name)
        name = str(job.func_name)
        job.run = partial(self._jobs[name].run, work)
        if name == TAKE_DUE_TURNS.name:  # each of its games has a span
            super().execute_job(job, queue)
            return
        with tracing.job_span(name, queue.name, _trace(job), unit=INTERVAL_SECONDS) as span:
            super().execute_job(job, queue)
            if job.get_status(refresh=False) is JobStatus.FAILED:
                span.fail("failed")

    def procline(self, message: str) -> None:
        """Do nothing: the title of the process stays the command that started it."""

    def subscribe(self) -> None:
        """Do nothing: commands over Redis are ignored."""


def _trace(job: Job) -> object:
    """Return the trace context in a job's metadata; untrusted, so it can have any type."""
    meta: object = job.meta
    return meta.get(TRACE) if isinstance(meta, dict) else None
