"""Who may know of a table or a game at all."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from service.application.callers import Caller, matches
from service.application.entries import GameEntry
from service.application.errors import Refusal, not_found
from service.event_store.directory import Directory, TableRow


def visible(
    entry: GameEntry | None,
    caller: Caller,
    judges: Callable[[UUID, Caller], bool] = lambda _game, _caller: False,
) -> GameEntry:
    """
    Return the game if the caller may know of it; raises `not-found` as for one that is not.

    `judges` tells whether somebody who else may not is a referee of a dispute about it.
    """
    if entry is None:
        raise not_found("game")
    own = caller.player is not None and (
        caller.player == entry.host or caller.player in entry.players
    )
    if entry.public or own or matches(caller.invite, entry.invite_hash):
        return entry
    if judges(entry.record.identity, caller):
        return entry
    raise not_found("game")


def visible_table(
    row: TableRow | None, caller: Caller, directory: Directory | None = None
) -> TableRow:
    """
    Return the table if the caller may know of it; raises `not-found` as for one that is not.

    With a directory, referees of disputes about its hands may too.
    """
    if row is None:
        raise not_found("table")
    if row.public or is_insider(row, caller.player) or matches(caller.invite, row.invite_hash):
        return row
    if directory is None or caller.player is None:
        raise not_found("table")
    if directory.judges(caller.player, table=row.id):
        return row
    raise not_found("table")


def refuse_uninvited(row: TableRow, caller: Caller) -> None:
    """Raise `forbidden` for somebody who may see a private table but was not asked to it."""
    asked = is_insider(row, caller.player) or matches(caller.invite, row.invite_hash)
    if not row.public and not asked:
        raise Refusal("forbidden", "nobody has invited you to sit here")


def is_insider(row: TableRow, player: UUID | None) -> bool:
    """Return whether a player sits at the table or hosts it."""
    if player is None:
        return False
    return player == row.host or any(seat.player == player for seat in row.seats)
