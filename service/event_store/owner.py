"""What only the owner of the database may do: the operator's trail, names, the archive."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import psycopg

from service.event_store.protocol import StoreError
from service.event_store.together import Together

_UNTOLD = "SH425"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrailEntry:
    """One use of the operator's tool; people stand in it by their numbers."""

    at: datetime
    operator: str
    act: str
    target: UUID | None  # a player, table or game
    outcome: str  # "done", or why it was refused


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldGame:
    """How a game stands that nobody else can write to until the transaction ends."""

    over: bool
    archived: bool
    untold: bool  # the public log, statistics or live readers are still to be told of it


@dataclass(frozen=True, slots=True, kw_only=True)
class LostGame:
    """A running game that cannot go on: its seed is gone, or no key at hand opens it."""

    id: UUID
    version: int
    created_at: datetime
    key_id: str | None  # the key that is not there; None where the seed itself is not


class Owner:
    """Calls for which the service's own role has no right."""

    def __init__(self, database: Together) -> None:
        self._database = database

    def together(self) -> AbstractContextManager[None]:
        """Commit what is called within, by whichever store, together or not at all."""
        return self._database.together()

    def note(self, entry: TrailEntry) -> None:
        """Add a line to the trail."""
        self._database.change(
            "note_act", entry.at, entry.operator, entry.act, entry.target, entry.outcome
        )

    def trail(self, *, limit: int | None = None) -> Sequence[TrailEntry]:
        """Return the trail, the newest first."""
        return [
            TrailEntry(at=at, operator=operator, act=act, target=target, outcome=outcome)
            for at, operator, act, target, outcome in self._database.fetch("list_trail", limit)
        ]

    def rename_player(self, player: UUID, name: str) -> bool:
        """Give a person another name; return whether there is such a person."""
        return bool(self._database.change("rename_player", player, name)[0][0])

    def hold(self, game: UUID) -> HeldGame | None:
        """Keep a game from others until the transaction ends; None where there is none."""
        for over, archived, untold in self._database.fetch("hold_game", game):
            return HeldGame(over=over, archived=archived, untold=untold)
        return None

    def archivable(self, *, ended_before: datetime) -> Sequence[UUID]:
        """Return the games that were over before a time and are still here, oldest first."""
        return [game for (game,) in self._database.fetch("archivable_games", ended_before)]

    def archive(self, game: UUID, digest: bytes) -> int:
        """
        Take a sealed game out of the database; return how many events left.

        `digest` is the hash of the bundle that serves it from now on. Raises StoreError where
        the game is not sealed, not here, or still to be told of.
        """
        try:
            return int(self._database.change("archive_stream", game, digest)[0][0])
        except psycopg.Error as error:
            why = "is still to be told of" if error.sqlstate == _UNTOLD else "stays"
            raise StoreError(f"game {game} {why}: {error.diag.message_primary}") from error

    def lost_games(self, keys: Collection[str]) -> Sequence[LostGame]:
        """Return the running games whose seed none of these keys opens, oldest first."""
        rows = self._database.fetch("games_without_seed", sorted(keys))
        return [
            LostGame(id=game, version=version, created_at=created_at, key_id=key_id)
            for game, version, created_at, key_id in rows
        ]
