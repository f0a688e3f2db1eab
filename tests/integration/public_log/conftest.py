"""An application with people, and the public log of its database."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from service.public_log.log import PublicLog
from service.store.database import Database
from service.store.public_log import PostgresLog
from tests.contract.conftest import address_of_service
from tests.worlds.fake_log import Clock, Reader


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    """Return connections with the service's privileges alone."""
    made = Database(address_of_service(database_url))
    yield made
    made.close()


@pytest.fixture
def store(database: Database) -> PostgresLog:
    """Return the log's rows."""
    return PostgresLog(database)


@pytest.fixture
def reader(store: PostgresLog) -> Reader:
    """Return a reader of the log from outside."""
    return Reader(PublicLog(store))


@pytest.fixture
def clock() -> Clock:
    """Return a clock that a test moves."""
    return Clock()
