"""A database that a test gives back equals the template, or is dropped."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from service.store.database import Database
from tests.databases import Databases
from tests.servers import DatabaseServer
from tests.warm_pools import WARM_POOLS
from tests.worlds.api_world import make_world

EMPTY = ("players", "tables", "games", "events", "streams", "secrets", "outbox")


@pytest.fixture
def own(database_server: DatabaseServer, migrated_template: str) -> Iterator[Databases]:
    """Return databases of this test alone."""
    made = Databases(server=database_server, template=migrated_template)
    yield made
    made.drop_all()


def test_a_reused_database_has_no_rows_of_the_previous_test(own: Databases) -> None:
    """Append-only tables are emptied as well, and their triggers are on again afterwards."""
    url = own.take()
    world = make_world(url)
    world.person("Ada").table()
    world.services.close()
    with psycopg.connect(url) as owner:
        assert all(owner.execute(f"SELECT 1 FROM {table}".encode()).fetchone() for table in EMPTY)
        owner.execute("DELETE FROM applied_files")
        owner.execute("ALTER TABLE streams DISABLE TRIGGER ALL")
    own.give_back(url)

    assert own.take() == url
    with psycopg.connect(url) as owner:
        assert not any(
            owner.execute(f"SELECT 1 FROM {table}".encode()).fetchone() for table in EMPTY
        )
        assert owner.execute("SELECT 1 FROM applied_files").fetchone()
    world = make_world(url)
    world.person("Ada").table()
    world.services.close()
    with psycopg.connect(url) as owner, pytest.raises(psycopg.DatabaseError, match="append-only"):
        owner.execute("DELETE FROM streams")
    own.give_back(url)
    assert own.take() == url


@pytest.mark.parametrize(
    "change",
    [
        "DROP TRIGGER events_never_change ON events",
        "CREATE TABLE more (one integer)",
        "ALTER FUNCTION refuse_change() SECURITY DEFINER",
    ],
)
def test_a_database_with_another_schema_is_dropped(own: Databases, change: str) -> None:
    url = own.take()
    with psycopg.connect(url) as owner:
        owner.execute(change.encode())
    own.give_back(url)
    assert own.take() != url


def test_a_database_with_an_open_connection_is_dropped(
    own: Databases, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A leftover process of one test must not write into the database of the next."""
    monkeypatch.setattr("tests.databases._EXIT_SECONDS", 0.1)
    url = own.take()
    with psycopg.connect(url) as left:
        own.give_back(url)
        with pytest.raises(psycopg.OperationalError):
            left.execute("SELECT 1")
    assert own.take() != url


def test_an_application_goes_on_with_the_connections_of_the_previous_one(own: Databases) -> None:
    url = own.take()
    make_world(url).services.close()
    assert WARM_POOLS.sessions(url) == []  # it opened none
    kept = []
    for _ in range(2):
        world = make_world(url)
        world.person("Ada")
        world.services.close()
        kept.append(sorted(WARM_POOLS.sessions(url)))
        own.give_back(url)
        assert own.take() == url
    assert kept[0]
    assert kept[0] == kept[1]

    with psycopg.connect(url) as owner:
        owner.execute("CREATE TABLE more (one integer)")
    own.give_back(url)
    assert WARM_POOLS.sessions(url) == []  # closed before the database was dropped


def test_connections_in_use_are_not_kept(own: Databases) -> None:
    url = own.take()
    database = Database(url)
    with database._connection():
        database.close()
    assert WARM_POOLS.sessions(url) == []
    own.give_back(url)
