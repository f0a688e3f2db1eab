"""People: registered by a name, known by a token, erased on request."""

from __future__ import annotations

from secrets import token_urlsafe
from typing import Any
from uuid import UUID

from service.application.callers import Player, digest
from service.application.entries import Entries
from service.application.errors import Refusal, not_found
from service.application.names import Names
from service.application.ports import World
from service.application.tables import Tables
from service.event_store.directory import Directory
from service.record.times import format_time

TOKEN_BYTES = 32


class Players:
    """What people do with their own accounts."""

    def __init__(
        self,
        *,
        directory: Directory,
        entries: Entries,
        tables: Tables,
        names: Names,
        world: World,
    ) -> None:
        self._directory = directory
        self._entries = entries
        self._tables = tables
        self._names = names
        self._world = world

    def register(self, name: str) -> dict[str, Any]:
        """Return a new player with token and recovery code, shown this once."""
        token, recovery = token_urlsafe(TOKEN_BYTES), token_urlsafe(TOKEN_BYTES)
        identity = self._world.identity()
        self._directory.create_player(
            player=identity,
            name=name,
            token_hash=digest(token),
            recovery_hash=digest(recovery),
            at=self._world.now(),
        )
        return {"id": str(identity), "name": name, "token": token, "recovery": recovery}

    def by_token(self, token: str) -> Player | None:
        """Return whose token this is."""
        row = self._directory.player_by_token(digest(token))
        return None if row is None else Player(id=row.id, name=row.name or "")

    def me(self, player: Player) -> dict[str, Any]:
        """Return a player's own page, with the tables they sit at or host."""
        tables = [str(table) for table in self._directory.tables_of(player.id)]
        page = self.public(player.id)
        return {**{k: page[k] for k in ("id", "name", "created_at")}, "tables": tables, **page}

    def public(self, player: UUID) -> dict[str, Any]:
        """Return what anybody may know of a player."""
        row = self._directory.player(player)
        if row is None:
            raise not_found("player")
        standing = self._directory.standing(player)
        record = self._directory.accusations(player, since=self._world.now())
        return {
            "id": str(row.id),
            "name": row.name,
            "created_at": format_time(row.created_at),
            "games": standing.games,
            "shithead": standing.shithead,
            "cad": record.cad,
            "accusations": {"made": record.made, "upheld": record.upheld},
        }

    def rotate(self, player: Player) -> str:
        """Return a new token; the old one ends."""
        token = token_urlsafe(TOKEN_BYTES)
        self._directory.rotate_token(player.id, digest(token))
        return token

    def recover(self, recovery: str) -> str:
        """Return a new token for whoever holds the recovery code."""
        token = token_urlsafe(TOKEN_BYTES)
        if self._directory.recover(digest(recovery), digest(token)) is None:
            raise Refusal("unauthorized", "this recovery code is not known")
        return token

    def erase(self, player: Player) -> None:
        """
        Erase a person: name and tokens go, the logs stay valid.

        Raises `hand-running` during a hand; seats at tables between hands are left.
        """
        if self._directory.standing(player.id).running:
            raise Refusal("hand-running", "a hand is being played: finish or forfeit it first")
        for table in self._directory.tables_of(player.id):
            record = self._entries.table(table)
            if record is not None and record.table.seat_of(str(player.id)) is not None:
                self._tables.leave(player, table)
        self._directory.erase_player(player.id, self._world.now())
        self._names.forget(player.id)
