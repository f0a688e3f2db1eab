"""Retention deletes in batches, within the time limit of a statement; erasures beside commits."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from uuid import uuid4

import psycopg
import pytest

from service.application.retention import FEW, MANY, Purging, Retention
from service.domain.events import Entropy
from service.store.database import Database
from service.store.directory import Directory
from service.store.events import PlayerErased, SeeksClaim, StreamKind
from service.store.postgres_events import PostgresStore, encode_commit
from service.store.seeks import Seek, SeekConditions
from tests.contract.conftest import address_of_service
from tests.running import wait_for
from tests.streams import FIRST, THEN, append, commit, new_game, new_table, register, table_summary
from tests.worlds.fake_world import BEGIN, SetWorld

DAY = timedelta(days=1)
RETENTION = Retention(answers=DAY, wake_ups=DAY, refusals=DAY, unused_players=DAY)

BACKLOG = (
    """
    INSERT INTO answers (caller, request_key, body_hash, sealed, created_at)
    SELECT gen_random_uuid(), '', '', '', %(at)s FROM generate_series(1, 10001)
    """,
    """
    INSERT INTO refusals (game_id, at, seat, key_id, sealed, arrival)
    SELECT %(game)s, %(at)s, 0, '', '', n FROM generate_series(1, 10001) n
    """,
    """
    INSERT INTO players (player_id, name, recovery_hash, created_at)
    SELECT gen_random_uuid(), 'Ada', sha256(n::text::bytea), %(at)s
    FROM generate_series(1, 1001) n
    """,
)
"""Of each kind, one row more than one call of the purge deletes."""

STEPS = """
    SELECT
        purge_answers(%(now)s), purge_refusals(%(now)s), purge_players(%(now)s, %(now)s)
"""


def test_a_player_who_opens_a_table_during_the_purge_is_not_erased(database_url: str) -> None:
    """The purge waits for the open commit or sees it; either way the player stays."""
    database = Database(database_url, size=2)
    directory = Directory(database)
    ann = register(directory)
    later = THEN + DAY
    summary = table_summary(host=ann)
    opening = encode_commit(commit(append(uuid4(), b"{}", kind=StreamKind.TABLE, summary=summary)))
    with psycopg.connect(database_url) as connection:
        connection.execute("SELECT append_events(%s)", [opening])
        assert directory.purge_players(registered_before=later, at=later) == 0
        connection.commit()
    assert directory.purge_players(registered_before=later, at=later) == 0
    found = directory.player(ann)
    assert found is not None and found.erased_at is None
    database.close()


NUMBER_OF_WAITING = """
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock'
"""


def test_a_player_being_erased_cannot_open_a_table(database_url: str) -> None:
    database = Database(database_url, size=2)
    store, directory = PostgresStore(database), Directory(database)
    ann = register(directory)
    with psycopg.connect(database_url) as connection, ThreadPoolExecutor(1) as other:
        purge = connection.execute(
            "SELECT purge_players(%s, %s)", [THEN + DAY, THEN + DAY]
        ).fetchone()
        assert purge == (1,)
        opening = other.submit(new_table, store, host=ann)
        wait_for(lambda: connection.execute(NUMBER_OF_WAITING).fetchone() == (1,), seconds=60)
        connection.commit()
        with pytest.raises(PlayerErased):
            opening.result()
    database.close()


def test_a_match_with_a_player_who_is_being_erased_waits_and_opens_no_table(
    database_url: str,
) -> None:
    """It takes the players before their seeks, as the erasure does, so neither waits for ever."""
    database = Database(database_url, size=2)
    store, directory = PostgresStore(database), Directory(database)
    wanted = SeekConditions(rulesets=("leeds",), seats=2, clock=None, entropy=Entropy.NONE)
    players = [register(directory, name) for name in ("Ann", "Bob")]
    seeks = [
        Seek(
            id=uuid4(),
            player=player,
            conditions=wanted,
            key=None,
            fill_after=None,
            created_at=THEN,
            expires_at=THEN + DAY,
        )
        for player in players
    ]
    for seek in seeks:
        directory.add_seek(seek)
    claim = SeeksClaim(table=uuid4(), seeks=tuple(seek.id for seek in seeks), at=THEN)
    with psycopg.connect(database_url) as connection, ThreadPoolExecutor(1) as other:
        connection.execute("SELECT FROM players WHERE player_id = %s FOR UPDATE", [players[0]])
        match = other.submit(store.commit, commit(append(uuid4(), FIRST), seeks=claim))
        wait_for(lambda: connection.execute(NUMBER_OF_WAITING).fetchone() == (1,), seconds=60)
        connection.execute("SELECT erase_player(%s, %s)", [players[0], THEN])
        connection.commit()
        with pytest.raises(PlayerErased):
            match.result()
    assert list(directory.open_seeks(now=THEN, limit=9)) == seeks[1:]
    database.close()


def test_the_role_of_the_service_purges_old_rows_only(database_url: str) -> None:
    """A time in the future would delete the rows of today."""
    with psycopg.connect(database_url) as owner:
        for statement in BACKLOG:
            owner.execute(statement, {"at": THEN, "game": uuid4()})
    calls = [
        f"{name}({time}{more})"
        for name, more in (("answers", ""), ("refusals", ""), ("players", ", now()"))
        for time in ("'infinity'", "now() + interval '2 hours'", "NULL")
    ]
    with psycopg.connect(address_of_service(database_url), autocommit=True) as service:
        for call in (*calls, "players(now(), 'infinity')"):
            with pytest.raises(psycopg.DatabaseError) as refused:
                service.execute(f"SELECT purge_{call}".encode())
            assert refused.value.sqlstate == "SH400", call
        assert service.execute("SELECT purge_answers(now())").fetchone() == (10_000,)


def test_old_rows_are_deleted_in_batches_until_none_is_left(database_url: str) -> None:
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
    assert step == (MANY, MANY, FEW)
    purging = Purging(store=store, directory=Directory(database), world=world, retention=RETENTION)
    for purge, batch in (
        (purging.answers, MANY),
        (purging.refusals, MANY),
        (purging.players, FEW),
    ):
        assert [purge(), purge(), purge()] == [batch, 1, 0]
    database.close()
