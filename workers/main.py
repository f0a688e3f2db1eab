"""`python -m workers.main worker|relay|sweeper|sequencer`: one process of the kind asked for."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from types import FrameType

import redis
import structlog
from rq import Queue, SimpleWorker
from rq.serializers import JSONSerializer

from service.bootstrap import Services
from service.config import ConfigError, Settings, settings_from
from service.configured import services_from
from service.logs import configure_logs
from service.starting import CannotStart, check_start
from service.wakeups import QUEUE
from workers import jobs
from workers.relay import Relay
from workers.sequencer import LogSequencer
from workers.sweeper import Sweeper

KINDS = ("worker", "relay", "sweeper", "sequencer")
PAUSE = 1.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one process until it is told to stop; return its exit status."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if len(words) != 1 or words[0] not in KINDS:
        print(f"usage: python -m workers.main {'|'.join(KINDS)}", file=sys.stderr)
        return 2
    try:
        settings = settings_from()
    except ConfigError as error:
        print(error, file=sys.stderr)
        return 1
    configure_logs(settings)
    try:
        check_start(settings)
    except CannotStart as error:
        print(error, file=sys.stderr)
        return 1
    if words[0] == "worker":
        return work(settings)
    services = services_from(settings)
    runners: dict[str, Callable[[Services], Relay | Sweeper | LogSequencer]] = {
        "relay": Relay,
        "sweeper": Sweeper,
        "sequencer": LogSequencer,
    }
    runners[words[0]](services).run(_stopped_by_signal().is_set)
    services.close()
    return 0


def work(settings: Settings) -> int:
    """
    Run an RQ worker that does not fork for each job; one queue, so its pop is atomic.

    Where Redis is down it tries again: games wait, nothing is lost.
    """
    if settings.redis_url is None:
        print("SHITHEAD_REDIS_URL is not set: a worker has nowhere to wait", file=sys.stderr)
        return 1
    stopping = _stopped_by_signal()
    log = structlog.get_logger("worker")
    jobs.services()
    while not stopping.is_set():
        try:
            client = redis.Redis.from_url(settings.redis_url)
            queue = Queue(QUEUE, connection=client, serializer=JSONSerializer)
            worker = Worker([queue], connection=client, serializer=JSONSerializer)
            worker.stopping = stopping
            worker.work(logging_level="WARNING", with_scheduler=False)
            return 0
        except (redis.RedisError, OSError) as error:
            log.warning("redis does not answer", error=type(error).__name__)
            time.sleep(PAUSE)
    return 0


class Worker(SimpleWorker):
    """RQ takes the signals over; this one passes on that it was told to stop."""

    stopping: threading.Event
    max_connection_wait_time = 2.0  # seconds; RQ's own 60 would let bots wait after Redis is back

    def request_stop(self, signum: int, frame: FrameType | None) -> None:
        """Remember that we are to stop, also where Redis fails at the same moment."""
        self.stopping.set()
        super().request_stop(signum, frame)  # type: ignore[no-untyped-call] # rq has no type here


def _stopped_by_signal() -> threading.Event:
    """Return what is set when this process is told to stop."""
    stopping = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda _number, _frame: stopping.set())
    return stopping


if __name__ == "__main__":
    sys.exit(main())
