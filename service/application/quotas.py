"""Quotas of a player, work limits of requests and sweeps, slots for expensive work."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from service.application.errors import Refusal
from service.domain.commands import Seat
from service.domain.game import Game
from service.replay.sentences import said
from service.store.directory import PlayerRepository
from service.store.events import Quota, QuotaKind

MAX_TABLES = 200
"""Maximum number of open tables of one host."""

MAX_GAMES = 200
"""Maximum number of running hands of one player."""

MAX_RULESETS = 50
"""Maximum number of custom rulesets of one player."""

MAX_TOKENS = 50
"""Maximum number of tokens of one player."""

MAX_INVITATIONS = 50
"""Maximum number of open invitations to the tables of one host."""

MAX_BLOCKS = 500
"""Maximum number of other players whom one player blocks."""

MAX_SEEKS = 10
"""Maximum number of open seeks of one player."""

MAX_DISPUTES = 20
"""Maximum number of disputes of one accuser that are not final."""

MAX_NEW_DISPUTES = 10
"""Maximum number of disputes opened by one player within a day."""

MAX_NOTES = 200
"""Maximum number of notes of one player on a hand; `keep_note.sql` counts them."""

MAX_NOTES_OF_GAME = 2000
"""Maximum number of notes of all players on a hand; `keep_note.sql` counts them."""

NEW_FOR = timedelta(days=1)

MAX_ANSWER_BYTES = 32 << 20
"""Maximum size of the stored answers to one caller; they are deleted after a day or later."""

_LASTING = {
    QuotaKind.NEW_DISPUTES: NEW_FOR,
    QuotaKind.ANSWERS: timedelta(days=1),
    QuotaKind.READINGS: timedelta(hours=1),
}
"""The quotas that waiting lifts, and after how long at the latest."""

_VALUES: Mapping[QuotaKind, Mapping[str, int]] = {
    QuotaKind.NOTES: {"own": MAX_NOTES, "most": MAX_NOTES_OF_GAME},
}
"""The numbers of the quotas that have more than one maximum."""


def of_tables(player: UUID) -> Quota:
    """Return the quota for one more table."""
    return Quota(player=player, kind=QuotaKind.TABLES, most=MAX_TABLES)


def of_games(player: UUID) -> Quota:
    """Return the quota for one more hand."""
    return Quota(player=player, kind=QuotaKind.GAMES, most=MAX_GAMES)


def of_invitations(host: UUID, more: int) -> tuple[Quota, ...]:
    """Return the quota for so many more invitations to tables of a host."""
    most = MAX_INVITATIONS - more + 1
    return (Quota(player=host, kind=QuotaKind.INVITATIONS, most=most),) if more else ()


def of_answers(player: UUID) -> Quota:
    """Return the quota for one more stored answer."""
    return Quota(player=player, kind=QuotaKind.ANSWERS, most=MAX_ANSWER_BYTES)


def of_disputes(player: UUID, now: datetime) -> tuple[Quota, ...]:
    """Return the quotas for one more dispute."""
    running = Quota(player=player, kind=QuotaKind.DISPUTES, most=MAX_DISPUTES)
    new = Quota(
        player=player, kind=QuotaKind.NEW_DISPUTES, most=MAX_NEW_DISPUTES, since=now - NEW_FOR
    )
    return new, running


def quota_refused(kind: QuotaKind) -> Refusal:
    """Return the refusal for a quota that is used up; some end by waiting."""
    values = {"most": maxima()[kind]} if kind in maxima() else _VALUES.get(kind, {})
    detail = said(f"quota.{kind}", **values)
    if kind in _LASTING:
        return Refusal("rate-limited", detail, retry_after=int(_LASTING[kind].total_seconds()))
    return Refusal("limit-reached", detail)


def maxima() -> dict[QuotaKind, int]:
    """Return the maximum of each quota of a player."""
    return {
        QuotaKind.TABLES: MAX_TABLES,
        QuotaKind.GAMES: MAX_GAMES,
        QuotaKind.RULESETS: MAX_RULESETS,
        QuotaKind.TOKENS: MAX_TOKENS,
        QuotaKind.SEEKS: MAX_SEEKS,
        QuotaKind.DISPUTES: MAX_DISPUTES,
        QuotaKind.NEW_DISPUTES: MAX_NEW_DISPUTES,
        QuotaKind.ANSWERS: MAX_ANSWER_BYTES,
        QuotaKind.INVITATIONS: MAX_INVITATIONS,
        QuotaKind.BLOCKS: MAX_BLOCKS,
    }


def check_table_quotas(directory: PlayerRepository, player: UUID) -> None:
    """
    Refuse a new table if the player has the maximum number of tables or of running hands.

    This check saves work; the commit counts again with the player's row locked, because
    other requests may write in between. Raises Refusal `limit-reached`.
    """
    if directory.holdings(player).hosting >= MAX_TABLES:
        raise quota_refused(QuotaKind.TABLES)
    check_game_quota(directory, player)


def check_game_quota(directory: PlayerRepository, player: UUID) -> None:
    """
    Refuse a new hand if the player has reached the maximum; see `check_table_quotas`.

    Raises Refusal `limit-reached`.
    """
    if directory.holdings(player).running >= MAX_GAMES:
        raise quota_refused(QuotaKind.GAMES)


Limit = Callable[[int], AbstractContextManager[None]]
"""
Returns a context manager for processing a number of events.

Entering it may raise Refusal `rate-limited` or `unavailable`.
"""

LARGE_HAND: Final = 100
"""Cards of a hand above which listing its legal moves is counted as work."""

EVENTS_PER_CARD: Final = 15
"""Work of listing the moves of a larger hand, in events for each card: enough to need a slot."""

ORDINARY_DECK: Final = 104
"""Number of cards; for a deck n times as large, following its cards costs n times the work."""

_LIMIT: Final[ContextVar[Limit | None]] = ContextVar("limit", default=None)
_UNLIMITED: Final = nullcontext()


def limited_by(limit: Limit) -> AbstractContextManager[None]:
    """Return a context manager that applies a limit to all work of this thread."""
    return _Limited(limit)


class _Limited(AbstractContextManager[None]):
    """Applies a limit; as a class, because a generator would slow every request."""

    __slots__ = ("_limit", "_token")

    def __init__(self, limit: Limit) -> None:
        self._limit = limit

    def __enter__(self) -> None:
        self._token = _LIMIT.set(self._limit)

    def __exit__(self, *_error: object) -> None:
        _LIMIT.reset(self._token)


def work(events: int) -> AbstractContextManager[None]:
    """
    Return a context manager for processing a number of events of stored logs.

    Every fold of a stored log, and everything else whose cost grows with a log, runs in such
    a block. A request of the API is limited (`service/api/limits.py`): entering the block
    raises Refusal `rate-limited` or `unavailable`. Jobs and the command line are not limited.
    """
    limit = _LIMIT.get()
    return _UNLIMITED if limit is None or not events else limit(events)


def listing(game: Game, seat: Seat | None = None) -> int:
    """
    Return the work, in events, of listing the legal moves of a seat, or of the largest hand.

    It is 0 for a hand of up to LARGE_HAND cards.
    """
    seats = game.seats if seat is None else (game.seats[seat],)
    cards = max(len(state.hand) for state in seats)
    return EVENTS_PER_CARD * cards if cards > LARGE_HAND else 0


def following(game: Game, events: int) -> int:
    """Return the work, in events, of following every card of a deck through `events` events."""
    return events * max(1, len(game.deck) // ORDINARY_DECK)


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


class Slice:
    """What a sweep may do at a time: so many rows, within so many seconds."""

    __slots__ = ("_end", "rows")

    def __init__(self, *, rows: int, seconds: float) -> None:
        self.rows = rows
        self._end = time.monotonic() + seconds

    def is_over(self, done: int = 0) -> bool:
        """Return whether so many rows, or the time, are all that the slice has."""
        return done >= self.rows or time.monotonic() >= self._end
