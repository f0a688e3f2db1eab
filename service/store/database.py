"""Database access: named queries, one connection pool, time limits."""

from __future__ import annotations

import contextlib
import select
import sys
import threading
import time
from collections.abc import Callable, Generator
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

import psycopg
from psycopg.adapt import PyFormat
from psycopg_pool import ConnectionPool, PoolTimeout

from service.config import Settings
from service.metrics import DATABASE_SLOW
from service.store.events import (
    HandRunning,
    PlayerErased,
    QuotaFull,
    QuotaKind,
    StoreError,
    StoreUnavailable,
)

Row = TypeVar("Row")

SQL = Path(__file__).resolve().parents[2] / "sql"
"""
The folder of the SQL files: beside the package `service`.

The same in a checkout and in an installation, where `sql` is installed next to the packages.
"""


@cache
def query(name: str) -> bytes:
    """Return the text of `sql/queries/<name>.sql`; parameters are `$1`, `$2`, …"""
    return (SQL / "queries" / f"{name}.sql").read_bytes()


for _kind in (UUID, datetime):
    # psycopg loads its dumper of a type at the first use, which is not thread-safe: load it here.
    for _format in PyFormat:
        psycopg.adapters.get_dumper(_kind, _format)

DatabaseError = psycopg.Error
"""Any error of PostgreSQL or the connection to it, with its `sqlstate`."""

UndefinedTable = psycopg.errors.UndefinedTable
"""A table does not exist: the database has not been migrated."""

CLASHES = (psycopg.errors.SerializationFailure, psycopg.errors.DeadlockDetected)
"""Errors of a transaction that was rolled back and can be repeated."""


CANCEL_SECONDS = 1.0
"""Timeout for cancelling a statement."""


SLOW_SECONDS = 5.0
"""Seconds for which a database counts as slow after a timeout."""


class NotSent(StoreUnavailable):
    """No connection was available; nothing was sent, so nothing was written."""


class TooSlow(StoreUnavailable):
    """The database timed out; it may still write, and a retry would add load."""


class _Overdue(psycopg.OperationalError):
    """A statement exceeded its time limit."""


class _Connection(psycopg.Connection[tuple[Any, ...]]):
    """
    A connection that waits for an answer for a limited time only.

    The limit is kept on this side: a server whose disk or whose processes hang keeps none, and
    a setting of the session would not survive a pooler that lends connections by transaction.
    psycopg keeps it in its C loop; a generator of ours around `gen` costs 70 µs a statement.
    """

    longest = 10.0  # seconds

    def wait(self, gen: Generator[Any, Any, Any], *rest: Any, **more: Any) -> Any:
        """Return what `gen` comes to; raises _Overdue where that takes too long."""
        end = time.monotonic() + self.longest
        try:
            return super().wait(gen, *rest, **{"timeout": self.longest, **more})
        except psycopg.OperationalError as error:
            if error.sqlstate is None and time.monotonic() >= end:
                raise _Overdue("no answer in time") from error
            raise


class Database:
    """
    Connections to one database, opened at the first call: after a server has forked.

    Autocommit, so that a call is one round trip; prepared statements if `prepared`; no check of a
    connection before its use beyond a look at its socket, which costs no round trip. Nothing else
    belongs to a session: no SET, LISTEN, temporary table, cursor or lock outlives its transaction.

    A slow database is not waited for without end: `patience` seconds for a connection, `longest`
    for a statement. At most `most_waiting` calls wait for a connection at a time, and at most
    `queue` for SLOW_SECONDS after a time-out; further calls raise NotSent at once. A process
    that answers requests sets `most_waiting` by its number of threads; without it there is no
    limit, for programs with a few threads.
    """

    def __init__(
        self,
        url: str,
        *,
        size: int = 8,
        patience: float = 3.0,
        longest: float = 10.0,
        queue: int = 8,
        most_waiting: int | None = None,
        prepared: bool = True,
    ) -> None:
        self._url = url
        self._size = size
        self._patience = patience
        self._kind = type("_Connection", (_Connection,), {"longest": longest})
        self._most_waiting = sys.maxsize if most_waiting is None else max(1, most_waiting)
        self._queue = min(queue, self._most_waiting)
        self._prepared = prepared
        self._slow_until = 0.0
        self._waiting = 0  # for a connection, at this moment
        self._counting = threading.Lock()
        self._opened: ConnectionPool[_Connection] | None = None
        self._opening = threading.Lock()

    @classmethod
    def of(cls, settings: Settings, *, most_waiting: int | None = None) -> Database:
        """Return the database that the settings name, with their limits."""
        return cls(
            settings.database_url,
            size=settings.pool_size,
            longest=settings.statement_seconds,
            queue=settings.queue_size,
            most_waiting=most_waiting,
            prepared=settings.prepared_statements,
        )

    def fetch(self, name: str, *values: object) -> list[tuple[Any, ...]]:
        """
        Return the rows of the query `name`, which only reads; asked again on a dead connection.

        Raises StoreUnavailable where the database does not answer.
        """
        try:
            return self.change(name, *values)
        except (NotSent, TooSlow):
            raise
        except StoreUnavailable:
            return self.change(name, *values)

    def change(self, name: str, *values: object) -> list[tuple[Any, ...]]:
        """
        Return the rows of the query `name`; sent once.

        Raises NotSent where there is no connection, TooSlow where no answer came in time, and
        StoreUnavailable where a connection broke: whether the database wrote is not known then.
        Raises psycopg.Error for what the database refused; then it wrote nothing.
        """
        try:
            with self._connection() as connection:
                return connection.execute(query(name), values, binary=True).fetchall()
        except PoolTimeout as error:
            self._is_slow()
            raise NotSent("no connection to the database") from error
        except _Overdue as error:
            self._is_slow()
            raise TooSlow("the database took too long") from error
        except (psycopg.OperationalError, psycopg.InterfaceError, psycopg.InternalError) as error:
            # The last of them: it could not do its work, or has become a copy that only reads.
            if isinstance(error, CLASHES):
                raise
            raise StoreUnavailable("the database does not answer") from error

    def reach(self) -> None:
        """
        Return if the database answers, by the way that all requests take.

        Raises StoreUnavailable, also where so many wait already that requests are refused.
        """
        self.fetch("nothing")

    def close(self) -> None:
        """Close all connections; the next call opens new ones."""
        with self._opening:
            opened, self._opened = self._opened, None
        if opened is not None:
            opened.close()

    def _is_slow(self) -> None:
        self._slow_until = time.monotonic() + SLOW_SECONDS
        DATABASE_SLOW.set_to_current_time()

    def _connection(self) -> _Borrowed:
        """Return a context manager that lends a connection; raises NotSent."""
        pool = self._pool()
        return _Borrowed(pool, self._taken(pool))

    def _taken(self, pool: ConnectionPool[_Connection]) -> _Connection:
        """Return a connection of the pool; raises NotSent if too many calls wait for one."""
        with self._counting:
            slow = time.monotonic() < self._slow_until
            if self._waiting >= (self._queue if slow else self._most_waiting):
                raise NotSent("too many wait for the database")
            self._waiting += 1
        try:
            return _first_alive(pool, self._patience, attempts=self._size + 1)
        finally:
            with self._counting:
                self._waiting -= 1

    def _pool(self) -> ConnectionPool[_Connection]:
        if self._opened is None:
            with self._opening:
                if self._opened is None:
                    self._opened = self._open()
        return self._opened

    def _open(self) -> ConnectionPool[_Connection]:
        return ConnectionPool(
            self._url,
            connection_class=self._kind,
            kwargs={
                "autocommit": True,
                "prepare_threshold": 1 if self._prepared else None,
                "cursor_factory": psycopg.RawCursor,
                "connect_timeout": max(2, round(self._patience)),
                "application_name": "shithead",
            },
            min_size=1,
            max_size=self._size,
            timeout=self._patience,
            # Given up soon, tried again by the next call: a database that comes back is found
            # at once, not after the longest pause of a back-off.
            reconnect_timeout=self._patience,
            open=True,
        )


class _Borrowed:
    """Lends a connection of a pool; cheaper than a generator, and on the way of every query."""

    __slots__ = ("_connection", "_pool")

    def __init__(self, pool: ConnectionPool[_Connection], connection: _Connection) -> None:
        self._pool = pool
        self._connection = connection

    def __enter__(self) -> _Connection:
        return self._connection

    def __exit__(self, kind: type[BaseException] | None, *_more: object) -> None:
        try:
            if kind is not None and issubclass(kind, _Overdue):
                _give_up(self._connection)
        finally:
            self._pool.putconn(self._connection)


def _first_alive(
    pool: ConnectionPool[_Connection], patience: float, *, attempts: int
) -> _Connection:
    """
    Return a connection over which nothing has come since it was last used.

    A server that shuts down says so, or closes, on idle connections. One that is seen before
    anything is sent can be replaced without asking whether a commit took place.
    """
    connection = pool.getconn(patience)
    for _ in range(attempts):
        if not _has_news(connection):
            break
        connection.close()
        pool.putconn(connection)
        connection = pool.getconn(patience)
    return connection


def _give_up(connection: _Connection) -> None:
    """Cancel the statement on the server, if it can be reached, and close the connection."""
    with contextlib.suppress(psycopg.Error):
        connection.cancel_safe(timeout=CANCEL_SECONDS)
    connection.close()


def _has_news(connection: _Connection) -> bool:
    try:
        socket = select.poll()  # select() itself cannot watch descriptors above 1023
        socket.register(connection.fileno(), select.POLLIN)
        return bool(socket.poll(0))
    except (psycopg.OperationalError, ValueError, OSError):
        return True


class Repository:
    """Named queries on a database; what it refuses to write is raised as an error of the store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def _first(
        self, make: Callable[[tuple[Any, ...]], Row], name: str, *values: object
    ) -> Row | None:
        """Return what `make` makes of the first row that the query `name` finds, if any."""
        rows = self._database.fetch(name, *values)
        return make(rows[0]) if rows else None

    def _count(self, name: str, *values: object) -> int:
        """Return the number of rows that the function behind the query `name` changed."""
        return int(str(self._write(name, *values)))

    def _write(self, name: str, *values: object) -> object:
        """
        Return the result of the function behind the query `name`.

        Raises PlayerErased, HandRunning, QuotaFull, StoreUnavailable, or another StoreError.
        """
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
