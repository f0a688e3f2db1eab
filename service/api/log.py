"""The public log over HTTP: checkpoint and tiles as C2SP tlog-tiles has them, and proofs."""

from __future__ import annotations

from flask import Response

from schemas.games_schema import LogProofQuery
from service.api.blueprint import Blueprint, Call, Token, operation
from service.api.context import services
from service.api.conventions import OCTETS, PLAIN, shared, text_response, unchanging
from service.application.errors import not_found
from service.record.tiles import parse_tile

log = Blueprint("log", __name__, "The public log, for witnesses, monitors and everybody else.")

FRESH = 2
"""Seconds for which a checkpoint may be kept."""


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
    The newest checkpoint, signed by the log and cosigned by its witnesses.

    The log has the prefix `/v1/log`: tiles stand below it as C2SP tlog-tiles says.
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
    """The proof (C2SP tlog-proof) that the log has the last leaf of a game; its data is `extra`."""
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
    A tile (`level` 0 to 63) or a bundle of entries (`entries`); what stands there never changes.

    `rest` is `<N>` or `<N>.p/<W>` as in C2SP tlog-tiles: `x001/x234/067`, `000.p/17`.
    """
    wanted = parse_tile(level, rest)
    found = None if wanted is None else services().log.tile(wanted)
    if found is None:
        raise not_found("tile")
    return unchanging(Response(found, content_type=OCTETS), public=True)
