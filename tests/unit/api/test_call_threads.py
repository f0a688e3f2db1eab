"""The pool of threads for calls: it grows to its limit, and idle threads end."""

from __future__ import annotations

import threading
from concurrent.futures import wait

import pytest

from service.api.call_threads import MAX_IDLE, CallThreads
from tests.running import wait_for


def test_calls_run_at_once_up_to_the_limit_and_others_wait() -> None:
    pool, all_run, go_on = CallThreads(3), threading.Barrier(4), threading.Event()

    def call(number: int) -> int:
        if number < 3:
            all_run.wait(5)
        go_on.wait(5)
        return number

    calls = [pool.submit(call, number) for number in range(5)]
    all_run.wait(5)
    assert len(pool) == 3
    assert not any(one.done() for one in calls)
    go_on.set()
    assert [one.result(timeout=5) for one in calls] == [0, 1, 2, 3, 4]
    assert len(pool) == 3


def test_an_idle_thread_is_used_again() -> None:
    pool = CallThreads(5)
    for number in range(5):
        assert pool.submit(pow, number, 2).result(timeout=5) == number**2
        wait_for(lambda: pool.idle == 1, seconds=5)
    assert len(pool) == 1


def test_idle_threads_end_except_a_few() -> None:
    pool, together = CallThreads(30, idle_seconds=0.05), threading.Barrier(30)
    wait([pool.submit(together.wait, 5) for _ in range(30)], timeout=5)
    wait_for(lambda: len(pool) == MAX_IDLE, seconds=5)
    assert pool.submit(len, "abc").result(timeout=5) == 3


def test_the_exception_of_a_call_is_its_result_and_ends_no_thread() -> None:
    pool = CallThreads(1)
    with pytest.raises(ZeroDivisionError):
        pool.submit(lambda: 1 / 0).result(timeout=5)
    assert pool.submit(len, "abc").result(timeout=5) == 3
