"""The event store: append with compare-and-set, read back the exact bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol
from uuid import UUID

from msgspec import Struct

from service.shx.bundle import Bundle


class StreamKind(StrEnum):
    """The kinds of streams; only games are public."""

    GAME = "game"
    TABLE = "table"
    DISPUTE = "dispute"
    ACCESS = "access"  # permitted by the schema; no stream of this kind is written


class StreamAppend(Struct, frozen=True, kw_only=True):
    """Events to append to one stream, decided at version `expected`."""

    stream: UUID
    kind: StreamKind
    expected: int  # the version decided on; 0 creates the stream
    events: tuple[bytes, ...]  # canonical JSON, at least one
    head: bytes  # 32 bytes, the head after the last of them
    summary: Mapping[str, Any] | None = None  # columns of the stream's summary row to set


class StoredAnswer(Struct, frozen=True, kw_only=True):
    """The stored answer to a request with an Idempotency-Key."""

    caller: UUID
    request_key: bytes  # SHA-256 over path and key
    body_hash: bytes  # SHA-256 over the body; another body with the same key is a conflict
    sealed: bytes  # encrypted, or the public data of a move; opaque to the store


class SealedSecret(Struct, frozen=True, kw_only=True):
    """The server seed of a running game, encrypted with key `key_id` and bound to the game id."""

    game: UUID
    key_id: str
    ciphertext: bytes


class OutboxRow(Struct, frozen=True, kw_only=True):
    """A notification to send after the commit, at least once; `topic` names the receiver."""

    stream: UUID
    version: int
    topic: str


class QuotaKind(StrEnum):
    """The limits on what one player can have at a time."""

    TABLES = "tables"  # hosted and not closed
    NEW_TABLES = "new_tables"  # opened by the player since a time
    GAMES = "games"  # running, with a seat of the player's
    RULESETS = "rulesets"  # of the player's own
    TOKENS = "tokens"  # of the player, and not ended
    DISPUTES = "disputes"  # opened by the player and not final
    NEW_DISPUTES = "new_disputes"  # opened by the player since a time
    HANDLES = "handles"  # chosen by the player within a time
    ANSWERS = "answers"  # bytes of stored answers to requests of the player
    NOTES = "notes"  # of the player on a game
    NOTES_OF_GAME = "notes_of_game"  # of all players
    ALL_NOTES = "all_notes"  # of the player on all games
    INVITATIONS = "invitations"  # to open tables that the player hosts, also declined ones
    BLOCKS = "blocks"  # other players whom the player blocks
    CHALLENGES = "challenges"  # by the player, and open at a time
    NEW_CHALLENGES = "new_challenges"  # by the player since a time
    CHALLENGES_OF_PAIR = "challenges_of_pair"  # by the player of one other, and open at a time
    CHALLENGED = "challenged"  # of the player by others, and open at a time
    SEEKS = "seeks"  # of the player, and open at a time
    NEW_SEEKS = "new_seeks"  # posted by the player since a time
    READINGS = "readings"  # records of the player's reads of a game within an hour


class Quota(Struct, frozen=True, kw_only=True):
    """A limit: the commit is refused if the player already has `most` of a kind."""

    player: UUID
    kind: QuotaKind
    most: int
    since: datetime | None = None  # for NEW_ kinds: what began after it; for open ones the present
    game: UUID | None = None  # for the notes on a game
    other: UUID | None = None  # for CHALLENGES_OF_PAIR


class SeeksClaim(Struct, frozen=True, kw_only=True):
    """Open seeks that end at the table which their commit opens."""

    table: UUID
    seeks: tuple[UUID, ...]
    at: datetime


class Admission(Struct, frozen=True, kw_only=True):
    """A player whom a commit seats at a table of a host, unless the host blocks the player."""

    table: UUID
    host: UUID
    player: UUID


class Commit(Struct, frozen=True, kw_only=True):
    """
    All changes of one command, written in one transaction.

    Without `appends` it only stores an answer, to a request that changed no stream.
    """

    appends: tuple[StreamAppend, ...]
    answer: StoredAnswer | None = None
    secret: SealedSecret | None = None
    forget_secret: UUID | None = None  # the sealed game whose secret is deleted
    refused: int | None = None  # number of refused attempts named by its seal
    outbox: tuple[OutboxRow, ...] = ()
    token: bytes | None = None  # hash of a bearer token that must still be valid
    quotas: tuple[Quota, ...] = ()  # counted in the same transaction, the player's row locked
    admission: Admission | None = None
    seeks: SeeksClaim | None = None


class StreamSlice(Struct, frozen=True, kw_only=True):
    """Events of a stream from seq `after` on, with the version and head of the whole stream."""

    stream: UUID
    kind: StreamKind
    version: int
    head: bytes
    events: tuple[bytes, ...]


class StoreError(Exception):
    """The store refused a change; nothing was written."""


class StreamConflict(StoreError):
    """
    The stream has a newer version than the one read, or a seek of the commit is not open any more.

    `lines` are the events of a game since then, if the store returned them.
    """

    def __init__(self, stream: UUID, version: int, lines: tuple[bytes, ...] = ()) -> None:
        super().__init__(f"stream {stream} is at version {version}")
        self.stream = stream
        self.version = version
        self.lines = lines


class TokenEnded(StoreError):
    """The token of the commit is unknown or has expired."""


class AnswerConflict(StoreError):
    """A request of this caller with this key has been answered meanwhile."""


class DisputeRuns(StoreError):
    """Another dispute about the same move and charge of a game is running."""


class PlayerErased(StoreError):
    """The commit would let an erased player open a table, sit down, play or judge."""


class HandRunning(StoreError):
    """A player cannot be erased during a hand."""


class QuotaFull(StoreError):
    """The player has reached a quota of the commit."""

    def __init__(self, kind: QuotaKind) -> None:
        super().__init__(f"the player has reached the limit of {kind}")
        self.kind = kind


class StreamArchived(StoreError):
    """The events are in a bundle that is missing or invalid."""


class StoreUnavailable(StoreError):
    """The database does not answer; the outcome of a commit is unknown."""


class EventStore(Protocol):
    """Append and read; every implementation passes the same contract tests."""

    def commit(self, commit: Commit) -> None:
        """
        Write all of `commit` in one transaction.

        Raises TokenEnded, which is checked first; StreamConflict, also if a sealed game has
        another number of refused attempts than `refused`, if one of the `seeks` is not open, or if
        a player of the seeks blocks another, or the host of the `admission` its player;
        AnswerConflict; PlayerErased if an erased player would open a table, sit down, be dealt to
        or referee; DisputeRuns for a second dispute about a move; QuotaFull at the first quota
        reached; and StoreUnavailable.
        """

    def read(self, stream: UUID, *, after: int = 0, limit: int | None = None) -> StreamSlice | None:
        """
        Return the events with seq ≥ `after`; None if there is no such stream.

        Those of an archived game come from its bundle. Raises StreamArchived if the bundle is
        missing or invalid.
        """

    def bundle(self, stream: UUID) -> Bundle | None:
        """Return the bundle of an archived game; None for any other stream."""

    def secret(self, game: UUID) -> SealedSecret | None:
        """Return the sealed seed of a running game."""

    def answer(self, caller: UUID, request_key: bytes) -> StoredAnswer | None:
        """Return the stored answer to a request."""

    def outbox(self, *, topic: str, limit: int, older_than: datetime) -> Sequence[OutboxRow]:
        """Return the oldest rows of a topic, at most `limit`, written before `older_than`."""

    def drop_outbox(self, rows: Sequence[OutboxRow]) -> None:
        """
        Delete rows of one topic that were passed on.

        Two processes may pass on the same rows. Those of the public log and the statistics stay:
        they are deleted with what they ask for.
        """

    def purge_answers(self, *, older_than: datetime) -> int:
        """Delete a batch of answers stored before a time; return its size, 0 if none are left."""
