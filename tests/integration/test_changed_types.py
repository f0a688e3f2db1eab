"""A migration that changes the type of a returned column, while connections are in use."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing

import psycopg
import pytest

from service.store.database import Database

SIZE = 4


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    """Return a database whose connections have all prepared two queries."""
    with closing(Database(database_url, size=SIZE)) as made:
        with ExitStack() as held:
            for _ in range(SIZE):
                connection = held.enter_context(made._connection())
                for _ in range(3):
                    connection.rows(READ, ())
                    connection.rows(WRITE, ())
        yield made


READ = b"SELECT status FROM games LIMIT 1"
WRITE = b"UPDATE availability SET seen_at = seen_at RETURNING seen_at"


@pytest.mark.parametrize(
    ("statement", "change"),
    [
        (READ, "ALTER TABLE games ALTER COLUMN status TYPE varchar(60)"),
        (WRITE, "ALTER TABLE availability ALTER COLUMN seen_at TYPE timestamp"),
    ],
)
def test_calls_go_on_after_a_returned_column_changed_its_type(
    database: Database,
    database_url: str,
    monkeypatch: pytest.MonkeyPatch,
    statement: bytes,
    change: str,
) -> None:
    """Each of them was answered with 500 until its connection was renewed."""
    with psycopg.connect(database_url) as owner:
        owner.execute("DROP VIEW IF EXISTS game_rows CASCADE")
        owner.execute("ALTER TABLE games DROP CONSTRAINT games_status_known")
        owner.execute(change.encode())
    monkeypatch.setattr("service.store.database.query", lambda _name: statement)
    with ThreadPoolExecutor(2 * SIZE) as calls:
        for answer in [calls.submit(database.change, "any") for _ in range(8 * SIZE)]:
            assert answer.result() is not None
