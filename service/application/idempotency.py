"""Idempotency: answers to moves are rebuilt from the log, other answers stored encrypted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

import orjson
from msgspec.structs import replace

from schemas.moves import listed_moves
from service.application.calls import Answered, Idempotency, MadeMove
from service.application.errors import Refusal
from service.application.games.cache import GameCache, Histories, Names
from service.application.games.queries import move_answer
from service.application.quotas import listing, work
from service.application.signing import Receipts
from service.domain.cards import in_code_order
from service.domain.legal import legal_moves
from service.keys import Keys
from service.replay.sentences import said
from service.store.events import EventStore, StoredAnswer

Json = dict[str, Any]


def without_hand(body: bytes) -> bytes:
    """
    Return an answer without the hand and the legal moves of its seat.

    The length of the encrypted answer would reveal the number of legal moves. The length of
    the remaining answer follows from public data.
    """
    answer = orjson.loads(body)
    view = _view(answer)
    if view is None:
        return body
    view["moves"] = []
    view["seats"][view["as"]]["hand"]["cards"] = None
    return orjson.dumps(answer)


def with_hand(body: bytes, game_cache: GameCache, histories: Histories) -> bytes:
    """Return an answer of `without_hand` with hand and legal moves, recomputed from the log."""
    answer = orjson.loads(body)
    view = _view(answer)
    if view is None:
        return body
    game, seat, version = UUID(view["id"]), view["as"], view["version"]
    entry = game_cache.fresh(game)
    if entry is None:
        return body
    past = histories.full(entry).games[version - 1]
    with work(listing(past, seat)):
        view["moves"] = listed_moves(legal_moves(past, seat))
    view["seats"][seat]["hand"]["cards"] = list(in_code_order(past.seats[seat].hand))
    return orjson.dumps(answer)


def _view(answer: Any) -> Json | None:
    """Return the seat's view in an answer: the answer itself, or its member `game`."""
    if not isinstance(answer, dict):
        return None
    found = answer.get("game")
    view = found if isinstance(found, dict) else answer
    seated = isinstance(view.get("as"), int) and "moves" in view
    return view if seated else None


_REBUILT: Final = b"log:"
"""Prefix of a row from which an answer is rebuilt; other rows begin with the id of their key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """Stores the first answer to each idempotent request, and returns it to repetitions."""

    store: EventStore
    keyring: Keys
    game_cache: GameCache
    histories: Histories
    names: Names
    receipts: Receipts

    def first_answer(self, caller: UUID, request: Idempotency | None) -> Answered | None:
        """
        Return the first answer to this request, None if it has none yet.

        Raises Refusal `idempotency-conflict` if the key was used with another body.
        """
        if request is None:
            return None
        return self.opened(caller, request, self.store.answer(caller, request.request_key))

    def opened(
        self, caller: UUID, request: Idempotency, found: StoredAnswer | None
    ) -> Answered | None:
        """
        Return a stored answer as it was sent; None if there is none.

        Raises Refusal `idempotency-conflict` if the key was used with another body.
        """
        if found is None:
            return None
        if found.body_hash != request.body_hash:
            raise Refusal("idempotency-conflict", said("request.key_reused"))
        if found.sealed.startswith(_REBUILT):
            return self._rebuilt(_move_of_row(found.sealed))
        key_id, _, sealed = found.sealed.partition(b":")
        opened = self.keyring.open(key_id.decode(), sealed, _associated(caller, request))
        header, _, body = opened.partition(b"\n")
        return Answered(
            body=with_hand(body, self.game_cache, self.histories),
            version=orjson.loads(header)["version"],
            replayed=True,
        )

    def stored(
        self, caller: UUID, request: Idempotency, answer: Answered | MadeMove
    ) -> StoredAnswer:
        """Return the row to store with the commit of a request."""
        if isinstance(answer, MadeMove):
            row = _row_of_move(answer)
        else:
            row = self._sealed(caller, request, answer)
        return StoredAnswer(
            caller=caller,
            request_key=request.request_key,
            body_hash=request.body_hash,
            sealed=row,
        )

    def _sealed(self, caller: UUID, request: Idempotency, answer: Answered) -> bytes:
        """Return an answer, encrypted."""
        header = orjson.dumps({"version": answer.version})
        key_id, sealed = self.keyring.seal(
            header + b"\n" + without_hand(answer.body), _associated(caller, request)
        )
        return key_id.encode() + b":" + sealed

    def _rebuilt(self, move: MadeMove) -> Answered:
        """
        Return the answer to a move: the view of its seat at the version after it.

        Its names are the present ones, and its receipt is signed with the present key.
        Raises Refusal `unavailable` if the events are no longer in the log.
        """
        entry = self.game_cache.past(move.game, move.version)
        if entry is None:
            raise Refusal("unavailable", said("request.answer_gone"))
        after = replace(entry, returned_seats=frozenset(move.back))
        count = move.version - move.before
        lines = self.game_cache.lines(move.game, after=move.before, limit=count)
        return Answered(
            body=move_answer(after, lines, move.seat, self.names, self.receipts),
            version=move.version,
            replayed=True,
        )


def _row_of_move(move: MadeMove) -> bytes:
    """Return the content of the stored row."""
    values = (str(move.game), move.seat, move.before, move.version, move.back)
    return _REBUILT + orjson.dumps(values)


def _move_of_row(row: bytes) -> MadeMove:
    game, seat, before, version, back = orjson.loads(row.removeprefix(_REBUILT))
    return MadeMove(game=UUID(game), seat=seat, before=before, version=version, back=tuple(back))


def _associated(caller: UUID, request: Idempotency) -> bytes:
    return caller.bytes + request.request_key
