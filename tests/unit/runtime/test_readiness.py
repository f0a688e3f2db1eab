"""Readiness: one thread of a process checks at a time, so a check that hangs blocks only one."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from service.runtime.readiness import (
    HUNG_SECONDS,
    AtMostEvery,
    FailedBeside,
    NotChecked,
    Readiness,
    ReadyState,
    Shared,
)
from service.runtime.telemetry import FAILED_CHECKS


def test_calls_during_a_check_get_the_last_status_at_once_for_a_moment() -> None:
    hung, entered, release = threading.Event(), threading.Event(), threading.Event()

    def database() -> None:
        if hung.is_set():
            entered.set()
            assert release.wait(10)
            raise ConnectionError

    present = [100.0]
    readiness = Readiness(
        needed={"keys": lambda: None, "database": database},
        wanted={"clock": lambda: None},
        monotonic=lambda: present[0],
    )
    ready = (ReadyState.READY, {"keys": "ok", "database": "ok", "clock": "ok"})
    assert readiness.check() == ready
    present[0] = 1000.0
    hung.set()
    late: list[object] = []
    checking = threading.Thread(target=lambda: late.append(readiness.check()))
    checking.start()
    assert entered.wait(10)
    assert readiness.check() == ready
    present[0] += HUNG_SECONDS
    unknown = {"keys": "ok", "database": "unknown", "clock": "unknown"}
    assert readiness.check() == (ReadyState.UNREADY, unknown), "nobody knows it any more"
    release.set()
    checking.join(10)
    parts = {"keys": "ok", "database": "failed: ConnectionError", "clock": "ok"}
    failed = (ReadyState.UNREADY, parts)
    assert late == [failed]
    entered.clear()
    assert readiness.check() == failed


def test_a_failed_database_is_named_and_what_it_would_answer_is_unknown() -> None:
    readiness = Readiness(
        needed={"database": _fail, "writes": _fail, "keys": lambda: None},
        wanted={"clock": _fail},
        of_database=frozenset({"writes", "clock"}),
    )
    assert readiness.check() == (
        ReadyState.UNREADY,
        {
            "database": "failed: ConnectionError",
            "writes": "unknown",
            "keys": "ok",
            "clock": "unknown",
        },
    )


def test_a_check_without_an_answer_is_unknown_and_no_failure_in_the_metrics() -> None:
    def silent() -> None:
        raise NotChecked

    readiness = Readiness(needed={}, wanted={"calendar": silent})
    assert readiness.check() == (ReadyState.DEGRADED, {"calendar": "unknown"})
    samples = [one.labels["part"] for metric in FAILED_CHECKS.collect() for one in metric.samples]
    assert "calendar" not in samples


def test_processes_of_a_machine_agree_about_a_failure(tmp_path: Path) -> None:
    """On a full disk one process finds the last free page, and another does not."""
    present, fails = [time.time()], [True]

    def probe() -> None:
        if fails[0]:
            raise MemoryError

    def shared(check: Callable[[], None]) -> Shared:
        return Shared("writes", 10, check, folder=str(tmp_path), now=lambda: present[0])

    one, other = shared(probe), shared(lambda: None)
    other()
    with pytest.raises(MemoryError):
        one()
    with pytest.raises(FailedBeside, match="MemoryError"):
        other()
    readiness = Readiness(needed={"writes": other}, wanted={})
    assert readiness.check() == (ReadyState.UNREADY, {"writes": "failed: MemoryError"})
    fails[0] = False
    present[0] += 11
    one()
    other()
    Shared("writes", 10, lambda: None, folder=None)()


def test_a_check_that_writes_is_made_every_five_seconds_at_most() -> None:
    made, present = list[float](), [0.0]

    def probe() -> None:
        made.append(present[0])
        if present[0] < 5:
            raise ConnectionError

    check = AtMostEvery(5, probe, monotonic=lambda: present[0])
    results = []
    for present[0] in (0.0, 1.0, 4.9, 5.0, 9.9, 10.0):
        try:
            check()
            results.append(True)
        except ConnectionError:
            results.append(False)
    assert made == [0.0, 5.0, 10.0]
    assert results == [False, False, False, True, True, True]


def _fail() -> None:
    raise ConnectionError
