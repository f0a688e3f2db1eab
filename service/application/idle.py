"""Games that nobody touches: found among the rows, closed by a job."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from service.application.game_record import GameRecord
from service.domain.idle import waits_for_people
from service.event_store.directory import Directory
from service.event_store.rows import Cursor, IdleGame
from service.record.times import parse_time


class IdleGames:
    """
    Knows which games wait for people who do not come; `after` None: they may wait for ever.

    The rows only say where to look: a game is closed on what its own log says.
    """

    def __init__(
        self, *, directory: Directory, now: Callable[[], datetime], after: timedelta | None
    ) -> None:
        self._directory = directory
        self._now = now
        self._after = after

    def found(self, *, limit: int, beyond: IdleGame | None = None) -> Sequence[IdleGame]:
        """Return games that may have to be closed, the oldest first; those `beyond` one of them."""
        if self._after is None:
            return ()
        now = self._now()
        return self._directory.idle_games(
            now=now,
            untouched_since=now - self._after,
            limit=limit,
            after=None if beyond is None else Cursor(at=beyond.created_at, id=beyond.id),
        )

    def is_idle(self, record: GameRecord) -> bool:
        """
        Return whether a game has waited for people as long as it may.

        It waits since its last event: where no clock runs nothing happens without a
        person but what a bot does at once in answer to one.
        """
        if self._after is None or not waits_for_people(record.game):
            return False
        return parse_time(record.at) + self._after <= self._now()
