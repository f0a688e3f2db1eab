"""The list of due games in Redis, which one job for many of them works off."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

import orjson
import redis

_GAMES: Final = "shithead.due"  # list of [game, version, context of the trace], oldest first
_MARK: Final = "shithead.due.job"  # set while a job waits that has not looked at the list yet

MARK_SECONDS: Final = 5
"""Seconds after which a waiting job counts as lost."""

MAX_GAMES: Final = 10_000
"""Maximum number of games in the list; the sweeper finds any further ones in Postgres."""

KEPT_SECONDS: Final = 60
"""Seconds that the list is retained after its last new game."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WakeUp:
    """A game to be played on at a version; `trace` is untrusted, so it can have any type."""

    game: UUID
    version: int
    trace: object = None


class DueGames:
    """
    Wake-ups of games, each of which one worker takes.

    A wake-up needs a new job only if none waits: a job that starts removes the mark *before* it
    takes its first game, so a game that is added while the mark is set will be taken. Redis may
    lose all of this: the sweeper adds games again, and calls `Notifier.wake_again`.
    """

    def __init__(self, client: redis.Redis) -> None:
        self._client = client

    def add(self, game: UUID, version: int, *, trace: str | None = None) -> bool:
        """Add a game; return whether a job must be enqueued for it."""
        entry = orjson.dumps([str(game), version, trace])
        with self._client.pipeline(transaction=False) as together:
            together.rpush(_GAMES, entry)
            together.ltrim(_GAMES, 0, MAX_GAMES - 1)
            together.expire(_GAMES, KEPT_SECONDS)
            together.set(_MARK, 1, nx=True, ex=MARK_SECONDS)
            return bool(together.execute()[-1])

    def begin(self) -> None:
        """Remove the mark: a job looks at the list from now on, and later games need another."""
        self._client.delete(_MARK)

    def take(self) -> WakeUp | None:
        """Remove the oldest game and return it; raises ValueError for any other entry."""
        entry: Any = self._client.lpop(_GAMES)
        if entry is None:
            return None
        match orjson.loads(entry):
            case [str(game), int(version), trace]:
                return WakeUp(game=UUID(game), version=version, trace=trace)
        raise ValueError("an entry of the list of due games is no game")

    def mark(self) -> bool:
        """Mark a job as waiting; return whether none was."""
        return bool(self._client.set(_MARK, 1, nx=True, ex=MARK_SECONDS))

    def count(self) -> int:
        """Return the number of games in the list."""
        waiting: Any = self._client.llen(_GAMES)
        return int(waiting)
