"""Streams of events: folding stored lines into a state, and encoding new events."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, Protocol, TypeVar
from uuid import UUID

import orjson
from msgspec import Struct

from service.application.errors import InvalidHistory
from service.shx.chain import encode_event, genesis, head
from service.shx.event_shapes import VERSION
from service.store.events import StreamAppend, StreamKind

HEAD_BYTES: Final = 32
BLOCK: Final = 32  # heads

Envelope = Mapping[str, Any]
"""The fields of a stored event: type, data and at; by and auth if they are set."""


class Versioned(Protocol):
    """A folded stream."""

    @property
    def version(self) -> int:
        """Return the number of events."""


class Folded(Versioned, Protocol):
    """The state of a stream, with its version and the head of its hash chain."""

    @property
    def identity(self) -> UUID:
        """Return the id of the stream."""

    @property
    def head(self) -> bytes:
        """Return the head after the last event."""

    @property
    def at(self) -> str:
        """Return the time of the last event."""


class Heads(Struct, frozen=True, kw_only=True):
    """
    The heads after each event of a stream, by seq.

    They are packed into blocks of BLOCK heads: a further head copies one block at most, while
    a tuple of all heads would be copied for each event.
    """

    full: tuple[bytes, ...] = ()  # the full blocks
    rest: bytes  # the heads after them, at least one

    def __len__(self) -> int:
        """Return the number of events."""
        return len(self.full) * BLOCK + len(self.rest) // HEAD_BYTES

    def __getitem__(self, seq: int) -> bytes:
        """Return the head after an event, from the end if negative; raises IndexError."""
        block, place = divmod(range(len(self))[seq], BLOCK)
        heads = self.full[block] if block < len(self.full) else self.rest
        return heads[place * HEAD_BYTES : (place + 1) * HEAD_BYTES]

    @property
    def last(self) -> bytes:
        """Return the head after the last event."""
        return self.rest[-HEAD_BYTES:]

    def followed_by(self, head: bytes) -> Heads:
        """Return these heads and the one after the next event."""
        if len(self.rest) < BLOCK * HEAD_BYTES:
            return Heads(full=self.full, rest=self.rest + head)
        return Heads(full=(*self.full, self.rest), rest=head)


State = TypeVar("State", bound=Folded)
Event = TypeVar("Event")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream(Generic[State, Event]):
    """One kind of stream: how its state grows, and how its events are encoded and decoded."""

    kind: StreamKind
    encode: Callable[[State | None, Event], Envelope]  # without `at`; None: the first event
    decode: Callable[[str, Mapping[str, Any]], Event]
    begin: Callable[[UUID, Event, Envelope, bytes], State]  # from the first event and its head
    evolve: Callable[[State, Event, Envelope, bytes], State]

    def load(self, identity: UUID, lines: Sequence[bytes]) -> State:
        """
        Return the state after stored lines.

        Raises ValueError for an unsuitable first event, InvalidHistory for one of a later release.
        """
        first = _envelope_of(lines[0])
        event = self.decode(first["type"], first["data"])
        return self.follow(self.begin(identity, event, first, head(lines[0])), lines[1:])

    def follow(self, state: State, lines: Iterable[bytes]) -> State:
        """Return the state after further stored lines; raises InvalidHistory like `load`."""
        for line in lines:
            envelope = _envelope_of(line)
            event = self.decode(envelope["type"], envelope["data"])
            state = self.evolve(state, event, envelope, head(line))
        return state

    def open(
        self, identity: UUID, events: Sequence[Event], *, at: str
    ) -> tuple[State, tuple[bytes, ...]]:
        """Return the state of a new stream after its first events, and their lines."""
        fields = {"by": None, **self.encode(None, events[0])}
        line = encode_event(game=identity, seq=0, prev=genesis(identity), at=at, **fields)
        state, lines = self.write(self.load(identity, [line]), events[1:], at=at)
        return state, (line, *lines)

    def write(
        self,
        state: State,
        events: Iterable[Event],
        *,
        at: str,
        encode: Callable[[State, Event], Envelope] | None = None,
    ) -> tuple[State, tuple[bytes, ...]]:
        """
        Return the state after further events, and their lines.

        `at` is raised to the time of the last event if it is earlier. `encode` replaces that of
        the stream, for events whose fields depend on more than the state.
        """
        at, lines, encode = max(at, state.at), [], encode or self.encode
        for event in events:
            fields = {"at": at, "by": None, **encode(state, event)}
            line = encode_event(game=state.identity, seq=state.version, prev=state.head, **fields)
            state = self.evolve(state, event, fields, head(line))
            lines.append(line)
        return state, tuple(lines)

    def append(
        self,
        state: State,
        lines: tuple[bytes, ...],
        *,
        expected: int,
        summary: Mapping[str, Any],
    ) -> StreamAppend:
        """Return the append of new lines, with the columns of the stream's row to set."""
        return StreamAppend(
            stream=state.identity,
            kind=self.kind,
            expected=expected,
            events=lines,
            head=state.head,
            summary=summary,
        )


def _envelope_of(line: bytes) -> dict[str, Any]:
    """Return a stored event; raises InvalidHistory for a version that this release cannot know."""
    envelope: dict[str, Any] = orjson.loads(line)
    if envelope["v"] != VERSION:
        raise InvalidHistory(UUID(envelope["game"]), envelope["seq"])
    return envelope
