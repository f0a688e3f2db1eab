"""Ports of the use cases: clock, randomness and notifications."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Protocol
from uuid import UUID, uuid4


class World(Protocol):
    """Clock and randomness; tests pass fixed ones."""

    def now(self) -> datetime:
        """Return the time, in UTC."""

    def random(self, count: int) -> bytes:
        """Return `count` unpredictable bytes."""

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


Doubt = Callable[[], str | None]
"""Returns why the clock is in doubt; None if it is not."""


def no_doubt() -> None:
    """Return None: for services whose clock is not checked, as in tests."""


GameVersion = tuple[UUID, int]
"""A game, and its number of events."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobKind:
    """A kind of background job: its name in Redis, and the queue of the process that runs it."""

    name: str
    queue: str


MAIN_QUEUE: Final = "bots"
"""The queue of turns of bots and other short jobs."""


class Notifier(Protocol):
    """Best-effort notifications after a commit; no method raises."""

    def moved(self, game: UUID, version: int, *, wake: bool, table: UUID | None = None) -> None:
        """
        Notify live readers that a game reached `version`; with `wake` also the workers.

        `table` is the game's table, if the move changed that as well.
        """

    def table_moved(self, table: UUID, version: int) -> None:
        """Notify live readers that a table has changed."""

    def player_changed(self, player: UUID) -> None:
        """Notify the streams of a player that its tokens or invitations have changed."""

    def dispute_moved(self, dispute: UUID) -> None:
        """Notify the streams of the sides and referees that a dispute has changed."""

    def wake(self, game: UUID, version: int, *, searches: bool = False) -> bool:
        """
        Let a worker make the moves due in a game at `version`; `searches` as in Turns.

        Returns false if a worker was woken for it lately, or may be playing it.
        """

    def wake_again(self) -> None:
        """Repeat the wake-up of workers if due games wait and it may have been lost."""

    def enqueue(self, job: JobKind, *arguments: str | int, key: str) -> None:
        """Enqueue a job, once for each key as long as Redis remembers it; it may be lost."""

    def queued(self) -> int | None:
        """Return the number of due games and jobs that wait, without searches; None if unknown."""

    def traces(self, versions: Sequence[GameVersion]) -> Mapping[GameVersion, str]:
        """Return the contexts of the traces that published these versions, as far as known."""


class NoNotifier:
    """Sends no notifications: the sweeper finds everything later."""

    def moved(self, game: UUID, version: int, *, wake: bool, table: UUID | None = None) -> None:
        """Do nothing."""

    def table_moved(self, table: UUID, version: int) -> None:
        """Do nothing."""

    def player_changed(self, player: UUID) -> None:
        """Do nothing."""

    def dispute_moved(self, dispute: UUID) -> None:
        """Do nothing."""

    def wake(self, game: UUID, version: int, *, searches: bool = False) -> bool:
        """Return true, without doing anything."""
        del game, version, searches
        return True

    def wake_again(self) -> None:
        """Do nothing."""

    def enqueue(self, job: JobKind, *arguments: str | int, key: str) -> None:
        """Do nothing."""

    def queued(self) -> int | None:
        """Return None."""
        return None

    def traces(self, versions: Sequence[GameVersion]) -> Mapping[GameVersion, str]:
        """Return nothing."""
        del versions
        return {}
