"""Access rules for tables and games, the same for single calls and lists (api.md, section 1)."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from service.application.callers import Caller, matches
from service.application.errors import not_found
from service.application.games.cache import GameEntry
from service.store.games import TableRow


def visible(
    entry: GameEntry | None,
    caller: Caller,
    others: Callable[[GameEntry, Caller], bool],
) -> GameEntry:
    """
    Return the game if the caller may see it.

    A hand of a private table is visible to the host, to the players of this hand and to
    callers with the invite; `others` looks up the players who sit at the table now and the
    referees of disputes about this hand. Lists apply the same rule in SQL (`may_see_game`).
    Raises Refusal `not-found`, the same as for a game that does not exist.
    """
    if entry is None:
        raise not_found("game")
    own = caller.player is not None and (
        caller.player == entry.host or caller.player in entry.players
    )
    if entry.public or own or matches(caller.invite, entry.invite_hash):
        return entry
    if others(entry, caller):
        return entry
    raise not_found("game")


def visible_table(row: TableRow | None, caller: Caller) -> TableRow:
    """
    Return the table if the caller may see it.

    Referees and the players of earlier hands see those hands of a private table, but not the
    table. Raises Refusal `not-found`, the same as for a table that does not exist.
    """
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
