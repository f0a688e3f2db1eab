"""An in-memory event store with summary tables, for tests and games within one process."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from schemas.seeks import SeekStatus
from service.shx.bundle import Bundle
from service.store.database import as_json
from service.store.events import (
    Admission,
    AnswerConflict,
    Commit,
    DisputeRuns,
    HandRunning,
    OutboxRow,
    PlayerErased,
    Quota,
    QuotaFull,
    QuotaKind,
    SealedSecret,
    SeeksClaim,
    StoredAnswer,
    StoreError,
    StreamAppend,
    StreamConflict,
    StreamKind,
    StreamSlice,
)
from service.store.games import MAX_REFUSALS, RefusedMove
from service.store.postgres_events import check_commit
from service.store.seeks import Seek


@dataclass(slots=True, kw_only=True)
class Stream:
    """The kind, head and lines of a stream."""

    kind: StreamKind
    head: bytes
    lines: list[bytes] = field(default_factory=list)


class MemoryStore:
    """An event store in dictionaries under one lock; like PostgreSQL, but not durable."""

    def __init__(self, *, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._streams: dict[UUID, Stream] = {}
        self.blocks: dict[tuple[UUID, UUID], datetime] = {}
        self.invitations: dict[tuple[UUID, UUID], tuple[datetime, datetime | None]] = {}
        self._answers: dict[tuple[UUID, bytes], tuple[StoredAnswer, datetime]] = {}
        self._secrets: dict[UUID, SealedSecret] = {}
        self._refusals: dict[UUID, list[RefusedMove]] = {}
        self._outbox: dict[OutboxRow, datetime] = {}
        self._erased: set[str] = set()
        self._seeks: dict[UUID, Seek] = {}
        self._summaries: dict[StreamKind, dict[UUID, dict[str, Any]]] = {
            StreamKind.GAME: {},
            StreamKind.TABLE: {},
            StreamKind.DISPUTE: {},
        }

    def commit(self, commit: Commit) -> None:
        check_commit(commit)
        summaries = [_plain(append.summary) for append in commit.appends]
        with self._lock:
            self._refuse(commit)
            for append, summary in zip(commit.appends, summaries, strict=True):
                self._append(append, summary)
            now = self._clock()
            if (answer := commit.answer) is not None:
                self._answers[answer.caller, answer.request_key] = (answer, now)
            if (claim := commit.seeks) is not None:
                for seek in claim.seeks:
                    self._seeks[seek] = replace(
                        self._seeks[seek], ended_at=claim.at, table=claim.table
                    )
            if commit.secret is not None:
                self._secrets[commit.secret.game] = commit.secret
            if commit.forget_secret is not None:
                self._secrets.pop(commit.forget_secret, None)
            self._outbox |= dict.fromkeys(commit.outbox, now)

    def read(self, stream: UUID, *, after: int = 0, limit: int | None = None) -> StreamSlice | None:
        if after < 0 or (limit is not None and limit < 1):
            raise ValueError("a slice begins at 0 or later and has at least one event")
        with self._lock:
            found = self._streams.get(stream)
            if found is None:
                return None
            return StreamSlice(
                stream=stream,
                kind=found.kind,
                version=len(found.lines),
                head=found.head,
                events=tuple(found.lines[after : None if limit is None else after + limit]),
            )

    def bundle(self, _stream: UUID) -> Bundle | None:
        return None

    def secret(self, game: UUID) -> SealedSecret | None:
        return self._secrets.get(game)

    def answer(self, caller: UUID, request_key: bytes) -> StoredAnswer | None:
        found = self._answers.get((caller, request_key))
        return None if found is None else found[0]

    def outbox(self, *, topic: str, limit: int, older_than: datetime) -> Sequence[OutboxRow]:
        with self._lock:
            due = [r for r, at in self._outbox.items() if r.topic == topic and at < older_than]
            return due[:limit]

    def drop_outbox(self, rows: Sequence[OutboxRow]) -> None:
        with self._lock:
            for row in rows:
                if row.topic not in ("log", "statistics"):
                    self._outbox.pop(row, None)

    def waiting(self, topic: str) -> Sequence[OutboxRow]:
        with self._lock:
            rows = [(at, row) for row, at in self._outbox.items() if row.topic == topic]
        return [row for _, row in sorted(rows, key=lambda pair: pair[0])]

    def waiting_since(self, topic: str) -> datetime | None:
        """Return the time of the oldest outbox row of a topic; None if there is none."""
        with self._lock:
            return min((at for row, at in self._outbox.items() if row.topic == topic), default=None)

    def take_off_outbox(self, stream: UUID, topic: str) -> None:
        """Delete the outbox rows of a stream and topic."""
        with self._lock:
            for row in [r for r in self._outbox if r.stream == stream and r.topic == topic]:
                del self._outbox[row]

    def purge_answers(self, *, older_than: datetime) -> int:
        return self.forget_answers(lambda _, at: at < older_than)

    def forget_answers(self, gone: Callable[[StoredAnswer, datetime], bool]) -> int:
        """Delete the answers for which `gone` returns true; return how many."""
        with self._lock:
            old = [key for key, (answer, at) in self._answers.items() if gone(answer, at)]
            for key in old:
                del self._answers[key]
            return len(old)

    def mark_erased(self, player: UUID) -> None:
        """
        Record that a person was erased; from then on appends with this person are refused.

        Raises HandRunning while the person sits in a running hand.
        """
        with self._lock:
            if self._running(str(player)):
                raise HandRunning("a hand is being played")
            self._erased.add(str(player))
            rows = self._summaries[StreamKind.TABLE].items()
            hosted = {table for table, row in rows if row["host"] == str(player)}
            self.invitations = {
                (table, invited): one
                for (table, invited), one in self.invitations.items()
                if invited != player and table not in hosted
            }

    def check_can_be_invited(self, player: UUID, quota: Quota) -> None:
        """Raise PlayerErased for an erased player or host, QuotaFull if a quota is reached."""
        with self._lock:
            if self._erased & {str(player), str(quota.player)}:
                raise PlayerErased("a player has been erased")
            if self._taken(quota) >= quota.most:
                raise QuotaFull(quota.kind)

    def is_erased(self, player: UUID) -> bool:
        """Return whether a person was erased."""
        with self._lock:
            return str(player) in self._erased

    @contextmanager
    def summaries(self, kind: StreamKind) -> Iterator[dict[UUID, dict[str, Any]]]:
        """Yield the summary rows of a kind while the lock is held."""
        with self._lock:
            yield self._summaries[kind]

    @contextmanager
    def seeks(self) -> Iterator[dict[UUID, Seek]]:
        """Yield the seeks while the lock is held."""
        with self._lock:
            yield self._seeks

    def record_refusal(self, game: UUID, refused: RefusedMove) -> bool:
        with self._lock:
            row = self._summaries[StreamKind.GAME].get(game)
            if row is None or row.get("ended_at") is not None:
                return False
            kept = self._refusals.setdefault(game, [])
            if sum(one.seat == refused.seat for one in kept) < MAX_REFUSALS:
                kept.append(refused)
            return True

    def refusals(self, game: UUID) -> Sequence[RefusedMove]:
        with self._lock:
            return sorted(self._refusals.get(game, ()), key=lambda refused: refused.at)

    def forget_refusals(self, game: UUID) -> int:
        """Delete the refused moves of a game; return how many."""
        with self._lock:
            return len(self._refusals.pop(game, ()))

    def _refuse(self, commit: Commit) -> None:
        """Raise the errors of PostgreSQL, in the same order, before anything is written."""
        answer, secret = commit.answer, commit.secret
        if answer is not None and (answer.caller, answer.request_key) in self._answers:
            raise AnswerConflict("this request has been answered")
        for quota in commit.quotas:
            if self._taken(quota) >= quota.most:
                raise QuotaFull(quota.kind)
        self._refuse_admission(commit.admission)
        self._refuse_claim(commit.seeks)
        for append in sorted(commit.appends, key=lambda append: append.stream):
            found = self._streams.get(append.stream)
            if append.head != hashlib.sha256(b"\0" + append.events[-1]).digest():
                raise StoreError("the head is not the hash of the last event")
            if append.expected != (len(found.lines) if found else 0):
                raise StreamConflict(append.stream, len(found.lines) if found else 0)
            if found is not None and not _continues(append, found):
                raise StoreError("the stream is of another kind, or prev is not its head")
            if self._erased & self._newcomers(append):
                raise PlayerErased("a player has been erased")
            if append.kind is StreamKind.DISPUTE and self._runs_already(append):
                raise DisputeRuns("a dispute about this move and charge is running")
        self._refuse_seal(commit)
        if secret is not None and secret.game in self._secrets:
            raise StoreError("the game has a secret already")
        if any(row in self._outbox for row in commit.outbox):
            raise StoreError("the outbox has this row already")

    def _refuse_admission(self, admission: Admission | None) -> None:
        """Raise StreamConflict if the host blocks the player."""
        if admission is not None:
            self._refuse_blocked({admission.host}, {admission.player}, admission.table)

    def _refuse_claim(self, claim: SeeksClaim | None) -> None:
        """Raise StreamConflict if a seek is not open, or a player blocks another."""
        if claim is None:
            return
        players = {self._seeks[seek].player for seek in claim.seeks if seek in self._seeks}
        self._refuse_blocked(players, players, claim.table)
        for seek in sorted(claim.seeks):
            stored = self._seeks.get(seek)
            if stored is None or stored.status(claim.at) is not SeekStatus.OPEN:
                raise StreamConflict(seek, 0)

    def _refuse_blocked(self, hosts: set[UUID], guests: set[UUID], stream: UUID) -> None:
        """Raise StreamConflict if one of the hosts blocks one of the guests."""
        if any(by in hosts and other in guests for by, other in self.blocks):
            raise StreamConflict(stream, 0)

    def _refuse_seal(self, commit: Commit) -> None:
        """Raise if a seal does not match the recorded refused attempts."""
        game = commit.forget_secret
        if game is None or game not in self._streams:
            return
        lines = self._streams[game].lines
        if commit.refused is None:
            raise StoreError("a seal counts the refused attempts")
        if commit.refused != len(self._refusals.get(game, ())):
            raise StreamConflict(game, len(lines))

    def _newcomers(self, append: StreamAppend) -> set[str]:
        """Return the people that an append adds: hosts, seated players and referees."""
        if append.kind is StreamKind.GAME:
            return _people(append.summary or {})
        if append.kind not in (StreamKind.TABLE, StreamKind.DISPUTE):
            return set()
        before = self._summaries[append.kind].get(append.stream, {})
        return _people(append.summary or {}) - _people(before)

    def _runs_already(self, append: StreamAppend) -> bool:
        """Return whether another dispute about the same move and charge is running."""

        def about(row: Mapping[str, Any]) -> tuple[Any, ...] | None:
            if row.get("state") == "final" or row.get("move") is None:
                return None
            return row["game_id"], row["move"], row["charge"]

        rows = self._summaries[StreamKind.DISPUTE]
        wanted = about(_plain(append.summary) or {})
        return wanted is not None and any(
            about(row) == wanted for stream, row in rows.items() if stream != append.stream
        )

    def _running(self, player: str) -> int:
        """Return the number of running hands of a person."""
        rows = self._summaries[StreamKind.GAME].values()
        return sum(r["status"] not in _OVER and player in _people(r) for r in rows)

    def _taken(self, quota: Quota) -> int:
        """Return the part of a quota that its player has used."""
        player, tables = str(quota.player), self._summaries[StreamKind.TABLE].values()
        disputes = [
            row for row in self._summaries[StreamKind.DISPUTE].values() if row["accuser"] == player
        ]
        match quota.kind:
            case QuotaKind.TABLES:
                return sum(r["host"] == player and r["status"] != "closed" for r in tables)
            case QuotaKind.NEW_TABLES | QuotaKind.NEW_SEEKS:
                return 0
            case QuotaKind.GAMES:
                return self._running(player)
            case QuotaKind.DISPUTES:
                return sum(row["state"] != "final" for row in disputes)
            case QuotaKind.NEW_DISPUTES:
                since = quota.since or datetime.min.replace(tzinfo=UTC)
                return sum(datetime.fromisoformat(row["opened_at"]) > since for row in disputes)
            case QuotaKind.ANSWERS:
                return sum(
                    len(answer.sealed)
                    for (caller, _), (answer, _) in self._answers.items()
                    if caller == quota.player and not answer.sealed.startswith(b"log:")
                )
            case QuotaKind.INVITATIONS:
                rows = self._summaries[StreamKind.TABLE].items()
                hosted = {table for table, row in rows if row["host"] == player}
                kept = self.invitations.items()
                return sum(table in hosted for (table, _), _ in kept)
            case QuotaKind.RULESETS | QuotaKind.TOKENS | QuotaKind.SEEKS:
                raise ValueError("these are not stored in streams")
            case _:
                raise ValueError("these are not stored in streams")

    def _append(self, append: StreamAppend, summary: dict[str, Any] | None) -> None:
        stream = self._streams.setdefault(append.stream, Stream(kind=append.kind, head=append.head))
        stream.lines.extend(append.events)
        stream.head = append.head
        rows = self._summaries.get(append.kind)
        if rows is None:
            return
        if summary is not None:
            row = rows.setdefault(append.stream, {})
            both = {k: [*row.get(k, ()), *summary.get(k, ())] for k in ("texts", "votes")}
            if summary.get("state") in ("ruled", "final"):
                both["votes"] = []
            row.update({**summary, **{k: kept for k, kept in both.items() if k in row or kept}})
        if append.stream in rows:
            rows[append.stream]["version"] = len(stream.lines)
        if append.kind is StreamKind.TABLE and summary is not None:
            self._invite(append.stream, rows[append.stream])

    def _invite(self, table: UUID, row: dict[str, Any]) -> None:
        """Store the invitations of a new table; end those of seats, and all of a closed table."""
        for invited in row.pop("invited", ()):
            at = datetime.fromisoformat(row["created_at"])
            self.invitations[table, UUID(invited)] = at, None
        seated = _people({"seats": row["seats"]})
        self.invitations = {
            (to, player): kept
            for (to, player), kept in self.invitations.items()
            if to != table or not (row["status"] == "closed" or str(player) in seated)
        }


_OVER = ("ended", "aborted")


def _continues(append: StreamAppend, stream: Stream) -> bool:
    """Return whether the first event of an append is one of its stream, after the last one."""
    link = f'{append.stream}","prev":"{stream.head.hex()}"'.encode()
    return append.kind is stream.kind and link in append.events[0]


def _people(summary: Mapping[str, Any]) -> set[str]:
    places = (*summary.get("seats", ()), *summary.get("referees", ()))
    people = (summary.get("host"), *(place["player_id"] for place in places))
    return {str(person) for person in people if person is not None}


def _plain(summary: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return a summary with each value in its JSON form."""
    return None if summary is None else {key: as_json(value) for key, value in summary.items()}
