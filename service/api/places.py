"""Places for what is dear: so many at a time in one process, and half of them for one address."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager


class Places:
    """
    So many places; whoever finds none is told at once, and never kept waiting for one.

    One address never has more than half of them, so that nobody alone takes all.
    """

    def __init__(self, places: int) -> None:
        self._free = max(1, places)
        self._most_of_one = max(1, places // 2)
        self._held = Counter[str]()
        self._lock = threading.Lock()

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
