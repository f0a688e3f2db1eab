"""A database that is slow, hangs or is gone: requests are refused in time, and nothing is lost."""

from __future__ import annotations

import contextlib
import os
import random
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest

from service.local.servers import EmbeddedPostgres
from service.store.migrate import migrate
from tests.client import Answer, Client, open_table, play_on, register
from tests.running import Running, running, wait_for

pytestmark = pytest.mark.heavy

THREADS = 32
CALLERS = 2 * THREADS
"""More than the one API process has threads for."""


@pytest.fixture(scope="module")
def database(server_folder: Path) -> Iterator[EmbeddedPostgres]:
    """Return a PostgreSQL of its own for these tests, which suspend and kill it."""
    server = EmbeddedPostgres(server_folder / "slow")
    migrate(server.start())
    yield server
    server.stop()


@pytest.fixture(scope="module")
def service(
    database: EmbeddedPostgres, redis_server: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Running]:
    """Return a service of one API process, which waits two seconds for a statement."""
    logs = tmp_path_factory.mktemp("logs")
    more = {"api_processes": 1, "api_threads": THREADS, "statement_seconds": 2}
    with running(database.url, redis_server, logs, **more) as started:
        yield started


@contextlib.contextmanager
def locked(database: EmbeddedPostgres) -> Iterator[None]:
    """Lock the streams table, so that every read waits."""
    with psycopg.connect(database.url) as connection:
        connection.execute("LOCK TABLE streams IN ACCESS EXCLUSIVE MODE")
        yield


@contextlib.contextmanager
def stopped(database: EmbeddedPostgres) -> Iterator[None]:
    """Suspend PostgreSQL: it accepts connections and never answers."""
    process = database.process
    assert process is not None
    group = [process.pid, *_children(process.pid)]
    for pid in group:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in group:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


def _children(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(word) for task in tasks for word in task.read_text().split()]


@contextlib.contextmanager
def gone(database: EmbeddedPostgres) -> Iterator[None]:
    """End PostgreSQL as `kill -9` does, and start it again afterwards."""
    process = database.process
    assert process is not None
    process.kill()
    process.wait()
    try:
        yield
    finally:
        database.start()


Trouble = Callable[[EmbeddedPostgres], contextlib.AbstractContextManager[None]]


@pytest.mark.parametrize("trouble", [locked, stopped, gone])
def test_requests_are_refused_during_the_outage_and_moves_continue_afterwards(
    service: Running, database: EmbeddedPostgres, trouble: Trouble
) -> None:
    """There are twice as many callers as threads; each gets a 503 in time."""
    ada, bob = register(service.port, "Ada"), register(service.port, "Bob")
    game = open_table([ada, bob], ruleset="leeds")
    play_on([ada, bob], game, random.Random(1), moves=4)
    before = ada.get(f"/v1/games/{game}")["version"]

    def ask(number: int) -> Answer:
        caller = Client(port=service.port, token=ada.token)
        try:
            if number % 2:
                return caller.call("GET", f"/v1/games/{game}/events")
            headers = {"Idempotency-Key": f"{trouble.__name__}-{number}"}
            return caller.call("POST", f"/v1/games/{game}/moves", {"type": "pass"}, headers)
        finally:
            caller.close()

    with ThreadPoolExecutor(CALLERS) as pool, trouble(database):
        answers = [pool.submit(ask, number) for number in range(CALLERS)]
        looker = Client(port=service.port)
        assert looker.call("GET", "/healthz").status == 200
        failing = "writes" if trouble is locked else "database"
        wait_for(lambda: "failed" in _parts(looker)[failing], seconds=10)
        for answer in answers:
            result = answer.result(timeout=60)
            assert result.status == 503, result.body
            assert result.json["type"] == "/problems/unavailable"
            assert int(result.headers["retry-after"]) > 0
    wait_for(lambda: looker.call("GET", "/readyz").status == 200, seconds=30)
    assert ada.get(f"/v1/games/{game}")["version"] >= before
    assert play_on([ada, bob], game, random.Random(2))["status"] == "ended"
    assert ada.get(f"/v1/games/{game}/audit")["result"] == "pass"


def _parts(looker: Client) -> dict[str, str]:
    """Return the status of each part, from readiness."""
    answer = looker.call("GET", "/readyz")
    parts: dict[str, str] = answer.json["parts"]
    return parts


@pytest.mark.smoke
def test_a_stopped_postmaster_is_named_as_the_database(
    service: Running, database: EmbeddedPostgres
) -> None:
    """Its sessions still answer; a pool that has to grow would wait."""
    looker = Client(port=service.port)
    assert looker.call("GET", "/readyz").status == 200
    assert database.process is not None
    os.kill(database.process.pid, signal.SIGSTOP)
    try:
        answer = looker.call("GET", "/readyz")
    finally:
        os.kill(database.process.pid, signal.SIGCONT)
    assert answer.status == 503
    parts = answer.json["parts"]
    assert (parts["database"], parts["migrations"]) == ("failed: ConnectionTimeout", "unknown")
    assert parts["keys"] == "ok"
    wait_for(lambda: looker.call("GET", "/readyz").status == 200, seconds=30)


def test_the_api_answers_if_all_long_polls_are_taken_and_the_database_hangs(
    service: Running, database: EmbeddedPostgres
) -> None:
    """Long polls and statements hold threads; some threads are always left to answer 503."""
    ada, bob = register(service.port, "Ada"), register(service.port, "Bob")
    game = open_table([ada, bob], ruleset="leeds")
    version = ada.get(f"/v1/games/{game}")["version"]

    def poll(_number: int) -> int:
        caller = Client(port=service.port, token=bob.token)
        try:
            return caller.call("GET", f"/v1/games/{game}?after={version}&wait=30").status
        finally:
            caller.close()

    with ThreadPoolExecutor(CALLERS) as pool, stopped(database):
        answers = [pool.submit(poll, number) for number in range(CALLERS)]
        looker = Client(port=service.port)
        for _ in range(20):
            assert looker.call("GET", "/healthz").status == 200
        assert {answer.result(timeout=60) for answer in answers} <= {200, 503}
    wait_for(lambda: looker.call("GET", "/readyz").status == 200, seconds=30)
