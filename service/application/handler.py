"""Command handler for every kind of stream: read, decide, append, notify."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, Protocol, TypeVar
from uuid import UUID

from service.application.callers import Answered, Idempotency
from service.application.errors import Refusal
from service.application.first_read import FirstRead
from service.application.idempotency import Answers, MadeMove
from service.application.quotas import quota_refused
from service.store.events import (
    AnswerConflict,
    Commit,
    DisputeRuns,
    EventStore,
    PlayerErased,
    QuotaFull,
    StoreError,
    StreamConflict,
    TokenEnded,
)

ATTEMPTS: Final = 20
"""Maximum number of decisions on one command: each conflicting commit requires another one."""

NO_CHANGE: Final = Commit(appends=())


class Versioned(Protocol):
    """A folded stream."""

    @property
    def version(self) -> int:
        """Return the number of events."""


State = TypeVar("State", bound=Versioned)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewStream:
    """The state before the first event of a stream."""

    version: int = 0


def nothing() -> None:
    """Do nothing."""


def _read_again(_state: object, _conflict: StoreError) -> None:
    """Return None: the state is loaded again after a conflict."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
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
        load: Callable[[bool], State],
        decide: Callable[[State], Decision],
        *,
        caller: UUID | None = None,
        request: Idempotency | None = None,
        read: FirstRead | None = None,
        conflict: Callable[[], None] = nothing,
        overtaken: Callable[[State, StoreError], State | None] = _read_again,
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


def _decided(decide: Callable[[State], Decision], state: State) -> Decision:
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
