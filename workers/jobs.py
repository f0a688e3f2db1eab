"""RQ jobs of the service, and the worker that runs only these."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from threading import BoundedSemaphore
from typing import Any, Final
from uuid import UUID

import redis
import structlog
from rq import Queue, SimpleWorker, get_current_job
from rq.exceptions import DeserializationError
from rq.job import Job, JobStatus

from service.application.games.schedule import INTERVAL_SECONDS
from service.bootstrap import Services, services_from
from service.due_games import DueGames, WakeUp
from service.job_queue import (
    COMPARE_PLAYERS,
    DEAL_NEXT,
    JOB_SECONDS,
    MAKE_FINDINGS,
    QUEUE,
    SEARCH_QUEUE,
    SEND_WEBHOOK,
    TAKE_DUE_TURNS,
    TAKE_TURN,
    TRACE,
    TRY_RULESET,
    connect,
    note_figures,
    note_outcome,
)
from service.runtime import tracing
from service.runtime.config import settings_from
from service.runtime.telemetry import JOBS, WEBHOOK_JOBS
from service.simulation.trials import play_trials


@lru_cache(maxsize=1)
def redis_client() -> redis.Redis:
    """Return this process's Redis client, which stores the results of trials."""
    return connect(settings_from().redis_url or "", seconds=5.0)


@lru_cache(maxsize=1)
def services() -> Services:
    """Return the services of this worker process, built at the first call."""
    return services_from(settings_from())


def take_turn(game_id: str, version: int) -> str:
    """
    Make the moves that are due at `version` of a game, and those of bots that follow.

    Returns the outcome, as `Turns.play_due_moves`. Safe to run twice, late or concurrently: the
    second run finds the game past `version` and does nothing. The job has no arguments but the
    game's id and version. If a bot of the table searches, a job of the main queue enqueues another
    one in SEARCH_QUEUE, and makes no move itself.
    """
    game, job = UUID(game_id), get_current_job()
    searching = job is None or job.origin == SEARCH_QUEUE
    outcome = services().turns.play_due_moves(game, version, searching=searching)
    JOBS.labels(outcome).inc()
    if outcome == "searches":
        services().notifier.wake(game, version, searches=True)
    if outcome == "again":
        services().wake(game)
    return outcome


DUE_SECONDS: Final = 0.5
"""Time after which a job takes no further due game, so that deals and findings wait little."""


def take_due_turns() -> int:
    """
    Take due games from the list and play each, as `take_turn`; return their number.

    One job for many games, because a job costs more than a move. If games are left or one fails,
    another job is enqueued for the others.
    """
    job = get_current_job()
    if job is None:
        raise RuntimeError("only a worker runs this")
    due, count, until = DueGames(job.connection), 0, time.monotonic() + DUE_SECONDS
    due.begin()
    try:
        while time.monotonic() < until and (found := due.take()) is not None:
            count += 1
            if count == 1:
                services().notifier.wake_again()  # another worker helps if further games wait
            _play(found)
    finally:
        services().notifier.wake_again()
    return count


def _play(found: WakeUp) -> None:
    with tracing.job_span("take_turn", QUEUE, found.trace, unit=INTERVAL_SECONDS) as span:
        try:
            take_turn(str(found.game), found.version)
        except Exception:
            span.fail("failed")
            raise


def deal_next(table_id: str, version: int) -> str:
    """
    Deal the next hand of a table that does so by itself, if it is still at `version`.

    Returns the outcome. Safe to run twice, late or concurrently.
    """
    dealt = services().tables.deal_next(UUID(table_id), version)
    outcome = "dealt" if dealt else "late"
    JOBS.labels(outcome).inc()
    return outcome


def make_findings(dispute_id: str) -> str:
    """
    Run the checks for a dispute and store its findings, and the events of ended periods.

    Returns the outcome, as `DisputeJobs.process`. Safe to run twice or late: findings are made
    again only if there is further evidence.
    """
    return services().dispute_jobs.process(UUID(dispute_id))


def try_ruleset(settings: dict[str, Any], hands: int) -> dict[str, str | None]:
    """
    Play trial hands with a player's ruleset; return `{"refusal": reason}`.

    The reason says why the ruleset cannot be played, and is None if it can. It is stored in Redis
    for the waiting request and its repetitions. The time limit counts CPU seconds, so that a busy
    machine does not make rules fail.
    """
    try:
        refusal = play_trials(settings, hands, now=time.process_time).refusal
    except Exception:  # noqa: BLE001 - an error in one trial must not stop the others
        refusal = "the trial hands failed"
        structlog.stdlib.get_logger("worker").exception("a trial failed")
    note_outcome(redis_client(), settings, refusal)
    return {"refusal": refusal}


def compare_players(dispute_id: str) -> None:
    """
    Compute the figures of a dispute about collusion, and store them in Redis for its referees.

    Safe to run twice: equal logs have equal figures.
    """
    dispute = UUID(dispute_id)
    note_figures(redis_client(), dispute, services().collusion.compute(dispute))


SENDERS: Final = 32
"""Receivers to which a process sends at a time: one that hangs delays no other one."""

WAIT_SECONDS: Final = 30.0
"""Time that a job waits for a thread, below its time limit; jobs of receivers take 15 s at most."""

_SENDERS: Final = ThreadPoolExecutor(SENDERS, thread_name_prefix="webhook")
_FREE: Final = BoundedSemaphore(SENDERS)


def send_webhook(player_id: str, claim: int) -> None:
    """
    Let a thread send a player's receiver what is new; wait while all threads are sending.

    If no thread is free in time, or the process ends before the thread does, the claim expires, and
    another job is enqueued.
    """
    if not _FREE.acquire(timeout=WAIT_SECONDS):
        WEBHOOK_JOBS.labels("full").inc()
        return
    _SENDERS.submit(_deliver, UUID(player_id), claim)


def _deliver(player: UUID, claim: int) -> None:
    try:
        outcome = services().webhooks.deliver(player, claim)
    except Exception:  # noqa: BLE001 - the claim expires, and the next job tries again
        outcome = "error"
        _log.exception("a webhook was not sent")
    finally:
        _FREE.release()
    WEBHOOK_JOBS.labels(outcome).inc()


ALLOWED: Final = frozenset(
    {
        COMPARE_PLAYERS,
        DEAL_NEXT,
        MAKE_FINDINGS,
        SEND_WEBHOOK,
        TAKE_DUE_TURNS,
        TAKE_TURN,
        TRY_RULESET,
    }
)
"""The only functions that a job may name."""

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

    def refusal(self) -> str | None:
        """Return why this job is refused; None if it is one of the service's own."""
        try:
            name, instance = self.func_name, self.instance
        except DeserializationError:
            return "its data cannot be read"
        if instance is not None or name not in ALLOWED:
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
        """Return the function of an allowed job; raises JobRefused for other jobs."""
        reason = self.refusal()
        if reason is not None:
            raise JobRefused(reason)
        return super().func

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

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        for queue in self.queues:
            queue.job_class = AllowedJob  # RQ's maintenance reads jobs by the class of the queue

    def execute_job(self, job: Job, queue: Queue) -> None:
        """Run a job within the time limit of the service's jobs, or refuse it."""
        reason = job.refusal() if isinstance(job, AllowedJob) else "it was read by another class"
        if reason is not None:
            _log.error("a job was refused", job=job.id[:100], reason=reason)
            self.connection.delete(job.key)
            self.connection.lrem(queue.intermediate_queue_key, 1, job.id)
            return
        if not job.timeout or not 0 < job.timeout <= JOB_SECONDS:
            job.timeout = JOB_SECONDS
        if job.func_name == TAKE_DUE_TURNS:  # each of its games has a span
            super().execute_job(job, queue)
            return
        with tracing.job_span(_kind(job), queue.name, _trace(job), unit=INTERVAL_SECONDS) as span:
            super().execute_job(job, queue)
            if job.get_status(refresh=False) is JobStatus.FAILED:
                span.fail("failed")

    def procline(self, message: str) -> None:
        """Do nothing: the title of the process stays the command that started it."""

    def subscribe(self) -> None:
        """Do nothing: commands over Redis are ignored."""


def _kind(job: Job) -> str:
    """Return the name of the function of an allowed job, without its module."""
    return str(job.func_name).rpartition(".")[2]


def _trace(job: Job) -> object:
    """Return the trace context in a job's metadata; untrusted, so it can have any type."""
    meta: object = job.meta
    return meta.get(TRACE) if isinstance(meta, dict) else None
