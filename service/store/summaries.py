"""The columns of summary rows, and the pages in which lists return such rows."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Generic, Protocol, Required, TypedDict, TypeVar
from uuid import UUID


class SeatSummary(TypedDict):
    """Columns of a seat's row, at a table or in a game."""

    seat: int
    kind: str
    bot: str | None
    player_id: str | None


class MoveColumns(TypedDict, total=False):
    """Columns of a game's row that each move sets; `append_game_move` names them in SQL."""

    status: Required[str]
    turn: int | None
    dealer: int | None
    wake_kind: str | None
    wake_at: str | None


class EndColumns(TypedDict, total=False):
    """Columns of a game's row that its end sets; null before it."""

    ended_at: str | None
    reason: str | None
    shithead: int | None
    places: list[int] | None
    left_by: list[int] | None


class GameSummary(MoveColumns, EndColumns, total=False):
    """Columns of a game's row that a move may change."""

    back: list[int]


class NewGameSummary(GameSummary):
    """Columns of a new game's row."""

    table_id: str
    hand: int
    ruleset_id: str
    created_at: str
    public: bool
    seats: list[SeatSummary]


class ChallengeSummary(TypedDict):
    """The player for whom a table is opened: a row of another table."""

    player: str
    expires_at: str


class _TableColumns(TypedDict, total=False):
    invite_hash: str | None
    hand: int
    game_id: str | None
    invited: list[str]  # players whom the host of a new table invites: rows of another table
    challenge: ChallengeSummary | None  # of a new table
    challenge_end: str  # its status after the end of the table, by default `withdrawn`
    ready_since: str | None  # null: the table does not deal by itself now


class TableSummary(_TableColumns):
    """Columns of a table's row that an event may change."""

    host: str
    status: str
    seats: list[SeatSummary]


class NewTableSummary(TableSummary):
    """Columns of a new table's row."""

    public: bool
    ruleset_id: str
    created_at: str


class _DisputeColumns(TypedDict, total=False):
    accused: str | None
    partner: str | None
    verdict: str | None
    found_at: int  # the game's version to which the findings refer
    wake_at: datetime | None
    move: int | None  # seq of the first event of the move; None for collusion
    proven: bool | None
    withdrawn: bool | None
    referees: list[dict[str, Any]]  # this and the following are rows of other tables
    texts: list[dict[str, Any]]
    bundle: bytes
    findings: dict[str, Any]
    votes: list[dict[str, Any]]


class DisputeSummary(_DisputeColumns):
    """Columns of a dispute's row, and the rows stored with it."""

    game_id: str
    state: str
    accuser: str
    charge: str
    opened_at: datetime


class ListName(StrEnum):
    """The lists with cursors; a cursor of one is refused by the others, and those of features."""

    GAMES = "games"
    TABLES = "tables"
    DISPUTES = "disputes"  # of all games, or of one
    READINGS = "readings"
    HANDS = "hands"  # of a player, as lines


@dataclass(frozen=True, slots=True, kw_only=True)
class Cursor:
    """The last row of a page; the next page begins after it. Opaque to clients."""

    at: datetime
    id: UUID

    def encode(self, name: str | None) -> str:
        """Return the cursor of a list as a client gets it; without a name as in release 0.1.0."""
        prefix = "" if name is None else f"{name} "
        text = f"{prefix}{self.at.astimezone(UTC).isoformat()} {self.id}"
        return urlsafe_b64encode(text.encode()).decode().rstrip("=")

    @classmethod
    def decode(cls, text: str, name: str) -> Cursor:
        """
        Return the cursor of a list that a client sent.

        Raises ValueError for an invalid one, and for one of another list.
        """
        if not text.isascii():
            raise ValueError("no cursor")
        words = urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode().split(" ")
        if len(words) not in (2, 3):
            raise ValueError("no cursor")
        cursor = cls(at=datetime.fromisoformat(words[-2]), id=UUID(words[-1]))
        try:
            sent = cursor.encode(name if len(words) == 3 else None)
            if cursor.at.tzinfo is None or sent != text:
                raise ValueError("no cursor")
        except OverflowError:  # in UTC the time is outside the years 1 to 9999
            raise ValueError("no cursor") from None
        return cursor


OLDEST = Cursor(at=datetime.min.replace(tzinfo=UTC), id=UUID(int=0))
"""The cursor before the first row of a list sorted from the oldest row."""

START = Cursor(at=datetime.max.replace(tzinfo=UTC), id=UUID(int=2**128 - 1))
"""The cursor before the first row of a list sorted from the newest row."""


class Listed(Protocol):
    """A row of a list, sorted by time, then by id."""

    @property
    def id(self) -> UUID:
        """Return the id of the row's subject."""

    @property
    def created_at(self) -> datetime:
        """Return the time of the row."""


Row = TypeVar("Row", bound=Listed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Generic[Row]):
    """Some rows, newest first, and the cursor of the next page."""

    items: tuple[Row, ...]
    next: Cursor | None

    def following(self, name: str) -> str | None:
        """Return the cursor of the next page as a client gets it; None on the last page."""
        return None if self.next is None else self.next.encode(name)

    @classmethod
    def of(cls, rows: Sequence[Row], limit: int) -> Page[Row]:
        """Return the first `limit` rows as a page; if there are more rows, there is a next one."""
        items = tuple(rows[:limit])
        if len(rows) <= limit or not items:
            return cls(items=items, next=None)
        return cls(items=items, next=Cursor(at=items[-1].created_at, id=items[-1].id))
