"""Fixtures: a service of several processes, for tests of faults."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from service.application.calls import RegisteredPlayer
from service.bootstrap import Services
from tests.databases import Databases
from tests.servers import DatabaseServer
from tests.worlds.fake_world import Deployment, person


@pytest.fixture
def deployment(database_url: str) -> Iterator[Deployment]:
    """Return a service over a new database, with a clock set by the test."""
    made = Deployment(url=database_url)
    yield made
    made.close()


@pytest.fixture
def second_deployment(databases: Databases) -> Iterator[Deployment]:
    """Return a second service over its own database, with the same clock and random values."""
    url = databases.take()
    made = Deployment(url=url)
    yield made
    made.close()
    databases.give_back(url)


@pytest.fixture
def services(deployment: Deployment) -> Services:
    """Return one process of the service."""
    return deployment.process()


@pytest.fixture
def ada(services: Services) -> RegisteredPlayer:
    """Return a player."""
    return person(services, "Ada")


@pytest.fixture
def bob(services: Services) -> RegisteredPlayer:
    """Return another player."""
    return person(services, "Bob")


@pytest.fixture
def own_url(database_server: DatabaseServer, migrated_template: str) -> Iterator[str]:
    """Return the address of a database that the test may damage; its probes wait 50 ms at most."""
    url = database_server.create(template=migrated_template)
    with psycopg.connect(url, autocommit=True) as owner:
        owner.execute("ALTER FUNCTION probe_write SET lock_timeout = '50ms'")
    yield url
    database_server.drop(url)
