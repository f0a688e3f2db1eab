"""Rows of the directory: people, summaries of games and tables, access log."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Generic, TypeVar
from uuid import UUID

from service.shx.refusals import MOST_OF_A_SEAT

READ_AGAIN = timedelta(minutes=1)
"""How long after a reading the same one counts as the same look."""

MOST_REFUSALS = MOST_OF_A_SEAT
"""Refused moves that are kept of a seat in a game: all of them go into its bundle."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Player:
    """A person, by a number that stays when the person is erased."""

    id: UUID
    name: str | None  # None once erased
    created_at: datetime
    erased_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Erasure:
    """A person who was erased, by number, and when."""

    player: UUID
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A person's record, and what they have going."""

    games: int  # ended, not aborted
    shithead: int  # of these
    running: int
    hosting: int  # tables not closed
    rulesets: int  # of their own


@dataclass(frozen=True, slots=True, kw_only=True)
class SeatRow:
    """Who sits at one seat of a game or table."""

    seat: int
    kind: str  # human, bot, open
    bot: str | None
    player: UUID | None
    name: str | None  # of the player


@dataclass(frozen=True, slots=True, kw_only=True)
class GameRow:
    """The summary of a game."""

    id: UUID
    table: UUID
    hand: int
    ruleset: str
    status: str
    version: int
    turn: int | None
    dealer: int | None
    created_at: datetime
    ended_at: datetime | None
    reason: str | None  # it ended, or the cause of its abortion
    shithead: int | None
    places: tuple[int, ...] | None
    public: bool
    back: tuple[int, ...]  # seats whose players came back from a bot
    seats: tuple[SeatRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRow:
    """The summary of a table."""

    id: UUID
    host: UUID
    version: int
    status: str
    public: bool
    ruleset: str
    invite_hash: bytes | None
    created_at: datetime
    hand: int
    game: UUID | None
    seats: tuple[SeatRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DueGame:
    """A game whose time has come, for what and for whom."""

    id: UUID
    version: int
    kind: str
    at: datetime
    seat: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A refused move, as it was encrypted."""

    id: UUID
    at: datetime
    seat: int
    key_id: str
    sealed: bytes
    bound: bool = True  # whether seat, time and id are encrypted along; older releases did not


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleGame:
    """A running game with a person in it in which nothing has happened for long."""

    id: UUID
    version: int
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Somebody read something that is not public and not theirs."""

    id: UUID
    at: datetime
    reader: UUID | None  # None for a caller with the invite and no token
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomRuleset:
    """A ruleset of a player's own; `id` is the hash of its settings."""

    id: str
    name: str
    owner: UUID
    document: str  # JSON
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class DisputeRow:
    """A dispute in a list."""

    id: UUID
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Cursor:
    """The last row of a page; the next page begins after it. Opaque to clients."""

    at: datetime
    id: UUID

    def encode(self) -> str:
        """Return the cursor as a client gets it."""
        text = f"{self.at.astimezone(UTC).isoformat()} {self.id}"
        return urlsafe_b64encode(text.encode()).decode().rstrip("=")

    @classmethod
    def decode(cls, text: str) -> Cursor:
        """Return the cursor that a client sent; raise ValueError for what is none."""
        if not text.isascii():
            raise ValueError("no cursor")
        at, _, identity = urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode().partition(" ")
        cursor = cls(at=datetime.fromisoformat(at), id=UUID(identity))
        try:
            if cursor.at.tzinfo is None or cursor.encode() != text:
                raise ValueError("no cursor")
        except OverflowError:  # a time that is in no year of UTC
            raise ValueError("no cursor") from None
        return cursor


OLDEST = Cursor(at=datetime.min.replace(tzinfo=UTC), id=UUID(int=0))
"""Before the oldest row."""

START = Cursor(at=datetime.max.replace(tzinfo=UTC), id=UUID(int=2**128 - 1))
"""Before the newest row."""


Row = TypeVar("Row", GameRow, TableRow, DisputeRow, Reading)


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Generic[Row]):
    """Some rows, newest first, and where the next page begins."""

    items: tuple[Row, ...]
    next: Cursor | None

    @classmethod
    def of(cls, rows: Sequence[Row], limit: int) -> Page[Row]:
        """Return the first `limit` rows as a page; one row more says that there is a next one."""
        items = tuple(rows[:limit])
        more = len(rows) > limit and items
        return cls(items=items, next=_place_of(items[-1]) if more else None)


def _place_of(row: GameRow | TableRow | DisputeRow | Reading) -> Cursor:
    """Return where a row stands in its list."""
    return Cursor(at=row.at if isinstance(row, Reading) else row.created_at, id=row.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class GameFilter:
    """Which games to list; None does not ask."""

    table: UUID | None = None
    player: UUID | None = None
    ruleset: str | None = None
    status: str | None = None
