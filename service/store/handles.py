"""Repository of handles: names that are unique, by which players are found."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import cast
from uuid import UUID

from msgspec import Struct

from service.store.database import Repository


class ListedPlayer(Struct, frozen=True, kw_only=True):
    """A player in a list."""

    id: UUID
    name: str | None  # None once erased
    handle: str | None  # None without one


class HandleRepository(Repository):
    """Handles of players; a hash keeps those that were given up or erased from others."""

    def choose_handle(
        self, token: str, handle: str, hashed: bytes, *, at: datetime, last: datetime
    ) -> bool | None:
        """
        Set the handle of the player with a token; return None if the token is not valid.

        Returns False, and changes nothing, if another player has one with this hash, or had it not
        long ago. Raises QuotaFull if the player has chosen one after `last`, PlayerErased.
        """
        return cast("bool | None", self._write("choose_handle", token, handle, hashed, at, last))

    def handle_chosen_at(self, player: UUID) -> datetime | None:
        """Return when a player chose the present handle; None without one."""
        return self._first(lambda row: cast("datetime", row[0]), "handle_chosen_at", player)

    def player_by_handle(self, handle: str) -> UUID | None:
        """Return the player with a handle, None if there is none."""
        return self._first(lambda row: cast("UUID", row[0]), "player_by_handle", handle)

    def handles_with(self, prefix: str, *, limit: int) -> Sequence[ListedPlayer]:
        """Return players whose handles begin with a text, in order of these."""
        rows = self._database.fetch("handles_with", prefix, limit)
        return [ListedPlayer(id=player, name=name, handle=handle) for player, name, handle in rows]

    def known_players(self, players: Collection[UUID]) -> Sequence[ListedPlayer]:
        """Return those of some players that exist, also erased ones, without an order."""
        rows = self._database.fetch("known_players", list(players)) if players else []
        return [ListedPlayer(id=player, name=name, handle=handle) for player, name, handle in rows]

    def purge_handles(self, *, free_before: datetime) -> int:
        """Delete a batch of hashes that others can choose since a time; return its size."""
        return self._count("purge_handles", free_before)
