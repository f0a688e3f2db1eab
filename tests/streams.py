"""Streams, commits and summaries for the tests of the stores."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import msgspec
import psycopg

from service.application.calls import digest
from service.application.quotas import QUOTAS, Bound
from service.store.directory import Directory
from service.store.events import (
    Commit,
    EventStore,
    OutboxRow,
    QuotaKind,
    StoredAnswer,
    StreamAppend,
    StreamKind,
)
from service.store.games import RefusedMove

SEAL = b'{"seq":1,"type":"game_sealed","v":1}'
"""A line that ends a game, as the database recognises it."""

THEN = datetime(2026, 3, 1, 12, tzinfo=UTC)


FIRST = b'{"seq":0}'
"""The first line of `new_game` and `new_table`."""


def head_of(line: bytes) -> bytes:
    """Return the head after a line."""
    return hashlib.sha256(b"\0" + line).digest()


_LINK = re.compile(rb'(?:,| |(?<=\{))"game":"[0-9a-f-]{36}","prev":"[0-9a-f]{64}"')


def linked(stream: UUID, line: bytes, after: EventStore | bytes) -> bytes:
    """
    Return a line with the `prev` that the stores require of the first line of an append.

    `after` is the line before it, or the store that has it. A JSON object remains one.
    """
    if isinstance(after, bytes):
        head = head_of(after)
    else:
        found = after.read(stream)
        head = found.head if found else bytes(32)
    link = b'"game":"%b","prev":"%b"' % (str(stream).encode(), head.hex().encode())
    if not line.startswith(b"{"):
        return line + b" " + link
    return line[:-1] + (b"" if line == b"{}" else b",") + link + b"}"


def unlinked(*lines: bytes) -> tuple[bytes, ...]:
    """Return lines as they were before `linked`."""
    return tuple(_LINK.sub(b"", line) for line in lines)


def append(
    stream: UUID,
    *lines: bytes,
    expected: int = 0,
    after: EventStore | bytes | None = None,
    kind: StreamKind = StreamKind.GAME,
    summary: Mapping[str, Any] | None = None,
) -> StreamAppend:
    """Return an append with the head that follows from its lines, the first one `linked`."""
    if after is not None:
        lines = (linked(stream, lines[0], after), *lines[1:])
    return StreamAppend(
        stream=stream,
        kind=kind,
        expected=expected,
        events=lines,
        head=head_of(lines[-1]) if lines else bytes(32),
        summary=summary,
    )


def commit(*appends: StreamAppend, **rest: Any) -> Commit:
    """Return a commit of these appends."""
    return Commit(appends=appends, **rest)


def cut_back(owner_url: str, stream: UUID, version: int) -> None:
    """Delete the events of a stream from `version` on, as the owner of the database can."""
    with psycopg.connect(owner_url) as owner:
        for table in ("events", "streams"):
            owner.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER".encode())
        rows = owner.execute(
            "DELETE FROM events WHERE stream_id = %s AND seq >= %s", (stream, version)
        )
        assert rows.rowcount
        owner.execute(
            "UPDATE streams s SET version = %s, head = sha256('\\x00'::bytea || e.line)"
            " FROM events e WHERE s.stream_id = %s AND e.stream_id = s.stream_id AND e.seq = %s",
            (version, stream, version - 1),
        )
        owner.execute("DELETE FROM outbox WHERE stream_id = %s", (stream,))


def answer(caller: UUID | None = None, key: bytes = b"k" * 32) -> StoredAnswer:
    """Return an answer to store."""
    return StoredAnswer(
        caller=caller or uuid4(), request_key=key, body_hash=b"b" * 32, sealed=b"\x00sealed\xff"
    )


def refused(seat: int = 0, at: datetime = THEN, sealed: bytes = b"x") -> RefusedMove:
    """Return a refused move to store."""
    return RefusedMove(id=uuid4(), at=at, seat=seat, key_id="1", sealed=sealed)


def lines_of(store: EventStore, stream: UUID) -> tuple[bytes, ...]:
    """Return all lines of a stream as they were given to `append`, none if it does not exist."""
    found = store.read(stream)
    return unlinked(*found.events) if found else ()


def person(seat: int, player: UUID) -> dict[str, Any]:
    """Return the summary of a seat with a person."""
    return {"seat": seat, "kind": "human", "bot": None, "player_id": player}


def bot(seat: int, name: str = "greedy") -> dict[str, Any]:
    """Return the summary of a seat with a bot."""
    return {"seat": seat, "kind": "bot", "bot": name, "player_id": None}


def game_summary(**changes: Any) -> dict[str, Any]:
    """Return the first summary of a game."""
    return {
        "table_id": UUID(int=7),
        "hand": 1,
        "ruleset_id": "shithead",
        "status": "playing",
        "created_at": THEN,
        "public": True,
        "seats": [bot(0), bot(1)],
        **changes,
    }


def table_summary(**changes: Any) -> dict[str, Any]:
    """Return the first summary of a table."""
    return {
        "host": UUID(int=9),
        "status": "open",
        "public": True,
        "ruleset_id": "shithead",
        "created_at": THEN,
        "seats": [bot(0), bot(1)],
        **changes,
    }


def new_game(store: EventStore, **changes: Any) -> UUID:
    """Store a game with one event and return its id."""
    game = uuid4()
    store.commit(commit(append(game, FIRST, summary=game_summary(**changes))))
    return game


def numbered(kind: QuotaKind, most: int) -> tuple[QuotaKind, Bound]:
    """Return the item of QUOTAS with another number, for a test that reaches it."""
    return kind, msgspec.structs.replace(QUOTAS[kind], most=most)


def new_table(store: EventStore, **changes: Any) -> UUID:
    """Store a table with one event and return its id."""
    table = uuid4()
    summary = table_summary(**changes)
    store.commit(commit(append(table, FIRST, kind=StreamKind.TABLE, summary=summary)))
    return table


def token_of(player: UUID) -> str:
    """Return the token of a registered player."""
    return f"token-{player}"


def code_of(player: UUID) -> str:
    """Return the recovery code of a registered player."""
    return f"code-{player}"


def register(directory: Directory, name: str = "Ann") -> UUID:
    """Store a player with the token `token_of` and the recovery code `code_of`."""
    player = uuid4()
    directory.create_player(
        player=player,
        name=name,
        token_hash=digest(token_of(player)),
        recovery_hash=digest(code_of(player)),
        at=THEN,
    )
    return player


def passed_on(
    store: EventStore, *, topic: str, limit: int, older_than: datetime
) -> Sequence[OutboxRow]:
    """Remove and return rows of the outbox, as a relay that has passed them on."""
    rows = store.outbox(topic=topic, limit=limit, older_than=older_than)
    store.drop_outbox(rows)
    return rows
