"""A commit as the one JSON argument of the SQL function `append_events`."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import orjson

from service.event_store.protocol import Commit, SealedSecret, StoredAnswer, StreamAppend
from service.event_store.summaries import as_json, check_summary


def encode_commit(commit: Commit) -> str:
    """Return the argument of `append_events`; raise ValueError where a commit makes no sense."""
    check_commit(commit)
    return orjson.dumps(
        {
            "answer": None if commit.answer is None else _answer(commit.answer),
            "appends": [_append(append) for append in commit.appends],
            "secret": None if commit.secret is None else _secret(commit.secret),
            "forget": None if commit.forget_secret is None else str(commit.forget_secret),
            "outbox": [
                {"stream": str(row.stream), "version": row.version, "topic": row.topic}
                for row in commit.outbox
            ],
        }
    ).decode()


def check_commit(commit: Commit) -> None:
    """Raise ValueError where no store could write `commit`: a mistake, not a conflict."""
    streams = {append.stream for append in commit.appends}
    if len(streams) != len(commit.appends):
        raise ValueError("a commit appends to each stream once")
    if not streams and commit != Commit(appends=(), answer=commit.answer):
        raise ValueError("what belongs to a stream is committed with its events")
    if not streams and commit.answer is None:
        raise ValueError("a commit has something to write")
    if len(set(commit.outbox)) != len(commit.outbox):
        raise ValueError("a commit has the same outbox row twice")
    for append in commit.appends:
        if not append.events or append.expected < 0:
            raise ValueError("an append has at least one event and a version from 0")
        if append.summary is not None:
            check_summary(append.kind, append.summary, first=append.expected == 0)
        for line in append.events:
            line.decode()  # UnicodeDecodeError is a ValueError
            if b"\0" in line:
                raise ValueError("an event is text without NUL")


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


def _bytes(value: bytes) -> str:
    return b64encode(value).decode()
