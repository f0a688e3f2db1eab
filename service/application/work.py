"""Work limits: events that a request folds or goes through are counted before it does so."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import Final

Limit = Callable[[int], AbstractContextManager[None]]
"""Returns a context manager for processing so many events; it may raise Refusal."""

_LIMIT: Final[ContextVar[Limit | None]] = ContextVar("limit", default=None)
_UNLIMITED: Final = nullcontext()


@contextmanager
def limited_by(limit: Limit) -> Iterator[None]:
    """Apply a limit to all work of this thread while the block runs."""
    token = _LIMIT.set(limit)
    try:
        yield
    finally:
        _LIMIT.reset(token)


def work(events: int) -> AbstractContextManager[None]:
    """
    Return a context manager for processing so many events of stored logs.

    Every fold of a stored log, and everything else whose cost grows with a log, runs in such
    a block. A request of the API is limited (`service/api/long_games.py`): entering the block
    raises Refusal `rate-limited` or `unavailable`. Jobs and commands are not.
    """
    limit = _LIMIT.get()
    return _UNLIMITED if limit is None or not events else limit(events)
