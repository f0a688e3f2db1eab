"""The counts in Redis of the open streams of each address and player: which players have one."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import redis

_MEMBERS: Final = "shithead.streams."  # and an address or a player: ids of streams by end of lease


def key_of(whose: str) -> str:
    """Return the key of the streams of an address or a player: their ids, by the end of a lease."""
    return f"{_MEMBERS}{whose}"


def nobody(_players: Sequence[UUID]) -> Collection[UUID]:
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
