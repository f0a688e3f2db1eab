"""Fixtures: a service of several processes, for tests of faults."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from service.application.callers import Player
from service.bootstrap import Services
from tests.databases import Databases
from tests.worlds.fake_world import Court, person


@pytest.fixture
def court(database_url: str) -> Iterator[Court]:
    """Return a service over a new database, with a clock set by the test."""
    made = Court(url=database_url)
    yield made
    made.close()


@pytest.fixture
def second_court(databases: Databases) -> Iterator[Court]:
    """Return another service over a database of its own, in a world like that of the first."""
    url = databases.take()
    made = Court(url=url)
    yield made
    made.close()
    databases.give_back(url)


@pytest.fixture
def services(court: Court) -> Services:
    """Return one process of the service."""
    return court.process()


@pytest.fixture
def ada(services: Services) -> Player:
    """Return a player."""
    return person(services, "Ada")


@pytest.fixture
def bob(services: Services) -> Player:
    """Return another player."""
    return person(services, "Bob")
