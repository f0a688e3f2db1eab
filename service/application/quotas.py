"""Weights of calls, quotas of a player, work limits, slots for expensive work."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from msgspec import Struct

from service.application.errors import Refusal
from service.domain.commands import Seat
from service.domain.game import Game
from service.replay.sentences import said
from service.store.directory import PlayerRepository
from service.store.events import Quota, QuotaKind
from service.store.games import MAX_READINGS

DAY: Final = 24 * 3600
HOUR: Final = 3600

MAX_STREAMS_OF_ADDRESS: Final = 32
MAX_STREAMS_OF_PLAYER: Final = 8

MAX_SWAPS: Final = 500
"""Maximum number of swaps of a seat in a hand: the rules set no limit, and each is an event."""

MAX_TABLE_EVENTS: Final = 20_000
"""Events of a table after which no seat is taken or changed: a hand adds two, a pause one."""


EVENTS_OF_A_CALL: Final = 4
"""Events of work that weigh as much as a call: either takes about a millisecond of a processor."""

SEATS_OF_AN_EVENT: Final = 4
"""Seats in the rows of a list that take as long as one event."""


class Weight(Struct, frozen=True, kw_only=True):
    """
    What a call of an operation counts for in the limits of address and player.

    `per_address` and `per_player` limit an expensive operation further, in calls a minute; Redis
    counts them for all processes. Those of a player count refused calls too, and name the sentence
    of their refusal.
    """

    calls: int = 1
    grows: str | None = None
    per_address: int | None = None
    per_player: tuple[int, str] | None = None


LIGHT: Final = Weight()
BY_SEATS: Final = Weight(
    grows=f"a call for each {SEATS_OF_AN_EVENT * EVENTS_OF_A_CALL} seats in the rows"
)
BY_EVENTS: Final = Weight(
    grows=f"a call for each {EVENTS_OF_A_CALL} events that have to be processed: none of a game "
    "that the process has in memory"
)


class Bound(Struct, frozen=True, kw_only=True):
    """How much somebody may leave behind or hold open; one line of `x-limits`."""

    of: str  # whose it is, and of what: "player", "player and hand", "address"
    most: int
    counts: str
    unit: str = "items"
    seconds: int | None = None  # of the period in which it is counted; waiting then helps
    problem: str | None = "limit-reached"  # None: what is too much replaces, or is left out
    rows: tuple[str, ...] = ()  # tables of the database whose rows are bounded by it


def _bound(
    of: str, most: int, counts: str, *rows: str, seconds: int | None = None, unit: str = "items"
) -> Bound:
    problem = "limit-reached" if seconds is None else "rate-limited"
    return Bound(
        of=of, most=most, counts=counts, rows=rows, seconds=seconds, unit=unit, problem=problem
    )


QUOTAS: Final[dict[QuotaKind, Bound]] = {
    QuotaKind.TABLES: _bound("player", 200, "open tables of the host", "tables", "table_seats"),
    QuotaKind.NEW_TABLES: _bound("player", 1000, "tables opened", "tables", seconds=DAY),
    QuotaKind.GAMES: _bound("player", 200, "running hands", "game_seats", "player_results"),
    QuotaKind.RULESETS: _bound("player", 50, "rulesets", "rulesets_custom"),
    QuotaKind.TOKENS: _bound("player", 50, "tokens", "tokens"),
    QuotaKind.HANDLES: _bound("player", 1, "handles chosen", "handles", seconds=30 * DAY),
    QuotaKind.INVITATIONS: _bound(
        "player", 50, "invitations to open tables of the host, declined ones too", "invitations"
    ),
    QuotaKind.CHALLENGES: _bound("player", 10, "open challenges of others", "challenges"),
    QuotaKind.NEW_CHALLENGES: _bound(
        "player", 100, "challenges of others", "challenges", seconds=DAY
    ),
    QuotaKind.CHALLENGES_OF_PAIR: _bound(
        "player and other player", 1, "open challenges of that player", "challenges"
    ),
    QuotaKind.CHALLENGED: _bound("player", 50, "open challenges by others", "challenges"),
    QuotaKind.BLOCKS: _bound("player", 500, "blocked players", "blocks"),
    QuotaKind.SEEKS: _bound("player", 10, "open seeks", "seeks"),
    QuotaKind.NEW_SEEKS: _bound("player", 200, "seeks posted", "seeks", seconds=DAY),
    QuotaKind.DISPUTES: _bound("player", 20, "disputes that are not final", "disputes"),
    QuotaKind.NEW_DISPUTES: _bound("player", 10, "disputes opened", "disputes", seconds=DAY),
    QuotaKind.ANSWERS: _bound(
        "player",
        32 << 20,
        "stored answers to requests with a key",
        "answers",
        seconds=DAY,
        unit="bytes",
    ),
    QuotaKind.NOTES: _bound("player and hand", 200, "notes", "notes"),
    QuotaKind.NOTES_OF_GAME: _bound("hand", 2000, "notes of all players", "notes"),
    QuotaKind.ALL_NOTES: _bound("player", 2000, "notes on all hands", "notes"),
    QuotaKind.READINGS: _bound(
        "player and hand", MAX_READINGS, "recorded reads of private data", "readings", seconds=HOUR
    ),
}
"""The rows that a player may leave behind or hold open; a commit counts them."""


def bounds(*kinds: QuotaKind) -> dict[str, Bound]:
    """Return the quotas of some kinds by name, for the feature that they belong to."""
    return {kind.value: QUOTAS[kind] for kind in kinds}


def quota_of(
    kind: QuotaKind,
    player: UUID,
    *,
    now: datetime | None = None,
    game: UUID | None = None,
    other: UUID | None = None,
    more: int = 1,
) -> Quota:
    """Return the quota for `more` of a kind, with what it depends on."""
    bound = QUOTAS[kind]
    return Quota(
        player=player,
        kind=kind,
        most=bound.most - more + 1,
        since=now and now - timedelta(seconds=bound.seconds or 0),
        game=game,
        other=other,
    )


def of_tables(host: UUID, now: datetime) -> tuple[Quota, ...]:
    """Return the quotas for one more table."""
    return tuple(quota_of(k, host, now=now) for k in (QuotaKind.TABLES, QuotaKind.NEW_TABLES))


def of_invitations(host: UUID, more: int) -> tuple[Quota, ...]:
    """Return the quota for so many more invitations to tables of a host."""
    return (quota_of(QuotaKind.INVITATIONS, host, more=more),) if more else ()


def of_challenges(challenger: UUID, player: UUID, now: datetime) -> tuple[Quota, ...]:
    """Return the quotas for one more challenge of a player by another."""
    kinds = (QuotaKind.CHALLENGES, QuotaKind.NEW_CHALLENGES)
    return (
        *(quota_of(kind, challenger, now=now) for kind in kinds),
        quota_of(QuotaKind.CHALLENGES_OF_PAIR, challenger, now=now, other=player),
        quota_of(QuotaKind.CHALLENGED, player, now=now),
    )


def of_seeks(player: UUID, now: datetime) -> tuple[Quota, ...]:
    """Return the quotas for one more seek."""
    return tuple(quota_of(k, player, now=now) for k in (QuotaKind.SEEKS, QuotaKind.NEW_SEEKS))


def of_notes(author: UUID, game: UUID) -> tuple[Quota, ...]:
    """Return the quotas for one more note on a hand."""
    kinds = (QuotaKind.NOTES, QuotaKind.NOTES_OF_GAME, QuotaKind.ALL_NOTES)
    return tuple(quota_of(kind, author, game=game) for kind in kinds)


def of_disputes(player: UUID, now: datetime) -> tuple[Quota, ...]:
    """Return the quotas for one more dispute."""
    kinds = (QuotaKind.NEW_DISPUTES, QuotaKind.DISPUTES)
    return tuple(quota_of(kind, player, now=now) for kind in kinds)


def quota_refused(kind: QuotaKind) -> Refusal:
    """Return the refusal for a quota that is used up; some end by waiting."""
    bound = QUOTAS[kind]
    return Refusal(
        bound.problem or "limit-reached",
        said(f"quota.{kind}", most=bound.most),
        limit=kind.value,
        **({} if bound.seconds is None else {"retry_after": bound.seconds}),
    )


def check_table_quotas(directory: PlayerRepository, player: UUID) -> None:
    """
    Refuse a new table if the player has the maximum number of tables or of running hands.

    This check saves work; the commit counts again with the player's row locked, because
    other requests may write in between. Raises Refusal `limit-reached`.
    """
    if directory.holdings(player).hosting >= QUOTAS[QuotaKind.TABLES].most:
        raise quota_refused(QuotaKind.TABLES)
    check_game_quota(directory, player)


def check_game_quota(directory: PlayerRepository, player: UUID) -> None:
    """
    Refuse a new hand if the player has reached the maximum; see `check_table_quotas`.

    Raises Refusal `limit-reached`.
    """
    if directory.holdings(player).running >= QUOTAS[QuotaKind.GAMES].most:
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


def rows_of(seats: int) -> int:
    """Return the work, in events, of showing rows with so many seats in all."""
    return seats // SEATS_OF_AN_EVENT


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

    def are_free(self) -> bool:
        """Return whether a slot is free, for an address that does not have its share."""
        with self._lock:
            return self._free > 0

    def release(self, address: str) -> None:
        """Release a slot of an address."""
        with self._lock:
            self._free += 1
            self._held[address] -= 1
            if not self._held[address]:
                del self._held[address]


class Slice:
    """The bounds of one slice of a sweep: rows and seconds."""

    __slots__ = ("_end", "rows")

    def __init__(self, *, rows: int, seconds: float) -> None:
        self.rows = rows
        self._end = time.monotonic() + seconds

    def is_over(self, done: int = 0) -> bool:
        """Return whether so many rows, or the time, are all that the slice has."""
        return done >= self.rows or time.monotonic() >= self._end
