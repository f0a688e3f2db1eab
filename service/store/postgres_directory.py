"""The directory on PostgreSQL."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar
from uuid import UUID

import orjson
import psycopg

from service.store.database import Database
from service.store.events import HandRunning, PlayerErased, QuotaFull, QuotaKind, StoreError
from service.store.postgres_disputes import PostgresDisputes
from service.store.rows import (
    OLDEST,
    START,
    Cursor,
    CustomRuleset,
    DueGame,
    Erasure,
    GameFilter,
    GameRow,
    IdleGame,
    Page,
    Player,
    Reading,
    Refused,
    SeatRow,
    Standing,
    TableRow,
)

_Row = TypeVar("_Row")


class PostgresDirectory(PostgresDisputes):
    """People, summaries and what is kept beside games, in PostgreSQL."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def create_player(
        self, *, player: UUID, name: str, token_hash: bytes, recovery_hash: bytes, at: datetime
    ) -> None:
        """Enter a new person."""
        self._write("create_player", player, name, token_hash, recovery_hash, at)

    def player(self, player: UUID) -> Player | None:
        """Return a person, erased or not."""
        return _first(_player(row) for row in self._database.fetch("player_by_id", player))

    def player_by_token(self, token_hash: bytes) -> Player | None:
        """Return the person a token belongs to."""
        return _first(_player(row) for row in self._database.fetch("player_by_token", token_hash))

    def rotate_token(self, player: UUID, token_hash: bytes) -> bool:
        """Give a person a new token, the old one ends; return whether there is such a person."""
        return bool(self._write("rotate_token", player, token_hash))

    def recover(self, recovery_hash: bytes, token_hash: bytes) -> UUID | None:
        """Give whoever kept the recovery code a new token; return who that is."""
        found = self._write("recover_player", recovery_hash, token_hash)
        return found if isinstance(found, UUID) else None

    def erase_player(self, player: UUID, at: datetime) -> bool:
        """Forget name, token and kept answers; return whether there was something to forget."""
        return bool(self._write("erase_player", player, at))

    def erased_players(self, *, since: datetime | None) -> Sequence[Erasure]:
        """Return who was erased since a time, oldest first; everybody erased for None."""
        rows = self._database.fetch("erased_players", since)
        return [Erasure(player=player, at=at) for player, at in rows]

    def names(self, players: Collection[UUID]) -> Mapping[UUID, str]:
        """Return the names of many people; those erased have none."""
        return dict(self._database.fetch("names_of", list(players))) if players else {}

    def standing(self, player: UUID, *, public: bool = False) -> Standing:
        """Return a person's record, of `public` tables or all, and what they have going."""
        row = self._database.fetch("standing_of", player, public)[0]
        games, shithead, running, hosting, rulesets = row
        return Standing(
            games=games, shithead=shithead, running=running, hosting=hosting, rulesets=rulesets
        )

    def tables_of(self, player: UUID) -> Sequence[UUID]:
        """Return the tables not closed that a person sits at or hosts, newest first."""
        return [table for (table,) in self._database.fetch("tables_of", player)]

    def game(self, game: UUID) -> GameRow | None:
        """Return the summary of a game."""
        return _first(_game(row) for row in self._database.fetch("game_by_id", game))

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
        """Return a page of games: those that the viewer may see, or all."""
        after = cursor or START
        asked = (viewer, everything, which.ruleset, which.status, after.at, after.id, limit + 1)
        if which.table is not None:
            of = (which.table, which.player, invite)
            rows = self._database.fetch("list_games_of_table", *asked, *of)
        elif which.player is not None:
            rows = self._database.fetch("list_games_of_player", *asked, which.player, invite)
        else:
            rows = self._database.fetch("list_games", *asked, invite)
        return Page[GameRow].of([_game(row) for row in rows], limit)

    def games_of_table(self, table: UUID, *, limit: int = 20) -> Sequence[GameRow]:
        """Return the newest games of a table, whoever asks."""
        which = GameFilter(table=table)
        return self.list_games(which, viewer=None, everything=True, limit=limit).items

    def table(self, table: UUID) -> TableRow | None:
        """Return the summary of a table."""
        return _first(_table(row) for row in self._database.fetch("table_by_id", table))

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
        """Return a page of the tables that the viewer may see, with `mine` the viewer's alone."""
        after = cursor or START
        rows = self._database.fetch(
            "list_tables", viewer, mine, ruleset, status, after.at, after.id, limit + 1, invite
        )
        return Page[TableRow].of([_table(row) for row in rows], limit)

    def due_games(self, *, now: datetime, limit: int) -> Sequence[DueGame]:
        """Return the games whose time has come, the longest waiting first."""
        rows = self._database.fetch("due_games", now, limit)
        return [DueGame(id=r[0], version=r[1], kind=r[2], at=r[3], seat=r[4]) for r in rows]

    def idle_games(
        self, *, now: datetime, untouched_since: datetime, limit: int, after: Cursor | None = None
    ) -> Sequence[IdleGame]:
        """Return running games of people without a deadline to come and with an old last event."""
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
        """Set which seats are back from a bot; return False where the game has moved on."""
        seats = orjson.dumps(sorted(back)).decode()
        return bool(self._write("come_back", game, version, seats, wake_kind, wake_at))

    def put_off(
        self, game: UUID, *, version: int, wake_kind: str | None, wake_at: datetime | None
    ) -> bool:
        """Set what a game waits for next; return False where it has moved on."""
        return bool(self._write("put_off", game, version, wake_kind, wake_at))

    def record_refusal(self, game: UUID, refused: Refused) -> bool:
        """Keep a refused move of a running game, the first ones of a seat."""
        row = (refused.id, refused.at, refused.seat, refused.key_id, refused.sealed)
        return bool(self._write("record_attempt", game, *row))

    def refusals(self, game: UUID) -> Sequence[Refused]:
        """Return the refused moves of a game in their order."""
        names = ("id", "at", "seat", "key_id", "sealed", "bound")
        rows = self._database.fetch("refusals_of", game)
        return [Refused(**dict(zip(names, row, strict=True))) for row in rows]

    def purge_refusals(self, *, ended_before: datetime) -> int:
        """Forget the refused moves of games that were over before a time; return how many."""
        return self._count("purge_refusals", ended_before)

    def purge_players(self, *, registered_before: datetime, at: datetime) -> int:
        """Erase the people who registered before a time and never did anything."""
        return self._count("purge_players", registered_before, at)

    def record_readings(
        self, games: Sequence[UUID], *, at: datetime, reader: UUID | None, what: str
    ) -> None:
        """Note who read something not public."""
        if games:
            self._write("record_readings", list(games), at, reader, what)

    def readings(
        self, game: UUID, *, cursor: Cursor | None = None, limit: int = 50
    ) -> Page[Reading]:
        """Return a page of who read what of a game."""
        after = cursor or START
        rows = self._database.fetch("readings_of", game, after.at, after.id, limit + 1)
        found = [Reading(id=r[0], at=r[1], reader=r[2], what=r[3]) for r in rows]
        return Page[Reading].of(found, limit)

    def save_ruleset(self, ruleset: CustomRuleset, *, most: int | None = None) -> bool:
        """Keep a ruleset; return False where one with its id is kept already."""
        values = (ruleset.id, ruleset.name, ruleset.owner, ruleset.document, ruleset.created_at)
        if most is None:
            return bool(self._write("save_ruleset", *values))
        return bool(self._write("save_ruleset_within", *values, most))

    def ruleset(self, identity: str) -> CustomRuleset | None:
        """Return a ruleset of a player's own."""
        return _first(_ruleset(row) for row in self._database.fetch("ruleset_by_id", identity))

    def list_rulesets(
        self, *, owner: UUID | None = None, after: str | None = None, limit: int = 200
    ) -> Sequence[CustomRuleset]:
        """Return the players' own rulesets, newest first; those that follow the one `after`."""
        rows = self._database.fetch("list_rulesets", owner, after, limit)
        return [_ruleset(row) for row in rows]

    def _count(self, name: str, *values: object) -> int:
        """Return how many rows the function behind the query `name` says that it changed."""
        return int(str(self._write(name, *values)))

    def _write(self, name: str, *values: object) -> object:
        """Return what the function behind the query `name` returns."""
        try:
            return self._database.change(name, *values)[0][0]
        except psycopg.Error as error:
            if error.sqlstate == "SH401":
                raise PlayerErased("a person has been erased") from error
            if error.sqlstate == "SH423":
                raise HandRunning("a hand is being played") from error
            if error.sqlstate == "SH429":
                raise QuotaFull(QuotaKind(error.diag.message_detail or "")) from error
            raise StoreError(f"the database refused ({error.sqlstate})") from error


def _first(rows: Iterator[_Row]) -> _Row | None:
    return next(rows, None)


def _player(row: tuple[Any, ...]) -> Player:
    return Player(id=row[0], name=row[1], created_at=row[2], erased_at=row[3])


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


def _ruleset(row: tuple[Any, ...]) -> CustomRuleset:
    return CustomRuleset(id=row[0], name=row[1], owner=row[2], document=row[3], created_at=row[4])
