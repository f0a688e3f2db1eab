"""The event store on PostgreSQL."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NoReturn, cast
from uuid import UUID

import orjson
import psycopg

from service.runtime import tracing
from service.runtime.tracing import Attribute, SpanName, Value
from service.shx.bundle import Bundle
from service.store.archive import Bundles
from service.store.database import Database, NotSent, TooSlow, as_json, quota_values
from service.store.events import (
    Admission,
    AnswerConflict,
    Commit,
    DisputeRuns,
    OutboxRow,
    PlayerErased,
    QuotaFull,
    QuotaKind,
    SealedSecret,
    SeeksClaim,
    StoredAnswer,
    StoreError,
    StoreUnavailable,
    StreamAppend,
    StreamConflict,
    StreamKind,
    StreamSlice,
    TokenEnded,
)
from service.store.grouped_moves import GroupedMoves, Returned
from service.store.summaries import (
    DisputeSummary,
    EndColumns,
    MoveColumns,
    NewGameSummary,
    NewTableSummary,
    SeatSummary,
)

_NEEDED: Final[Mapping[StreamKind, frozenset[str]]] = {
    StreamKind.GAME: NewGameSummary.__required_keys__,
    StreamKind.TABLE: NewTableSummary.__required_keys__,
    StreamKind.DISPUTE: DisputeSummary.__required_keys__,
}
_OPTIONAL: Final[Mapping[StreamKind, frozenset[str]]] = {
    StreamKind.GAME: NewGameSummary.__optional_keys__,
    StreamKind.TABLE: NewTableSummary.__optional_keys__,
    StreamKind.DISPUTE: DisputeSummary.__optional_keys__,
}


def encode_commit(commit: Commit) -> str:
    """Return the argument of `append_events`; raises ValueError as `check_commit` does."""
    check_commit(commit)
    return orjson.dumps(
        {
            "answer": None if commit.answer is None else _answer(commit.answer),
            "appends": [_append(append) for append in commit.appends],
            "secret": None if commit.secret is None else _secret(commit.secret),
            "forget": None if commit.forget_secret is None else str(commit.forget_secret),
            "refused": commit.refused,
            "outbox": [
                {"stream": str(row.stream), "version": row.version, "topic": row.topic}
                for row in commit.outbox
            ],
            "token": None if commit.token is None else _bytes(commit.token),
            "quotas": quota_values(commit.quotas),
            "admission": None if commit.admission is None else _admission(commit.admission),
            "seeks": None if commit.seeks is None else _claim(commit.seeks),
        }
    ).decode()


_MOVE_COLUMNS: Final = MoveColumns.__annotations__.keys() | EndColumns.__annotations__.keys()


def move_arguments(commit: Commit) -> tuple[object, ...] | None:
    """
    Return the arguments of `append_game_move`; None if the commit is not an ordinary move.

    An ordinary move is one append to a game that goes on, with its outbox row. Raises ValueError as
    `check_commit` does.
    """
    if len(commit.appends) != 1 or len(commit.outbox) != 1:
        return None
    if commit.secret or commit.forget_secret or commit.quotas:
        return None
    [append], [row] = commit.appends, commit.outbox
    summary = append.summary
    if append.kind is not StreamKind.GAME or not append.expected or summary is None:
        return None
    if summary.keys() != _MOVE_COLUMNS or any(summary[name] for name in EndColumns.__annotations__):
        return None
    if row.stream != append.stream or row.version != append.expected + len(append.events):
        return None
    lines = b"\n".join(append.events).decode()
    if lines.count("\n") != len(append.events) - 1:
        return None
    check_commit(commit)
    answer = commit.answer
    return (
        commit.token,
        append.stream,
        append.expected,
        lines,
        append.head,
        orjson.dumps(summary).decode(),
        row.topic,
        *(
            (None, None, None, None)
            if answer is None
            else (answer.caller, answer.request_key, answer.body_hash, answer.sealed)
        ),
    )


def check_commit(commit: Commit) -> None:
    """Raise ValueError for a commit that no store can write: a bug, not a conflict."""
    streams = {append.stream for append in commit.appends}
    if len(streams) != len(commit.appends):
        raise ValueError("a commit appends to each stream once")
    if not streams and commit != Commit(
        appends=(), answer=commit.answer, token=commit.token, quotas=commit.quotas
    ):
        raise ValueError("a commit without events can only store an answer")
    if not streams and commit.answer is None:
        raise ValueError("a commit without events has no answer to store")
    if commit.refused is not None and commit.forget_secret is None:
        raise ValueError("only the commit that seals a game has a number of refused attempts")
    if len(set(commit.outbox)) != len(commit.outbox):
        raise ValueError("a commit has the same outbox row twice")
    for append in commit.appends:
        if not append.events or append.expected < 0:
            raise ValueError("an append has at least one event and a version from 0")
        if append.summary is not None:
            _check_summary(append.kind, append.summary, first=append.expected == 0)
        for line in append.events:
            line.decode()  # UnicodeDecodeError is a ValueError
            if b"\0" in line:
                raise ValueError("an event is text without NUL")


def _check_summary(kind: StreamKind, summary: Mapping[str, Any], *, first: bool) -> None:
    """
    Raise ValueError if a summary has an unknown column, or lacks a required one.

    The check is needed because the database ignores unknown names. The `first` append of a stream
    must set all required columns; later ones set only the columns that change.
    """
    needed, optional = _NEEDED.get(kind, frozenset()), _OPTIONAL.get(kind, frozenset())
    unknown = summary.keys() - needed - optional
    if unknown:
        raise ValueError(f"a {kind} has no summary column {', '.join(sorted(unknown))}")
    missing = needed - summary.keys()
    if first and missing:
        raise ValueError(f"the first summary of a {kind} lacks {', '.join(sorted(missing))}")
    for seat in summary.get("seats", ()):
        if seat.keys() != SeatSummary.__required_keys__:
            raise ValueError(
                f"a seat has exactly the columns {', '.join(sorted(SeatSummary.__required_keys__))}"
            )


def _append(append: StreamAppend) -> dict[str, Any]:
    return {
        "stream": str(append.stream),
        "kind": append.kind.value,
        "expected": append.expected,
        "head": _bytes(append.head),
        "lines": [line.decode() for line in append.events],
        "summary": None if append.summary is None else as_json(append.summary),
    }


def _answer(answer: StoredAnswer) -> dict[str, str]:
    return {
        "caller": str(answer.caller),
        "key": _bytes(answer.request_key),
        "body": _bytes(answer.body_hash),
        "sealed": _bytes(answer.sealed),
    }


def _secret(secret: SealedSecret) -> dict[str, str]:
    return {
        "game": str(secret.game),
        "key": secret.key_id,
        "ciphertext": _bytes(secret.ciphertext),
    }


def _claim(claim: SeeksClaim) -> dict[str, Any]:
    return {
        "table": str(claim.table),
        "at": as_json(claim.at),
        "ids": [str(seek) for seek in claim.seeks],
    }


def _admission(admission: Admission) -> dict[str, str]:
    return {
        "table": str(admission.table),
        "host": str(admission.host),
        "player": str(admission.player),
    }


def _bytes(value: bytes) -> str:
    return b64encode(value).decode()


class PostgresStore:
    """
    Events in PostgreSQL, written by one function in one round trip.

    Games that were archived are read from their bundles.
    """

    def __init__(self, database: Database, bundles: Bundles | None = None) -> None:
        self._database = database
        self._moves = GroupedMoves(database)
        self._bundles = bundles or Bundles(None)

    def commit(self, commit: Commit) -> None:
        """
        Write all of `commit` in one transaction; raises the errors of `EventStore.commit`.

        If the connection breaks before the answer, the stream is read to find out whether the
        commit took place: StoreUnavailable is raised only if that cannot be known.
        """
        move = move_arguments(commit)
        if not tracing.is_traced():
            self._write(commit, move)
            return
        with tracing.span(SpanName.COMMIT, _described(commit, is_move=move is not None)) as span:
            try:
                self._write(commit, move)
            except StreamConflict:
                span.note(Attribute.CONFLICT, value=True)
                raise
            except StoreError as error:
                span.fail(type(error).__name__)
                raise

    def _write(self, commit: Commit, move: tuple[object, ...] | None) -> None:
        """Write a commit; `move` has the arguments of `append_game_move`, if it is a move."""
        try:
            if move is None:
                returned = self._append_events(encode_commit(commit))
            else:
                returned = self._moves.append(*move)
        except (NotSent, TooSlow):
            raise
        except StoreUnavailable:
            if not self._was_written(commit):
                raise
        except psycopg.Error as error:
            _raise_error(error)
        else:
            if returned is not None:
                _raise_refusal(returned)

    def read(self, stream: UUID, *, after: int = 0, limit: int | None = None) -> StreamSlice | None:
        """
        Return the events with seq ≥ `after`, or None if there is no such stream.

        Raises ValueError for a negative `after` or a `limit` below 1, StoreError if events are
        missing.
        """
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
        """Return the bundle of an archived game, None for any other stream."""
        for (digest,) in self._database.fetch("archived_stream", stream):
            return self._bundles.load(stream, digest)
        return None

    def secret(self, game: UUID) -> SealedSecret | None:
        """Return the sealed seed of a running game."""
        for key_id, ciphertext in self._database.fetch("read_secret", game):
            return SealedSecret(game=game, key_id=key_id, ciphertext=ciphertext)
        return None

    def answer(self, caller: UUID, request_key: bytes) -> StoredAnswer | None:
        """Return the stored answer to a request."""
        for body_hash, sealed in self._database.fetch("read_answer", caller, request_key):
            return StoredAnswer(
                caller=caller, request_key=request_key, body_hash=body_hash, sealed=sealed
            )
        return None

    def outbox(self, *, topic: str, limit: int, older_than: datetime) -> Sequence[OutboxRow]:
        """Return the oldest rows of a topic, at most `limit`, written before `older_than`."""
        rows = self._database.fetch("read_outbox", topic, limit, older_than)
        return [OutboxRow(stream=stream, version=version, topic=topic) for stream, version in rows]

    def drop_outbox(self, rows: Sequence[OutboxRow]) -> None:
        """Delete rows of one topic that were passed on."""
        for topic in {row.topic for row in rows}:
            named = [(row.stream, row.version) for row in rows if row.topic == topic]
            streams, versions = zip(*named, strict=True)
            self._changed("drop_outbox", topic, list(streams), list(versions))

    def purge_answers(self, *, older_than: datetime) -> int:
        """Delete a batch of answers stored before a time; return its size, 0 if none are left."""
        return self._changed("purge_answers", older_than)

    def _changed(self, name: str, *values: object) -> int:
        """Return the number of rows that a function changed; raises StoreError."""
        try:
            return int(self._database.change(name, *values)[0][0])
        except psycopg.Error as error:
            _raise_error(error)

    def _archived(self, stream: UUID) -> Bundle:
        """Return the bundle of a stream whose events are not in the database."""
        bundle = self.bundle(stream)
        if bundle is None:
            raise StoreError(f"events of stream {stream} are missing")
        return bundle

    def _append_events(self, command: str) -> Returned:
        [(returned,)] = self._database.change("append_events", command)
        return cast("Returned", returned)

    def _was_written(self, commit: Commit) -> bool:
        """
        Return whether a commit took place: its first event is stored.

        Without events its answer is compared: no two answers are encrypted to the same bytes.
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


def _described(commit: Commit, *, is_move: bool) -> dict[Attribute, Value]:
    """Return what a trace shows of a commit: how many events, of which kinds of streams."""
    return {
        Attribute.DATABASE: "postgresql",
        Attribute.FUNCTION: "append_game_move" if is_move else "try_append_events",
        Attribute.STREAMS: [append.kind.value for append in commit.appends],
        Attribute.EVENTS: sum(len(append.events) for append in commit.appends),
        Attribute.CONFLICT: False,
    }


def _raise_refusal(returned: Mapping[str, Any]) -> NoReturn:
    """Raise the error for a refusal that try_append_events returned instead of raising it."""
    match returned["refused"]:
        case "SH409":
            found = returned["detail"] or {}
            lines = tuple(line.encode() for line in returned.get("lines") or ())
            raise StreamConflict(UUID(found["stream"]), found["version"], lines)
        case "SH403":
            raise TokenEnded("the token is unknown or has expired")
        case "SH410":
            raise AnswerConflict("this request has been answered")
        case "SH401":
            raise PlayerErased("a player has been erased")
        case code:
            raise StoreError(f"the database refused ({code})")


def _raise_error(error: psycopg.Error) -> NoReturn:
    """Raise the store's error for an error of the database."""
    match error.sqlstate:
        case "23505" if error.diag.constraint_name in (
            "disputes_one_running",
            "disputes_made_once",
        ):
            raise DisputeRuns("a dispute with this charge runs, or was withdrawn") from error
        case "SH429":
            raise QuotaFull(QuotaKind(error.diag.message_detail or "")) from error
        case code:
            raise StoreError(
                f"the database refused ({code}): {error.diag.message_primary}"
            ) from error
