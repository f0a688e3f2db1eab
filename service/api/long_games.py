"""Limits on work with very long games: events a minute, and slots for concurrent work."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from uuid import UUID

from service.api.limits import RateLimits
from service.api.slots import Slots
from service.application.errors import Refusal

LONG = 1500
"""Events of a game that count as ordinary work: about 250 ms of processor time."""

EVENTS_A_MINUTE = 150_000
"""Events of longer games that are processed for one address, and for one player."""

SLOTS = 4
"""Very long games that a process works on at the same time, two for one address."""


class LongGames:
    """
    Limits the processing of very long games in this process.

    Only events that have to be processed count; cached games cost nothing here.
    """

    def __init__(self, address: Callable[[], str], rate_limits: RateLimits) -> None:
        self._address = address
        self._rate_limits = rate_limits
        self._slots = Slots(SLOTS)

    @contextmanager
    def work(self, player: UUID | None, events: int) -> Iterator[None]:
        """
        Hold a slot while `events` events are processed.

        Raises `rate-limited` above the limit of the address or the player, and
        `unavailable` if no slot is free.
        """
        if events < LONG:
            yield
            return
        address = self._address()
        self._count(address, events)
        if player is not None:
            self._count(str(player), events)
        with self._slots.slot(address) as free:
            if not free:
                detail = "too many very long games are being processed at the same time"
                raise Refusal("unavailable", detail, retry_after=2)
            yield

    def _count(self, key: str, events: int) -> None:
        detail = "too many events of very long games were requested"
        self._rate_limits.count_work(key, EVENTS_A_MINUTE, events, detail)
