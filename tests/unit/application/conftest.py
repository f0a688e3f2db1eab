"""Fixtures: the use cases over one store, as several processes with a test clock."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from service.application.calls import RegisteredPlayer
from service.bootstrap import Services
from service.store.database import Database
from service.store.directory import Directory
from service.store.events import Commit
from service.store.postgres_events import PostgresStore
from tests.worlds.fake_world import SetWorld, Wakes, person, services_over


class ConcurrentStore(PostgresStore):
    """A store with concurrent writers: before each commit the next of `rivals` runs."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.rivals: list[Callable[[], object]] = []
        self.commits = 0

    def commit(self, commit: Commit) -> None:
        """Run the next rival, if there is one, and then commit."""
        if self.rivals:
            self.rivals.pop(0)()
        self.commits += 1
        super().commit(commit)


@dataclass(kw_only=True)
class SharedStore:
    """A database with one store, and the processes that share it."""

    url: str
    world: SetWorld = field(default_factory=SetWorld)
    notifier: Wakes = field(default_factory=Wakes)
    database: Database = field(init=False)
    store: ConcurrentStore = field(init=False)
    directory: Directory = field(init=False)

    def __post_init__(self) -> None:
        self.database = Database(self.url, size=2)
        self.store, self.directory = ConcurrentStore(self.database), Directory(self.database)

    def process(self, **parts: Any) -> Services:
        """Return the services of one more process, with other `parts` than usual."""
        usual = {"store": self.store, "directory": self.directory}
        usual |= {"world": self.world, "notifier": self.notifier}
        return services_over(self.database, **usual | parts)


@pytest.fixture
def deployment(database_url: str) -> Iterator[SharedStore]:
    """Return a new deployment."""
    made = SharedStore(url=database_url)
    yield made
    made.database.close()


@pytest.fixture
def services(deployment: SharedStore) -> Services:
    """Return the services of one process."""
    return deployment.process()


@pytest.fixture
def ada(services: Services) -> RegisteredPlayer:
    """Return a player."""
    return person(services, "Ada")


@pytest.fixture
def bob(services: Services) -> RegisteredPlayer:
    """Return another player."""
    return person(services, "Bob")
