"""A pool of connections, one round trip a call, and what its failures mean."""

from __future__ import annotations

import contextlib
import select
import threading
from collections.abc import Iterator
from typing import Any

import psycopg
from psycopg_pool import ConnectionPool, PoolTimeout

from service.event_store.protocol import StoreUnavailable
from service.event_store.queries import query

_Connection = psycopg.Connection[tuple[Any, ...]]

CLASHES = (psycopg.errors.SerializationFailure, psycopg.errors.DeadlockDetected)
"""A transaction that lost against another; it wrote nothing and can be tried again."""


class NotSent(StoreUnavailable):
    """There is no connection to be had; nothing has been sent, so nothing was written."""


class Database:
    """
    Connections to one database, opened at the first call: after a server has forked.

    Autocommit, so that a call is one round trip; prepared statements; no check of a connection
    before its use beyond a look at its socket, which costs no round trip.
    """

    def __init__(self, url: str, *, size: int = 8, patience: float = 3.0) -> None:
        self._url = url
        self._size = size
        self._patience = patience  # seconds to wait for a connection
        self._opened: ConnectionPool[_Connection] | None = None
        self._opening = threading.Lock()

    def fetch(self, name: str, *values: object) -> list[tuple[Any, ...]]:
        """
        Return the rows of the query `name`, which only reads; asked again on a dead connection.

        Raises StoreUnavailable where the database does not answer.
        """
        try:
            return self.change(name, *values)
        except NotSent:
            raise
        except StoreUnavailable:
            self._drop_dead()
            return self.change(name, *values)

    def change(self, name: str, *values: object) -> list[tuple[Any, ...]]:
        """
        Return the rows of the query `name`; sent once.

        Raises NotSent where there is no connection, StoreUnavailable where one broke: whether
        the database wrote is not known then.
        Raises psycopg.Error for what the database refused; then it wrote nothing.
        """
        try:
            with self._connection() as connection:
                return connection.execute(query(name), values, binary=True).fetchall()
        except PoolTimeout as error:
            raise NotSent("no connection to the database") from error
        except (psycopg.OperationalError, psycopg.InterfaceError) as error:
            if isinstance(error, CLASHES):
                raise
            raise StoreUnavailable("the database does not answer") from error

    def close(self) -> None:
        """Close all connections; the next call opens new ones."""
        with self._opening:
            opened, self._opened = self._opened, None
        if opened is not None:
            opened.close()

    @contextlib.contextmanager
    def _connection(self) -> Iterator[_Connection]:
        pool = self._pool()
        connection = _first_alive(pool, self._patience, attempts=self._size + 1)
        try:
            yield connection
        finally:
            pool.putconn(connection)

    def _drop_dead(self) -> None:
        """Replace connections that a restart of the server has cut: not only the one met."""
        with contextlib.suppress(psycopg.Error, PoolTimeout):
            self._pool().check()

    def _pool(self) -> ConnectionPool[_Connection]:
        if self._opened is None:
            with self._opening:
                if self._opened is None:
                    self._opened = self._open()
        return self._opened

    def _open(self) -> ConnectionPool[_Connection]:
        return ConnectionPool(
            self._url,
            connection_class=psycopg.Connection[tuple[Any, ...]],
            kwargs={
                "autocommit": True,
                "prepare_threshold": 1,
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


def _has_news(connection: _Connection) -> bool:
    try:
        socket = select.poll()  # select() itself cannot watch descriptors above 1023
        socket.register(connection.fileno(), select.POLLIN)
        return bool(socket.poll(0))
    except (psycopg.OperationalError, ValueError, OSError):
        return True
