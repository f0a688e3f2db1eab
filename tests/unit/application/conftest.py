"""Fixtures: the use cases over a store in memory, as several processes with a test clock."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from service.application.callers import Player
from service.bootstrap import Services, compose
from service.store.events import Commit
from tests.memory.directory import MemoryDirectory
from tests.memory.events import MemoryStore
from tests.memory.public_log import MemoryLog
from tests.worlds.fake_world import KEYS, SetWorld, Wakes, person


class Rivals(MemoryStore):
    """A store with concurrent writers: each function in `first` runs once, before a commit."""

    def __init__(self) -> None:
        super().__init__()
        self.first: list[Callable[[], object]] = []
        self.commits = 0

    def commit(self, commit: Commit) -> None:
        """Run the next rival, if there is one, and then commit."""
        if self.first:
            self.first.pop(0)()
        self.commits += 1
        super().commit(commit)


@dataclass(kw_only=True)
class House:
    """One store with its directory, and the processes that share it."""

    store: Rivals = field(default_factory=Rivals)
    world: SetWorld = field(default_factory=SetWorld)
    notifier: Wakes = field(default_factory=Wakes)
    directory: MemoryDirectory = field(init=False)

    def __post_init__(self) -> None:
        self.directory = MemoryDirectory(self.store)

    def process(self) -> Services:
        """Return the services of one more process."""
        return compose(
            log_store=MemoryLog(),
            store=self.store,
            directory=self.directory,
            keyring=KEYS,
            origin="tests.example",
            world=self.world,
            notifier=self.notifier,
        )


@pytest.fixture
def house() -> House:
    """Return a new house."""
    return House()


@pytest.fixture
def services(house: House) -> Services:
    """Return the services of one process."""
    return house.process()


@pytest.fixture
def ada(services: Services) -> Player:
    """Return a player."""
    return person(services, "Ada")


@pytest.fixture
def bob(services: Services) -> Player:
    """Return another player."""
    return person(services, "Bob")
