"""Calls of the operator's tool are committed together or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID, uuid4

import psycopg
import pytest

from service.store.directory import Directory
from service.store.events import StoreError, StoreUnavailable, StreamConflict
from service.store.operator import OwnerDatabase
from service.store.postgres_events import PostgresStore
from tests.streams import append, commit, lines_of, register


@pytest.fixture
def owner_db(database_url: str) -> Iterator[OwnerDatabase]:
    """Return the operator's connection."""
    database = OwnerDatabase(database_url)
    yield database
    database.close()


@pytest.fixture
def store(owner_db: OwnerDatabase) -> PostgresStore:
    """Return a store over that connection."""
    return PostgresStore(owner_db)


@pytest.fixture
def directory(owner_db: OwnerDatabase) -> Directory:
    """Return a directory over that connection."""
    return Directory(owner_db)


def seen(database_url: str, stream: UUID) -> bool:
    """Return whether others see a stream."""
    with psycopg.connect(database_url) as other:
        found = other.execute("SELECT FROM streams WHERE stream_id = %s", (stream,)).fetchone()
    return found is not None


def test_calls_within_a_block_are_visible_to_others_after_its_end(
    database_url: str,
    owner_db: OwnerDatabase,
    store: PostgresStore,
    directory: Directory,
) -> None:
    stream = uuid4()
    with owner_db.transaction():
        store.commit(commit(append(stream, b"a")))
        register(directory)
        assert not seen(database_url, stream)
    assert seen(database_url, stream)


def test_a_block_that_raises_is_rolled_back(
    database_url: str, owner_db: OwnerDatabase, store: PostgresStore
) -> None:
    stream = uuid4()
    with pytest.raises(ZeroDivisionError), owner_db.transaction():
        store.commit(commit(append(stream, b"a")))
        raise ZeroDivisionError
    assert not seen(database_url, stream)


def test_an_inner_block_is_rolled_back_alone(
    database_url: str, owner_db: OwnerDatabase, store: PostgresStore
) -> None:
    inner, outer = uuid4(), uuid4()
    with owner_db.transaction():
        with pytest.raises(ZeroDivisionError), owner_db.transaction():
            store.commit(commit(append(inner, b"a")))
            raise ZeroDivisionError
        store.commit(commit(append(outer, b"a")))
    assert (seen(database_url, inner), seen(database_url, outer)) == (False, True)


def test_a_block_continues_after_a_refused_statement(
    database_url: str,
    owner_db: OwnerDatabase,
    store: PostgresStore,
    directory: Directory,
) -> None:
    """So a conflict can be decided again, as outside of a block."""
    stream, ann = uuid4(), register(directory)
    with owner_db.transaction():
        store.commit(commit(append(stream, b"a")))
        with pytest.raises(StreamConflict):
            store.commit(commit(append(stream, b"b", expected=3, after=store)))
        with pytest.raises(StoreError):
            directory.create_player(
                player=ann,
                name="Ann",
                token_hash=b"x",
                recovery_hash=b"y",
                at=None,  # type: ignore[arg-type] # refused
            )
        store.commit(commit(append(stream, b"b", expected=1, after=store)))
    assert lines_of(store, stream) == (b"a", b"b")


def test_a_block_on_a_broken_connection_is_not_committed(
    database_url: str, owner_db: OwnerDatabase, store: PostgresStore
) -> None:
    stream = uuid4()
    with pytest.raises(StoreUnavailable), owner_db.transaction():
        store.commit(commit(append(stream, b"a")))
        with psycopg.connect(database_url) as other:
            other.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE application_name = 'shithead admin' AND datname = current_database()"
            )
    assert not seen(database_url, stream)
