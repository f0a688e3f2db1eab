"""Reads from a streaming replica that are never older than what the primary has committed."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any, Final

import psycopg
from psycopg_pool import PoolTimeout

from service.config import Settings
from service.metrics import REPLICA_READS
from service.store.database import Database, query
from service.store.events import StoreUnavailable

CATCH_UP_SECONDS: Final = 0.1
"""How long a read waits for the replica; then the primary answers it."""

_POLL_SECONDS: Final = 0.005
_PAUSE_SECONDS: Final = 5.0  # without reads from a replica after an error


class _Reads:
    """The reads of one request: the position of the WAL that they have to include."""

    __slots__ = ("position",)

    def __init__(self) -> None:
        self.position: str | None = None


_READS: ContextVar[_Reads | None] = ContextVar("reads", default=None)


@contextlib.contextmanager
def from_replica() -> Iterator[None]:
    """Let a replica answer the reads of the block, if there is one and it is not behind."""
    before = _READS.set(_Reads())
    try:
        yield
    finally:
        _READS.reset(before)


class ReplicatedDatabase(Database):
    """
    A primary database, and a replica that answers reads inside `from_replica`.

    The first such read asks the primary for the position of its WAL; the replica has to have
    replayed it. So a read includes all changes that were acknowledged before it, as on the
    primary. After a change the position is asked for again. If the replica lags for longer than
    CATCH_UP_SECONDS, fails, or is no longer a replica, the primary answers.
    """

    def __init__(self, url: str, *, replica: Replica, **limits: Any) -> None:
        super().__init__(url, **limits)
        self._replica = replica
        self._paused_until = 0.0

    def fetch(self, name: str, *values: object) -> list[tuple[Any, ...]]:
        """Return the rows of the query `name`, from the replica inside `from_replica`."""
        reads = _READS.get()
        if reads is None or time.monotonic() < self._paused_until:
            return super().fetch(name, *values)
        if reads.position is None:
            [(reads.position,)] = super().fetch("wal_position")
        if reads.position is None:  # this primary is a replica itself
            return super().fetch(name, *values)
        try:
            rows = self._replica.rows_at(reads.position, name, *values)
        except (psycopg.Error, PoolTimeout, StoreUnavailable):
            self._paused_until = time.monotonic() + _PAUSE_SECONDS
            REPLICA_READS.labels("failed").inc()
            return super().fetch(name, *values)
        REPLICA_READS.labels("behind" if rows is None else "replica").inc()
        return super().fetch(name, *values) if rows is None else rows

    def change(self, name: str, *values: object) -> list[tuple[Any, ...]]:
        """Return the rows of the query `name`, sent to the primary once."""
        rows = super().change(name, *values)
        reads = _READS.get()
        if reads is not None and name != "wal_position":
            reads.position = None  # a later read has to include this change
        return rows

    def close(self) -> None:
        """Close all connections to both servers."""
        super().close()
        self._replica.close()


class Replica(Database):
    """A server that replays the WAL of the primary."""

    def rows_at(self, position: str, name: str, *values: object) -> list[tuple[Any, ...]] | None:
        """
        Return the rows of the query `name`, None if the server has not replayed `position`.

        Position and rows are read in one transaction, so that behind a pooler both come from the
        same server. Raises psycopg.Error, PoolTimeout or StoreUnavailable.
        """
        end = time.monotonic() + CATCH_UP_SECONDS
        with self._connection() as connection, connection.transaction():
            while True:
                [(reached,)] = connection.execute(query("wal_replayed"), (position,)).fetchall()
                if reached is None:
                    raise StoreUnavailable("this server is no replica")
                if reached:
                    return connection.execute(query(name), values, binary=True).fetchall()
                if time.monotonic() >= end:
                    return None
                time.sleep(_POLL_SECONDS)


def database_of(settings: Settings, *, most_waiting: int | None = None) -> Database:
    """Return the database of the settings, with its replica if they name one."""
    if settings.read_database_url is None:
        return Database.of(settings, most_waiting=most_waiting)
    limits: dict[str, Any] = {
        "size": settings.pool_size,
        "statement_seconds": settings.statement_seconds,
        "queue": settings.queue_size,
        "most_waiting": most_waiting,
        "prepared": settings.prepared_statements,
    }
    replica = Replica(settings.read_database_url, connection_seconds=CATCH_UP_SECONDS * 5, **limits)
    return ReplicatedDatabase(settings.database_url, replica=replica, **limits)
