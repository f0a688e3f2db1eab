"""A time limit for a verification, for the command line."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final, TypeVar

_AGAIN: Final = 0.1  # seconds; where what is run swallowed the exception, it is raised again

T = TypeVar("T")


class BudgetSpent(BaseException):
    """The time is over; no Exception, so that no check takes it for malformed content."""


class Budget:
    """Stops what is attempted once the time is over; without a limit it stops nothing."""

    def __init__(self) -> None:
        self.spent = False
        self._attempting = False

    @contextmanager
    def running(self, seconds: float | None) -> Iterator[None]:
        """Let the time run; only in the main thread, where a number of seconds is given."""
        if seconds is None:
            yield
            return
        before = signal.signal(signal.SIGALRM, self._over)
        signal.setitimer(signal.ITIMER_REAL, seconds, _AGAIN)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)

    def attempt(self, act: Callable[[], T], otherwise: T) -> T:
        """Return what `act` returns, `otherwise` where the time is over before."""
        if self.spent:
            return otherwise
        try:
            self._attempting = True
            result = act()
            self._attempting = False
        except BudgetSpent:
            return otherwise
        finally:
            self._attempting = False
        return result

    def _over(self, _number: int, _frame: FrameType | None) -> None:
        self.spent = True
        if self._attempting:
            raise BudgetSpent
