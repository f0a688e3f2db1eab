"""What is kept for a time only, for how long, and how it is forgotten."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from service.application.commits import GAME_TOPIC
from service.application.ports import World
from service.config import Settings
from service.event_store.directory import Directory
from service.event_store.protocol import EventStore

BATCH = 1000
PLAYERS_EVERY = timedelta(days=1)
"""How often people are looked for who never did anything: it takes a look at everybody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """How long each kind of thing is kept; None is for ever."""

    answers: timedelta  # to repeated requests
    wake_ups: timedelta  # for live readers, where no relay passed them on
    refusals: timedelta | None  # refused moves, after the seal
    unused_players: timedelta | None  # who never did anything, after they registered


KEPT = Retention(
    answers=timedelta(hours=24), wake_ups=timedelta(hours=24), refusals=None, unused_players=None
)
"""Of services that nobody configured: what the interface promises, and the rest for ever."""


def retention_of(settings: Settings) -> Retention:
    """Return how long the settings want things to be kept."""
    return Retention(
        answers=timedelta(hours=settings.keep_answers_hours),
        wake_ups=timedelta(hours=settings.keep_wake_ups_hours),
        refusals=_days(settings.keep_refusals_days),
        unused_players=_days(settings.keep_unused_players_days),
    )


def _days(days: int) -> timedelta | None:
    return timedelta(days=days) if days else None


class Purging:
    """Forgets what has been kept long enough; several may do so at once."""

    def __init__(
        self, *, store: EventStore, directory: Directory, world: World, kept: Retention
    ) -> None:
        self._store = store
        self._directory = directory
        self._world = world
        self._kept = kept
        self._players_next: datetime | None = None

    def purge(self) -> Mapping[str, int]:
        """Forget what is old, and return how much of each kind."""
        now, kept = self._world.now(), self._kept
        gone = {
            "answers": _all(lambda: self._store.purge_answers(older_than=now - kept.answers)),
            "wake-ups": self._wake_ups(now - kept.wake_ups),
        }
        if kept.refusals is not None:
            over = now - kept.refusals
            gone["refusals"] = _all(lambda: self._directory.purge_refusals(ended_before=over))
        if kept.unused_players is not None and now >= (self._players_next or now):
            self._players_next = now + PLAYERS_EVERY
            old = now - kept.unused_players
            gone["players"] = _all(
                lambda: self._directory.purge_players(registered_before=old, at=now)
            )
        return gone

    def _wake_ups(self, before: datetime) -> int:
        """
        Take old wake-ups for live readers off the outbox.

        Without a relay they would pile up. Those for the public log and the statistics are
        work that somebody has still to do, and stay however old they are.
        """
        count = 0
        while rows := self._store.claim_outbox(topic=GAME_TOPIC, limit=BATCH, older_than=before):
            count += len(rows)
        return count


def _all(purge: Callable[[], int]) -> int:
    """Return how much goes in all: one call forgets so much that the database is not slow."""
    count = 0
    while some := purge():
        count += some
    return count
