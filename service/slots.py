"""Non-blocking semaphores with a limit for each address, for waits and expensive work."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager


class Slots:
    """
    A semaphore that never blocks: `acquire` returns false at once if no slot is free.

    One address can hold at most `per_address` slots, by default half of them, so that a single
    client cannot occupy all. `name` is the purpose of the slots, and `size` their number.
    Instead of an address another key may be used, such as a player.
    """

    def __init__(self, name: str, slots: int, *, per_address: int | None = None) -> None:
        self.name = name
        self.size = max(1, slots)
        self._free = self.size
        self.per_address = max(1, slots // 2 if per_address is None else per_address)
        self._held = Counter[str]()
        self._lock = threading.Lock()

    @contextmanager
    def slot(self, address: str) -> Iterator[bool]:
        """Hold a slot for an address while the block runs; yields false if none is free."""
        acquired = self.acquire(address)
        try:
            yield acquired
        finally:
            if acquired:
                self.release(address)

    def acquire(self, address: str) -> bool:
        """Take a slot for an address; return whether one was free for it."""
        with self._lock:
            if not self._free or self._held[address] >= self.per_address:
                return False
            self._free -= 1
            self._held[address] += 1
            return True

    def held(self, address: str) -> int:
        """Return the number of slots that an address holds."""
        with self._lock:
            return self._held[address]

    def release(self, address: str) -> None:
        """Release a slot of an address."""
        with self._lock:
            self._free += 1
            self._held[address] -= 1
            if not self._held[address]:
                del self._held[address]
