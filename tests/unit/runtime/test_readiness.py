"""Readiness: one thread of a process checks at a time, so a check that hangs blocks only one."""

from __future__ import annotations

import threading

from service.runtime.readiness import AtMostEvery, NotChecked, Readiness, ReadyState
from service.runtime.telemetry import FAILED_CHECKS


def test_calls_during_a_check_get_the_last_status_at_once() -> None:
    hung, entered, release = threading.Event(), threading.Event(), threading.Event()

    def database() -> None:
        if hung.is_set():
            entered.set()
            assert release.wait(10)
            raise ConnectionError

    readiness = Readiness(needed={"database": database}, wanted={})
    assert readiness.check() == (ReadyState.READY, {"database": "ok"})
    hung.set()
    late: list[object] = []
    checking = threading.Thread(target=lambda: late.append(readiness.check()))
    checking.start()
    assert entered.wait(10)
    assert readiness.check() == (ReadyState.READY, {"database": "ok"})
    release.set()
    checking.join(10)
    failed = (ReadyState.UNREADY, {"database": "failed: ConnectionError"})
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
