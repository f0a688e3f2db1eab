"""The hash chain (SHX/1, sections 1 and 2): event bytes, heads, reading a log."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from service.shx.canonical import MAX_LINE, RecordError, canonical, parse, sha256, tagged_hash
from service.shx.event_shapes import check_event
from service.shx.validators import MAX_EVENTS


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """One event of a log, with the head after it."""

    event: Mapping[str, Any]
    head: bytes


def genesis(stream: UUID) -> bytes:
    """Return the `prev` of the first event of a stream."""
    return tagged_hash("shx/1/genesis", stream.bytes)


def head(line: bytes) -> bytes:
    """Return the head (a hash) of a stream whose last event has these bytes."""
    return sha256(b"\x00" + line)


def encode_event(
    *,
    game: UUID,
    seq: int,
    prev: bytes,
    at: str,
    by: int | None,
    type: str,  # noqa: A002 - the field's name in the format
    data: Mapping[str, Any],
    auth: Mapping[str, Any] | None = None,
    v: int = 1,
) -> bytes:
    """
    Return the bytes of an event, which are stored, hashed and sent.

    The fields of `data` are not checked, because streams of tables and disputes are
    encoded here as well; `check_event` checks those of games.

    Raises RecordError for a `seq` out of range, a value that has no canonical JSON, or a
    line that is too long.
    """
    if not 0 <= seq < MAX_EVENTS:
        raise RecordError("too_long", f"a stream has at most {MAX_EVENTS} events")
    event: dict[str, Any] = {
        "at": at,
        "by": by,
        "data": dict(data),
        "game": str(game),
        "prev": prev.hex(),
        "seq": seq,
        "type": type,
        "v": v,
    }
    if auth is not None:
        event["auth"] = dict(auth)
    line = canonical(event)
    if len(line) > MAX_LINE:
        raise RecordError("too_large", f"{len(line)} bytes, at most {MAX_LINE}")
    return line


def decode_event(line: bytes) -> dict[str, Any]:
    """
    Return the event of a game that these bytes encode.

    Raises RecordError for anything else.
    """
    event = parse(line)
    check_event(event)
    return dict(event)


def read_chain(lines: Iterable[bytes]) -> Iterator[Link]:
    """
    Yield the links of a game's log from seq 0, each checked against the one before.

    Raises RecordError (`bad_chain`, `bad_time`, or as `decode_event`) at the first invalid
    event; its seq is the number of links yielded before it.
    """
    before: Link | None = None
    for seq, line in enumerate(lines):
        event = decode_event(line)
        _check_link(event, seq, before)
        before = Link(event=event, head=head(line))
        yield before


def _check_link(event: Mapping[str, Any], seq: int, before: Link | None) -> None:
    if event["seq"] != seq:
        raise RecordError("bad_chain", f"seq is {event['seq']}, not {seq}")
    expected = genesis(UUID(event["game"])) if before is None else before.head
    if event["prev"] != expected.hex():
        raise RecordError("bad_chain", "prev is not the head of the event before")
    if before is None:
        return
    if event["game"] != before.event["game"]:
        raise RecordError("bad_chain", "an event of another game")
    if event["at"] < before.event["at"]:
        raise RecordError("bad_time", "earlier than the event before")
