"""The operator's access to the database as its owner, in one transaction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import psycopg

from service.store.database import TRANSACTION_CONFLICTS, Database, query
from service.store.events import StoreError, StoreUnavailable

_PENDING = "SH425"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrailEntry:
    """One recorded operator action; players are identified by id only."""

    at: datetime
    operator: str
    act: str
    target: UUID | None  # a player, table or game
    outcome: str  # "done", or the code of the refusal; of a run also its counts


@dataclass(frozen=True, slots=True, kw_only=True)
class TrailFilter:
    """The entries of the trail to list: those with these values; None: any."""

    operator: str | None = None
    act: str | None = None
    target: UUID | None = None
    outcome: str | None = None
    since: datetime | None = None
    until: datetime | None = None  # exclusive


@dataclass(frozen=True, slots=True, kw_only=True)
class LockedGame:
    """The state of a game that is locked until the transaction ends."""

    version: int  # of its stream
    head: bytes
    over: bool
    archived: bool
    outbox_pending: bool  # rows for public log, statistics or live readers


class Owner:
    """Queries and functions that need the privileges of the database's owner."""

    def __init__(self, database: OwnerDatabase) -> None:
        self._database = database

    def transaction(self) -> AbstractContextManager[None]:
        """Return a context manager; calls of any repository within it are one transaction."""
        return self._database.transaction()

    def disconnect(self) -> None:
        """Close the connection; the next call opens another one."""
        self._database.close()

    def note(self, entry: TrailEntry) -> None:
        """Add an entry to the trail."""
        self._database.change(
            "note_act", entry.at, entry.operator, entry.act, entry.target, entry.outcome
        )

    def trail(self, which: TrailFilter, *, limit: int | None = None) -> Sequence[TrailEntry]:
        """Return entries of the trail, newest first."""
        found = self._database.fetch(
            "list_trail",
            limit,
            *(which.operator, which.act, which.target, which.outcome, which.since, which.until),
        )
        return [
            TrailEntry(at=at, operator=operator, act=act, target=target, outcome=outcome)
            for at, operator, act, target, outcome in found
        ]

    def rename_player(self, player: UUID, name: str) -> bool:
        """Change a player's name; return whether the player exists and is not erased."""
        return bool(self._database.change("rename_player", player, name)[0][0])

    def delete_note(self, game: UUID, author: UUID, seq: int) -> bool:
        """Delete a player's note on an event; return whether there was one."""
        return bool(self._database.change("delete_note", game, author, seq)[0][0])

    def end_tokens(self, player: UUID) -> bool:
        """End all tokens of a player; return whether the player exists and is not erased."""
        return bool(self._database.change("end_tokens", player)[0][0])

    def hold(self, game: UUID) -> LockedGame | None:
        """
        Lock a game until the transaction ends and return its state; None if it is unknown.

        The query runs twice: the first waits for the lock and has a snapshot from before its wait;
        the second reads the state after it.
        """
        self._database.fetch("hold_game", game)
        for version, head, over, archived, outbox_pending in self._database.fetch(
            "hold_game", game
        ):
            return LockedGame(
                version=version,
                head=head,
                over=over,
                archived=archived,
                outbox_pending=outbox_pending,
            )
        return None

    def archivable(self, *, ended_before: datetime) -> Sequence[UUID]:
        """
        Return the games that can be archived and ended before a time, oldest first.

        Archived games and games with pending notifications are left out.
        """
        return [game for (game,) in self._database.fetch("archivable_games", ended_before)]

    def archive(self, game: UUID, digest: bytes) -> int:
        """
        Delete the events of a sealed game; return their number.

        `digest` is the hash of the bundle that replaces them. Raises StoreError if the game
        is unknown, not sealed, or has pending outbox rows.
        """
        try:
            return int(self._database.change("archive_stream", game, digest)[0][0])
        except psycopg.Error as error:
            why = "has pending notifications" if error.sqlstate == _PENDING else "is not archived"
            raise StoreError(f"game {game} {why}: {error.diag.message_primary}") from error


class OwnerDatabase(Database):
    """
    A database over one connection; calls within `transaction` are committed together.

    Each call is a savepoint: a failed one is rolled back alone, and the caller may catch the
    error and continue. Not thread-safe.
    """

    def __init__(self, url: str) -> None:
        super().__init__(url, size=1)
        self._address = url
        self._connected: psycopg.Connection[tuple[Any, ...]] | None = None

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """
        Commit the calls within the block at its end; roll them back if it raises.

        A nested block is a savepoint. Raises StoreUnavailable if the database does not answer;
        if that happens at the commit, its outcome is unknown.
        """
        try:
            with self._connect().transaction():
                yield
        except (psycopg.OperationalError, psycopg.InterfaceError) as error:
            raise StoreUnavailable("the database does not answer") from error

    def fetch(self, name: str, *values: object) -> list[tuple[Any, ...]]:
        """Return the rows of the query `name`."""
        return self.change(name, *values)

    def change(self, name: str, *values: object) -> list[tuple[Any, ...]]:
        """
        Return the rows of the query `name`, which may write.

        Raises StoreUnavailable if the connection fails, psycopg.Error if the database refuses
        the query.
        """
        try:
            with self._connect().transaction():
                return self._connect().execute(query(name), values, binary=True).fetchall()
        except (psycopg.OperationalError, psycopg.InterfaceError) as error:
            if isinstance(error, TRANSACTION_CONFLICTS):
                raise
            raise StoreUnavailable("the database does not answer") from error

    def close(self) -> None:
        """Close the connection; uncommitted changes are rolled back."""
        connection, self._connected = self._connected, None
        if connection is not None:
            connection.close()

    def _connect(self) -> psycopg.Connection[tuple[Any, ...]]:
        if self._connected is None:
            self._connected = psycopg.connect(
                self._address,
                autocommit=True,
                cursor_factory=psycopg.RawCursor,
                connect_timeout=5,
                application_name="shithead admin",
            )
        return self._connected
