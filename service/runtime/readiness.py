"""Readiness: the checks of the dependencies of a process, and their last result."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Final

from service.runtime.telemetry import FAILED_CHECKS

Check = Callable[[], None]
"""Raises an exception if a dependency of the process, such as the database, is not ready."""

DATABASE: Final = "database"
"""The dependency without which those in `of_database` cannot be checked."""

OK: Final = "ok"
UNKNOWN: Final = "unknown"


HUNG_SECONDS: Final = 2.0
"""Seconds for which calls get the last status while a check runs; after that it is unknown."""


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
    calls meanwhile get the last status, so that they hold no further threads, but not for longer
    than HUNG_SECONDS: then each dependency that the check has not reached is unknown. Those in
    `of_database` are not checked while the database fails, which has its own name in the status.
    """

    def __init__(
        self,
        *,
        needed: Mapping[str, Check],
        wanted: Mapping[str, Check],
        of_database: frozenset[str] = frozenset(),
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._monotonic = monotonic
        self._began = 0.0  # of the running check
        self._parts: dict[str, str] = {}  # what it has found so far
        self._needed = needed
        self._wanted = wanted
        self._of_database = of_database
        self._checking = threading.Lock()
        self._last: Status | None = None

    def check(self) -> Status:
        """Return the state, and the status of each dependency."""
        last = self._last
        if not self._checking.acquire(blocking=last is None) and last is not None:
            return last if self._monotonic() - self._began < HUNG_SECONDS else self._so_far()
        try:
            self._began, self._parts = self._monotonic(), {}
            self._last = self._checked()
        finally:
            self._checking.release()
        return self._last

    def _so_far(self) -> Status:
        """Return the status of a check that hangs."""
        unknown = dict.fromkeys({**self._needed, **self._wanted}, UNKNOWN)
        return self._status({**unknown, **self._parts})

    def _checked(self) -> Status:
        parts = self._parts
        for name, check in {**self._needed, **self._wanted}.items():
            unknown = name in self._of_database and parts.get(DATABASE, OK) != OK
            parts[name] = UNKNOWN if unknown else _status_of(name, check)
        return self._status(dict(parts))

    def _status(self, parts: dict[str, str]) -> Status:
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
        return f"failed: {error.name if isinstance(error, FailedBeside) else type(error).__name__}"
    FAILED_CHECKS.labels(name).set(0)
    return OK


class FailedBeside(Exception):
    """The check failed a moment ago in another process of this machine; `name` is its error's."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


class Shared:
    """
    A check whose failure in one process of a machine counts in all of them, for `seconds`.

    On a full disk one process may find the last free page that another does not. The name of the
    error is stored in `folder`, which is in memory; without a folder nothing is shared.
    """

    def __init__(
        self,
        name: str,
        seconds: float,
        check: Check,
        *,
        folder: str | None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._file = Path(folder) / f"failed-{name}" if folder else None
        self._seconds = seconds
        self._check = check
        self._now = now

    def __call__(self) -> None:
        """Raise the error of the check, or FailedBeside if it failed in another process."""
        try:
            self._check()
        except NotChecked:
            raise
        except Exception as error:
            if self._file is not None:
                with contextlib.suppress(OSError):
                    self._file.write_text(type(error).__name__)
            raise
        if (name := self._beside()) is not None:
            raise FailedBeside(name)

    def _beside(self) -> str | None:
        """Return the name of a failure that is not older than `seconds`; None without one."""
        try:
            if self._file is None or self._now() - self._file.stat().st_mtime > self._seconds:
                return None
            return self._file.read_text() or None
        except OSError:
            return None


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
