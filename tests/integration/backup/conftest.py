"""Fixtures: a service with a running game, a finished game and a public log, to be backed up."""

from __future__ import annotations

from collections.abc import Iterator
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
from tests.worlds.fake_log import sequencer_of
from tests.worlds.fake_world import Deployment, open_game, person, play_out, post

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


@dataclass(frozen=True, kw_only=True)
class StoredGames:
    """A database with a running game, a finished one, and a public log of both."""

    url: str
    deployment: Deployment
    services: Services
    running: UUID
    log: PostgresLog

    def play_another(self) -> UUID:
        """Play one more game to its end, and add it to the public log."""
        game = open_game(
            self.services, person(self.services), ({"bot": "lowest"}, {"bot": "greedy"})
        )
        play_out(self.services, game)
        sequencer_of(self.log).run_once()
        return game

    def checkpoint(self) -> bytes:
        """Return the newest published checkpoint of the log."""
        found = PublicLog(self.log).checkpoint()
        assert found is not None
        return found


@pytest.fixture
def stored_games(database_url: str) -> Iterator[StoredGames]:
    """Return a database with games and a public log."""
    deployment = Deployment(url=database_url)
    services, database = deployment.process(), Database(database_url, size=2)
    log = PostgresLog(database)
    ada = person(services, "Ada \\ \t of\nLeeds")
    running = open_game(services, ada, ("me", {"bot": "lowest"}), window_seconds=0)
    post(services, ada, running, {"type": "ready"})
    made = StoredGames(
        url=database_url, deployment=deployment, services=services, running=running, log=log
    )
    made.play_another()
    yield made
    database.close()
    deployment.close()


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
