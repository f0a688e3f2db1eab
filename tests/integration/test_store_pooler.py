"""Connections lent by a pooler in transaction mode: no state of a session is used."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest

from service.runtime.config import Settings
from service.store.database import Database
from service.store.postgres_events import PostgresStore
from tests.contract.conftest import address_of_service
from tests.streams import append, commit

SESSION_STATE = """
SELECT 'statement ' || name FROM pg_prepared_statements
UNION ALL SELECT 'cursor ' || name FROM pg_cursors WHERE name <> ''
UNION ALL SELECT 'channel ' || c FROM pg_listening_channels() c
UNION ALL SELECT 'lock ' || objid FROM pg_locks
    WHERE locktype = 'advisory' AND pid = pg_backend_pid()
UNION ALL SELECT 'setting ' || name FROM pg_settings WHERE source = 'session'
UNION ALL SELECT 'table ' || relname FROM pg_class WHERE relpersistence = 't'
"""


@pytest.fixture(params=[True, False], ids=["prepared", "not prepared"])
def database(database_url: str, request: pytest.FixtureRequest) -> Iterator[Database]:
    """Return a database with one connection, with prepared statements and without."""
    settings = Settings(
        database_url=address_of_service(database_url),
        pool_size=1,
        prepared_statements=request.param,
    )
    made = Database.of(settings)
    yield made
    made.close()


def test_a_session_holds_no_state_but_prepared_statements_which_a_setting_disables(
    database: Database, request: pytest.FixtureRequest
) -> None:
    store, game = PostgresStore(database), uuid4()
    for version in range(4):
        store.commit(commit(append(game, b"{}", expected=version, after=store)))
        store.read(game)
        database.fetch("log_published")
    left = {str(name).split(" ")[0] for (name,) in _session_state(database)}
    prepared = request.node.callspec.params["database"]
    assert left == ({"statement"} if prepared else set())


def _session_state(database: Database) -> list[tuple[Any, ...]]:
    with database._connection() as connection:
        return connection.execute(SESSION_STATE.encode(), prepare=False).fetchall()
