"""Retention periods, and the purge of expired data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from service.application.games.commits import GAME_TOPIC
from service.application.ports import Doubt, World, no_doubt
from service.config import Settings
from service.store.directory import Directory
from service.store.events import EventStore

BATCH = 1000  # outbox rows removed by one call
PLAYERS_EVERY = timedelta(days=1)
"""Interval between searches for unused players: each scans all players."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """The retention period of each kind of data; None: unlimited."""

    answers: timedelta  # to idempotent requests
    wake_ups: timedelta  # notifications that no relay has sent
    refusals: timedelta | None  # refused moves, after the seal
    unused_players: timedelta | None  # players without any action, after registration


DEFAULT_RETENTION = Retention(
    answers=timedelta(hours=24), wake_ups=timedelta(hours=24), refusals=None, unused_players=None
)
"""Without settings: the periods that api.md promises, the rest unlimited."""


def retention_of(settings: Settings) -> Retention:
    """Return the retention periods of the settings."""
    return Retention(
        answers=timedelta(hours=settings.keep_answers_hours),
        wake_ups=timedelta(hours=settings.keep_wake_ups_hours),
        refusals=_days(settings.keep_refusals_days),
        unused_players=_days(settings.keep_unused_players_days),
    )


def _days(days: int) -> timedelta | None:
    return timedelta(days=days) if days else None


class Purging:
    """Deletes expired data; safe in several processes at once."""

    def __init__(
        self,
        *,
        store: EventStore,
        directory: Directory,
        world: World,
        retention: Retention,
        clock_doubt: Doubt = no_doubt,
    ) -> None:
        self._store = store
        self._directory = directory
        self._world = world
        self._retention = retention
        self._clock_doubt = clock_doubt
        self._players_next: datetime | None = None

    def purge(self) -> Mapping[str, int]:
        """
        Delete expired data and return the count of each kind; nothing if the clock is in doubt.

        With a clock that has jumped ahead, all data would look expired.
        """
        if self._clock_doubt() is not None:
            return {}
        now, retention = self._world.now(), self._retention
        deleted = {
            "answers": _all(lambda: self._store.purge_answers(older_than=now - retention.answers)),
            "wake-ups": self._wake_ups(now - retention.wake_ups),
        }
        if retention.refusals is not None:
            before = now - retention.refusals
            deleted["refusals"] = _all(lambda: self._directory.purge_refusals(ended_before=before))
        if retention.unused_players is not None and now >= (self._players_next or now):
            self._players_next = now + PLAYERS_EVERY
            oldest = now - retention.unused_players
            deleted["players"] = _all(
                lambda: self._directory.purge_players(registered_before=oldest, at=now)
            )
        return deleted

    def _wake_ups(self, before: datetime) -> int:
        """
        Remove old notifications for live readers from the outbox.

        Without a relay their number would grow. Rows for the public log and the statistics are
        pending work, and are retained at any age.
        """
        count = 0
        while rows := self._store.claim_outbox(topic=GAME_TOPIC, limit=BATCH, older_than=before):
            count += len(rows)
        return count


def _all(purge: Callable[[], int]) -> int:
    """Repeat a purge until nothing is left, and return the sum: one call deletes one batch."""
    count = 0
    while some := purge():
        count += some
    return count
