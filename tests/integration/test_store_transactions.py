"""Calls of the operator's tool are committed together or not at all."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from uuid import UUID, uuid4

import psycopg
import pytest

from service.store.database import Database
from service.store.directory import Directory
from service.store.events import StoreError, StoreUnavailable, StreamConflict, StreamKind
from service.store.operator import OwnerDatabase
from service.store.postgres_events import PostgresStore
from tests.streams import (
    THEN,
    append,
    bot,
    commit,
    lines_of,
    new_table,
    person,
    register,
    table_summary,
)


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


@pytest.mark.parametrize("is_closed", [True, False])
def test_an_invitation_waits_for_the_end_of_its_table_or_for_a_seat_of_its_player(
    database_url: str,
    owner_db: OwnerDatabase,
    store: PostgresStore,
    directory: Directory,
    is_closed: bool,
) -> None:
    """Otherwise it would stay, and count for its host, because both end invitations only once."""
    ann, bob = register(directory, "Ann"), register(directory, "Bob")
    table = new_table(store, host=ann)
    seats = [bot(0) if is_closed else person(0, bob), bot(1)]
    end = table_summary(host=ann, status="closed" if is_closed else "between", seats=seats)
    beside = Database(database_url)
    inviting = threading.Thread(
        target=lambda: Directory(beside).keep_invitation(table, bob, at=THEN, most=1)
    )
    try:
        with owner_db.transaction():
            kind = StreamKind.TABLE
            store.commit(
                commit(append(table, b"b", expected=1, after=store, kind=kind, summary=end))
            )
            inviting.start()
            inviting.join(0.5)
        inviting.join(10)
        assert not inviting.is_alive()
        assert not directory.invitations_to(table)
    finally:
        beside.close()
