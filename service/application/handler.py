"""The handler of commands on streams: load, decide, commit, answer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Final, Generic, Protocol, TypeVar
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from service.application.calls import Answered, Idempotency, MadeMove, ReadOnce
from service.application.errors import Refusal
from service.application.quotas import quota_of, quota_refused
from service.application.streams import Versioned
from service.replay.sentences import said
from service.store.events import (
    AnswerConflict,
    Commit,
    DisputeRuns,
    EventStore,
    QuotaFull,
    QuotaKind,
    StoredAnswer,
    StoreError,
    StreamConflict,
    TokenEnded,
)

ATTEMPTS: Final = 20
"""Maximum number of decisions on one command: each conflicting commit requires another one."""

NO_CHANGE: Final = Commit(appends=())


Loaded = TypeVar("Loaded", bound=Versioned)
Made = TypeVar("Made")


@dataclass(frozen=True, slots=True, kw_only=True)
class NewStream:
    """The state before the first event of a stream."""

    version: int = 0


class Attempt(Struct, Generic[Loaded], frozen=True, kw_only=True):
    """
    A decision that did not end its command, so that the state is loaded again.

    `error` is what the commit met, one of those that the command retries. Without it the decision
    was a refusal, which counts only on the present version.
    """

    state: Loaded
    error: StoreError | None = None


class Accepted(Struct, Generic[Made], frozen=True, kw_only=True):
    """
    An accepted command: `commit` is written, `made` is passed to `committed`, `answer` returned.

    With `rebuilt` the answer is not stored: for a repeated request it is rebuilt from the log. Nor
    is it stored if nothing was changed, neither by the commit nor by the decision (`changed`).
    """

    answer: Answered
    made: Made
    rebuilt: MadeMove | None = None
    commit: Commit = NO_CHANGE
    changed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamCommand(ABC, Generic[Loaded, Made]):
    """
    A command on a stream, with its methods in the order in which the handler calls them.

    `player`, `request` and `read` belong to the request behind it; the service's own commands have
    none. With `read` the commit checks the token, if it is not confirmed yet. After an error of
    `retried` the command is decided again.
    """

    retried: ClassVar[tuple[type[StoreError], ...]] = (StreamConflict, DisputeRuns)
    player: UUID | None = None
    request: Idempotency | None = None
    read: ReadOnce | None = None

    @abstractmethod
    def load(self, last: Attempt[Loaded] | None) -> Loaded:
        """
        Return the state: the present one after an attempt, before that possibly a cached one.

        Raises Refusal, and the error of an attempt that another decision would meet again.
        """

    @abstractmethod
    def decide(self, state: Loaded) -> Accepted[Made]:
        """
        Return the decision on a state; raises Refusal.

        What it writes outside the streams is idempotent. Raises StreamConflict if such a write
        finds that the state is not the present one.
        """

    def committed(self, made: Made) -> None:
        """Do what follows the commit: cache, count, notify."""


class AnswerStore(Protocol):
    """The stored answers of requests (`idempotency.py`)."""

    def first_answer(self, caller: UUID, request: Idempotency | None) -> Answered | None:
        """Return the first answer to this request, None if it has none yet."""

    def stored(
        self, caller: UUID, request: Idempotency, answer: Answered | MadeMove
    ) -> StoredAnswer:
        """Return the row to store with the commit of a request."""


class Handler:
    """
    Carries out commands on streams.

    Three rules apply to every command. A refusal counts only if it was decided on the present
    version, because a cached state may be old. A repetition of a request gets the first answer,
    even if both arrive at the same time. The answer, or the data it is rebuilt from, is stored in
    the commit of the events, so that a crash loses both or neither.
    """

    def __init__(self, store: EventStore, answers: AnswerStore) -> None:
        self._store = store
        self._answers = answers

    def handle(self, command: StreamCommand[Loaded, Made]) -> Answered:
        """
        Return the answer to a command, or the first answer to the same request.

        Raises the Refusal decided on the present state. Raises Refusal `unavailable` after too
        many conflicts, `unauthorized` for an expired token, `idempotency-conflict` if the key of
        the request was used with another body, and those of `quota_refused` at the commit.
        Raises the errors of the store that the command does not retry.
        """
        state = command.load(None)
        for _ in range(ATTEMPTS):
            try:
                accepted = command.decide(state)
                if (first := self._unchanged(command, accepted)) is not None:
                    return first
                self._write(command, accepted)
            except (QuotaFull, AnswerConflict) as error:
                return self._first_answer(command, _refusal_of(error), read=None)
            except TokenEnded:
                raise Refusal("unauthorized", said("request.unknown_token")) from None
            except StoreError as error:
                if not isinstance(error, command.retried):
                    raise
                state = command.load(Attempt(state=state, error=error))
            except Refusal as refusal:
                present = command.load(Attempt(state=state))
                if present.version == state.version:
                    return self._first_answer(command, refusal, read=command.read)
                state = present
            else:
                if accepted.commit is not NO_CHANGE:
                    command.committed(accepted.made)
                return accepted.answer
        busy = Refusal("unavailable", said("request.busy"))
        return self._first_answer(command, busy, read=None)

    def once(
        self,
        player: UUID,
        request: Idempotency | None,
        act: Callable[[], tuple[Answered, bool]],
    ) -> Answered:
        """
        Return the answer of a use case without a stream, or the first answer to the same request.

        `act` returns the answer, and whether it changed anything: only then the answer is stored.
        What it writes is idempotent, because the answer is stored after it.

        Raises the Refusal of `act`, those of `quota_refused` for stored answers, and Refusal
        `idempotency-conflict` as `handle` does.
        """
        refused = None
        try:
            answer, changed = act()
            if changed and request is not None:
                row = self._answers.stored(player, request, answer)
                quotas = (quota_of(QuotaKind.ANSWERS, player),)
                self._store.commit(Commit(appends=(), answer=row, quotas=quotas))
                return answer
        except (QuotaFull, AnswerConflict) as error:
            refused = _refusal_of(error)
        except Refusal as error:
            refused = error
        if (first := self._answers.first_answer(player, request)) is not None:
            return first
        if refused is not None:
            raise refused
        return answer

    def _unchanged(
        self, command: StreamCommand[Loaded, Made], accepted: Accepted[Made]
    ) -> Answered | None:
        """
        Return the answer to a command that changes nothing, None if there is something to write.

        No answer is stored for it: a repetition changes nothing either. It may be the repetition of
        a request that did, which gets the first answer.
        """
        is_checked = command.read is None or command.read.confirmed
        if not is_checked or accepted.commit.appends or accepted.changed:
            return None
        if command.player is None:
            return accepted.answer
        first = self._answers.first_answer(command.player, command.request)
        return first or accepted.answer

    def _write(self, command: StreamCommand[Loaded, Made], accepted: Accepted[Made]) -> None:
        """Commit what was decided, with the answer of the request and the token to check."""
        commit, answer = accepted.commit, accepted.commit.answer
        read, request = command.read, command.request
        token = None if read is None or read.confirmed else read.token
        quotas = commit.quotas
        if command.player is not None and request is not None:
            row = accepted.rebuilt or accepted.answer
            answer = self._answers.stored(command.player, request, row)
            if accepted.rebuilt is None:
                quotas = (*quotas, quota_of(QuotaKind.ANSWERS, command.player))
        if token is not None or answer is not commit.answer:
            commit = replace(commit, token=token, answer=answer, quotas=quotas)
        if commit is not NO_CHANGE:
            self._store.commit(commit)

    def _first_answer(
        self, command: StreamCommand[Loaded, Made], refusal: Refusal, *, read: ReadOnce | None
    ) -> Answered:
        """
        Return the first answer to this request; raises the refusal if there is none.

        With `read` the answer was read by the query that returned the present state.
        """
        first = None
        if read is not None:
            first = read.first_answer()
        elif command.player is not None:
            first = self._answers.first_answer(command.player, command.request)
        if first is not None:
            return first
        raise refusal


def _refusal_of(error: QuotaFull | AnswerConflict) -> Refusal:
    if isinstance(error, QuotaFull):
        return quota_refused(error.kind)
    return Refusal("unavailable", said("request.answer_expired"))
