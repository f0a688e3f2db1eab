"""A Redis that hangs: it accepts connections and answers nothing."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import uuid4

import pytest

from service.job_queue import RedisNotifier, connect
from service.local.servers import EmbeddedValkey

GAME = uuid4()


@pytest.fixture
def valkey(tmp_path: Path) -> Iterator[EmbeddedValkey]:
    """Return a Redis of its own for a test that suspends it."""
    server = EmbeddedValkey(tmp_path)
    server.start()
    yield server
    hang(server, over=True)
    server.stop()


def hang(server: EmbeddedValkey, *, over: bool = False) -> None:
    """Suspend the server's process, or resume it."""
    assert server.process is not None
    os.kill(server.process.pid, signal.SIGCONT if over else signal.SIGSTOP)


def seconds_of(notifier: RedisNotifier, version: int) -> float:
    """Return how long a move waits for its notifications."""
    began = time.perf_counter()
    notifier.moved(GAME, version, wake=True)
    return time.perf_counter() - began


@pytest.mark.attack("FOREIGN_JOBS", "a Redis that hangs", check="a time limit")
@pytest.mark.parametrize("begun", [True, False])
def test_a_hung_redis_costs_a_move_50_ms_and_the_next_ones_nothing(
    valkey: EmbeddedValkey, *, begun: bool
) -> None:
    notifier = RedisNotifier(connect(valkey.url))
    if begun:  # with a connection that is open already, and with a new one
        notifier.moved(GAME, 1, wake=True)
    hang(valkey)
    first = seconds_of(notifier, 2)
    later = [seconds_of(notifier, version) for version in range(3, 30)]
    assert first < 0.3, first  # 50 ms, and room for a busy machine; it was 1 s
    assert sum(later) < 0.1, later


def test_after_the_pause_one_call_retries_and_the_others_do_not_wait(
    valkey: EmbeddedValkey,
) -> None:
    notifier = RedisNotifier(connect(valkey.url), quiet_seconds=0.2)
    hang(valkey)
    seconds_of(notifier, 1)
    time.sleep(0.25)
    with ThreadPoolExecutor(8) as threads:
        took = sorted(threads.map(lambda version: seconds_of(notifier, version), range(2, 10)))
    assert took[-2] < 0.04, took  # all but one


def test_notifications_are_sent_again_once_redis_answers(valkey: EmbeddedValkey) -> None:
    notifier, client = (
        RedisNotifier(connect(valkey.url), quiet_seconds=0.1),
        connect(valkey.url, seconds=5),
    )
    hang(valkey)
    seconds_of(notifier, 1)
    hang(valkey, over=True)
    time.sleep(0.15)
    before = client.llen("rq:queue:bots")
    notifier.wake(GAME, 2)
    assert client.llen("rq:queue:bots") == before + 1
    client.close()
