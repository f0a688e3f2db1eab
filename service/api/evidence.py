"""Evidence endpoints: checks of a game, bundles, keys, uploads, and the public log."""

from __future__ import annotations

import logging
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import SpooledTemporaryFile
from typing import IO
from uuid import UUID

from flask import Response, request

from schemas.audit import AuditSchema, ServerKeysSchema, TimeStampsSchema
from schemas.games import AsQuery, LogProofQuery, ProfileQuery
from service.api.call import required
from service.api.connections import connections_from
from service.api.context import context, services
from service.api.conventions.caching import immutable, private, shared
from service.api.conventions.media_types import NDJSON, OCTETS, PLAIN, ZIP
from service.api.conventions.responses import json_response, page, text_response
from service.api.multipart import MAX_PARTS, Part, receive_parts
from service.api.operation import Call, InviteHeaders, Token, blueprint, operation
from service.api.parsing import caller_address, check_encoding, copy_body, malformed
from service.application.errors import Refusal, invalid, not_found
from service.application.games.uploads import Upload
from service.application.quotas import BY_EVENTS, LIGHT, Slots, Weight
from service.replay.sentences import said
from service.shx.canonical import format_time
from service.shx.tlog.notes import from_text_field
from service.shx.tlog.tiles import parse_tile

evidence = blueprint(
    "evidence", __name__, "Verification of games: checks, evidence bundles and server keys."
)

GAME = "/games/<uuid:game_id>"
MULTIPART = "multipart/form-data"
MEMORY_BYTES = 1 << 19
"""Maximum size of an upload that is buffered in memory; a larger one goes to disk."""

PARTS = ("file", "receipt", "key", "seat_key", "key_change", "proof")
VERIFIER_KEYS = r"^[\t\n\r -~]{1,9000}$"
SEAT_KEY = r"^(0|[1-9][0-9]?)=[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$"

_BINARY = {"type": "string", "format": "binary"}
_UPLOAD = {
    "required": True,
    "content": {
        ZIP: {"schema": _BINARY},
        NDJSON: {"schema": {"type": "string"}},
        OCTETS: {"schema": _BINARY},
        MULTIPART: {
            "schema": {
                "type": "object",
                "required": ["file"],
                "properties": {
                    "file": _BINARY,
                    "receipt": {
                        "type": "array",
                        "maxItems": MAX_PARTS,
                        "items": {"type": "string"},
                        "description": "receipts as the server sent them: the signed note of a "
                        "move, or the answer of /v1/games/{id}/receipt, for the whole hand",
                    },
                    "key": {
                        "type": "array",
                        "maxItems": MAX_PARTS,
                        "items": {"type": "string", "pattern": VERIFIER_KEYS},
                        "description": "keys of the server and of witnesses, as verifier keys: "
                        "name+id+key; or a saved answer of /v1/keys",
                    },
                    "seat_key": {
                        "type": "array",
                        "maxItems": MAX_PARTS,
                        "items": {"type": "string", "pattern": SEAT_KEY},
                        "description": "public keys of seats in base64, as 0=<key>",
                    },
                    "key_change": {
                        "type": "array",
                        "maxItems": MAX_PARTS,
                        "items": {"type": "string"},
                        "description": "answers of /v1/tables/{id}/keys, or items of them",
                    },
                    "proof": {
                        "type": "string",
                        "description": "a proof of the public log, in place of that in the bundle",
                    },
                },
                "additionalProperties": False,
            }
        },
    },
}


@operation(
    evidence,
    "GET",
    f"{GAME}/audit",
    query=AsQuery,
    answer=AuditSchema,
    refuses=("not-found", "sealed"),
    headers=(InviteHeaders,),
    replica=True,
    weight=BY_EVENTS,
)
def audit(call: Call, game_id: UUID) -> Response:
    """
    Run the checks of SHX/1 on the log of a game; before the seal, without the deck.

    Every caller gets the same result. With `as`, the answer is immutable once the game is
    sealed and in the public log, with all required witnesses.
    """
    entry = services().games.entry(call.caller, game_id)
    services().games.viewer(entry, call.caller, call.query["as_"])
    found = services().verifying.audit(call.caller, game_id)
    response = json_response(found)
    if call.query["as_"] is not None and services().verifying.is_final(found):
        return immutable(response, public=entry.public)
    return private(response)


@operation(
    evidence,
    "GET",
    f"{GAME}/evidence",
    query=ProfileQuery,
    answer=None,
    produces=(ZIP,),
    refuses=("not-found", "not-seated"),
    headers=(InviteHeaders,),
    replica=True,
    weight=BY_EVENTS,
)
def bundle(call: Call, game_id: UUID) -> Response:
    """
    Return the game as a `.shx` bundle that can be verified without this server.

    A ZIP archive of the log, a manifest and, if they exist, proofs, refused attempts and disputes.
    """
    profile = call.query["profile"]
    if profile == "seat":
        required(call.player)
    name, content = services().evidence.bundle(call.caller, game_id, profile)
    response = private(Response(content, content_type=ZIP))
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


@operation(
    evidence,
    "POST",
    "/verify",
    answer=AuditSchema,
    token=Token.IGNORED,
    refuses=(
        *("too-large", "unsupported-media-type", "invalid-body", "not-a-bundle", "rate-limited"),
        "unavailable",
    ),
    doc={"requestBody": _UPLOAD},
    weight=Weight(calls=50, per_address=60),
)
def verify(_call: Call) -> Response:
    """
    Verify a bundle or a log from the upload alone, without the server's own records.

    Level L2 also needs a receipt and the server's keys: the `receipt` in the answer to a move, or
    `GET /v1/games/{id}/receipt`, and `GET /v1/keys`, saved by a player or spectator during the
    game. A bundle alone reaches L1, because its receipts come from the server with the log.
    As multipart/form-data: the bundle or log as `file`, receipts as `receipt`, server and
    witness keys as `key`, seats' keys as `seat_key`, their signed changes as `key_change`, a
    proof of the public log as `proof`. A verification that exceeds the time limit of the
    server (5 seconds by default) is answered with `unavailable`.
    """
    # A slow upload occupies a slot for slow bodies, but no slot for verification.
    with SpooledTemporaryFile(max_size=MEMORY_BYTES) as file:
        with _disk_space():
            parts = _received(file)
        with _slot(context().uploads):
            upload = _single(file.read()) if parts is None else _multipart(parts, file)
            found = _verified(upload)
    return private(json_response(found))


@contextmanager
def _slot(slots: Slots) -> Iterator[None]:
    """Hold a slot for the caller's address; raises `unavailable` if none is free."""
    with slots.slot(caller_address()) as free:
        if not free:
            raise Refusal("unavailable", said("limit.uploads"), retry_after=5)
        yield


@contextmanager
def _disk_space() -> Iterator[None]:
    """Raise `unavailable` if an upload cannot be stored, for example on a full disk."""
    try:
        yield
    except OSError as error:
        logging.getLogger("shithead.api").error("an upload cannot be stored: %s", error.strerror)
        raise Refusal("unavailable", said("limit.space"), retry_after=60) from None


def _received(file: IO[bytes]) -> list[Part] | None:
    """Copy the body into a file; return the parts of multipart/form-data, None for one file."""
    most = request.max_content_length = context().settings.max_bundle_bytes
    if request.mimetype in (ZIP, NDJSON, OCTETS):
        copy_body(file)
        return None
    if request.mimetype != MULTIPART:
        types = (ZIP, NDJSON, OCTETS, MULTIPART)
        raise Refusal("unsupported-media-type", said("request.upload_types", types=types))
    check_encoding()
    boundary = request.mimetype_params.get("boundary", "")
    return receive_parts(request.stream, boundary.encode(), file, most)


def _verified(upload: Upload) -> object:
    """Return the audit object of an upload; verification stops if the sender disconnects."""
    environ = request.environ.get("werkzeug.proxy_fix.orig", request.environ)
    received, settings = request.content_length or 0, context().settings
    ports = (settings.port, settings.stream_port)
    with connections_from(environ.get("REMOTE_ADDR"), received, ports) as callers:
        return services().verifying.verify(upload, callers)


def _single(raw: bytes) -> Upload:
    """Return an upload that is a single file."""
    if not raw:
        raise malformed(said("request.empty_upload"))
    return Upload(data=raw)


@operation(
    evidence,
    "GET",
    "/keys",
    answer=ServerKeysSchema,
    token=Token.IGNORED,
    weight=LIGHT,
)
def keys(_call: Call) -> Response:
    """
    List the server's keys, which sign receipts and checkpoints, with their periods of use.

    `retirements` are the end dates of old keys, each signed with a later key; verifiers reject
    later signatures of a retired key. A new key signs immediately, so caches must revalidate
    this answer at each use. `restores` are the signed declarations of restores that may have lost
    moves; a verifier shows one beside a receipt that contradicts the log.
    """
    found = services()
    listed = page(found.keys(), None, retirements=found.retirements(), restores=found.restores())
    return shared(json_response(listed))


def _parts(received: list[Part], file: IO[bytes]) -> dict[str, list[bytes]]:
    """Return the parts by name; raises `invalid-body` for an unknown, missing or repeated one."""
    unknown = {part.name for part in received} - set(PARTS)
    if unknown:
        raise invalid(f"/{min(unknown)}", said("request.unknown_part", names=tuple(PARTS)))
    parts: dict[str, list[bytes]] = {name: [] for name in PARTS}
    for part in received:
        parts[part.name].append(part.read(file))
    if len(parts["file"]) != 1:
        raise invalid("/file", said("request.once"))
    if len(parts["proof"]) > 1:
        raise invalid("/proof", said("request.at_most_once"))
    return parts


def _multipart(received: list[Part], file: IO[bytes]) -> Upload:
    """Return the upload of a multipart request, whose parts are in `file`."""
    parts = _parts(received, file)
    return Upload(
        data=parts["file"][0],
        receipts=list(map(from_text_field, parts["receipt"])),
        keys=_ascii("key", parts["key"]),
        seat_keys=_ascii("seat_key", parts["seat_key"]),
        key_changes=parts["key_change"],
        proof=next(map(from_text_field, parts["proof"]), None),
    )


def _ascii(name: str, values: list[bytes]) -> list[str]:
    try:
        return [value.decode("ascii").strip() for value in values]
    except UnicodeDecodeError:
        raise invalid(f"/{name}", said("request.no_ascii_key")) from None


log = blueprint(
    "log", __name__, "The public log of all games, for witnesses, monitors and verifiers."
)

MAX_STAMPS = 100
"""Time stamps in an answer: more than three months."""

CHECKPOINT_SECONDS = 2
"""Seconds for which caches may answer with a stored checkpoint."""


@operation(
    log,
    "GET",
    "/log/checkpoint",
    answer=None,
    produces=(PLAIN,),
    token=Token.IGNORED,
    refuses=("not-found",),
    weight=LIGHT,
)
def checkpoint(_call: Call) -> Response:
    """
    Return the newest checkpoint, signed by the log and cosigned by its witnesses.

    The prefix of the log is `/v1/log`; its tiles are at `/v1/log/tile/` (C2SP tlog-tiles).
    """
    found = services().log.checkpoint()
    if found is None:
        raise not_found("checkpoint")
    return shared(text_response(found), seconds=CHECKPOINT_SECONDS)


@operation(
    log,
    "GET",
    "/log/time-stamps",
    answer=TimeStampsSchema,
    token=Token.IGNORED,
    weight=LIGHT,
)
def time_stamps(_call: Call) -> Response:
    """
    Return the newest tokens of the time-stamp authority (RFC 3161) that the operator named.

    Each is over the text of a checkpoint. `openssl ts -verify -data TEXT -in ANSWER -CAfile …`
    checks it, with a certificate that does not come from this server.
    """
    items = [
        {
            "size": stamp.size,
            "authority": stamp.authority,
            "at": format_time(stamp.at),
            "text": text,
            "answer": b64encode(stamp.answer).decode(),
        }
        for stamp, text in services().log.stamps(MAX_STAMPS)
    ]
    return shared(json_response(page(items, None)))


@operation(
    log,
    "GET",
    "/log/proof",
    query=LogProofQuery,
    answer=None,
    produces=(PLAIN,),
    token=Token.IGNORED,
    refuses=("not-found",),
    weight=LIGHT,
)
def proof(call: Call) -> Response:
    """
    Return the proof (C2SP tlog-proof) of a game's last leaf; `extra` is the leaf's data.

    It shows that the game's head is in the public log under a signed checkpoint.
    """
    found = services().log.proof(call.query["game"])
    if found is None:
        raise not_found("leaf")
    return shared(text_response(found))


@operation(
    log,
    "GET",
    "/log/tile/<string:level>/<path:rest>",
    answer=None,
    produces=(OCTETS,),
    token=Token.IGNORED,
    refuses=("not-found",),
    weight=LIGHT,
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
