"""Connections that outlast an application: the next one on the same database goes on with them."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Hashable, Iterator
from typing import Any

from psycopg_pool import ConnectionPool

from service.store.database import Database
from tests.servers import database_name

_Key = tuple[Hashable, ...]

_IDLE_SECONDS = 0.2


class WarmPools:
    """
    The pools that instances of `Database` left when they were closed, by name of the database.

    A new connection costs 10 to 25 ms of processor time until it has read the catalogues and
    compiled the functions of a game: more than the rest of many tests. Sessions of the service
    have no state, so a pool serves a second instance with equal settings as well as the first.

    Only pools of databases in `names` are kept; the others are closed.
    """

    def __init__(self) -> None:
        self.names: set[str] = set()
        self._left: dict[str, list[tuple[_Key, ConnectionPool[Any]]]] = defaultdict(list)

    def take(self, url: str, key: _Key) -> ConnectionPool[Any] | None:
        """Return a pool that was kept under `key`, if there is one."""
        left = self._left.get(database_name(url), [])
        for place, (kept, pool) in enumerate(left):
            if kept == key:
                del left[place]
                return pool
        return None

    def keep(self, url: str, key: _Key, pool: ConnectionPool[Any]) -> bool:
        """
        Return whether the pool is kept: within _IDLE_SECONDS none of its connections is in use.

        A pool whose first call had to wait may still be opening a second connection.
        """
        name, end = database_name(url), time.monotonic() + _IDLE_SECONDS
        if name not in self.names:
            return False
        while not _is_idle(pool):
            if time.monotonic() > end:
                return False
            time.sleep(0.002)
        self._left[name].append((key, pool))
        return True

    def sessions(self, url: str) -> list[int]:
        """Return the processes of the server that hold the kept connections to a database."""
        return [
            connection.info.backend_pid
            for _, pool in self._left[database_name(url)]
            for connection in _idle_connections(pool)
        ]

    def close(self, url: str) -> None:
        """Close the kept connections to a database that is not used again."""
        name = database_name(url)
        self.names.discard(name)
        for _, pool in self._left.pop(name, []):
            pool.close()


WARM_POOLS = WarmPools()
"""The kept pools of this process."""


def _is_idle(pool: ConnectionPool[Any]) -> bool:
    state = pool.get_stats()
    return state["pool_size"] == state["pool_available"] and not state.get("requests_waiting")


def _idle_connections(pool: ConnectionPool[Any]) -> Iterator[Any]:
    """Yield the connections of a pool that lends none."""
    borrowed = [pool.getconn() for _ in range(pool.get_stats()["pool_size"])]
    yield from borrowed
    for connection in borrowed:
        pool.putconn(connection)


def _keep_pools() -> None:
    """Let each `Database` of this process begin with a kept pool, and leave its pool behind."""
    new_pool = Database._new_pool

    def key_of(database: Database) -> _Key:
        return (
            database._url,
            database.size,
            database.connection_seconds,
            vars(database._connection_class)["statement_seconds"],
            database._prepared,
        )

    def take_or_open(database: Database) -> ConnectionPool[Any]:
        return WARM_POOLS.take(database._url, key_of(database)) or new_pool(database)

    def close(database: Database) -> None:
        with database._pool_lock:
            pool, database._open_pool = database._open_pool, None
        if pool is not None and not WARM_POOLS.keep(database._url, key_of(database), pool):
            pool.close()

    Database._new_pool = take_or_open  # type: ignore[method-assign, assignment] # no hook for it
    Database.close = close  # type: ignore[method-assign, assignment] # no hook for it


_keep_pools()
