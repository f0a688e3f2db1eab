"""Visibility of games and tables, and the log of reads of private data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from uuid import UUID

from service.application.calls import Caller, matches
from service.application.errors import not_found
from service.application.games.entry import GameEntry
from service.application.ports import World
from service.domain.view import Viewer
from service.store.games import GameRepository, GameRow, TableRow


def visible(
    entry: GameEntry | None,
    caller: Caller,
    others: Callable[[GameEntry, Caller], bool],
) -> GameEntry:
    """
    Return the game if the caller may see it.

    A hand of a private table is visible to the host, to the players of this hand and to
    callers with the invite; `others` returns whether the caller sits at the table now, or is
    a referee of a dispute about this hand. Lists apply the same rule in SQL (`may_see_game`).
    Raises Refusal `not-found`, the same as for a game that does not exist.
    """
    if entry is None:
        raise not_found("game")
    if entry.public or entry.seat_of(caller.player) is not None:
        return entry
    if caller.player is not None and caller.player == entry.host:
        return entry
    if matches(caller.invite, entry.invite_hash) or others(entry, caller):
        return entry
    raise not_found("game")


def visible_table(row: TableRow | None, caller: Caller) -> TableRow:
    """
    Return the table if the caller may see it.

    Referees and the players of earlier hands see those hands of a private table, but not the
    table; `may_join` also shows it to invited players. Raises Refusal `not-found`, the same as for
    a table that does not exist.
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


class AccessLog:
    """
    Decides which reads belong in the access log, and records them (api.md, section 6).

    A read at a public table is not recorded: the caller sees only public data and the caller's
    own cards. At a private table, data that all seats share, such as the log, is recorded if the
    caller has no seat; the cards of one hand are recorded for every caller but that seat, the
    other players included. A referee's read of a player's blind choices is always recorded, also
    at a public table. A caller with the invite and without a token is recorded without a name. If
    recording fails, the request fails and returns no data.
    """

    def __init__(self, directory: GameRepository, world: World) -> None:
        self._directory = directory
        self._world = world

    def note(self, entry: GameEntry, caller: Caller, shows: Viewer = None) -> None:
        """Record a read; `shows` is a seat, ALL seats, or None for data that all seats share."""
        own = entry.seat_of(caller.player)
        if entry.public or (own is not None and shows in (None, own)):
            return
        self._record([entry.record.identity], caller)

    def note_table(self, table: TableRow, caller: Caller) -> None:
        """Record a read of a table, which lists its hands, under its newest hand."""
        if not _is_unrecorded(table, caller):
            newest = self._directory.games_of_table(table.id, limit=1)
            self._record([game.id for game in newest], caller)

    def note_tables(
        self, tables: Iterable[tuple[TableRow, Sequence[GameRow]]], caller: Caller
    ) -> None:
        """Record a list of tables, each with its newest hands, newest first."""
        newest = [
            hands[0].id for table, hands in tables if hands and not _is_unrecorded(table, caller)
        ]
        self._record(newest, caller)

    def note_listed(self, games: Iterable[GameRow], caller: Caller) -> None:
        """Record a list of games."""
        private = [game.id for game in games if not _is_unrecorded(game, caller)]
        self._record(private, caller)

    def note_person(self, games: Iterable[UUID], caller: Caller) -> None:
        """Record that a referee reads a player's data, in these games, public ones included."""
        self._record(list(games), caller)

    def _record(self, games: Sequence[UUID], caller: Caller) -> None:
        self._directory.record_readings(
            games, at=self._world.now(), reader=caller.player, what=caller.what()
        )


def _is_unrecorded(shown: TableRow | GameRow, caller: Caller) -> bool:
    """Return whether a read of shared data is not logged: it is public, or the caller's own."""
    seats = {seat.player for seat in shown.seats}
    return shown.public or (caller.player is not None and caller.player in seats)
