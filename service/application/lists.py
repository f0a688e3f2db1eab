"""Lists of tables and games, a page at a time."""

from __future__ import annotations

from functools import lru_cache
from typing import Any
from uuid import UUID

from service.application.access import visible_table
from service.application.callers import Caller
from service.application.entries import Entries
from service.application.names import Names
from service.application.paging import cursor_of
from service.application.readings import Readings
from service.application.table_view import ruleset_json, table_json
from service.domain.legal import may_act
from service.event_store.directory import Directory, GameFilter, GameRow
from service.event_store.protocol import StoreError
from service.record.times import format_time

RUNNING = ("shuffling", "swapping", "playing")
RULESETS_KEPT = 2000
Items = tuple[list[dict[str, Any]], str | None]
"""The items of a page and the cursor of the next, None on the last."""


class Lists:
    """What can be listed: public things, and the caller's own."""

    def __init__(
        self, *, directory: Directory, entries: Entries, names: Names, readings: Readings
    ) -> None:
        self._readings = readings
        self._directory = directory
        self._entries = entries
        self._names = names
        # A table keeps its rules for good, so they are read once.
        self._ruleset = lru_cache(maxsize=RULESETS_KEPT)(self._ruleset_of)

    def games(
        self,
        caller: Caller,
        *,
        table: UUID | None,
        player: UUID | None,
        ruleset: str | None,
        status: str | None,
        limit: int,
        cursor: str | None,
    ) -> Items:
        """Return a page of games, newest first; a private table's to those who may see it."""
        everything = False
        if table is not None:
            visible_table(self._directory.table(table), caller, self._directory)
            everything = True
        page = self._directory.list_games(
            GameFilter(table=table, player=player, ruleset=ruleset, status=status),
            viewer=caller.player,
            everything=everything,
            cursor=cursor_of(cursor),
            limit=limit,
        )
        self._readings.note_listed(page.items, caller)
        following = page.next.encode() if page.next else None
        return [self._game(row, caller) for row in page.items], following

    def tables(
        self,
        caller: Caller,
        *,
        status: str | None,
        ruleset: str | None,
        mine: bool,
        limit: int,
        cursor: str | None,
    ) -> Items:
        """Return a page of tables, newest first."""
        page = self._directory.list_tables(
            viewer=caller.player,
            mine=mine,
            ruleset=ruleset,
            status=status,
            cursor=cursor_of(cursor),
            limit=limit,
        )
        found = [(row, self._directory.games_of_table(row.id)) for row in page.items]
        self._readings.note_tables(found, caller)
        records = [(self._entries.table(row.id), games) for row, games in found]
        items = [
            table_json(record, caller, self._names, games=games)
            for record, games in records
            if record is not None
        ]
        return items, page.next.encode() if page.next else None

    def _game(self, row: GameRow, caller: Caller) -> dict[str, Any]:
        return {
            "id": str(row.id),
            "table": str(row.table),
            "hand": row.hand,
            "ruleset": self._ruleset(row.table),
            "status": row.status,
            "version": row.version,
            "created_at": format_time(row.created_at),
            "ended_at": format_time(row.ended_at) if row.ended_at else None,
            "seats": [
                {
                    "seat": seat.seat,
                    "name": seat.name,
                    "kind": seat.kind,
                    "player": str(seat.player) if seat.player else None,
                }
                for seat in row.seats
            ],
            "result": {
                "reason": row.reason,
                "shithead": row.shithead,
                "places": list(row.places or ()),
            }
            if row.status == "ended"
            else None,
            "your_turn": self._your_turn(row, caller),
        }

    def _ruleset_of(self, identity: UUID) -> dict[str, Any]:
        record = self._entries.table(identity)
        if record is None:
            raise StoreError(f"table {identity} is not there")
        return ruleset_json(record.table.conditions)

    def _your_turn(self, row: GameRow, caller: Caller) -> bool:
        """Whether the caller may act; about others nothing is said."""
        own = [seat.seat for seat in row.seats if seat.player and seat.player == caller.player]
        if not own or row.status not in RUNNING:
            return False
        entry = self._entries.fresh(row.id)
        return entry is not None and may_act(entry.record.game, own[0])
