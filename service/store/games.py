"""Summaries of games and tables, due games, refused moves and the access log."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import orjson

from service.shx.moves import MAX_REFUSALS_PER_SEAT
from service.store.database import Repository, quota_values
from service.store.events import Quota
from service.store.summaries import OLDEST, START, Cursor, Page

READ_AGAIN = timedelta(minutes=1)
"""Period in which an equal read is not recorded again, unless the game has moved on."""

MAX_READINGS = 5000
"""Records of the reads of a game by one reader within an hour, as `record_reading` counts them."""

MAX_REFUSALS = MAX_REFUSALS_PER_SEAT
"""Maximum number of stored refused moves of a seat in a game; all of them go into its bundle."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeatRow:
    """One seat of a game or table."""

    seat: int
    kind: str  # human, bot, open
    bot: str | None
    player: UUID | None
    name: str | None  # of the player


@dataclass(frozen=True, slots=True, kw_only=True)
class GameRow:
    """The summary of a game."""

    id: UUID
    table: UUID
    hand: int
    ruleset: str
    status: str
    version: int
    turn: int | None
    dealer: int | None
    created_at: datetime
    ended_at: datetime | None
    reason: str | None  # why it ended, or was aborted
    shithead: int | None
    places: tuple[int, ...] | None
    public: bool
    back: tuple[int, ...]  # seats whose players returned after a bot had played for them
    seats: tuple[SeatRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRow:
    """The summary of a table."""

    id: UUID
    host: UUID
    version: int
    status: str
    public: bool
    ruleset: str
    invite_hash: bytes | None
    created_at: datetime
    hand: int
    game: UUID | None
    seats: tuple[SeatRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DueGame:
    """A game in which an action is due: its kind and time."""

    id: UUID
    version: int
    kind: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadyTable:
    """A table that waits to deal its next hand by itself."""

    id: UUID
    version: int
    since: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleGame:
    """A running game with a person in it and no recent event."""

    id: UUID
    version: int
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedMove:
    """A refused move as stored, encrypted."""

    id: UUID
    at: datetime
    seat: int
    key_id: str
    sealed: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """An entry of the access log: a read of private data of other players."""

    id: UUID
    created_at: datetime
    reader: UUID | None  # None: a caller with the invite and no token
    what: str  # the requested path with its query, or the data in words


@dataclass(frozen=True, slots=True, kw_only=True)
class GameFilter:
    """The games to list; None selects all."""

    table: UUID | None = None
    player: UUID | None = None
    ruleset: str | None = None
    status: str | None = None
    since: datetime | None = None  # dealt then or later
    until: datetime | None = None  # dealt before
    ended_since: datetime | None = None  # ended then or later
    ended_until: datetime | None = None  # ended before
    result: str | None = None  # as in sql/functions/result_is.sql; `lost` and `first` of `player`
    beside: UUID | None = None  # another player in the same game
    over: bool = False  # only with `player`: games that are over


@dataclass(frozen=True, slots=True, kw_only=True)
class LostGame:
    """A running game that cannot continue: its seed is missing or cannot be decrypted."""

    id: UUID
    version: int
    created_at: datetime
    key_id: str | None  # the missing key; None if the seed is missing


@dataclass(frozen=True, slots=True, kw_only=True)
class EventNote:
    """A player's note on an event of a game."""

    author: UUID
    seq: int
    text: str
    visibility: str  # `me`, or `dispute`: also seats of the game and referees of its disputes
    at: datetime


class GameRepository(Repository):
    """
    Data about games outside their records.

    Summaries of games and tables for lists and schedules, refused moves, notes, the access log.
    """

    def keep_note(self, game: UUID, note: EventNote, quotas: Sequence[Quota] = ()) -> None:
        """
        Write or replace a player's note on an event.

        Raises PlayerErased, or QuotaFull for a new note above one of the quotas.
        """
        counted = orjson.dumps(quota_values(quotas)).decode()
        words = (note.seq, note.text, note.visibility, note.at)
        self._write("keep_note", game, note.author, *words, counted)

    def delete_note(self, game: UUID, author: UUID, seq: int) -> bool:
        """Delete a player's note on an event; return whether there was one."""
        return bool(self._write("delete_note", game, author, seq))

    def notes(self, game: UUID, *, reader: UUID, shared: bool) -> Sequence[EventNote]:
        """Return the reader's notes, with `shared` all for disputes too, in order of events."""
        names = ("author", "seq", "text", "visibility", "at")
        rows = self._database.fetch("notes_of", game, reader, shared)
        return [EventNote(**dict(zip(names, row, strict=True))) for row in rows]

    def tables_of(self, player: UUID) -> Sequence[UUID]:
        """Return the open tables that a player sits at or hosts, newest first."""
        return [table for (table,) in self._database.fetch("tables_of", player)]

    def game(self, game: UUID) -> GameRow | None:
        """Return the summary of a game."""
        return self._first(_game, "game_by_id", game)

    def list_games(
        self,
        which: GameFilter,
        *,
        viewer: UUID | None,
        invite: bytes | None = None,
        everything: bool = False,
        cursor: Cursor | None = None,
        limit: int = 50,
    ) -> Page[GameRow]:
        """
        Return a page of games: public ones, and of private tables those that the viewer may see.

        These are the hands that the viewer sat in or judges, those of tables where the viewer
        sits now or that the viewer hosts, and those of the table with the `invite` (SHA-256).
        `everything` lists all.
        """
        after = cursor or START
        asked = (viewer, everything, which.ruleset, which.status, after.at, after.id, limit + 1)
        dealt, ended = (which.since, which.until), (which.ended_since, which.ended_until)
        more = (*dealt, which.result, which.beside, *ended)
        if which.table is not None:
            of = (which.table, which.player, invite)
            rows = self._database.fetch("list_games_of_table", *asked, *of, *more)
        elif which.player is not None:
            of_player = (which.player, invite, *more, which.over)
            rows = self._database.fetch("list_games_of_player", *asked, *of_player)
        else:
            rows = self._database.fetch("list_games", *asked, invite, *more)
        return Page[GameRow].of([_game(row) for row in rows], limit)

    def games_of_table(self, table: UUID, *, limit: int = 20) -> Sequence[GameRow]:
        """Return the newest games of a table, public or not."""
        which = GameFilter(table=table)
        return self.list_games(which, viewer=None, everything=True, limit=limit).items

    def table(self, table: UUID) -> TableRow | None:
        """Return the summary of a table."""
        return self._first(_table, "table_by_id", table)

    def list_tables(
        self,
        *,
        viewer: UUID | None,
        invite: bytes | None = None,
        mine: bool = False,
        ruleset: str | None = None,
        status: str | None = None,
        cursor: Cursor | None = None,
        limit: int = 50,
    ) -> Page[TableRow]:
        """
        Return a page of tables: public ones, the viewer's, and the one with the `invite`.

        With `mine` only the viewer's.
        """
        after = cursor or START
        rows = self._database.fetch(
            "list_tables", viewer, mine, ruleset, status, after.at, after.id, limit + 1, invite
        )
        return Page[TableRow].of([_table(row) for row in rows], limit)

    def due_games(self, *, now: datetime, limit: int) -> Sequence[DueGame]:
        """Return the games with something due, the longest waiting first."""
        rows = self._database.fetch("due_games", now, limit)
        return [DueGame(id=r[0], version=r[1], kind=r[2], at=r[3]) for r in rows]

    def ready_tables(self, *, since: datetime, limit: int) -> Sequence[ReadyTable]:
        """Return the tables that wait since `since` to deal by themselves, the longest first."""
        rows = self._database.fetch("ready_tables", since, limit)
        return [ReadyTable(id=table, version=version, since=at) for table, version, at in rows]

    def lost_games(self, keys: Collection[str]) -> Sequence[LostGame]:
        """Return the running games whose seed none of these keys decrypts, oldest first."""
        rows = self._database.fetch("games_without_seed", sorted(keys))
        return [
            LostGame(id=game, version=version, created_at=created_at, key_id=key_id)
            for game, version, created_at, key_id in rows
        ]

    def idle_games(
        self, *, now: datetime, untouched_since: datetime, limit: int, after: Cursor | None = None
    ) -> Sequence[IdleGame]:
        """
        Return running games of people, oldest first, without future deadline or recent event.

        With `after`, only games after it: otherwise games that stay idle would hide the others.
        """
        seen = after or OLDEST
        rows = self._database.fetch("idle_games", now, untouched_since, seen.at, seen.id, limit)
        return [IdleGame(id=r[0], version=r[1], created_at=r[2]) for r in rows]

    def come_back(
        self,
        game: UUID,
        *,
        version: int,
        back: Collection[int],
        wake_kind: str | None,
        wake_at: datetime | None,
    ) -> bool:
        """
        Store the seats that players took back from stand-in bots, and the next action of the game.

        Return False, and change nothing, if the game is no longer at `version`.
        """
        seats = orjson.dumps(sorted(back)).decode()
        return bool(self._write("come_back", game, version, seats, wake_kind, wake_at))

    def set_next_action(
        self, game: UUID, *, version: int, wake_kind: str | None, wake_at: datetime | None
    ) -> bool:
        """Set the next action of a game and its time; return False if it has moved on."""
        return bool(self._write("put_off", game, version, wake_kind, wake_at))

    def note_able(self, *, outage: timedelta) -> None:
        """Record that the service can take moves; a longer gap than `outage` is an outage."""
        self._write("note_able", outage)

    def able_since(self, *, outage: timedelta) -> datetime | None:
        """Return the end of the last outage, the present while it lasts; None if there was none."""
        rows = self._database.fetch("able_since", outage)
        return rows[0][0] if rows else None

    def record_refusal(self, game: UUID, refused: RefusedMove) -> bool:
        """
        Store a refused move of a running game; return False, and store nothing, if it is over.

        The first MAX_REFUSALS of a seat are stored. The call and the commit that seals the game
        exclude each other.
        """
        row = (refused.id, refused.at, refused.seat, refused.key_id, refused.sealed)
        return bool(self._write("record_attempt", game, *row))

    def refusals(self, game: UUID) -> Sequence[RefusedMove]:
        """Return the refused moves of a game by time, then by arrival."""
        names = ("id", "at", "seat", "key_id", "sealed")
        rows = self._database.fetch("refusals_of", game)
        return [RefusedMove(**dict(zip(names, row, strict=True))) for row in rows]

    def purge_refusals(self, *, ended_before: datetime) -> int:
        """Delete a batch of refused moves of games that ended before a time; return its size."""
        return self._count("purge_refusals", ended_before)

    def record_readings(
        self, games: Sequence[UUID], *, at: datetime, reader: UUID | None, what: str
    ) -> None:
        """
        Record that `reader` (None: a caller without a token) read private data of games.

        An equal read within READ_AGAIN of a game that has not moved on shows nothing new and is
        not recorded. Raises QuotaFull if the reader has MAX_READINGS within an hour.
        """
        if games:
            self._write("record_readings", list(games), at, reader, what)

    def readings(
        self, game: UUID, *, cursor: Cursor | None = None, limit: int = 50
    ) -> Page[Reading]:
        """Return a page of the access log of a game, newest first."""
        after = cursor or START
        rows = self._database.fetch("readings_of", game, after.at, after.id, limit + 1)
        found = [Reading(id=r[0], created_at=r[1], reader=r[2], what=r[3]) for r in rows]
        return Page[Reading].of(found, limit)


def _game(row: tuple[Any, ...]) -> GameRow:
    return GameRow(
        **dict(zip(_GAME_FIELDS, row[:12], strict=True)),
        places=None if row[12] is None else tuple(row[12]),
        public=row[13],
        back=tuple(row[14] or ()),
        seats=_seats(row[15]),
    )


def _table(row: tuple[Any, ...]) -> TableRow:
    return TableRow(**dict(zip(_TABLE_FIELDS, row[:10], strict=True)), seats=_seats(row[10]))


_GAME_FIELDS = (
    *("id", "table", "hand", "ruleset", "status", "version", "turn", "dealer"),
    *("created_at", "ended_at", "reason", "shithead"),
)
_TABLE_FIELDS = (
    *("id", "host", "version", "status", "public", "ruleset", "invite_hash"),
    *("created_at", "hand", "game"),
)


def _seats(rows: list[dict[str, Any]] | None) -> tuple[SeatRow, ...]:
    return tuple(
        SeatRow(
            seat=row["seat"],
            kind=row["kind"],
            bot=row["bot"],
            player=None if row["player"] is None else UUID(row["player"]),
            name=row["name"],
        )
        for row in rows or ()
    )
