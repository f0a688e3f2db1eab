"""Limits on work with very long games: events a minute, and slots for concurrent work."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from uuid import UUID

from service.api.limits import RateLimits
from service.application.errors import Refusal
from service.slots import Slots

LONG = 1000
"""Events that a request may process without a slot: less than 250 ms of processor time in all."""

EVENTS_A_MINUTE = 150_000
"""Events beyond that which are processed for one address, and for one player."""

SLOTS = 4
"""Requests of a process that process so many events at the same time, two for one address."""


class LongGames:
    """
    Limits the processing of very long games in this process.

    Only events that have to be processed count; cached games cost nothing here.
    """

    def __init__(self, address: Callable[[], str], rate_limits: RateLimits) -> None:
        self.slots = Slots("long games", SLOTS)
        self._address = address
        self._rate_limits = rate_limits

    def request(self, player: UUID | None) -> RequestWork:
        """Return the limit for one request of a player or an anonymous caller."""
        return RequestWork(self, player)

    @contextmanager
    def slot(self, player: UUID | None, events: int) -> Iterator[None]:
        """
        Hold a slot while so many events are processed.

        Raises `rate-limited` above the limit of the address or the player, and
        `unavailable` if no slot is free.
        """
        address, cost = self._address(), min(events, EVENTS_A_MINUTE)
        self._count(address, cost)
        if player is not None:
            self._count(str(player), cost)
        with self.slots.slot(address) as free:
            if not free:
                detail = "too many very long games are being processed at the same time"
                raise Refusal("unavailable", detail, retry_after=2)
            yield

    def _count(self, key: str, events: int) -> None:
        detail = "too many events of very long games were requested"
        self._rate_limits.count_work(key, EVENTS_A_MINUTE, events, detail)


class RequestWork:
    """
    The work of one request: a `Limit` of `service/application/work.py`.

    The events of all its steps are added up, because a list may fold many short games. Once
    they are more than ordinary work, each further step needs a slot; a step within a step
    shares its slot.
    """

    def __init__(self, games: LongGames, player: UUID | None) -> None:
        self._games = games
        self._player = player
        self._events = 0
        self._in_slot = False

    @contextmanager
    def __call__(self, events: int) -> Iterator[None]:
        """Hold a slot if needed; raises the refusals of `LongGames.slot`."""
        self._events += events
        if self._in_slot or self._events < LONG:
            yield
            return
        with self._games.slot(self._player, events):
            self._in_slot = True
            try:
                yield
            finally:
                self._in_slot = False
