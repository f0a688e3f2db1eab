"""Readiness: the checks of the dependencies of a process, and their last result."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Final

from service.runtime.telemetry import FAILED_CHECKS

Check = Callable[[], None]
"""Raises an exception if a dependency of the process, such as the database, is not ready."""

DATABASE: Final = "database"
"""The dependency without which those in `of_database` cannot be checked."""

OK: Final = "ok"
UNKNOWN: Final = "unknown"


class NotChecked(Exception):
    """Raised by a check that got no answer about its dependency, which may be ready."""


class ReadyState(StrEnum):
    """Whether a process should get requests."""

    READY = "ready"
    DEGRADED = "degraded"  # moves work, and something else does not
    UNREADY = "unready"


Status = tuple[ReadyState, dict[str, str]]
"""The state of the process, and the status of every dependency."""


class Readiness:
    """
    The checks of the dependencies of a process: required ones, and ones that are only reported.

    The check of a dependency that hangs takes seconds. One thread of the process checks at a time;
    calls meanwhile get the last status, so that they hold no further threads. The dependencies in
    `of_database` are not checked while the database fails, which has its own name in the status.
    """

    def __init__(
        self,
        *,
        needed: Mapping[str, Check],
        wanted: Mapping[str, Check],
        of_database: frozenset[str] = frozenset(),
    ) -> None:
        self._needed = needed
        self._wanted = wanted
        self._of_database = of_database
        self._checking = threading.Lock()
        self._last: Status | None = None

    def check(self) -> Status:
        """Return the state, and the status of each dependency."""
        last = self._last
        if not self._checking.acquire(blocking=last is None) and last is not None:
            return last
        try:
            self._last = self._checked()
        finally:
            self._checking.release()
        return self._last

    def _checked(self) -> Status:
        parts: dict[str, str] = {}
        for name, check in {**self._needed, **self._wanted}.items():
            unknown = name in self._of_database and parts.get(DATABASE, OK) != OK
            parts[name] = UNKNOWN if unknown else _status_of(name, check)
        if any(parts[name] != OK for name in self._needed):
            return ReadyState.UNREADY, parts
        return ReadyState.READY if set(parts.values()) <= {OK} else ReadyState.DEGRADED, parts


ALWAYS_READY = Readiness(needed={}, wanted={})
"""For services in memory: always ready."""


def _status_of(name: str, check: Check) -> str:
    try:
        check()
    except NotChecked:
        return UNKNOWN  # its last result stays in the metrics
    except Exception as error:  # noqa: BLE001 - after any error the dependency is not ready
        FAILED_CHECKS.labels(name).set_to_current_time()
        # The type of the error only: its text can contain addresses and passwords.
        return f"failed: {type(error).__name__}"
    FAILED_CHECKS.labels(name).set(0)
    return OK


class AtMostEvery:
    """A check that is made at most every `seconds`; calls in between repeat its result."""

    def __init__(
        self, seconds: float, check: Check, *, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._seconds = seconds
        self._check = check
        self._monotonic = monotonic
        self._due: float | None = None
        self._error: Exception | None = None

    def __call__(self) -> None:
        """Raise the error of the last check, which is made again if it is due."""
        if self._due is None or self._monotonic() >= self._due:
            self._error = None
            try:
                self._check()
            except Exception as error:  # noqa: BLE001 - raised below, as often as it is asked for
                self._error = error
            self._due = self._monotonic() + self._seconds
        if self._error is not None:
            raise self._error.with_traceback(None)
