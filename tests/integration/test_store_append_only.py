"""The log is append-only, even for the owner; only archiving deletes a sealed game."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from service.store.database import Database
from service.store.events import OutboxRow, StreamArchived, StreamConflict
from service.store.postgres_events import PostgresStore
from tests.streams import append, commit, head_of

REFUSED = "SH403"
SEAL = b'{"data":{},"type":"game_sealed"}'
Connection = psycopg.Connection[tuple[Any, ...]]


@pytest.fixture
def store(database_url: str) -> Iterator[PostgresStore]:
    """Return a store whose connections are the owner's."""
    database = Database(database_url)
    yield PostgresStore(database)
    database.close()


@pytest.fixture
def owner(database_url: str) -> Iterator[Connection]:
    """Return a connection of the owner."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def replica(owner: Connection) -> Connection:
    """Return a connection on which ordinary triggers do not fire."""
    owner.execute("SET session_replication_role = replica")
    return owner


@pytest.fixture
def game(store: PostgresStore) -> UUID:
    """Return a sealed game of two events."""
    stream = uuid4()
    store.commit(commit(append(stream, b'{"type":"game_created"}', SEAL)))
    return stream


CHANGES = [
    "UPDATE events SET line = 'x'",
    "UPDATE events SET seq = seq + 10",
    "DELETE FROM events",
    "TRUNCATE events",
    "TRUNCATE streams, events CASCADE",
    "DELETE FROM streams",
    "TRUNCATE streams",
    "UPDATE streams SET version = version - 1",
    "UPDATE streams SET head = sha256('')",
    "UPDATE streams SET stream_id = gen_random_uuid(), version = version + 1",
    "UPDATE streams SET kind = 'access', version = version + 1",
    "UPDATE archived SET bundle = sha256('')",
    "DELETE FROM archived",
    "TRUNCATE archived",
    "UPDATE readings SET what = ''",
    "DELETE FROM readings",
    "TRUNCATE readings",
    "UPDATE trail SET outcome = 'done'",
    "DELETE FROM trail",
    "TRUNCATE trail",
]


def refused_all(connection: Connection) -> None:
    """Check that each change is refused with the error of append-only tables."""
    for change in CHANGES:
        with pytest.raises(psycopg.Error) as refused:
            connection.execute(change.encode())
        assert refused.value.sqlstate == REFUSED, change


def test_the_owner_cannot_change_stored_events(
    owner: Connection, store: PostgresStore, game: UUID
) -> None:
    before = store.read(game)
    refused_all(owner)
    assert store.read(game) == before


def test_disabling_ordinary_triggers_does_not_permit_changes(
    replica: Connection, store: PostgresStore, game: UUID
) -> None:
    before = store.read(game)
    refused_all(replica)
    assert store.read(game) == before


def archive(owner: Connection, stream: UUID) -> int:
    """Archive a stream like the owner's tool; return the number of deleted events."""
    row = owner.execute("SELECT archive_stream(%s, sha256('bundle'))", (stream,)).fetchone()
    assert row is not None
    return int(row[0])


def test_archiving_a_sealed_game_deletes_its_events_and_retains_its_head(
    owner: Connection, store: PostgresStore, game: UUID
) -> None:
    other = uuid4()
    store.commit(commit(append(other, SEAL)))
    assert archive(owner, game) == 2
    with pytest.raises(StreamArchived):
        store.read(game)
    archived = owner.execute("SELECT stream_id, version, head FROM archived").fetchall()
    assert archived == [(game, 2, head_of(SEAL))]
    found = store.read(other)
    assert found is not None and found.events == (SEAL,)
    with pytest.raises(StreamConflict):
        store.commit(commit(append(game, b"again")))


@pytest.mark.parametrize("topic", ["log", "statistics", "game"])
def test_a_game_with_unpublished_events_cannot_be_archived(
    owner: Connection, store: PostgresStore, topic: str
) -> None:
    """The public log and the statistics still need its events in the database."""
    game = uuid4()
    row = OutboxRow(stream=game, version=1, topic=topic)
    store.commit(commit(append(game, SEAL), outbox=(row,)))
    with pytest.raises(psycopg.Error) as refused:
        archive(owner, game)
    assert refused.value.sqlstate == "SH425"
    found = store.read(game)
    assert found is not None and found.events == (SEAL,)


@pytest.mark.parametrize("last", [b'{"type":"cards_played"}', b"{}"])
def test_a_game_without_a_seal_cannot_be_archived(
    owner: Connection, store: PostgresStore, last: bytes
) -> None:
    game = uuid4()
    store.commit(commit(append(game, b"{}", last)))
    with pytest.raises(psycopg.Error) as refused:
        archive(owner, game)
    assert refused.value.sqlstate == REFUSED
    found = store.read(game)
    assert found is not None and found.version == 2


@pytest.mark.parametrize(
    ("version", "head"), [(1, head_of(SEAL)), (2, head_of(b"other")), (3, head_of(SEAL))]
)
def test_a_game_cannot_be_archived_under_a_false_head(
    replica: Connection, game: UUID, version: int, head: bytes
) -> None:
    with pytest.raises(psycopg.Error) as refused:
        replica.execute(
            "INSERT INTO archived (stream_id, version, head, bundle) VALUES (%s, %s, %s, %s)",
            (game, version, head, bytes(32)),
        )
    assert refused.value.sqlstate == REFUSED


def test_no_sequence_or_foreign_key_connects_streams(owner: Connection) -> None:
    """Readers ordered by a sequence would miss rows that are committed late with a low number."""
    found = owner.execute(
        "SELECT relname FROM pg_class WHERE relkind = 'S'"
        " UNION ALL SELECT conname FROM pg_constraint WHERE contype = 'f'"
        "   AND connamespace = 'public'::regnamespace"
    ).fetchall()
    assert not found


def test_the_log_can_be_read_as_json(owner: Connection, game: UUID) -> None:
    rows = owner.execute("SELECT event ->> 'type' FROM event_log ORDER BY seq").fetchall()
    assert rows == [("game_created",), ("game_sealed",)]
