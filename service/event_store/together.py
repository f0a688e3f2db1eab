"""Several calls to the database in one transaction, for the operator's tool."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg

from service.event_store.database import CLASHES, Database
from service.event_store.protocol import StoreUnavailable
from service.event_store.queries import query


class Together(Database):
    """
    A database on one connection, whose calls within `together` are committed together.

    A call that the database refuses takes back what it wrote itself and nothing else, as it does
    outside: who catches the error can go on. For one thread.
    """

    def __init__(self, url: str) -> None:
        super().__init__(url, size=1)
        self._address = url
        self._connected: psycopg.Connection[tuple[Any, ...]] | None = None

    @contextmanager
    def together(self) -> Iterator[None]:
        """
        Commit what is called within the block at its end, or nothing where it raises.

        A block within another is taken back alone. Raises StoreUnavailable where the database
        does not answer; at the very end whether it committed is not known then.
        """
        try:
            with self._there().transaction():
                yield
        except (psycopg.OperationalError, psycopg.InterfaceError) as error:
            raise StoreUnavailable("the database does not answer") from error

    def fetch(self, name: str, *values: object) -> list[tuple[Any, ...]]:
        """Return the rows of the query `name`."""
        return self.change(name, *values)

    def change(self, name: str, *values: object) -> list[tuple[Any, ...]]:
        """Return the rows of the query `name`, which may write."""
        try:
            with self._there().transaction():
                return self._there().execute(query(name), values, binary=True).fetchall()
        except (psycopg.OperationalError, psycopg.InterfaceError) as error:
            if isinstance(error, CLASHES):
                raise
            raise StoreUnavailable("the database does not answer") from error

    def close(self) -> None:
        """Close the connection; what was not committed is taken back."""
        connection, self._connected = self._connected, None
        if connection is not None:
            connection.close()

    def _there(self) -> psycopg.Connection[tuple[Any, ...]]:
        if self._connected is None:
            self._connected = psycopg.connect(
                self._address,
                autocommit=True,
                cursor_factory=psycopg.RawCursor,
                connect_timeout=5,
                application_name="shithead admin",
            )
        return self._connected
