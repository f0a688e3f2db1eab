"""Forgetting goes by small steps: no backlog is more than one statement has time for."""

from __future__ import annotations

from datetime import timedelta

import psycopg

from service.application.retention import Purging, Retention
from service.event_store.database import Database
from service.event_store.postgres import PostgresStore
from service.event_store.postgres_directory import PostgresDirectory
from tests.set_world import BEGIN, SetWorld
from tests.streams import new_game

DAY = timedelta(days=1)
KEPT = Retention(answers=DAY, wake_ups=DAY, refusals=DAY, unused_players=DAY)

BACKLOG = (
    """
    INSERT INTO answers (caller, request_key, body_hash, sealed, created_at)
    SELECT gen_random_uuid(), '', '', '', %(at)s FROM generate_series(1, 10001)
    """,
    """
    INSERT INTO refusals (game_id, at, seat, key_id, sealed)
    SELECT %(game)s, %(at)s, 0, '', '' FROM generate_series(1, 10001)
    """,
    """
    INSERT INTO players (player_id, name, token_hash, recovery_hash, created_at)
    SELECT gen_random_uuid(), 'Ada', sha256(n::text::bytea), sha256(n::text::bytea), %(at)s
    FROM generate_series(1, 1001) n
    """,
)
"""Of each kind one more than goes at a time."""

STEPS = """
    SELECT
        purge_answers(%(now)s), purge_refusals(%(now)s), purge_players(%(now)s, %(now)s)
"""


def test_what_is_old_goes_a_part_at_a_time_and_in_the_end_all(database_url: str) -> None:
    database, world = Database(database_url, size=1), SetWorld()
    store = PostgresStore(database)
    game = new_game(store, status="ended", ended_at=BEGIN)
    world.wait(2 * DAY.total_seconds())
    with psycopg.connect(database_url) as connection:
        for statement in BACKLOG:
            connection.execute(statement, {"at": BEGIN - DAY, "game": game})
    with psycopg.connect(database_url) as connection:
        step = connection.execute(STEPS, {"now": world.now()}).fetchone()
        connection.rollback()
    assert step == (10_000, 10_000, 1_000)
    purging = Purging(
        store=store, directory=PostgresDirectory(database), world=world, kept=KEPT
    )
    gone = purging.purge()
    assert (gone["answers"], gone["refusals"], gone["players"]) == (10_001, 10_001, 1_001)
    assert not any(purging.purge().values())
    database.close()
