"""Lines of `shithead up` on the terminal about what happened, with their time."""

from __future__ import annotations

import sys
from datetime import UTC, datetime


def report(text: object) -> None:
    """
    Print on standard error what happened just now, after the time in UTC.

    >>> from contextlib import redirect_stderr
    >>> with redirect_stderr(sys.stdout):
    ...     report("PostgreSQL ended; restarting it")  # doctest: +ELLIPSIS
    20...Z PostgreSQL ended; restarting it
    """
    print(f"{now()} {text}", file=sys.stderr, flush=True)


def now() -> str:
    """Return the present time to the second in UTC, as ISO 8601 writes it."""
    return f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
