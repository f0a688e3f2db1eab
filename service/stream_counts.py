"""Which players are there: those with an open stream, and when the others were last heard."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import redis

from service.application.games.absences import HEARD_SECONDS

_MEMBERS: Final = "shithead.streams."  # and an address or a player: ids of streams by end of lease


_HEARD: Final = "shithead.heard"
"""Since when Redis has noted players without a loss; with a player, when that one was noted."""

NOTE_SECONDS: Final = 30.0
"""Seconds in which a process notes a player's calls once."""

REDIS_RETRY_SECONDS: Final = 5.0
"""Seconds without notes after Redis failed to answer."""


def key_of(whose: str) -> str:
    """Return the key of the streams of an address or a player: their ids, by the end of a lease."""
    return f"{_MEMBERS}{whose}"


def none_following(_players: Sequence[UUID]) -> Collection[UUID]:
    """Return no player: for services without streams."""
    return ()


@dataclass(frozen=True, slots=True)
class StreamCounts:
    """Reads which players have an open stream; none if there is no Redis, or no answer."""

    client: redis.Redis | None

    def following(self, players: Sequence[UUID]) -> Collection[UUID]:
        """Return those of some players who have an open stream of their own or of a game."""
        if self.client is None or not players:
            return ()
        now = time.time()
        try:
            with self.client.pipeline(transaction=False) as together:
                for player in players:
                    together.zcount(key_of(str(player)), now, "+inf")
                counts = together.execute()
        except (redis.RedisError, OSError):
            return ()
        return {player for player, count in zip(players, counts, strict=True) if count}


def heard(together: redis.client.Pipeline, player: str, now: float) -> None:
    """Add to a pipeline that a player called now."""
    together.set(f"{_HEARD}.{player}", now, ex=HEARD_SECONDS)
    together.set(_HEARD, now, nx=True)


class Presence:
    """
    Records when players last called, and returns for how long others have been away.

    A key for each player that called within HEARD_SECONDS, written at most once in NOTE_SECONDS by
    each process. Without Redis, or after it lost its data, no player counts as away until
    enough time has passed.
    """

    def __init__(self, client: redis.Redis | None, *, now: Callable[[], float] = time.time) -> None:
        self._client = client
        self._now = now
        self._counts = StreamCounts(client)
        self._noted: dict[int, float] = {}  # by player: when a note is due again
        self._purge_at = 0.0
        self._retry_at = 0.0
        self._lock = threading.Lock()

    def note(self, player: UUID) -> None:
        """Note a call of a player, unless it was noted lately."""
        now = self._now()
        if self._client is None or not self._is_due(player.int, now):
            return
        try:
            with self._client.pipeline(transaction=False) as together:
                heard(together, str(player), now)
                together.execute()
        except (redis.RedisError, OSError):
            self._retry_at = now + REDIS_RETRY_SECONDS

    def away(self, players: Sequence[UUID]) -> Mapping[UUID, float]:
        """Return for how many seconds each player has been away: 0 if there, or if unknown."""
        found = dict.fromkeys(players, 0.0)
        if self._client is None or not players:
            return found
        now = self._now()
        try:
            following = self._counts.following(players)
            since, *times = self._client.mget(
                [_HEARD, *(f"{_HEARD}.{player}" for player in players)]
            )
        except (redis.RedisError, OSError):
            return found
        if since is None:
            return found
        for player, last in zip(players, times, strict=True):
            if player not in following:
                found[player] = max(0.0, now - max(float(since), float(last or 0)))
        return found

    def _is_due(self, player: int, now: float) -> bool:
        if now < self._retry_at:
            return False
        with self._lock:
            if now >= self._purge_at:
                self._noted = {one: due for one, due in self._noted.items() if now < due}
                self._purge_at = now + NOTE_SECONDS
            if now < self._noted.get(player, 0.0):
                return False
            self._noted[player] = now + NOTE_SECONDS
            return True
