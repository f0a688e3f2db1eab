"""`python -m workers.main KIND`: runs one process of the kinds in KINDS."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from types import FrameType

import prometheus_client
import redis
import structlog
from rq import Queue
from rq.serializers import JSONSerializer

from service.application.ports import MAIN_QUEUE
from service.application.webhooks import SEND_WEBHOOK
from service.bootstrap import Services, services_from
from service.feature import Feature, settings_of, sweeps_of
from service.features import FEATURES
from service.features.games import DUE_TURNS
from service.job_queue import (
    SEARCH_QUEUE,
    TRIALS_QUEUE,
    client_of,
)
from service.runtime.config import ConfigError, Settings, settings_from
from service.runtime.heartbeat import show_life_of_program
from service.runtime.telemetry import SHARED_FOLDER, configure_logs, configure_traces
from service.startup_checks import CannotStart, check_start, warn_of_redis
from workers import jobs
from workers.jobs import GuardedWorker
from workers.relay import Relay
from workers.sequencer import LogSequencer
from workers.sweeper import Sweeper

KINDS = ("worker", "searches", "trials", "webhooks", "relay", "sweeper", "sequencer")
RETRY_SECONDS = 1.0
NICENESS = 5
"""Niceness of the processes for trials, searches and webhooks: moves have a higher priority."""

_NICE_QUEUES = {"trials": TRIALS_QUEUE, "searches": SEARCH_QUEUE, "webhooks": SEND_WEBHOOK.queue}


def main(arguments: Sequence[str] | None = None, *, features: Sequence[Feature] = FEATURES) -> int:
    """Run one process until a signal stops it; return its exit status."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if len(words) != 1 or words[0] not in KINDS:
        print(f"usage: python -m workers.main {'|'.join(KINDS)}", file=sys.stderr)
        return 2
    try:
        settings = settings_from(declared=settings_of(features))
    except ConfigError as error:
        print(error, file=sys.stderr)
        return 1
    configure_logs(settings)
    configure_traces(words[0])
    try:
        check_start(settings)
    except CannotStart as error:
        structlog.get_logger(words[0]).critical("cannot start", fault=str(error))
        return 1
    warn_of_redis(settings)
    show_life_of_program()
    stopping = _stopped_by_signal()  # before the port answers: a supervisor may then stop it
    _serve_metrics(settings)
    if words[0] in _NICE_QUEUES:
        os.nice(NICENESS)
        return work(settings, stopping, _NICE_QUEUES[words[0]])
    if words[0] == "worker":
        return work(settings, stopping)
    services, (first, others) = services_from(settings), sweeps_of(features)
    runners: dict[str, Callable[[Services], Relay | Sweeper | LogSequencer]] = {
        "relay": Relay,
        "sweeper": lambda found: Sweeper(found, first=first, others=others),
        "sequencer": LogSequencer,
    }
    runners[words[0]](services).run(stopping.is_set)
    services.close()
    return 0


def work(settings: Settings, stopping: threading.Event, name: str = MAIN_QUEUE) -> int:
    """
    Run an RQ worker that does not fork for each job; return the exit status of the process.

    It ends once `stopping` is set. It reads a single queue, because RQ pops atomically from one
    queue only. While Redis is down, it retries: bots wait, and no move is lost.
    """
    log = structlog.get_logger("worker")
    if settings.redis_url is None:
        fault = "SHITHEAD_REDIS_URL is not set: a worker needs Redis"
        log.critical("cannot start", fault=fault)
        return 1
    if name != TRIALS_QUEUE:
        jobs.services()
    while not stopping.is_set():
        try:
            client = client_of(settings.redis_url)
            queue = Queue(name, connection=client, serializer=JSONSerializer)
            worker = Worker([queue], connection=client, serializer=JSONSerializer)
            worker.stopping = stopping
            worker.work(logging_level="WARNING", with_scheduler=False)
            break
        except (redis.RedisError, OSError) as error:
            log.warning("redis does not answer", error=type(error).__name__)
            time.sleep(RETRY_SECONDS)
    DUE_TURNS.stop()
    return 0


class Worker(GuardedWorker):
    """A worker that sets `stopping` on a signal, because RQ replaces the signal handlers."""

    stopping: threading.Event
    max_connection_wait_time = 2.0  # seconds; RQ's own 60 would let bots wait after Redis is back

    def request_stop(self, signum: int, frame: FrameType | None) -> None:
        """Set `stopping`, even if Redis fails at the same moment."""
        self.stopping.set()
        super().request_stop(signum, frame)  # type: ignore[no-untyped-call] # rq does not annotate it


def _serve_metrics(settings: Settings) -> None:
    """
    Serve the metrics of this process on its own port, if one is configured.

    If the processes share a folder for metrics, the API serves the metrics of all of them, and
    this does nothing.
    """
    if settings.metrics_port is not None and not os.environ.get(SHARED_FOLDER):
        address = settings.metrics_host or settings.host
        prometheus_client.start_http_server(settings.metrics_port, addr=address)


def _stopped_by_signal() -> threading.Event:
    """Return an event that SIGINT and SIGTERM set."""
    stopping = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda _number, _frame: stopping.set())
    return stopping


if __name__ == "__main__":
    sys.exit(main())
