"""Changes to a restored database before it is committed: tokens ended, players erased again."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final
from uuid import UUID

import psycopg

from service.store.database import query

NO_ERASURES: Final[Mapping[UUID, datetime]] = MappingProxyType({})


class Amends:
    """
    What a backup brings back that had ended: tokens that were replaced, people who were erased.

    `ended` and `erased` count what was done. A recovery code stays: it is the way in which a
    person gets a new token, and no call ever replaces it.
    """

    def __init__(
        self, *, end_tokens: bool = False, erased: Mapping[UUID, datetime] = NO_ERASURES
    ) -> None:
        self._end_tokens = end_tokens
        self._erased = erased
        self.ended = 0
        self.erased = 0

    def make(self, connection: psycopg.Connection[tuple[Any, ...]]) -> None:
        """Change a database that was restored on this connection, in its transaction."""
        if self._erased:
            values = (list(self._erased), list(self._erased.values()))
            self.erased = _count(connection, "restore_erase", *values)
        if self._end_tokens:
            self.ended = _count(connection, "restore_end_tokens")


def _count(connection: psycopg.Connection[tuple[Any, ...]], name: str, *values: object) -> int:
    row = connection.execute(query(name), values).fetchone()
    return 0 if row is None else int(row[0])
