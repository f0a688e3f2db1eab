"""An address of Sentinels: clients find the master, also after a fail-over."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import redis
from rq import Queue
from rq.serializers import JSONSerializer

from service.api.limits import _redis_counter
from service.application.ports import MAIN_QUEUE
from service.job_queue import RedisNotifier, client_of, connect
from service.local.servers import _find_program
from tests.running import free_port

PASSWORD = "only for tests"


class Watched:
    """A master, its replica, and a Sentinel that watches them."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder = folder
        self.stack = stack
        self.servers: list[subprocess.Popen[bytes]] = []
        self.ports = (free_port(), free_port())
        self.sentinel_port = free_port()
        self.url = f"redis+sentinel://:{PASSWORD}@127.0.0.1:1,127.0.0.1:{self.sentinel_port}/main"
        for number, port in enumerate(self.ports):
            follow = ["--replicaof", "127.0.0.1", str(self.ports[0])] if number else []
            words = ["--requirepass", PASSWORD, "--masterauth", PASSWORD, "--save", ""]
            self._start("--port", str(port), "--bind", "127.0.0.1", *words, *follow)
        wait_until(lambda: self._replication(0)["connected_slaves"] == 1)
        settings = folder / "sentinel.conf"
        settings.write_text(
            f"port {self.sentinel_port}\nbind 127.0.0.1\ndir {folder}\nrequirepass {PASSWORD!r}\n"
            f"sentinel monitor main 127.0.0.1 {self.ports[0]} 1\n"
            f"sentinel auth-pass main {PASSWORD!r}\n"
            "sentinel down-after-milliseconds main 300\n"
        )
        self._start(settings, "--sentinel")
        self.sentinel = self.client(self.sentinel_port)
        wait_until(self._sees_the_replica)

    def client(self, port: int) -> redis.Redis:
        """Return a client of one server."""
        return redis.Redis(port=port, password=PASSWORD, socket_timeout=2)

    def fail_over(self) -> None:
        """End the master with SIGKILL, and wait until the replica is the master."""
        self.servers[0].kill()
        wait_until(lambda: self._replication(1)["role"] == "master")

    def _replication(self, number: int) -> dict[str, Any]:
        found: dict[str, Any] = self.client(self.ports[number]).info("replication")
        return found

    def _sees_the_replica(self) -> bool:
        return len(self.sentinel.sentinel_slaves("main")) == 1

    def _start(self, *words: str | Path) -> None:
        command = [_find_program(None), *words]
        child = subprocess.Popen(command, cwd=self.folder, stdout=subprocess.DEVNULL)
        self.servers.append(child)
        self.stack.callback(child.wait)
        self.stack.callback(child.kill)


def wait_until(condition: Callable[[], object]) -> None:
    """Wait at most ten seconds until `condition` holds, also while a server does not answer."""
    end = time.monotonic() + 10
    while True:
        try:
            if condition():
                return
        except redis.RedisError:
            pass
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    """Return a watched master; the first of the two Sentinels in its address does not answer."""
    with ExitStack() as stack:
        yield Watched(tmp_path_factory.mktemp("sentinel"), stack)


def test_after_a_failover_jobs_and_rate_limits_use_the_new_master(watched: Watched) -> None:
    notifier = RedisNotifier(connect(watched.url, seconds=0.5), quiet_seconds=0.1)
    counter = _redis_counter(watched.url)
    assert counter is not None
    first, second = (watched.client(port) for port in watched.ports)

    def reaches_the_first() -> bool:
        notifier.moved(uuid4(), 1, wake=True)
        return int(first.llen(f"rq:queue:{MAIN_QUEUE}")) > 0

    wait_until(reaches_the_first)

    before = int(first.llen(f"rq:queue:{MAIN_QUEUE}"))
    watched.fail_over()

    def reaches_the_new_one() -> bool:
        notifier.moved(uuid4(), 2, wake=True)
        return int(second.llen(f"rq:queue:{MAIN_QUEUE}")) > before

    wait_until(reaches_the_new_one)
    worker = Queue(MAIN_QUEUE, connection=client_of(watched.url), serializer=JSONSerializer)
    assert worker.count == second.llen(f"rq:queue:{MAIN_QUEUE}")
    wait_until(counter.storage.check)


def test_an_address_without_a_name_of_the_master_is_refused() -> None:
    with pytest.raises(ValueError, match="name of the master"):
        client_of("redis+sentinel://127.0.0.1:26379")
