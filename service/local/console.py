"""Lines of `shithead up` on the terminal about what happened, with their time."""

from __future__ import annotations

import sys
import time
from datetime import UTC, datetime
from typing import Final

SILENT_SECONDS: Final = 5.0
"""Seconds of waiting after which, and then again after which, the terminal states for what."""


def report(text: object) -> None:
    """
    Print on standard error what happened just now, after the time in UTC.

    >>> from contextlib import redirect_stderr
    >>> with redirect_stderr(sys.stdout):
    ...     report("PostgreSQL ended; restarting it")  # doctest: +ELLIPSIS
    20...Z PostgreSQL ended; restarting it
    """
    print(f"{now()} {text}", file=sys.stderr, flush=True)


class LongWait:
    """A wait of a start, which is reported if it lasts."""

    def __init__(self, until: str) -> None:
        """Begin to wait; `until` completes the sentence "waiting until …"."""
        self._until = until
        self._next = time.monotonic() + SILENT_SECONDS

    def goes_on(self, reason: str) -> None:
        """Report the wait with the reason, once in SILENT_SECONDS."""
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + SILENT_SECONDS
            report(f"waiting until {self._until}: {reason}")


def now() -> str:
    """Return the present time to the second in UTC, as ISO 8601 writes it."""
    return f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
