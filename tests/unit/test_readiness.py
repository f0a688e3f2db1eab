"""Readiness: one thread of a process checks at a time, so a check that hangs blocks only one."""

from __future__ import annotations

import threading

from service.startup_checks import Readiness


def test_calls_during_a_check_get_the_last_status_at_once() -> None:
    hung, entered, release = threading.Event(), threading.Event(), threading.Event()

    def database() -> None:
        if hung.is_set():
            entered.set()
            assert release.wait(10)
            raise ConnectionError

    readiness = Readiness(needed={"database": database}, wanted={})
    assert readiness.check() == (True, {"database": "ok"})
    hung.set()
    late: list[object] = []
    checking = threading.Thread(target=lambda: late.append(readiness.check()))
    checking.start()
    assert entered.wait(10)
    assert readiness.check() == (True, {"database": "ok"})
    release.set()
    checking.join(10)
    failed = (False, {"database": "failed: ConnectionError"})
    assert late == [failed]
    entered.clear()
    assert readiness.check() == failed
