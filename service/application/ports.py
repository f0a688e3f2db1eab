"""What the use cases need of the world: the time, chance, and somebody to tell."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from typing import Protocol
from uuid import UUID, uuid4


class World(Protocol):
    """Time and chance; a test gives fixed ones."""

    def now(self) -> datetime:
        """Return the time, in UTC."""

    def random(self, count: int) -> bytes:
        """Return so many bytes that nobody can guess."""

    def identity(self) -> UUID:
        """Return a new random UUID."""


class RealWorld:
    """The operating system's clock and randomness."""

    def now(self) -> datetime:
        """Return the time, in UTC."""
        return datetime.now(UTC)

    def random(self, count: int) -> bytes:
        """Return `count` random bytes."""
        return os.urandom(count)

    def identity(self) -> UUID:
        """Return a new random UUID."""
        return uuid4()


class Bell(Protocol):
    """Tells others, at best effort, what has been committed; it never raises."""

    def moved(self, game: UUID, version: int, *, wake: bool) -> None:
        """Say that a game has reached `version`; with `wake` a worker has something to do."""

    def table_moved(self, table: UUID, version: int) -> None:
        """Say that a table has changed."""

    def wake(self, game: UUID, version: int) -> None:
        """Ask for a job that makes the moves due in a game at `version`."""


class Silence:
    """A bell that nobody hears: the sweeper finds everything later."""

    def moved(self, game: UUID, version: int, *, wake: bool) -> None:
        """Do nothing."""

    def table_moved(self, table: UUID, version: int) -> None:
        """Do nothing."""

    def wake(self, game: UUID, version: int) -> None:
        """Do nothing."""
