"""Answers kept for requests that may be repeated; encrypted, without what is in a hand."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

import orjson

from service.application.callers import Answered, Idempotency
from service.application.entries import Entries
from service.application.errors import Refusal
from service.application.own_hand import with_hand, without_hand
from service.event_store.protocol import AnswerConflict, Commit, EventStore, StoredAnswer
from service.key_file import Keys


class Answers:
    """Keeps first answers, and gives them again."""

    def __init__(self, store: EventStore, keyring: Keys, entries: Entries) -> None:
        self._store = store
        self._entries = entries
        self._keyring = keyring

    def kept(self, caller: UUID, request: Idempotency | None) -> Answered | None:
        """
        Return the first answer to this request, None where there was none.

        Raises `idempotency-conflict` where the key was used with another body.
        """
        if request is None:
            return None
        found = self._store.answer(caller, request.request_key)
        if found is None:
            return None
        if found.body_hash != request.body_hash:
            raise Refusal("idempotency-conflict", "this key was used with another body")
        key_id, _, sealed = found.sealed.partition(b":")
        opened = self._keyring.open(key_id.decode(), sealed, _associated(caller, request))
        header, _, body = opened.partition(b"\n")
        return Answered(
            body=with_hand(body, self._entries),
            version=orjson.loads(header)["version"],
            replayed=True,
        )

    def or_first(
        self, caller: UUID, request: Idempotency | None, act: Callable[[], Answered]
    ) -> Answered:
        """
        Return the answer of `act`, or where it is refused the first one to this request.

        A twin of the request may have come first while this one was on its way.
        """
        try:
            return act()
        except Refusal:
            first = self.kept(caller, request)
            if first is None:
                raise
            return first

    def keep(self, caller: UUID, request: Idempotency | None, answer: Answered) -> Answered:
        """
        Keep the answer to a request whose effect stands in no stream, and return it.

        The effect came first, so it must be one that a repetition cannot double.
        Where a twin was answered in the meantime, its answer holds for both.
        """
        sealed = self.to_keep(caller, request, answer)
        if sealed is None:
            return answer
        try:
            self._store.commit(Commit(appends=(), answer=sealed))
        except AnswerConflict:
            return self.kept(caller, request) or answer
        return answer

    def to_keep(
        self, caller: UUID, request: Idempotency | None, answer: Answered
    ) -> StoredAnswer | None:
        """Return the answer as it is stored with the effect of its request."""
        if request is None:
            return None
        header = orjson.dumps({"version": answer.version})
        key_id, sealed = self._keyring.seal(
            header + b"\n" + without_hand(answer.body), _associated(caller, request)
        )
        return StoredAnswer(
            caller=caller,
            request_key=request.request_key,
            body_hash=request.body_hash,
            sealed=key_id.encode() + b":" + sealed,
        )


def _associated(caller: UUID, request: Idempotency) -> bytes:
    return caller.bytes + request.request_key
