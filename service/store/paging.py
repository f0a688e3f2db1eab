"""Pages of lists, newest first, and the cursors between them."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Generic, Protocol, TypeVar
from uuid import UUID


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
        """Return the cursor that a client sent; raises ValueError for an invalid one."""
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

    @classmethod
    def of(cls, rows: Sequence[Row], limit: int) -> Page[Row]:
        """Return the first `limit` rows as a page; if there are more rows, there is a next one."""
        items = tuple(rows[:limit])
        if len(rows) <= limit or not items:
            return cls(items=items, next=None)
        return cls(items=items, next=Cursor(at=items[-1].created_at, id=items[-1].id))
