"""Long polls and streams: how many may wait at a time, and how they wait."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol
from uuid import UUID

POLL_SECONDS = 0.25
"""How often those who wait look at the store, where no bell tells them."""


class Listener(Protocol):
    """Hears what has moved."""

    def ticket(self, topic: UUID, /) -> int:
        """Return how far a topic is; what is heard from then on ends a wait with this ticket."""

    def wait(self, topic: UUID, ticket: int, seconds: float, /) -> None:
        """Return when the topic has moved past the ticket, or after a while."""


class Pause:
    """A listener that hears nothing and therefore looks often."""

    def ticket(self, _topic: UUID) -> int:
        """Return nothing in particular."""
        return 0

    def wait(self, _topic: UUID, _ticket: int, seconds: float) -> None:
        """Sleep a little."""
        time.sleep(min(POLL_SECONDS, seconds))


class Waiting:
    """
    The places for those who wait; each holds a thread of the server.

    They are fewer than the threads, so that moves are always answered, and one
    address never has more than half of them. A place holds no connection to the
    database.
    """

    def __init__(self, places: int, listener: Listener | None = None) -> None:
        self._free = max(1, places)
        self._most_of_one = max(1, places // 2)
        self._held = Counter[str]()
        self._lock = threading.Lock()
        self._listener: Listener = listener or Pause()

    @contextmanager
    def place(self, of: str) -> Iterator[bool]:
        """Take a place for an address as long as the block runs; false where there is none."""
        taken = self.take(of)
        try:
            yield taken
        finally:
            if taken:
                self.leave(of)

    def take(self, of: str) -> bool:
        """Take a place for an address; return whether there was one for it."""
        with self._lock:
            if not self._free or self._held[of] >= self._most_of_one:
                return False
            self._free -= 1
            self._held[of] += 1
            return True

    def leave(self, of: str) -> None:
        """Give a place of an address back."""
        with self._lock:
            self._free += 1
            self._held[of] -= 1
            if not self._held[of]:
                del self._held[of]

    def until_past(
        self, topic: UUID, version: Callable[[], int], after: int, seconds: float
    ) -> bool:
        """Return whether `version()` came to exceed `after` within so many seconds."""
        end = time.monotonic() + seconds
        while True:
            ticket = self._listener.ticket(topic)
            if version() > after:
                return True
            left = end - time.monotonic()
            if left <= 0:
                return False
            self._listener.wait(topic, ticket, left)
