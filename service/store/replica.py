"""Reads from a streaming replica, which include every change made before the request."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any, Final

import psycopg
from psycopg_pool import PoolTimeout

from service.runtime.config import Settings
from service.runtime.telemetry import REPLICA_READS
from service.store.database import Database, query
from service.store.events import StoreUnavailable

CATCH_UP_SECONDS: Final = 0.1
"""How long a read waits for the replica; then the primary answers it."""

_POLL_SECONDS: Final = 0.005
_PAUSE_SECONDS: Final = 5.0  # without reads from a replica after an error


class _Reads:
    """The reads of one request, which have to include the WAL of the primary up to `position`."""

    __slots__ = ("position",)

    def __init__(self) -> None:
        self.position: str | None = None


_READS: ContextVar[_Reads | None] = ContextVar("reads", default=None)


@contextlib.contextmanager
def from_replica() -> Iterator[None]:
    """Let the replica answer the reads in the block, if there is one and it is not behind."""
    before = _READS.set(_Reads())
    try:
        yield
    finally:
        _READS.reset(before)


class ReplicatedDatabase(Database):
    """
    A primary database, and a replica that answers reads inside `from_replica`.

    The first read in a block asks the primary for the position of its WAL, and the replica must
    have replayed its WAL up to this position before it answers a read. So all reads in the block
    include the changes acknowledged before the first one. After a change within the block the
    next read asks for the position again. If the replica lags for longer than CATCH_UP_SECONDS,
    fails, or is no longer a replica, the primary answers.
    """

    def __init__(self, url: str, *, replica: Replica, **limits: Any) -> None:
        super().__init__(url, **limits)
        self._replica = replica
        self._paused_until = 0.0

    def fetch(self, name: str, *values: object) -> list[tuple[Any, ...]]:
        """
        Return the rows of the query `name`, from the replica inside `from_replica`.

        Raises as `Database.fetch`.
        """
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
        """Return the rows of the query `name`, sent to the primary once; raises as `Database`."""
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
