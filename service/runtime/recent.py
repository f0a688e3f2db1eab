"""A bounded cache of immutable values, shared by threads."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class Recent(Generic[Key, Value]):
    """
    The values used last, by key; the least recently used are removed first.

    `most` bounds the sum of the weights of all values, where each weighs 1 unless `weigh` says
    otherwise; the newest value is retained at any weight. With `unused_seconds` of `clock` a value
    that was not used for this time is removed as well, at the next `keep`.

    >>> cache = Recent[str, int](2)
    >>> for key, value in (("a", 1), ("b", 2), ("c", 3)):
    ...     cache.keep(key, value)
    >>> cache.get("a"), cache.get("c")
    (None, 3)
    """

    def __init__(
        self,
        most: int,
        *,
        weigh: Callable[[Value], int] | None = None,
        unused_seconds: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._most = most
        self._weigh = weigh
        self._unused_seconds = unused_seconds
        self._clock = clock
        self._weight = 0
        self._kept: OrderedDict[Key, tuple[Value, float]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Key) -> Value | None:
        """Return the value of a key, None if there is none; this counts as a use."""
        with self._lock:
            found = self._kept.get(key)
            if found is None:
                return None
            self._use(key, found[0])
        return found[0]

    def several(self, keys: Iterable[Key]) -> list[Value | None]:
        """Return the values of some keys, as `get` does, with the lock taken once."""
        values: list[Value | None] = []
        with self._lock:
            for key in keys:
                found = self._kept.get(key)
                if found is not None:
                    self._use(key, found[0])
                values.append(None if found is None else found[0])
        return values

    def keep(
        self, key: Key, value: Value, *, unless: Callable[[Value], bool] | None = None
    ) -> None:
        """Cache a value in place of the one before, unless `unless` prefers that one."""
        with self._lock:
            known = self._remove(key)
            if known is not None and unless is not None and unless(known):
                value = known
            self._kept[key] = value, 0.0 if self._unused_seconds is None else self._clock()
            self._weight += self._weight_of(value)
            while len(self._kept) > 1 and (self._weight > self._most or self._oldest_is_unused()):
                self._remove(next(iter(self._kept)))

    def forget(self, key: Key) -> None:
        """Remove the value of a key."""
        with self._lock:
            self._remove(key)

    def clear(self) -> None:
        """Remove all values."""
        with self._lock:
            self._kept.clear()
            self._weight = 0

    def entries(self) -> list[tuple[Key, Value]]:
        """Return all keys and values, the least recently used first; this counts as no use."""
        with self._lock:
            return [(key, value) for key, (value, _) in self._kept.items()]

    def _use(self, key: Key, value: Value) -> None:
        """Note that a value is used now; the time is needed only if unused ones are removed."""
        if self._unused_seconds is not None:
            self._kept[key] = value, self._clock()
        self._kept.move_to_end(key)

    def _remove(self, key: Key) -> Value | None:
        found = self._kept.pop(key, None)
        if found is None:
            return None
        self._weight -= self._weight_of(found[0])
        return found[0]

    def _weight_of(self, value: Value) -> int:
        return 1 if self._weigh is None else self._weigh(value)

    def _oldest_is_unused(self) -> bool:
        if self._unused_seconds is None:
            return False
        _, used = next(iter(self._kept.values()))
        return used < self._clock() - self._unused_seconds
