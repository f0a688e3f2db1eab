"""Fixtures: the use cases over a store in memory, as several processes with a test clock."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from service.application.calls import RegisteredPlayer
from service.bootstrap import Services
from service.keys import Keyring
from service.runtime.receivers import Receivers
from service.store.events import Commit
from tests.memory.directory import MemoryDirectory
from tests.memory.events import MemoryStore
from tests.memory.public_log import MemoryLog
from tests.worlds.fake_world import KEYS, SetWorld, Wakes, person


class ConcurrentStore(MemoryStore):
    """A store with concurrent writers: before each commit the next of `rivals` runs."""

    def __init__(self) -> None:
        super().__init__()
        self.rivals: list[Callable[[], object]] = []
        self.commits = 0

    def commit(self, commit: Commit) -> None:
        """Run the next rival, if there is one, and then commit."""
        if self.rivals:
            self.rivals.pop(0)()
        self.commits += 1
        super().commit(commit)


@dataclass(kw_only=True)
class MemoryDeployment:
    """A store in memory with its directory, and the processes that share it."""

    store: ConcurrentStore = field(default_factory=ConcurrentStore)
    world: SetWorld = field(default_factory=SetWorld)
    notifier: Wakes = field(default_factory=Wakes)
    directory: MemoryDirectory = field(init=False)

    def __post_init__(self) -> None:
        self.directory = MemoryDirectory(self.store)

    def process(self, *, receivers: Receivers | None = None, keyring: Keyring = KEYS) -> Services:
        """Return the services of one more process."""
        return Services(
            log_store=MemoryLog(),
            store=self.store,
            directory=self.directory,
            keyring=keyring,
            origin="tests.example",
            world=self.world,
            notifier=self.notifier,
            receivers=receivers or Receivers(),
        )


@pytest.fixture
def deployment() -> MemoryDeployment:
    """Return a new deployment."""
    return MemoryDeployment()


@pytest.fixture
def services(deployment: MemoryDeployment) -> Services:
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
