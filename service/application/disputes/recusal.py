"""Recusal: the players who may not judge a dispute about a game."""

from __future__ import annotations

import orjson

from service.application.games.cache import GameEntry
from service.store.events import EventStore


def no_referees(store: EventStore, entry: GameEntry) -> tuple[str, ...]:
    """Return the players who sit or sat at the table of a game, and its host, in order."""
    found = store.read(entry.table)
    sat = {str(player) for player in (*entry.players, entry.host) if player is not None}
    for line in found.events if found else ():
        event = orjson.loads(line)
        if event["type"] == "table_opened":
            sat |= {seat["player"] for seat in event["data"]["seats"] if seat["player"]}
        elif event["type"] == "seat_taken":
            sat.add(event["data"]["player"])
    return tuple(sorted(sat))
