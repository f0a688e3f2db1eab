"""Clock checks before irreversible actions: purges, and closing idle games."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

import structlog

LOGGED_DIFFERENCE: Final = timedelta(seconds=2)
MAX_DIFFERENCE: Final = timedelta(seconds=60)

SETTLING_TIME: Final = timedelta(days=1)
"""How long the clock must run evenly after a jump, or after a long outage of the service."""

_log = structlog.stdlib.get_logger("shithead.clock")


def since_boot() -> float:
    """Return the seconds since the machine started, including sleep if the system counts it."""
    boottime = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if boottime is None else time.clock_gettime(boottime)


def clock_fault(now: datetime, of_database: datetime, newest: datetime | None) -> str | None:
    """
    Return why this machine's clock cannot be used; None if it can.

    Times in a log never decrease: after a clock was set back, every event would get the time
    of the event before it, and no deadline would pass until the clock has caught up. Small
    differences between machines are logged and tolerated.
    """
    behind = newest - now if newest is not None else timedelta()
    difference = abs(of_database - now)
    if behind > MAX_DIFFERENCE:
        return (
            f"this machine's clock is {_seconds(behind)} behind the newest stored event "
            f"({newest:%Y-%m-%d %H:%M:%S} UTC): it has gone back, or it was ahead before"
        )
    if difference > MAX_DIFFERENCE:
        return f"the clocks of this machine and of the database are {_seconds(difference)} apart"
    if max(behind, difference) > LOGGED_DIFFERENCE:
        _log.warning("clocks differ", behind=_seconds(behind), database=_seconds(difference))
    return None


class ClockWatch:
    """
    Compares this process's clock with the database's, the newest event, and the monotonic clock.

    A clock that has jumped ahead makes everything look old: players who registered yesterday
    look unused for a year, a running game looks abandoned. If the database is on the same
    machine, its clock jumps too, and only the monotonic clock shows the jump. If the process
    started after the jump, only the age of the newest event shows it; but this event is also
    old after a long outage. In both cases the doubt ends once the clock has run evenly for a
    day, without an action of the operator.
    """

    def __init__(
        self,
        *,
        clocks: Callable[[], tuple[datetime, datetime | None]],
        now: Callable[[], datetime],
        monotonic: Callable[[], float] = since_boot,
    ) -> None:
        self._clocks = clocks  # the time of the database, and of the newest event
        self._now = now
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._seen = now(), monotonic()
        self._even_since = self._seen[1]
        self._jump: timedelta | None = None
        self._logged: str | None = None

    def doubt(self) -> str | None:
        """Return why the age of stored data cannot be trusted; None if it can."""
        of_database, newest = self._clocks()
        with self._lock:
            reason = self._reason(of_database, newest)
            if reason is not None and self._logged is None:
                _log.warning("the clock is in doubt: no purge, no idle game closed", reason=reason)
            self._logged = reason
        return reason

    def _reason(self, of_database: datetime, newest: datetime | None) -> str | None:
        now, monotonic = self._now(), self._monotonic()
        before, passed = self._seen[0], timedelta(seconds=monotonic - self._seen[1])
        self._seen = now, monotonic
        jump = (now - before) - passed
        if abs(jump) > MAX_DIFFERENCE:
            self._jump, self._even_since = jump, monotonic
        if (fault := clock_fault(now, of_database, newest)) is not None:
            return fault
        if timedelta(seconds=monotonic - self._even_since) >= SETTLING_TIME:
            self._jump = None
            return None
        if self._jump is not None:
            return f"this machine's clock jumped by {self._jump.total_seconds():.0f} s"
        if newest is None or now - newest > SETTLING_TIME:
            return "the newest event is more than a day old: a long outage, or a clock ahead"
        return None


def _seconds(length: timedelta) -> str:
    return f"{length.total_seconds():.0f} s"
