"""The bell over Redis: wake-ups for workers and for live readers; nothing in it is ever needed."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from secrets import token_hex
from uuid import UUID

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry
from rq import Queue
from rq.serializers import JSONSerializer

QUEUE = "bots"
TAKE_TURN = "workers.jobs.take_turn"
MAKE_FINDINGS = "workers.jobs.make_findings"
JOB_SECONDS = 60
"""After which a job is taken for dead; a job makes its moves for 20 seconds at most."""

FORGET_SECONDS = 60
"""How long a job that ended, or failed, is kept in Redis."""

_log = logging.getLogger(__name__)


def connect(url: str) -> redis.Redis:
    """
    Return a client that gives up at once where Redis is down.

    redis-py's own retries would hold a request for seconds.
    """
    return redis.Redis.from_url(
        url,
        socket_connect_timeout=0.5,
        socket_timeout=1.0,
        retry=Retry(NoBackoff(), 0),
        health_check_interval=0,
    )


def channel(kind: str, identity: UUID) -> str:
    """Return the channel on which a game's or table's new versions are told."""
    return f"shithead.{kind}.{identity}"


class RedisBell:
    """
    Tells Redis what was committed, and asks for jobs by name.

    Best effort: the relay and the sweeper find in Postgres whatever is lost here.
    After a failure it is silent for a moment, so that a dead Redis costs nothing.
    """

    def __init__(self, client: redis.Redis, *, quiet_seconds: float = 1.0) -> None:
        self._client = client
        self._queue = Queue(
            QUEUE, connection=client, serializer=JSONSerializer, default_timeout=JOB_SECONDS
        )
        self._quiet = threading.Event()
        self._quiet_seconds = quiet_seconds

    def moved(self, game: UUID, version: int, *, wake: bool) -> None:
        """Tell live readers of a game's version, and wake a worker where one is needed."""
        self._ring(lambda: self._client.publish(channel("game", game), version))
        if wake:
            self.wake(game, version)

    def table_moved(self, table: UUID, version: int) -> None:
        """Tell those who wait for a table to change."""
        self._ring(lambda: self._client.publish(channel("table", table), version))

    def wake(self, game: UUID, version: int) -> None:
        """
        Ask for a job that makes the moves due in a game at a version.

        The same wake-up may be asked for from several sides at once. Each is a job of
        its own: two runs of one job would undo each other's notes in Redis.
        """
        self._ring(
            lambda: self._queue.enqueue(
                TAKE_TURN,
                str(game),
                version,
                job_id=f"{game}-{version}-{token_hex(4)}",
                result_ttl=0,
                failure_ttl=FORGET_SECONDS,
                ttl=FORGET_SECONDS,
            )
        )

    def look_into(self, dispute: UUID) -> None:
        """Ask for a job that makes the findings of a dispute."""
        self._ring(
            lambda: self._queue.enqueue(
                MAKE_FINDINGS,
                str(dispute),
                job_id=f"findings-{dispute}",
                result_ttl=0,
                failure_ttl=FORGET_SECONDS,
                ttl=FORGET_SECONDS,
            )
        )

    def _ring(self, act: Callable[[], object]) -> None:
        if self._quiet.is_set():
            return
        try:
            act()
        except redis.RedisError as error:
            _log.warning("redis does not answer: %s", type(error).__name__)
            self._quiet.set()
            timer = threading.Timer(self._quiet_seconds, self._quiet.clear)
            timer.daemon = True
            timer.start()
