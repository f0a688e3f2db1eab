"""What concerns a player, in memory."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from service.store.events import Quota, QuotaKind, StreamKind
from service.store.notices import (
    MAX_SHOWN,
    Concerned,
    GamePosition,
    Invitation,
    OwnTable,
    SentInvitation,
)
from tests.memory.events import MemoryStore


class MemoryNotices:
    """The directory's part for notices, over the summaries of a memory store."""

    _store: MemoryStore

    def own_tables(self, player: UUID, *, also: Collection[UUID] = ()) -> Sequence[OwnTable]:
        found = [
            OwnTable(
                id=table,
                version=self._version(table),
                status=row["status"],
                game=None if row.get("game_id") is None else UUID(row["game_id"]),
                own=str(player) in _people(row),
            )
            for table, row in self._newest_first(StreamKind.TABLE)
        ]
        return [one for one in found if one.id in also or (one.own and one.status != "closed")]

    def game_positions(self, player: UUID, games: Collection[UUID]) -> Mapping[UUID, GamePosition]:
        tables, rows = self._rows_of(StreamKind.TABLE), self._rows_of(StreamKind.GAME)
        return {
            game: GamePosition(
                id=game,
                table=UUID(row["table_id"]),
                version=self._version(game),
                over=row.get("ended_at") is not None,
            )
            for game, row in rows.items()
            if game in games
            and str(player) in _people(row) | {tables.get(UUID(row["table_id"]), {}).get("host")}
        }

    def own_disputes(self, player: UUID) -> Sequence[UUID]:
        return [
            dispute
            for dispute, row in self._newest_first(StreamKind.DISPUTE)
            if row["state"] != "final"
            and (str(player) in _sides(row) or str(player) in _judges(row, recused=False))
        ]

    def disputes_to_judge(self, player: UUID) -> Sequence[UUID]:
        games = self._rows_of(StreamKind.GAME)
        return [
            dispute
            for dispute, row in self._newest_first(StreamKind.DISPUTE)
            if row["state"] in ("open", "appealed")
            and games[UUID(row["game_id"])]["public"]
            and str(player) not in _sides(row) | _judges(row, recused=True)
        ]

    def keep_invitation(self, table: UUID, player: UUID, *, at: datetime, most: int) -> None:
        if (table, player) in self._store.invitations:
            return
        row = self._rows_of(StreamKind.TABLE)[table]
        quota = Quota(player=UUID(row["host"]), kind=QuotaKind.INVITATIONS, most=most)
        self._store.check_can_be_invited(player, quota)
        if row["status"] != "closed" and str(player) not in _people({"seats": row["seats"]}):
            self._store.invitations[table, player] = at, None

    def end_invitation(
        self, table: UUID, player: UUID, *, declined_at: datetime | None = None
    ) -> bool:
        kept = self._store.invitations.get((table, player))
        if kept is None or kept[1] is not None:
            return False
        if declined_at is None:
            del self._store.invitations[table, player]
        else:
            self._store.invitations[table, player] = kept[0], declined_at
        return True

    def invitations(self, player: UUID, *, table: UUID | None = None) -> Sequence[Invitation]:
        rows, found = self._rows_of(StreamKind.TABLE), []
        for (to, invited), (at, end) in self._store.invitations.items():
            row = rows[to]
            hidden = end is not None or row["status"] == "closed" or table not in (None, to)
            others = {UUID(other) for other in _people(row) if other is not None}
            if invited != player or hidden or self._blocks_between(player, others):
                continue
            found.append(
                Invitation(
                    table=to,
                    player=player,
                    at=at,
                    host=UUID(row["host"]),
                    version=self._version(to),
                    ruleset=row["ruleset_id"],
                    public=row["public"],
                )
            )
        found.sort(key=lambda one: one.table)
        return sorted(found, key=lambda one: one.at, reverse=True)[:MAX_SHOWN]

    def invitations_to(self, table: UUID) -> Sequence[SentInvitation]:
        found = [
            SentInvitation(player=player, at=at, declined_at=end)
            for (to, player), (at, end) in self._store.invitations.items()
            if to == table
        ]
        return sorted(found, key=lambda one: (-one.at.timestamp(), one.player))

    def _blocks_between(self, player: UUID, others: Collection[UUID]) -> bool:
        blocks = self.blocks_among([player, *others])
        return any(player in pair for pair in blocks)

    def blocks_among(self, players: Collection[UUID]) -> frozenset[tuple[UUID, UUID]]:
        raise NotImplementedError

    def concerned(self, ids: Collection[UUID]) -> Mapping[UUID, Concerned]:
        found: dict[UUID, Concerned] = {}
        tables = self._rows_of(StreamKind.TABLE)
        for game, row in self._rows_of(StreamKind.GAME).items():
            host = tables.get(UUID(row["table_id"]), {}).get("host")
            found[game] = _concerned("game", _people(row) | {host})
        for table, row in tables.items():
            invited = {str(player) for to, player in self._store.invitations if to == table}
            found[table] = _concerned("table", _people(row) | invited)
        for dispute, row in self._rows_of(StreamKind.DISPUTE).items():
            found[dispute] = _concerned("dispute", _sides(row) | _judges(row, recused=True))
        return {identity: one for identity, one in found.items() if identity in ids}

    def _rows_of(self, kind: StreamKind) -> Mapping[UUID, Mapping[str, Any]]:
        with self._store.summaries(kind) as rows:
            return dict(rows)

    def _newest_first(self, kind: StreamKind) -> list[tuple[UUID, Mapping[str, Any]]]:
        at = "opened_at" if kind is StreamKind.DISPUTE else "created_at"
        rows = self._rows_of(kind).items()
        return sorted(rows, key=lambda item: (item[1][at], item[0]), reverse=True)

    def _version(self, stream: UUID) -> int:
        found = self._store.read(stream, limit=1)
        return 0 if found is None else found.version


def _people(row: Mapping[str, Any]) -> set[str | None]:
    return {row.get("host"), *(seat["player_id"] for seat in row["seats"])}


def _sides(row: Mapping[str, Any]) -> set[str | None]:
    return {row["accuser"], row.get("accused")}


def _judges(row: Mapping[str, Any], *, recused: bool) -> set[str | None]:
    return {r["player_id"] for r in row.get("referees", ()) if recused or not r["recused"]}


def _concerned(kind: str, players: set[str | None]) -> Concerned:
    known = frozenset(UUID(player) for player in players if player is not None)
    return Concerned(kind=kind, players=known)
