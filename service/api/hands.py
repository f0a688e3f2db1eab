"""The hands of a player in bulk: lines of JSON and a tar file, sent while they are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain, islice
from uuid import UUID

import orjson
import structlog
from flask import Response, request
from msgspec.structs import replace

from schemas.games import HandsQuery, PackedHandsQuery
from service.api.context import context, services
from service.api.conventions.caching import private
from service.api.conventions.media_types import NDJSON, TAR
from service.api.conventions.paging import with_next
from service.api.following import slot_for_stream
from service.api.games import hand_filters
from service.api.limits import SentWork
from service.api.operation import Call, InviteHeaders, Token, blueprint, operation
from service.api.parsing import caller_address
from service.api.problems import PROBLEMS
from service.application.calls import Caller
from service.application.errors import Refusal
from service.application.quotas import Limit, Weight, limited_by
from service.replay.sentences import said
from service.store.games import GameFilter

_log = structlog.get_logger("api")

hands = blueprint("hands", __name__, "The hands of a player in bulk.")


@operation(
    hands,
    "GET",
    "/players/<player:player_id>/hands",
    query=HandsQuery,
    answer=None,
    produces=(NDJSON,),
    refuses=("not-found",),
    headers=(InviteHeaders,),
    streamed=True,
    weight=Weight(calls=20, grows="slots while it is sent"),
)
def list_hands(call: Call, player_id: UUID) -> Response:
    """
    List all hands of a player that are over and that the caller can see, one a line, newest first.

    A line has id, table, ruleset, seats, result, times, links and a `cursor`: a client whose
    connection broke continues with the cursor of its last whole line. The answer occupies one of
    the slots for streams while it is sent. If it was cut off, its last line is a problem.
    """
    return _sent(call, player_id, services().hands.lines, NDJSON)


@operation(
    hands,
    "GET",
    "/players/<player:player_id>/hands.tar",
    query=PackedHandsQuery,
    answer=None,
    produces=(TAR,),
    token=Token.NEEDED,
    refuses=("forbidden", "not-found"),
    streamed=True,
    weight=Weight(calls=20, grows="slots while it is sent"),
)
def pack_hands(call: Call, player_id: UUID) -> Response:
    """
    Return the evidence bundles of the caller's own finished hands as tar files, newest first.

    A file has `limit` hands; `Link: rel="next"` is the address of the next one. Each member is
    `<id of the game>.shx`, with the bytes of `GET /v1/games/{id}/evidence`. A tar file without its
    end was cut off: ask for the same part again.
    """
    if player_id != call.by.id:
        raise Refusal("forbidden", said("request.bulk"))
    limit, following = call.query["limit"], list[str | None]()

    def read(
        caller: Caller, which: GameFilter, cursor: str | None, admit: Callable[[], None]
    ) -> Iterator[bytes]:
        pieces, next_ = services().hands.bundles(caller, which, cursor, limit, admit)
        following.append(next_)
        return pieces

    response = with_next(_sent(call, player_id, read, TAR), following[0])
    response.headers["Content-Disposition"] = f'attachment; filename="hands-{player_id}.tar"'
    return response


Read = Callable[[Caller, GameFilter, str | None, Callable[[], None]], Iterator[bytes]]


def _sent(call: Call, player: UUID, read: Read, media_type: str) -> Response:
    """
    Return an answer that is read while it is sent, in one of the slots for streams.

    The first piece is read before, so that its errors are answered as problems. After it an error
    is a last line that is a problem, because the server ends an answer of which the application
    raises an error like a whole one. A tar file then lacks its end.

    Raises the refusals of `slot_for_stream` and of `read`.
    """
    parts = context()
    slot = slot_for_stream(call.caller.player)
    release = partial(parts.streams.release, slot)  # does nothing the second time
    try:
        which = GameFilter(player=player, **hand_filters(call))
        pieces = _limited(
            read(_kept(call.caller), which, call.query["cursor"], _admit(call)),
            SentWork(parts.long_games, caller_address()),
        )
        first = list(islice(pieces, 1))
    except BaseException:
        release()
        raise
    if request.method == "HEAD":
        release()
    fault = _last_line if media_type == NDJSON else _no_end
    body = _releasing(chain(first, pieces), release, fault)
    response = private(Response(body, content_type=media_type))
    response.headers["X-Accel-Buffering"] = "no"
    # The slot is released however the answer ends, even before the first byte.
    response.call_on_close(release)
    return response


def _limited(pieces: Iterator[bytes], limit: Limit) -> Iterator[bytes]:
    """Yield the pieces, each made within a limit that lasts longer than the request."""
    while True:
        with limited_by(limit):
            piece = next(pieces, None)
        if piece is None:
            return
        yield piece


def _releasing(
    pieces: Iterator[bytes], release: Callable[[], None], fault: Callable[[Exception], bytes]
) -> Iterator[bytes]:
    """Yield the pieces, and after an error those of `fault`; release the slot at the end."""
    try:
        yield from pieces
    except Exception as error:  # noqa: BLE001 - the answer has begun: it can only be cut off
        _log.exception("hands in bulk were cut off")
        yield fault(error)
    finally:
        release()


def _last_line(error: Exception) -> bytes:
    """Return the line that ends an answer which was cut off: a problem."""
    code = error.code if isinstance(error, Refusal) else "unavailable"
    kind = PROBLEMS[code]
    detail = "the answer was cut off: continue with the cursor of the last hand"
    value = {"type": f"/problems/{code}", "title": kind.title, "status": kind.status.value}
    return orjson.dumps({**value, "detail": detail}) + b"\n"


def _no_end(_error: Exception) -> bytes:
    """Return nothing: a tar file without its end was cut off."""
    return b""


def _kept(caller: Caller) -> Caller:
    """Return the caller without the request, which ends before the answer does."""
    path = caller.what()
    return replace(caller, read=None, what=lambda: path)


def _admit(call: Call) -> Callable[[], None]:
    """Return a function that raises Refusal `unauthorized` if the token has expired meanwhile."""
    read, reads = call.caller.read, services().first_reads
    token = None if read is None else read.token
    return (lambda: None) if token is None else (lambda: reads.check(token))
