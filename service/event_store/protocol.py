"""What an event store promises: append with compare-and-set, read back the exact bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol
from uuid import UUID

from service.record.bundle import Bundle


class StreamKind(StrEnum):
    """The kinds of streams; only games are public."""

    GAME = "game"
    TABLE = "table"
    DISPUTE = "dispute"
    ACCESS = "access"


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamAppend:
    """Events for the end of one stream, decided upon when it was at `expected`."""

    stream: UUID
    kind: StreamKind
    expected: int  # the version decided on; 0 creates the stream
    events: tuple[bytes, ...]  # canonical JSON, at least one
    head: bytes  # 32 bytes, the head after the last of them
    summary: Mapping[str, Any] | None = (
        None  # columns of the stream's summary row to set (games, tables)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredAnswer:
    """The answer to a request that carried an Idempotency-Key, sealed as it will be kept."""

    caller: UUID
    request_key: bytes  # SHA-256 over path and key
    body_hash: bytes  # SHA-256 over the body, to tell a repetition from a reuse
    sealed: bytes  # encrypted (keyring), opaque to the store


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedSecret:
    """The server seed of a running game, encrypted under key `key_id` with the game id bound in."""

    game: UUID
    key_id: str
    ciphertext: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboxRow:
    """Something to be told after the commit, at least once; `topic` says to whom."""

    stream: UUID
    version: int
    topic: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """
    All that one command changes; it is written whole or not at all.

    Without `appends` it keeps an answer and nothing else: of a request whose effect
    stands in no stream.
    """

    appends: tuple[StreamAppend, ...]
    answer: StoredAnswer | None = None
    secret: SealedSecret | None = None
    forget_secret: UUID | None = None  # the sealed game whose secret is deleted
    outbox: tuple[OutboxRow, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamSlice:
    """Events `after`… of a stream, and where the whole stream stands."""

    stream: UUID
    kind: StreamKind
    version: int
    head: bytes
    events: tuple[bytes, ...]


class StoreError(Exception):
    """The store refused; nothing was written."""


class StreamConflict(StoreError):
    """The stream has moved on since it was read."""

    def __init__(self, stream: UUID, version: int) -> None:
        super().__init__(f"stream {stream} is at version {version}")
        self.stream = stream
        self.version = version


class AnswerConflict(StoreError):
    """The same caller's request with this key has been answered in the meantime."""


class PlayerErased(StoreError):
    """Somebody was to open a table, sit down or judge who has been erased in the meantime."""


class StreamArchived(StoreError):
    """The events are in a bundle outside the database, and that bundle is not at hand."""


class StoreUnavailable(StoreError):
    """The database does not answer; whether a commit happened is not known."""


class EventStore(Protocol):
    """Append and read; every implementation passes the same contract test."""

    def commit(self, commit: Commit) -> None:
        """
        Write all of `commit`, or raise StreamConflict, AnswerConflict or StoreUnavailable.

        Raises PlayerErased where somebody who was erased would open a table, sit down at one
        or judge.
        """

    def read(self, stream: UUID, *, after: int = 0, limit: int | None = None) -> StreamSlice | None:
        """
        Return the events with seq ≥ `after`, or None where there is no such stream.

        Those of an archived game come from its bundle; raises StreamArchived where that is not
        at hand.
        """

    def bundle(self, stream: UUID) -> Bundle | None:
        """Return the bundle that an archived game lives on in; None for any other stream."""

    def secret(self, game: UUID) -> SealedSecret | None:
        """Return the sealed seed of a running game."""

    def answer(self, caller: UUID, request_key: bytes) -> StoredAnswer | None:
        """Return the answer kept for a request key."""

    def claim_outbox(self, *, topic: str, limit: int, older_than: datetime) -> Sequence[OutboxRow]:
        """Take rows off the outbox; what a crash loses the sweeper finds again."""

    def purge_answers(self, *, older_than: datetime) -> int:
        """Forget answers kept before a time; return how many, 0 when none are left."""
