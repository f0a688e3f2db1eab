"""Streams of events, and the handler of commands on them: read, decide, append, notify."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar
from uuid import UUID

import orjson
from msgspec import Struct
from msgspec.structs import replace

from service.application.access import Answered, FirstRead, Idempotency
from service.application.errors import Refusal
from service.application.quotas import quota_refused
from service.shx.chain import encode_event, genesis, head
from service.store.events import (
    AnswerConflict,
    Commit,
    DisputeRuns,
    EventStore,
    PlayerErased,
    QuotaFull,
    StoreError,
    StreamAppend,
    StreamConflict,
    StreamKind,
    TokenEnded,
)

if TYPE_CHECKING:
    from service.application.idempotency import Answers, MadeMove

HEAD_BYTES: Final = 32
BLOCK: Final = 32  # heads

Envelope = Mapping[str, Any]
"""The fields of a stored event: type, data and at; by, v and auth if they are set."""


class Folded(Protocol):
    """The state of a stream, with its version and the head of its hash chain."""

    @property
    def identity(self) -> UUID:
        """Return the id of the stream."""

    @property
    def version(self) -> int:
        """Return the number of events."""

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
        """Return the state after stored lines; raises ValueError for an unsuitable first event."""
        first = orjson.loads(lines[0])
        event = self.decode(first["type"], first["data"])
        return self.follow(self.begin(identity, event, first, head(lines[0])), lines[1:])

    def follow(self, state: State, lines: Iterable[bytes]) -> State:
        """Return the state after further stored lines."""
        for line in lines:
            envelope = orjson.loads(line)
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


ATTEMPTS: Final = 20
"""Maximum number of decisions on one command: each conflicting commit requires another one."""

NO_CHANGE: Final = Commit(appends=())


class Versioned(Protocol):
    """A folded stream."""

    @property
    def version(self) -> int:
        """Return the number of events."""


Loaded = TypeVar("Loaded", bound=Versioned)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewStream:
    """The state before the first event of a stream."""

    version: int = 0


def nothing() -> None:
    """Do nothing."""


def _read_again(_state: object, _conflict: StoreError) -> None:
    """Return None: the state is loaded again after a conflict."""


class Accepted(Struct, frozen=True, kw_only=True):
    """
    An accepted command: `commit` is written, then `done` is called and `answer` returned.

    `effect` changes data outside the streams before the commit. It is idempotent, and raises
    StreamConflict if the state decided on is not the present one. With `rebuilt` the answer is
    not stored: for a repeated request it is rebuilt from the log.
    """

    answer: Answered
    rebuilt: MadeMove | None = None
    commit: Commit = NO_CHANGE
    effect: Callable[[], None] = nothing
    done: Callable[[], None] = nothing


class Refused(Struct, frozen=True, kw_only=True):
    """
    A command that the state refuses; `final` records the attempt and returns the refusal.

    `final` is called only if this version is the present one, and the request has no answer yet.
    """

    final: Callable[[], Refusal]


Decision = Accepted | Refused


class Handler:
    """
    Carries out commands on streams.

    Three rules apply to every command. A refusal counts only if it was decided on the present
    version, because a cached state may be old. A repetition of a request gets the first answer,
    even if both arrive at the same time. The answer, or the data it is rebuilt from, is stored in
    the commit of the events, so that a crash loses both or neither.
    """

    def __init__(self, store: EventStore, answers: Answers) -> None:
        self._store = store
        self._answers = answers

    def handle(
        self,
        load: Callable[[bool], Loaded],
        decide: Callable[[Loaded], Decision],
        *,
        caller: UUID | None = None,
        request: Idempotency | None = None,
        read: FirstRead | None = None,
        conflict: Callable[[], None] = nothing,
        overtaken: Callable[[Loaded, StoreError], Loaded | None] = _read_again,
        erased: Callable[[], bool] = lambda: False,
    ) -> Answered:
        """
        Return the answer to a command, or the first answer to the same request.

        `load` returns the state: the present one if its argument is true, else possibly a cached
        one. `decide` returns a decision on it, or raises Refusal. The commit checks the token
        of `read` if it is not confirmed. If the state has changed since it was loaded, `conflict`
        is called, and `overtaken` returns the newer state, or None to load it. `erased` is called
        if the commit names an erased player; it returns whether to decide again.

        Raises the Refusal decided on the present state. Raises Refusal `unavailable` after too
        many conflicts, `unauthorized` for an expired token, `idempotency-conflict` if the key of
        the request was used with another body, and `rate-limited` at a quota of the commit.
        Raises PlayerErased if the commit names an erased player and `erased` returns false.
        """
        state = load(False)
        for _ in range(ATTEMPTS):
            decision = _decided(decide, state)
            if isinstance(decision, Refused):
                present = load(True)
                if present.version == state.version:
                    return self._refused(caller, request, decision, read)
                state = present
                continue
            try:
                self._write(decision, caller, request, read)
            except (StreamConflict, DisputeRuns) as late:
                conflict()
                if (newer := overtaken(state, late)) is not None:
                    state = newer
                    continue
            except PlayerErased:
                if not erased():
                    raise
            except (QuotaFull, AnswerConflict) as error:
                return self._refused(caller, request, _refused_by(_refusal_of(error)))
            else:
                decision.done()
                return decision.answer
            state = load(True)
        busy = Refusal("unavailable", "too many changes at once, try again")
        return self._refused(caller, request, _refused_by(busy))

    def _write(
        self,
        accepted: Accepted,
        caller: UUID | None,
        request: Idempotency | None,
        read: FirstRead | None,
    ) -> None:
        commit, answer = accepted.commit, accepted.commit.answer
        token = None if read is None or read.confirmed else read.token
        if caller is not None and request is not None:
            answer = self._answers.stored(caller, request, accepted.rebuilt or accepted.answer)
        if token is not None or answer is not commit.answer:
            commit = replace(commit, token=token, answer=answer)
        accepted.effect()
        if commit is NO_CHANGE:
            return
        try:
            self._store.commit(commit)
        except TokenEnded:
            raise Refusal("unauthorized", "unknown or expired token") from None

    def _refused(
        self,
        caller: UUID | None,
        request: Idempotency | None,
        refused: Refused,
        read: FirstRead | None = None,
    ) -> Answered:
        """
        Return the first answer to this request; raises the refusal if there is none.

        With `read` the answer was read by the query that returned the present state.
        """
        first = None
        if read is not None:
            first = read.first_answer()
        elif caller is not None:
            first = self._answers.first_answer(caller, request)
        if first is not None:
            return first
        raise refused.final()


def _decided(decide: Callable[[Loaded], Decision], state: Loaded) -> Decision:
    """Return a decision; a Refusal that was raised becomes a value."""
    try:
        return decide(state)
    except Refusal as refusal:
        return _refused_by(refusal)


def _refusal_of(error: QuotaFull | AnswerConflict) -> Refusal:
    if isinstance(error, QuotaFull):
        return quota_refused(error.kind)
    return Refusal("unavailable", "the first answer has expired, try again")


def _refused_by(refusal: Refusal) -> Refused:
    return Refused(final=lambda: refusal)
