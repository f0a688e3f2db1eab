"""Public log endpoints: checkpoint, tiles (C2SP tlog-tiles) and inclusion proofs."""

from __future__ import annotations

from flask import Response

from schemas.games import LogProofQuery
from service.api.context import services
from service.api.http import OCTETS, PLAIN, immutable, shared, text_response
from service.api.operation import Call, Token, blueprint, operation
from service.application.errors import not_found
from service.shx.tlog.tiles import parse_tile

log = blueprint(
    "log", __name__, "The public log of all games, for witnesses, monitors and verifiers."
)

FRESH = 2
"""Seconds for which caches may store a checkpoint."""


@operation(
    log,
    "GET",
    "/log/checkpoint",
    answer=None,
    produces=(PLAIN,),
    token=Token.IGNORED,
    refuses=("not-found",),
)
def checkpoint(_call: Call) -> Response:
    """
    Return the newest checkpoint, signed by the log and cosigned by its witnesses.

    The prefix of the log is `/v1/log`; its tiles are at `/v1/log/tile/` (C2SP tlog-tiles).
    """
    found = services().log.checkpoint()
    if found is None:
        raise not_found("checkpoint yet")
    return shared(text_response(found), seconds=FRESH)


@operation(
    log,
    "GET",
    "/log/proof",
    query=LogProofQuery,
    answer=None,
    produces=(PLAIN,),
    token=Token.IGNORED,
    refuses=("not-found",),
)
def proof(call: Call) -> Response:
    """Return the proof (C2SP tlog-proof) of a game's last leaf; `extra` is the leaf's data."""
    found = services().log.proof(call.query["game"])
    if found is None:
        raise not_found("leaf in the public log")
    return shared(text_response(found))


@operation(
    log,
    "GET",
    "/log/tile/<string:level>/<path:rest>",
    answer=None,
    produces=(OCTETS,),
    token=Token.IGNORED,
    refuses=("not-found",),
)
def tile(_call: Call, level: str, rest: str) -> Response:
    """
    Return a tile (`level` 0 to 63) or an entry bundle (`level` is `entries`); it never changes.

    `rest` is `<N>` or `<N>.p/<W>` as in C2SP tlog-tiles: `x001/x234/067`, `000.p/17`.
    """
    requested = parse_tile(level, rest)
    found = None if requested is None else services().log.tile(requested)
    if found is None:
        raise not_found("tile")
    return immutable(Response(found, content_type=OCTETS), public=True)
