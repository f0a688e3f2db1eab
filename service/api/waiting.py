"""Long polls and streams: how many may wait at a time, and how they wait."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol
from uuid import UUID

from service.api.places import Places

POLL_SECONDS = 0.25
"""How often those who wait look at the store, where no bell tells them."""


class Listener(Protocol):
    """Hears what has moved."""

    def ticket(self, topic: UUID, /) -> int:
        """Return how far a topic is; what is heard from then on ends a wait with this ticket."""

    def wait(self, topic: UUID, ticket: int, seconds: float, /) -> None:
        """Return when the topic has moved past the ticket, or after a while."""

    def end(self) -> None:
        """Return from all waits, and from those to come at once."""


class Pause:
    """A listener that hears nothing and therefore looks often."""

    def ticket(self, _topic: UUID) -> int:
        """Return nothing in particular."""
        return 0

    def wait(self, _topic: UUID, _ticket: int, seconds: float) -> None:
        """Sleep a little."""
        time.sleep(min(POLL_SECONDS, seconds))

    def end(self) -> None:
        """Do nothing: nobody waits for long."""


class Waiting:
    """
    The places for those who wait; each holds a thread of the server.

    They are fewer than the threads, so that moves are always answered. A place
    holds no connection to the database.
    """

    def __init__(self, places: int, listener: Listener | None = None) -> None:
        self.places = Places(places)
        self._listener: Listener = listener or Pause()
        self._ended = False

    @property
    def ended(self) -> bool:
        """Return whether nobody is to wait any more, since the process is to stop."""
        return self._ended

    def end(self) -> None:
        """Let all who wait go on with what there is."""
        self._ended = True
        self._listener.end()

    def until_past(
        self, topic: UUID, version: Callable[[], int], after: int, seconds: float
    ) -> bool:
        """
        Return whether `version()` came to exceed `after` within so many seconds.

        Returns early where the process is told to stop.
        """
        end = time.monotonic() + seconds
        while True:
            ticket = self._listener.ticket(topic)
            if version() > after:
                return True
            left = end - time.monotonic()
            if left <= 0 or self._ended:
                return False
            self._listener.wait(topic, ticket, left)
