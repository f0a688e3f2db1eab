"""The number of outbox rows that are claimed does not depend on the plan of the query."""

from __future__ import annotations

from uuid import uuid4

import psycopg
import pytest

from service.store.database import Database
from service.store.events import OutboxRow
from service.store.postgres_events import PostgresStore
from tests.streams import append, commit

PLANS = ("hashjoin", "mergejoin", "nestloop")


@pytest.mark.parametrize("only", PLANS)
def test_no_more_rows_are_claimed_than_wanted(database_url: str, only: str) -> None:
    """With statistics of a single row the planner may choose a nested loop for `DELETE … USING`.

    Without MATERIALIZED the inner side would claim other rows in each iteration.
    """
    database = Database(database_url, size=1)
    store = PostgresStore(database)
    with psycopg.connect(database_url, autocommit=True) as owner:
        for _ in range(5):
            row = OutboxRow(stream=uuid4(), version=1, topic="game")
            store.commit(commit(append(row.stream, b"a"), outbox=(row,)))
            if _count(owner, "SELECT count(*) FROM outbox") == 1:
                owner.execute("ANALYZE outbox")
        for plan in PLANS:
            owner.execute(f"SET enable_{plan} = {'on' if plan == only else 'off'}".encode())
        owner.execute("SET enable_indexscan = off")
        owner.execute("SET enable_bitmapscan = off")
        claimed = "SELECT count(*) FROM claim_outbox('game', 2, now() + interval '1 day')"
        assert [_count(owner, claimed) for _ in range(4)] == [2, 2, 1, 0]
    database.close()


def _count(owner: psycopg.Connection, statement: str) -> int:
    row = owner.execute(statement.encode()).fetchone()
    assert row is not None
    return int(row[0])
