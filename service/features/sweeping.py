"""Parts of sweeps: streams that are processed one by one, what was woken, and purges."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

import structlog

from service.application.quotas import Slice
from service.application.retention import MANY, Purging
from service.bootstrap import Services
from service.feature import Sweep, Work
from service.store.events import StoreUnavailable

MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0

AGAIN_AFTER: Final = timedelta(seconds=5)
"""Time without a change after which a game or table is woken again at the same version."""

FAILED_SECONDS: Final = 30.0
"""For how long a stream that cannot be processed is left out."""

_log = structlog.get_logger("sweeper")


class Woken:
    """The ids that were woken within AGAIN_AFTER, so that they are not woken again at once."""

    def __init__(self) -> None:
        self._at: dict[tuple[UUID, int, datetime], float] = {}

    def forget_old(self) -> int:
        """Forget what was woken long ago; return the number of the others."""
        since = time.monotonic() - AGAIN_AFTER.total_seconds()
        self._at = {key: at for key, at in self._at.items() if at > since}
        return len(self._at)

    def is_new(self, identity: UUID, version: int, since: datetime) -> bool:
        """Note something as woken now; return whether it had not been."""
        # The time is part of the key: a player's return changes it, but not the version.
        key = (identity, version, since)
        if key in self._at:
            return False
        self._at[key] = time.monotonic()
        return True

    def forget(self, identity: UUID, version: int, since: datetime) -> None:
        """Note that something could not be woken."""
        self._at.pop((identity, version, since), None)


def each(process: Callable[[UUID], object], found: Callable[..., Sequence[UUID]]) -> Work:
    """
    Process each of the streams that `found` returns, which takes a `limit`.

    An error with one is logged: an unreadable stream must not stop the others, and is left out for
    a while, so that many of them do not hide others.
    """
    failed: dict[UUID, float] = {}

    def work(part: Slice) -> int:
        now, count = time.monotonic(), 0
        for identity in [one for one, until in failed.items() if until <= now]:
            del failed[identity]
        for identity in found(limit=part.rows + len(failed)):
            if part.is_over(count):
                break
            if identity in failed:
                continue
            count += 1
            try:
                process(identity)
            except StoreUnavailable:
                raise
            except Exception:  # noqa: BLE001 - see above
                failed[identity] = now + FAILED_SECONDS
                _log.exception("maintenance failed", id=str(identity))
        return count

    return work


def purge(kind: str, batch: Callable[[Purging], int]) -> Callable[[Services], Work]:
    """Delete a batch of expired data."""

    def begin(services: Services) -> Work:
        def work(_part: Slice) -> int:
            count = batch(services.purging)
            if count:
                _log.info("purged", **{kind: count})
            return count

        return work

    return begin


def purging(
    kind: str, batch: Callable[[Purging], int], *, period: float = 600, rows: int = MANY
) -> Sweep:
    """Return the sweep that deletes expired data of a kind, a batch at a time."""
    return Sweep(
        name=f"old {kind}",
        period=period,
        seconds=1,
        rows=rows,
        longest_pause=HOUR,
        begin=purge(kind, batch),
    )


def seconds_since(since: datetime | None, now: datetime) -> float:
    """Return the seconds between two times, 0 without the first one."""
    return 0.0 if since is None else max(0.0, (now - since).total_seconds())
