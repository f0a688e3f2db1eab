"""Database access: named queries, one connection pool, time limits."""

from __future__ import annotations

import contextlib
import re
import select
import sys
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

import psycopg
from psycopg.adapt import PyFormat
from psycopg_pool import ConnectionPool, PoolTimeout

from service.runtime.config import Settings
from service.runtime.telemetry import DATABASE_SLOW
from service.store.events import (
    HandRunning,
    PlayerErased,
    Quota,
    QuotaFull,
    QuotaKind,
    StoreError,
    StoreUnavailable,
    TokenEnded,
)

Row = TypeVar("Row")

SQL = Path(__file__).resolve().parents[2] / "sql"
"""
The folder of the SQL files, next to the package `service`: in a checkout and in an installation.
"""


@cache
def queries() -> Mapping[str, bytes]:
    """
    Return the queries of `sql/queries/` by name; each begins with `-- name: purpose`.

    They are read at once, so that no request needs a file descriptor for one.
    """
    texts = [path.read_text("utf-8") for path in sorted((SQL / "queries").glob("*.sql"))]
    found = [one for text in texts for one in re.split(r"(?:\A|\n\n)(?=-- \w+: )", text)[1:]]
    return {one[3 : one.index(":")]: one.encode() for one in found}


def query(name: str) -> bytes:
    """Return the query of that name; parameters are `$1`, `$2`, …"""
    return queries()[name]


for _kind in (UUID, datetime):
    # psycopg loads the dumper of a type at its first use, which is not thread-safe: load it now.
    for _format in PyFormat:
        psycopg.adapters.get_dumper(_kind, _format)

DatabaseError = psycopg.Error
"""Any error of PostgreSQL or the connection to it, with its `sqlstate`."""

UndefinedTable = psycopg.errors.UndefinedTable
"""A table does not exist: the database has not been migrated."""

TRANSACTION_CONFLICTS = (psycopg.errors.SerializationFailure, psycopg.errors.DeadlockDetected)
"""Errors of a transaction that was rolled back and can be repeated."""


TRIES = 3
"""Attempts of a statement after deadlocks and serialization failures."""

CANCEL_SECONDS = 1.0
"""Timeout for cancelling a statement."""

ACCEPT_SECONDS = 2
"""Timeout of a new connection that is a test; libpq has no shorter one."""


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
    A connection with a time limit for each statement.

    The client enforces the limit, because a server that hangs cannot, and a setting of the
    session is lost if a pooler assigns connections by transaction. psycopg checks the limit in
    its C loop; a generator of our own around `gen` would cost 70 µs a statement.
    """

    statement_seconds = 10.0
    _cursor: psycopg.Cursor[tuple[Any, ...]] | None = None

    def rows(self, statement: bytes, values: Sequence[object]) -> list[tuple[Any, ...]]:
        """Return the rows of a statement, read with the one cursor that the connection reuses."""
        if self._cursor is None:
            self._cursor = self.cursor()
        return self._cursor.execute(statement, values, binary=True).fetchall()

    def wait(self, gen: Generator[Any, Any, Any], *rest: Any, **more: Any) -> Any:
        """Return the result of `gen`; raises _Overdue after the time limit."""
        end = time.monotonic() + self.statement_seconds
        try:
            return super().wait(gen, *rest, **{"timeout": self.statement_seconds, **more})
        except psycopg.OperationalError as error:
            if error.sqlstate is None and time.monotonic() >= end:
                raise _Overdue("no answer in time") from error
            raise


class Database:
    """
    A pool of connections to one database, opened at the first call, after a server has forked.

    Connections use autocommit, so a call is one round trip, and prepared statements if
    `prepared`. Before a connection is used, only its socket is checked, without a round trip.
    Otherwise sessions have no state: no SET, LISTEN, temporary table, cursor or lock outlives
    its transaction.

    A call waits at most `connection_seconds` for a connection, and `statement_seconds` for its
    statement. At most `most_waiting` calls wait for a connection at a time, and at most `queue`
    for SLOW_SECONDS after a timeout; further calls raise NotSent at once. A process that
    answers requests derives `most_waiting` from its number of threads; None means no limit,
    for programs with few threads.
    """

    def __init__(
        self,
        url: str,
        *,
        size: int = 8,
        connection_seconds: float = 3.0,
        statement_seconds: float = 10.0,
        queue: int = 8,
        most_waiting: int | None = None,
        prepared: bool = True,
    ) -> None:
        self._url = url
        self.size = size
        self.connection_seconds = connection_seconds
        self._connection_class = type(
            "_Connection", (_Connection,), {"statement_seconds": statement_seconds}
        )
        self._most_waiting = sys.maxsize if most_waiting is None else max(1, most_waiting)
        self._queue = min(queue, self._most_waiting)
        self._prepared = prepared
        self._slow_until = 0.0
        self._waiting = 0  # calls that wait for a connection now
        self._waiting_lock = threading.Lock()
        self._open_pool: ConnectionPool[_Connection] | None = None
        self._pool_lock = threading.Lock()

    @classmethod
    def of(cls, settings: Settings, *, most_waiting: int | None = None) -> Database:
        """Return the database that the settings name, with their limits."""
        return cls(
            settings.database_url,
            size=settings.pool_size,
            statement_seconds=settings.statement_seconds,
            queue=settings.queue_size,
            most_waiting=most_waiting,
            prepared=settings.prepared_statements,
        )

    def fetch(self, name: str, *values: object) -> list[tuple[Any, ...]]:
        """
        Return the rows of the query `name`, which only reads; repeated if a connection breaks.

        Raises StoreUnavailable if the database does not answer.
        """
        try:
            return self.change(name, *values)
        except (NotSent, TooSlow):
            raise
        except StoreUnavailable:
            return self.change(name, *values)

    def change(self, name: str, *values: object) -> list[tuple[Any, ...]]:
        """
        Return the rows of the query `name`; it is sent again only if nothing can have been written.

        That is after conflicts of transactions, and once if a migration has changed the type of a
        column that a prepared statement returns: then all connections, which have it, are replaced.
        Raises NotSent if no connection is available. Raises TooSlow if no answer came in time,
        and StoreUnavailable if the connection broke: the database may have written then. Raises
        StoreUnavailable after TRIES conflicts, which were all rolled back, and psycopg.Error if
        the database refused the query and wrote nothing.
        """
        for failed in range(TRIES):
            try:
                return self._sent(name, values)
            except TRANSACTION_CONFLICTS as error:
                conflict: psycopg.Error = error
            except psycopg.errors.FeatureNotSupported as error:
                if failed:
                    raise
                conflict = error
                self._pool().drain()
        raise StoreUnavailable("the transaction conflicts with others") from conflict

    def _sent(self, name: str, values: Sequence[object]) -> list[tuple[Any, ...]]:
        try:
            with self._connection() as connection:
                return connection.rows(query(name), values)
        except PoolTimeout as error:
            self.mark_slow()
            raise NotSent("no connection to the database") from error
        except _Overdue as error:
            self.mark_slow()
            raise TooSlow("the database took too long") from error
        except (psycopg.OperationalError, psycopg.InterfaceError, psycopg.InternalError) as error:
            # InternalError: for example, the server has become a read-only replica.
            if isinstance(error, TRANSACTION_CONFLICTS):
                raise
            raise StoreUnavailable("the database does not answer") from error

    def reach(self) -> None:
        """
        Check that the database answers a query through the pool that all requests use.

        Raises StoreUnavailable if it does not answer, or if too many calls wait for a connection.
        """
        self.fetch("nothing")

    def accept(self) -> None:
        """
        Check that the database accepts a new connection, as a pool that grows needs it.

        Raises psycopg.OperationalError: a server whose postmaster hangs still answers on the
        connections that the pool has.
        """
        psycopg.connect(self._url, connect_timeout=ACCEPT_SECONDS).close()

    def probe_write(self) -> None:
        """
        Write as a move does, without a trace in the record.

        Raises NotSent or TooSlow, or the error of PostgreSQL, whose class names the reason.
        """
        try:
            self.change("probe_write")
        except (NotSent, TooSlow):
            raise
        except StoreUnavailable as error:
            raise error.__cause__ or error from None

    def close(self) -> None:
        """Close all connections; the next call opens new ones."""
        with self._pool_lock:
            pool, self._open_pool = self._open_pool, None
        if pool is not None:
            pool.close()

    def mark_slow(self) -> None:
        """Let few calls wait for a while, because one has waited in vain."""
        self._slow_until = time.monotonic() + SLOW_SECONDS
        DATABASE_SLOW.set_to_current_time()

    def _connection(self) -> _Borrowed:
        """Return a context manager that lends a connection; raises NotSent."""
        pool = self._pool()
        return _Borrowed(pool, self._acquired(pool))

    def _acquired(self, pool: ConnectionPool[_Connection]) -> _Connection:
        """Return a connection of the pool; raises NotSent if too many calls wait for one."""
        self.begin_to_wait()
        try:
            return _live_connection(pool, self.connection_seconds, attempts=self.size + 1)
        finally:
            self.end_to_wait()

    def begin_to_wait(self) -> None:
        """Count a call that waits, until `end_to_wait`; raises NotSent if too many do."""
        with self._waiting_lock:
            slow = time.monotonic() < self._slow_until
            if self._waiting >= (self._queue if slow else self._most_waiting):
                raise NotSent("too many calls wait for the database")
            self._waiting += 1

    def end_to_wait(self) -> None:
        """Count a call no more that waited."""
        with self._waiting_lock:
            self._waiting -= 1

    def _pool(self) -> ConnectionPool[_Connection]:
        if self._open_pool is None:
            with self._pool_lock:
                if self._open_pool is None:
                    self._open_pool = self._new_pool()
        return self._open_pool

    def _new_pool(self) -> ConnectionPool[_Connection]:
        return ConnectionPool(
            self._url,
            connection_class=self._connection_class,
            kwargs={
                "autocommit": True,
                "prepare_threshold": 1 if self._prepared else None,
                "cursor_factory": psycopg.RawCursor,
                "connect_timeout": max(2, round(self.connection_seconds)),
                "application_name": "shithead",
            },
            min_size=1,
            max_size=self.size,
            timeout=self.connection_seconds,
            # The next call tries again: a database that comes back is found at once, and not
            # after the longest pause of a back-off.
            reconnect_timeout=self.connection_seconds,
            open=True,
        )


class _Borrowed:
    """Lends a connection of a pool; as a class, because a generator would slow every query."""

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


def _live_connection(
    pool: ConnectionPool[_Connection], seconds: float, *, attempts: int
) -> _Connection:
    """
    Return a connection that has received nothing since it was last used.

    A server that shuts down sends a message on idle connections, or closes them. Such a
    connection is replaced before anything is sent, so no commit can be in doubt.
    """
    connection = pool.getconn(seconds)
    for _ in range(attempts):
        if not _has_input(connection):
            break
        connection.close()
        pool.putconn(connection)
        connection = pool.getconn(seconds)
    return connection


def _give_up(connection: _Connection) -> None:
    """Cancel the statement on the server, if it can be reached, and close the connection."""
    with contextlib.suppress(psycopg.Error):
        connection.cancel_safe(timeout=CANCEL_SECONDS)
    connection.close()


def _has_input(connection: _Connection) -> bool:
    try:
        poll = select.poll()  # select() itself cannot watch descriptors above 1023
        poll.register(connection.fileno(), select.POLLIN)
        return bool(poll.poll(0))
    except (psycopg.OperationalError, ValueError, OSError):
        return True


class Repository:
    """Named queries on a database; its refusals are raised as errors of the store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def _first(
        self, make: Callable[[tuple[Any, ...]], Row], name: str, *values: object
    ) -> Row | None:
        """Return the first row of the query `name`, converted by `make`; None if it has no rows."""
        rows = self._database.fetch(name, *values)
        return make(rows[0]) if rows else None

    def _count(self, name: str, *values: object) -> int:
        """Return the number of rows that the function behind the query `name` changed."""
        return int(str(self._write(name, *values)))

    def _write(self, name: str, *values: object) -> object:
        """Return the one result of the function behind the query `name`; raises as `_call`."""
        return self._call(name, *values)[0][0]

    def _call(self, name: str, *values: object) -> list[tuple[Any, ...]]:
        """
        Return the rows of the function behind the query `name`.

        Raises PlayerErased, TokenEnded, HandRunning, QuotaFull, StoreUnavailable, or another
        StoreError.
        """
        try:
            return self._database.change(name, *values)
        except psycopg.Error as error:
            if error.sqlstate == "SH401":
                raise PlayerErased("a player has been erased") from error
            if error.sqlstate == "SH403":
                raise TokenEnded("the token has ended, or may not do this") from error
            if error.sqlstate == "SH423":
                raise HandRunning("a hand is being played") from error
            if error.sqlstate == "SH429":
                raise QuotaFull(QuotaKind(error.diag.message_detail or "")) from error
            raise StoreError(f"the database refused ({error.sqlstate})") from error


def quota_values(quotas: Sequence[Quota]) -> list[dict[str, Any]]:
    """Return quotas as `refuse_over_quota` takes them."""
    return [
        {
            "player": str(quota.player),
            "kind": quota.kind.value,
            "most": quota.most,
            "since": as_json(quota.since),
            "game": as_json(quota.game),
            "other": as_json(quota.other),
        }
        for quota in quotas
    ]


def as_json(value: Any) -> Any:
    """
    Return a value of a summary, converted to JSON types as the SQL functions expect them.

    Raises ValueError for another type, or a time without a zone.
    """
    match value:
        case None | bool() | int():
            return value
        case str():
            return str(value)  # a StrEnum too
        case bytes():
            return "\\x" + value.hex()
        case UUID():
            return str(value)
        case datetime():
            if value.tzinfo is None:
                raise ValueError("a time without a zone")
            return value.isoformat()
        case dict():
            return {key: as_json(item) for key, item in value.items()}
        case list() | tuple():
            return [as_json(item) for item in value]
        case _:
            raise ValueError(f"a summary cannot hold {type(value).__name__}")
