"""Who may know of a table or a game at all."""

from __future__ import annotations

from uuid import UUID

from service.application.callers import Caller, matches
from service.application.entries import GameEntry
from service.application.errors import not_found
from service.event_store.directory import TableRow


def visible(entry: GameEntry | None, caller: Caller) -> GameEntry:
    """Return the game if the caller may know of it; raises `not-found` as for one that is not."""
    if entry is None:
        raise not_found("game")
    own = caller.player is not None and (
        caller.player == entry.host or caller.player in entry.players
    )
    if entry.public or own or matches(caller.invite, entry.invite_hash):
        return entry
    raise not_found("game")


def visible_table(row: TableRow | None, caller: Caller) -> TableRow:
    """Return the table if the caller may know of it; raises `not-found` as for one that is not."""
    if row is None:
        raise not_found("table")
    if row.public or is_insider(row, caller.player) or matches(caller.invite, row.invite_hash):
        return row
    raise not_found("table")


def is_insider(row: TableRow, player: UUID | None) -> bool:
    """Return whether a player sits at the table or hosts it."""
    if player is None:
        return False
    return player == row.host or any(seat.player == player for seat in row.seats)
