"""The directory in memory, over the summaries of a memory store."""

from __future__ import annotations

import threading
from collections.abc import Collection, Sequence
from datetime import datetime
from uuid import UUID

import orjson

from service.shx.canonical import parse_time
from service.store.disputes import Facts
from service.store.events import PlayerErased, QuotaFull, QuotaKind, StreamKind
from service.store.rows import (
    OLDEST,
    START,
    Cursor,
    CustomRuleset,
    DueGame,
    GameFilter,
    GameRow,
    IdleGame,
    Page,
    Refused,
    SeatRow,
    Standing,
    TableRow,
)
from service.store.summaries import as_json
from tests.memory.disputes import MemoryDisputes
from tests.memory.events import MemoryStore
from tests.memory.people import People
from tests.memory.readings import MemoryReadings
from tests.memory.rows import change_row, game_row, table_row

_OVER = ("ended", "aborted")


class MemoryDirectory(People, MemoryDisputes, MemoryReadings):
    """People, summaries and what is kept beside games, in dictionaries."""

    def __init__(self, store: MemoryStore) -> None:
        super().__init__(store)
        MemoryReadings.__init__(self, store)
        self._store = store
        self._beside = threading.Lock()
        self._rulesets: dict[str, CustomRuleset] = {}
        self._facts: dict[UUID, Facts] = {}

    def erase_player(self, player: UUID, at: datetime) -> bool:
        """Forget name, token, kept answers and words in disputes."""
        erased = super().erase_player(player, at)
        self.forget_words(player)
        return erased

    def standing(self, player: UUID, *, public: bool = False) -> Standing:
        """Return a person's record, of `public` tables or all, and what they have going."""
        sat = [
            (game, seat.seat)
            for game in self._games()
            for seat in game.seats
            if seat.player == player
        ]
        tables = self._tables()
        ended = [(g, seat) for g, seat in sat if g.status == "ended" and (g.public or not public)]
        return Standing(
            games=len(ended),
            shithead=sum(game.shithead == seat for game, seat in ended),
            running=sum(game.status not in _OVER for game, _ in sat),
            hosting=sum(table.host == player and table.status != "closed" for table in tables),
            rulesets=len(self.list_rulesets(owner=player)),
        )

    def tables_of(self, player: UUID) -> Sequence[UUID]:
        """Return the tables not closed that a person sits at or hosts, newest first."""
        return [t.id for t in self._tables() if t.status != "closed" and _is_in(t, player)]

    def game(self, game: UUID) -> GameRow | None:
        """Return the summary of a game."""
        with self._store.summaries(StreamKind.GAME) as rows:
            row = rows.get(game)
            return None if row is None else game_row(game, row, self.named_seats(row))

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
        tables = {table.id: table for table in self._tables()}

        def listed(game: GameRow) -> bool:
            table = tables.get(game.table)
            own = viewer is not None and (
                _sits(game.seats, viewer)
                or (table is not None and _is_in(table, viewer))
                or self.judges(viewer, game=game.id)
            )
            own = own or (table is not None and _invites(table, invite))
            return (
                (everything or game.public or own)
                and which.table in (None, game.table)
                and (which.player is None or _sits(game.seats, which.player))
                and which.ruleset in (None, game.ruleset)
                and which.status in (None, game.status)
            )

        after = cursor or START
        older = [game for game in self._games() if _key(game) < (after.at, after.id)]
        return Page[GameRow].of([game for game in older if listed(game)], limit)

    def games_of_table(self, table: UUID, *, limit: int = 20) -> Sequence[GameRow]:
        """Return the newest games of a table, whatever the caller may see."""
        which = GameFilter(table=table)
        return self.list_games(which, viewer=None, everything=True, limit=limit).items

    def table(self, table: UUID) -> TableRow | None:
        """Return the summary of a table."""
        with self._store.summaries(StreamKind.TABLE) as rows:
            row = rows.get(table)
            return None if row is None else table_row(table, row, self.named_seats(row))

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
        rows = [
            table
            for table in self._tables()
            if _key(table) < (after.at, after.id)
            and (
                ((table.public or _invites(table, invite)) and not mine)
                or (viewer is not None and _is_in(table, viewer))
            )
            and ruleset in (None, table.ruleset)
            and status in (None, table.status)
        ]
        return Page[TableRow].of(rows, limit)

    def due_games(self, *, now: datetime, limit: int) -> Sequence[DueGame]:
        """Return the games whose time has come, the longest waiting first."""
        with self._store.summaries(StreamKind.GAME) as rows:
            due = [
                DueGame(
                    id=game,
                    version=row["version"],
                    kind=row["wake_kind"],
                    at=datetime.fromisoformat(row["wake_at"]),
                    seat=row.get("wake_seat"),
                )
                for game, row in rows.items()
                if row.get("wake_at") is not None
            ]
        return sorted((d for d in due if d.at <= now), key=lambda d: d.at)[:limit]

    def idle_games(
        self, *, now: datetime, untouched_since: datetime, limit: int, after: Cursor | None = None
    ) -> Sequence[IdleGame]:
        """Return running games of people without a deadline to come and with an old last event."""
        seen = after or OLDEST
        with self._store.summaries(StreamKind.GAME) as rows:
            waiting = [
                game
                for game, row in rows.items()
                if row.get("wake_at") is None or datetime.fromisoformat(row["wake_at"]) <= now
            ]
        games = [row for row in map(self.game, waiting) if row is not None]
        idle = [
            IdleGame(id=game.id, version=game.version, created_at=game.created_at)
            for game in sorted(games, key=_key)
            if _key(game) > (seen.at, seen.id)
            and game.status not in _OVER
            and game.created_at <= untouched_since
            and self._last_at(game) <= untouched_since
            and any(seat.kind == "human" for seat in game.seats)
        ]
        return idle[:limit]

    def _last_at(self, game: GameRow) -> datetime:
        found = self._store.read(game.id, after=game.version - 1)
        if found is None:
            raise ValueError("a row without a stream")
        return parse_time(orjson.loads(found.events[-1])["at"])

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
        wake = {"wake_kind": wake_kind, "wake_at": as_json(wake_at)}
        with self._store.summaries(StreamKind.GAME) as rows:
            return change_row(rows, game, version, {"back": sorted(back), **wake})

    def put_off(
        self, game: UUID, *, version: int, wake_kind: str | None, wake_at: datetime | None
    ) -> bool:
        """Set what a game waits for next; return False where it has moved on."""
        wake = {"wake_kind": wake_kind, "wake_at": as_json(wake_at)}
        with self._store.summaries(StreamKind.GAME) as rows:
            return change_row(rows, game, version, wake)

    def record_refusal(self, game: UUID, refused: Refused) -> bool:
        """Keep a refused move of a running game, the first ones of a seat."""
        return self._store.record_refusal(game, refused)

    def refusals(self, game: UUID) -> Sequence[Refused]:
        """Return the refused moves of a game in their order."""
        return self._store.refusals(game)

    def purge_refusals(self, *, ended_before: datetime) -> int:
        """Forget the refused moves of games that were over before a time; return how many."""
        old = [g.id for g in self._games() if g.ended_at is not None and g.ended_at < ended_before]
        return sum(self._store.forget_refusals(game) for game in old)

    def purge_players(self, *, registered_before: datetime, at: datetime) -> int:
        """Erase the people who registered before a time and never did anything."""
        games, tables = self._games(), self._tables()
        busy = {seat.player for game in games for seat in game.seats} | self.in_disputes()
        busy |= {seat.player for table in tables for seat in table.seats}
        busy |= {table.host for table in tables}
        busy |= {ruleset.owner for ruleset in self._rulesets.values()}
        unused = self.registered(before=registered_before) - busy
        return sum(self.erase_player(player, at) for player in unused)

    def save_ruleset(self, ruleset: CustomRuleset, *, most: int | None = None) -> bool:
        """Keep a ruleset; return False where one with its id is kept already."""
        owner = self.player(ruleset.owner)
        if owner is not None and owner.erased_at is not None:
            raise PlayerErased("a person has been erased")
        with self._beside:
            own = sum(row.owner == ruleset.owner for row in self._rulesets.values())
            if most is not None and ruleset.id not in self._rulesets and own >= most:
                raise QuotaFull(QuotaKind.RULESETS)
            return self._rulesets.setdefault(ruleset.id, ruleset) is ruleset

    def ruleset(self, identity: str) -> CustomRuleset | None:
        """Return a ruleset of a player's own."""
        return self._rulesets.get(identity)

    def list_rulesets(
        self, *, owner: UUID | None = None, after: str | None = None, limit: int = 200
    ) -> Sequence[CustomRuleset]:
        """Return the players' own rulesets, newest first; those that follow the one `after`."""
        with self._beside:
            rows = [row for row in self._rulesets.values() if owner in (None, row.owner)]
            last = self._rulesets.get(after) if after is not None else None
        if after is not None:
            rows = [row for row in rows if last and _ruleset_key(row) < _ruleset_key(last)]
        return sorted(rows, key=_ruleset_key, reverse=True)[:limit]

    def _games(self) -> list[GameRow]:
        """Return all games, newest first."""
        with self._store.summaries(StreamKind.GAME) as rows:
            games = [game_row(game, row, self.named_seats(row)) for game, row in rows.items()]
        return sorted(games, key=_key, reverse=True)

    def _tables(self) -> list[TableRow]:
        """Return all tables, newest first."""
        with self._store.summaries(StreamKind.TABLE) as rows:
            tables = [table_row(table, row, self.named_seats(row)) for table, row in rows.items()]
        return sorted(tables, key=_key, reverse=True)


def _ruleset_key(row: CustomRuleset) -> tuple[datetime, str]:
    return row.created_at, row.id


def _key(row: GameRow | TableRow) -> tuple[datetime, UUID]:
    return (row.created_at, row.id)


def _sits(seats: Sequence[SeatRow], player: UUID) -> bool:
    return any(seat.player == player for seat in seats)


def _is_in(table: TableRow, player: UUID) -> bool:
    return table.host == player or _sits(table.seats, player)


def _invites(table: TableRow, invite: bytes | None) -> bool:
    return invite is not None and table.invite_hash == invite
