"""Sweeper: a scheduler of periodic work on shared tables, with due games first."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Final

import structlog

from service.application.availability import AGAIN_SECONDS
from service.application.quotas import Slice
from service.bootstrap import Services
from service.feature import Sweep
from service.runtime.telemetry import (
    ROUNDS,
    SWEEP_FAILURES,
    SWEEP_ROWS,
    SWEEP_SECONDS,
    SWEPT_AT,
)
from service.store.events import StoreUnavailable

INTERVAL: Final = 0.25
"""Seconds between two rounds: deadlines and ends of windows are noticed at most this late."""

AT_ONCE: Final = 4
"""Sweeps that run at a time beside the due games; a query that hangs holds up no other sweep."""

REST: Final = 3.0
"""Pause after a slice that left work, in lengths of that slice, up to the period."""

FIRST_AFTER: Final = 30.0
"""Longest time from the start to the first slice of a sweep: one that kills starts no loop."""


class Sweeper:
    """Runs sweeps until it is stopped: `first` in each round, and `others` beside the rounds."""

    def __init__(
        self,
        services: Services,
        *,
        first: Sweep,
        others: Sequence[Sweep],
        threads: Executor | None = None,
    ) -> None:
        self._services = services
        self._first = SweepTurns(first, services)
        self._others = [SweepTurns(sweep, services) for sweep in others]
        self._threads = threads or ThreadPoolExecutor(AT_ONCE, thread_name_prefix="sweep")

    def round(self) -> None:
        """Do a slice of the first sweep, then let the threads do a slice of each that is due."""
        if self._first.is_due() and self._first.run():
            ROUNDS.labels("sweeper").set_to_current_time()
        for turns in self._others:
            if turns.is_due():
                turns.is_running = True
                self._threads.submit(turns.run)

    def run(self, stopped: Callable[[], bool]) -> None:
        """Run rounds until `stopped` returns true."""
        life = threading.Thread(target=self._show_life, args=(stopped,), daemon=True)
        life.start()
        while not stopped():
            self.round()
            time.sleep(INTERVAL)
        self._threads.shutdown(wait=True, cancel_futures=True)
        life.join(1.0)

    def _show_life(self, stopped: Callable[[], bool]) -> None:
        """Record that the service runs, beside the rounds: a long round is no outage."""
        while not stopped():
            with contextlib.suppress(StoreUnavailable):
                self._services.availability.note()
            time.sleep(AGAIN_SECONDS / 2)


class SweepTurns:
    """The slices of one sweep, and when the next is due."""

    def __init__(self, sweep: Sweep, services: Services) -> None:
        self._sweep = sweep
        self._work = sweep.begin(services)
        self._next = time.monotonic() + min(sweep.period, FIRST_AFTER)
        self._failures = 0
        self._log = structlog.get_logger("sweeper")
        self.is_running = False

    def is_due(self) -> bool:
        """Return whether a slice is due, and none is being done."""
        return not self.is_running and time.monotonic() >= self._next

    def run(self) -> bool:
        """Do a slice; return whether it succeeded. A failure is logged and ends nothing else."""
        sweep, began, done = self._sweep, time.monotonic(), 0
        part = Slice(rows=sweep.rows, seconds=sweep.seconds)
        try:
            done = self._work(part)
            self._failures = 0
        except StoreUnavailable as error:
            self._failures += 1
            self._log.warning("database does not answer", sweep=sweep.name, error=str(error))
        except Exception:  # noqa: BLE001 - one sweep must neither end the process nor delay others
            self._failures += 1
            self._log.exception("a sweep failed", sweep=sweep.name)
        ended = time.monotonic()
        SWEEP_SECONDS.labels(sweep.name).inc(ended - began)
        SWEEP_ROWS.labels(sweep.name).inc(done)
        SWEEP_FAILURES.labels(sweep.name).set(self._failures)
        if not self._failures:
            SWEPT_AT.labels(sweep.name).set_to_current_time()
        self._next = ended + self._pause(ended - began, is_left=part.is_over(done))
        self.is_running = False
        return not self._failures

    def _pause(self, spent: float, *, is_left: bool) -> float:
        """Return the seconds to the next slice."""
        sweep = self._sweep
        if self._failures:
            doubled = max(1.0, sweep.period) * 2.0 ** min(self._failures - 1, 30)
            return min(doubled, sweep.longest_pause)
        return min(sweep.period, REST * spent) if is_left else sweep.period
