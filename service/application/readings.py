"""Who read of a game what is neither public nor theirs: noted before it is told."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from uuid import UUID

from service.application.callers import Caller
from service.application.entries import GameEntry
from service.application.ports import World
from service.domain.view import Viewer
from service.event_store.directory import Directory, GameRow, TableRow


class Readings:
    """
    Decides what is a reading, and notes it (api.md, section 6).

    Of a public table everything that is told to somebody else than its seat is public.
    Of a private one nothing ever is: what all seats share, such as the log, is theirs
    together, and a reading by anybody else; what lay in one seat's hand is a reading by
    every other, its fellow players included. Whoever reads with the invite and without
    a token cannot be named. Noting comes first: where it fails, nothing is told.
    """

    def __init__(self, directory: Directory, world: World) -> None:
        self._directory = directory
        self._world = world

    def note(self, entry: GameEntry, caller: Caller, shows: Viewer = None) -> None:
        """Note what is about to be told: what all seats share (None), one's, or every one's."""
        own = entry.seat_of(caller.player)
        if entry.public or (own is not None and shows in (None, own)):
            return
        self._record([entry.record.identity], caller)

    def note_table(self, table: TableRow, caller: Caller) -> None:
        """Note a look at a table, which shows its hands: with the newest of them."""
        if not _theirs(table, caller):
            newest = self._directory.games_of_table(table.id, limit=1)
            self._record([game.id for game in newest], caller)

    def note_tables(
        self, tables: Iterable[tuple[TableRow, Sequence[GameRow]]], caller: Caller
    ) -> None:
        """Note that a list tells of tables, each with its newest hands, the last one first."""
        newest = [hands[0].id for table, hands in tables if hands and not _theirs(table, caller)]
        self._record(newest, caller)

    def note_listed(self, games: Iterable[GameRow], caller: Caller) -> None:
        """Note that a list tells of games."""
        private = [
            game.id
            for game in games
            if not _theirs(game, caller)
        ]
        self._record(private, caller)

    def note_person(self, games: Iterable[UUID], caller: Caller) -> None:
        """Note that a referee of these games reads what is somebody's own, public or not."""
        self._record(list(games), caller)

    def _record(self, games: Sequence[UUID], caller: Caller) -> None:
        self._directory.record_readings(
            games, at=self._world.now(), reader=caller.player, what=caller.what
        )


def _theirs(shown: TableRow | GameRow, caller: Caller) -> bool:
    """Return whether what all seats share is everybody's, or the caller's as one of them."""
    seats = {seat.player for seat in shown.seats}
    return shown.public or (caller.player is not None and caller.player in seats)
