"""The event store on PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NoReturn
from uuid import UUID

import orjson
import psycopg

from service.event_store.bundles import Bundles
from service.event_store.database import CLASHES, Database, NotSent, TooSlow
from service.event_store.encoding import encode_commit
from service.event_store.protocol import (
    AnswerConflict,
    Commit,
    OutboxRow,
    PlayerErased,
    SealedSecret,
    StoredAnswer,
    StoreError,
    StoreUnavailable,
    StreamConflict,
    StreamKind,
    StreamSlice,
)
from service.record.bundle import Bundle

_TRIES = 3  # where two commits waited for each other


class PostgresStore:
    """
    Events in PostgreSQL, written by one function in one round trip.

    Games that were archived are read from their bundles.
    """

    def __init__(self, database: Database, bundles: Bundles | None = None) -> None:
        self._database = database
        self._bundles = bundles or Bundles(None)

    def commit(self, commit: Commit) -> None:
        """
        Write all of `commit`, or raise StreamConflict, AnswerConflict or StoreUnavailable.

        Where the connection broke before the answer came, the stream is asked whether the
        commit took place, so that StoreUnavailable is raised only while nobody can know.
        """
        argument = encode_commit(commit)
        try:
            self._append(argument)
        except (NotSent, TooSlow):
            raise
        except StoreUnavailable:
            if not self._was_written(commit):
                raise
        except psycopg.Error as error:
            _refused(error)

    def read(self, stream: UUID, *, after: int = 0, limit: int | None = None) -> StreamSlice | None:
        """Return the events with seq ≥ `after`, or None where there is no such stream."""
        if after < 0 or (limit is not None and limit < 1):
            raise ValueError("a slice begins at 0 or later and has at least one event")
        rows = self._database.fetch("read_stream", stream, after, limit)
        if not rows:
            return None
        kind, version, head, _ = rows[0]
        events = tuple(row[3] for row in rows if row[3] is not None)
        there = max(0, version - after)
        if len(events) != (there if limit is None else min(there, limit)):
            lines = self._archived(stream).lines
            events = lines[after : None if limit is None else after + limit]
        return StreamSlice(
            stream=stream, kind=StreamKind(kind), version=version, head=head, events=events
        )

    def bundle(self, stream: UUID) -> Bundle | None:
        """Return the bundle that an archived game lives on in; None for any other stream."""
        for (digest,) in self._database.fetch("archived_stream", stream):
            return self._bundles.load(stream, digest)
        return None

    def secret(self, game: UUID) -> SealedSecret | None:
        """Return the sealed seed of a running game."""
        for key_id, ciphertext in self._database.fetch("read_secret", game):
            return SealedSecret(game=game, key_id=key_id, ciphertext=ciphertext)
        return None

    def answer(self, caller: UUID, request_key: bytes) -> StoredAnswer | None:
        """Return the answer kept for a request key."""
        for body_hash, sealed in self._database.fetch("read_answer", caller, request_key):
            return StoredAnswer(
                caller=caller, request_key=request_key, body_hash=body_hash, sealed=sealed
            )
        return None

    def claim_outbox(self, *, topic: str, limit: int, older_than: datetime) -> Sequence[OutboxRow]:
        """Take rows off the outbox; what a crash loses the sweeper finds again."""
        rows = self._database.change("claim_outbox", topic, limit, older_than)
        return [OutboxRow(stream=stream, version=version, topic=topic) for stream, version in rows]

    def purge_answers(self, *, older_than: datetime) -> int:
        """Forget the answers kept before a time; return how many."""
        return int(self._database.change("purge_answers", older_than)[0][0])

    def _archived(self, stream: UUID) -> Bundle:
        """Return the bundle of a stream whose events are not here."""
        bundle = self.bundle(stream)
        if bundle is None:
            raise StoreError(f"stream {stream} has lost events")
        return bundle

    def _append(self, argument: str) -> None:
        for _ in range(_TRIES - 1):
            try:
                self._database.change("append_events", argument)
            except CLASHES:
                continue
            return
        self._database.change("append_events", argument)

    def _was_written(self, commit: Commit) -> bool:
        """
        A commit is written whole, so its first event tells for all of it.

        Where it has none its answer does: no two are sealed to the same bytes.
        """
        try:
            if not commit.appends:
                answer = commit.answer
                return answer is not None and answer == self.answer(
                    answer.caller, answer.request_key
                )
            first = commit.appends[0]
            rows = self._database.fetch("read_line", first.stream, first.expected)
        except StoreUnavailable:
            return False
        return bool(rows) and rows[0][0] == first.events[0]


def _refused(error: psycopg.Error) -> NoReturn:
    match error.sqlstate:
        case "SH409":
            found = orjson.loads(error.diag.message_detail or "{}")
            raise StreamConflict(UUID(found["stream"]), found["version"]) from error
        case "SH410":
            raise AnswerConflict("this request has been answered") from error
        case "SH401":
            raise PlayerErased("a person has been erased") from error
        case code:
            raise StoreError(
                f"the database refused ({code}): {error.diag.message_primary}"
            ) from error
