"""Fixtures: a service with a running game, a finished game and a public log, to be backed up."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import pytest

from service.backup.backup import Manifest, back_up
from service.bootstrap import Services
from service.public_log.log import PublicLog
from service.store.database import Database
from service.store.public_log import PostgresLog
from tests.databases import Contents, Databases
from tests.worlds.fake_log import sequencer_of
from tests.worlds.fake_world import Deployment, SetWorld, open_game, person, play_out, post

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


@dataclass(frozen=True, kw_only=True)
class StoredGames:
    """A database with a running game, a finished one, and a public log of both."""

    url: str
    deployment: Deployment
    services: Services
    running: UUID
    finished: UUID
    log: PostgresLog

    def play_another(self) -> UUID:
        """Play one more game to its end, and add it to the public log."""
        return _play_another(self.services, self.log)

    def checkpoint(self) -> bytes:
        """Return the newest published checkpoint of the log."""
        found = PublicLog(self.log).checkpoint()
        assert found is not None
        return found


@dataclass(frozen=True, kw_only=True)
class _Played:
    """The stored games as rows, with their ids and the state of the world."""

    contents: Contents
    world: SetWorld
    running: UUID
    finished: UUID


@pytest.fixture(scope="session")
def _played(databases: Databases) -> _Played:
    """Play the stored games once; each test gets a copy of their rows."""
    url = databases.take()
    deployment = Deployment(url=url)
    services, database = deployment.process(), Database(url, size=2)
    ada = person(services, "Ada \\ \t of\nLeeds")
    running = open_game(services, ada, ("me", {"bot": "lowest"}), window_seconds=0)
    post(services, ada, running, {"type": "ready"})
    finished = _play_another(services, PostgresLog(database))
    database.close()
    deployment.close()
    contents = databases.contents(url)
    databases.give_back(url)
    return _Played(contents=contents, world=deployment.world, running=running, finished=finished)


@pytest.fixture
def stored_games(
    database_url: str, databases: Databases, _played: _Played
) -> Iterator[StoredGames]:
    """Return a database with games and a public log."""
    databases.fill(database_url, _played.contents)
    deployment = Deployment(url=database_url, world=deepcopy(_played.world))
    database = Database(database_url, size=2)
    yield StoredGames(
        url=database_url,
        deployment=deployment,
        services=deployment.process(),
        running=_played.running,
        finished=_played.finished,
        log=PostgresLog(database),
    )
    database.close()
    deployment.close()


def _play_another(services: Services, log: PostgresLog) -> UUID:
    """Play a game to its end, and add it to the public log."""
    game = open_game(services, person(services), ({"bot": "lowest"}, {"bot": "greedy"}))
    play_out(services, game)
    sequencer_of(log).run_once()
    return game


def backed_up(stored_games: StoredGames, folder: Path, name: str = "one") -> tuple[Path, Manifest]:
    """Take a backup, and return its file and manifest."""
    path = folder / f"{name}.backup"
    return path, back_up(stored_games.url, path, now=NOW)


@pytest.fixture
def database(stored_games: StoredGames) -> Iterator[Database]:
    """Return connections for the check."""
    made = Database(stored_games.url, size=2)
    yield made
    made.close()
