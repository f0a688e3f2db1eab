"""Who may not judge: everybody who has sat at the table."""

from __future__ import annotations

import orjson

from service.application.entries import GameEntry
from service.event_store.protocol import EventStore


def sat_at_table(store: EventStore, entry: GameEntry) -> tuple[str, ...]:
    """Return all who sit or have sat at the table of a game, in order of their numbers."""
    found = store.read(entry.table)
    sat = {str(player) for player in entry.players if player is not None}
    for line in found.events if found else ():
        event = orjson.loads(line)
        if event["type"] == "table_opened":
            sat |= {seat["player"] for seat in event["data"]["seats"] if seat["player"]}
        elif event["type"] == "seat_taken":
            sat.add(event["data"]["player"])
    return tuple(sorted(sat))
