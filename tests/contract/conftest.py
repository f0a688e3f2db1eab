"""The store and its directory, for the tests of what they promise."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import psycopg
import pytest

from service.store.database import Database
from service.store.directory import Directory
from service.store.events import EventStore
from service.store.migrate import service_url, set_password
from service.store.postgres_events import PostgresStore


@dataclass(frozen=True, slots=True, kw_only=True)
class Stores:
    """A store and the directory over the same data."""

    store: EventStore
    directory: Directory


@pytest.fixture
def stores(database_url: str) -> Iterator[Stores]:
    """Return an empty store and its directory, with the service's rights only."""
    database = Database(address_of_service(database_url))
    yield Stores(store=PostgresStore(database), directory=Directory(database))
    database.close()


@pytest.fixture
def store(stores: Stores) -> EventStore:
    """Return the store alone."""
    return stores.store


@pytest.fixture
def directory(stores: Stores) -> Directory:
    """Return the directory alone."""
    return stores.directory


def address_of_service(owner_url: str) -> str:
    """Return the address for the service, with a password if the server requires one."""
    address = service_url(owner_url)
    try:
        psycopg.connect(address).close()
    except psycopg.OperationalError:
        set_password(owner_url, "only for tests")
        address = service_url(owner_url, password="only for tests")
    return address
