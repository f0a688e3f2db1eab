"""Fixtures: a database connection, and the public log in that database."""

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
    """Return connections with the privileges of the service's role."""
    made = Database(address_of_service(database_url))
    yield made
    made.close()


@pytest.fixture
def store(database: Database) -> PostgresLog:
    """Return the storage of the public log."""
    return PostgresLog(database)


@pytest.fixture
def reader(store: PostgresLog) -> Reader:
    """Return a client that reads the published log."""
    return Reader(PublicLog(store))


@pytest.fixture
def clock() -> Clock:
    """Return a clock that is set by the test."""
    return Clock()
