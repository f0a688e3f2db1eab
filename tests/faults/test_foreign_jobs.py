"""Workers do not run jobs or callbacks that other programs wrote into Redis."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import redis
from rq import Callback, Queue
from rq.job import Job
from rq.registry import StartedJobRegistry
from rq.serializers import JSONSerializer

from service.feature import Feature, JobContext, jobs_of
from service.features import FEATURES
from workers.main import Worker

TAKE_TURN, FINDINGS, TRY = "take_turn", "make_findings", "try_ruleset"
TOUCHED: list[str] = []


def touch(*_: object) -> None:
    """Record a call; represents code of an attacker."""
    TOUCHED.append("touched")


HERE = f"{__name__}.touch"


@pytest.fixture
def client(redis_url: str) -> redis.Redis:
    """Return a connection to an empty Redis."""
    TOUCHED.clear()
    return redis.Redis.from_url(redis_url)


def queue_of(client: redis.Redis) -> Queue:
    return Queue("bots", connection=client, serializer=JSONSerializer)


def run_worker(client: redis.Redis, done: list[Any] | None = None) -> None:
    """Run a worker until the queue is empty; `done` gets the arguments of jobs."""
    noted: list[Any] = [] if done is None else done

    def note(_work: JobContext, *arguments: object) -> None:
        noted.append(arguments)

    jobs = tuple(replace(job, run=note) for job in jobs_of(FEATURES).values())
    worker = Worker(
        [queue_of(client)],
        connection=client,
        serializer=JSONSerializer,
        features=(Feature(name="noted", jobs=jobs),),
    )
    worker.work(burst=True, logging_level="WARNING")


def by_system(queue: Queue, folder: Path) -> None:
    queue.enqueue("os.system", f"touch {folder}/owned")


def by_function(queue: Queue, _: Path) -> None:
    queue.enqueue(HERE)


def on_success(queue: Queue, _: Path) -> None:
    queue.enqueue(FINDINGS, str(uuid4()), on_success=Callback(HERE))


def on_failure(queue: Queue, _: Path) -> None:
    queue.enqueue(FINDINGS, "no id", on_failure=Callback(HERE))


def on_stopped(queue: Queue, _: Path) -> None:
    queue.enqueue(FINDINGS, "no id", on_stopped=Callback(HERE))


def by_unreadable_data(queue: Queue, _: Path) -> None:
    job = queue.enqueue(FINDINGS, "no id", on_failure=Callback(HERE))
    queue.connection.hset(job.key, "data", b"no json")


def by_an_instance(queue: Queue, _: Path) -> None:
    job = queue.enqueue(FINDINGS, "no id")
    queue.connection.hset(job.key, "data", b'["format", "{0}", ["x"], {}]')


def when_abandoned(queue: Queue, _: Path) -> None:
    job = Job.create(
        FINDINGS,
        ("no id",),
        connection=queue.connection,
        origin=queue.name,
        serializer=JSONSerializer,
        on_failure=Callback(HERE),
    )
    job.save()
    registry = StartedJobRegistry(queue.name, connection=queue.connection)
    queue.connection.zadd(registry.key, {f"{job.id}:{uuid4().hex}": time.time() - 60})


@pytest.mark.attack("FOREIGN_JOBS", "a job that calls another function", check="the worker")
@pytest.mark.parametrize(
    "write",
    [
        by_system,
        by_function,
        on_success,
        on_failure,
        on_stopped,
        by_unreadable_data,
        by_an_instance,
        when_abandoned,
    ],
)
def test_foreign_jobs_and_callbacks_are_not_run(
    client: redis.Redis,
    tmp_path: Path,
    write: Callable[[Queue, Path], None],
) -> None:
    done: list[Any] = []
    queue = queue_of(client)
    write(queue, tmp_path)
    run_worker(client, done)
    assert (TOUCHED, list(tmp_path.iterdir()), done) == ([], [], [])
    assert client.llen(queue.key) == 0
    assert client.llen(queue.intermediate_queue_key) == 0


@pytest.mark.parametrize(
    ("name", "arguments"), [(TAKE_TURN, ("x", 3)), (FINDINGS, ("x",)), (TRY, ({}, 1))]
)
def test_the_service_s_own_jobs_are_run(
    client: redis.Redis, name: str, arguments: tuple[Any, ...]
) -> None:
    done: list[Any] = []
    queue_of(client).enqueue(name, *arguments)
    run_worker(client, done)
    assert done == [arguments]


@pytest.mark.attack("FOREIGN_JOBS", "a command to a worker over Redis", check="the worker")
def test_a_worker_accepts_no_commands_over_redis(client: redis.Redis) -> None:
    worker = Worker([queue_of(client)], connection=client, serializer=JSONSerializer)
    worker.subscribe()
    assert client.pubsub_numsub(worker.pubsub_channel_name)[0][1] == 0
