"""Audit: the checks on a game, evidence to take away, and the verifier for what others bring."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import SpooledTemporaryFile
from typing import IO
from uuid import UUID

from flask import Response, request
from werkzeug.exceptions import RequestEntityTooLarge

from schemas.audit_schema import AuditSchema, ServerKeysSchema
from schemas.games_schema import AsQuery, ProfileQuery
from service.api.auth import required
from service.api.blueprint import Blueprint, Call, Token, operation
from service.api.bodies import check_encoding, copy_body, malformed
from service.api.context import context, services
from service.api.conventions import (
    NDJSON,
    OCTETS,
    ZIP,
    json_response,
    own,
    page,
    shared,
    unchanging,
)
from service.api.headers import InviteHeaders
from service.api.limits import caller_address
from service.api.places import Places
from service.application.errors import Refusal, invalid

evidence = Blueprint("evidence", __name__, "What can be checked, and with what.")

GAME = "/games/<uuid:game_id>"
MULTIPART = "multipart/form-data"
MOST_PARTS = 1000
IN_MEMORY = 1 << 19
"""Bytes of an upload that are kept in memory while it comes in."""

PARTS = ("file", "receipt", "key", "seat_key", "key_change", "proof")
VERIFIER_KEYS = r"^[!-~]{1,9000}$"
SEAT_KEY = r"^(0|[1-9][0-9]?)=[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$"

_BINARY = {"type": "string", "format": "binary"}
_UPLOAD = {
    "required": True,
    "content": {
        ZIP: {"schema": _BINARY},
        NDJSON: {"schema": {"type": "string"}},
        MULTIPART: {
            "schema": {
                "type": "object",
                "required": ["file"],
                "properties": {
                    "file": _BINARY,
                    "receipt": {"type": "array", "items": {"type": "string"}},
                    "key": {
                        "type": "array",
                        "items": {"type": "string", "pattern": VERIFIER_KEYS},
                        "description": "the server's and those of witnesses, as verifier keys: "
                        "name+id+key; or a saved answer of /v1/keys",
                    },
                    "seat_key": {
                        "type": "array",
                        "items": {"type": "string", "pattern": SEAT_KEY},
                        "description": "public keys of players in base64, as 0=<key>",
                    },
                    "key_change": {
                        "type": "array",
                        "items": {"type": "string"},
                        "description": "answers of /v1/tables/{id}/keys, or items of them",
                    },
                    "proof": {
                        "type": "string",
                        "description": "of the public log, in place of one in the bundle",
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
)
def audit(call: Call, game_id: UUID) -> Response:
    """
    The checks of SHX/1 on a game; before the seal worked out from the public log alone.

    They are the same for everybody: with `as` the answer may be kept for ever, once the
    game is sealed and the public log has it, with all the witnesses that are asked for.
    """
    entry = services().games.entry(call.caller, game_id)
    services().games.viewer(entry, call.caller, call.query["as_"])
    found = services().verifying.audit(call.caller, game_id)
    response = json_response(found)
    if call.query["as_"] is not None and services().verifying.is_final(found):
        return unchanging(response, public=entry.public)
    return own(response)


@operation(
    evidence,
    "GET",
    f"{GAME}/evidence",
    query=ProfileQuery,
    answer=None,
    produces=(ZIP,),
    refuses=("not-found", "not-seated"),
    headers=(InviteHeaders,),
)
def bundle(call: Call, game_id: UUID) -> Response:
    """The game as a bundle that can be verified without this server."""
    profile = call.query["profile"]
    if profile == "seat":
        required(call.player)
    name, content = services().evidence.bundle(call.caller, game_id, profile)
    response = own(Response(content, content_type=ZIP))
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


@operation(
    evidence,
    "POST",
    "/verify",
    answer=AuditSchema,
    token=Token.IGNORED,
    refuses=("too-large", "unsupported-media-type", "invalid-body", "not-a-bundle", "rate-limited"),
    doc={"requestBody": _UPLOAD},
)
def verify(_call: Call) -> Response:
    """
    Check a bundle or a log, from what is sent alone; the server's own records say nothing here.

    As multipart: the bundle as `file`, receipts as `receipt`, server keys
    as `key`, keys of seats as `seat_key`, signed changes of these as `key_change`, a
    proof of the public log as `proof`.
    """
    # Who sends slowly holds a thread for that, and none of the few places to verify in.
    with SpooledTemporaryFile(max_size=IN_MEMORY) as file:
        with _place(context().incoming), _room_on_disk():
            is_whole = _received(file)
        with _place(context().uploads):
            found = _verify_whole(file.read()) if is_whole else _verify_parts()
    return own(json_response(found))


@contextmanager
def _place(places: Places) -> Iterator[None]:
    """Hold a place for the caller's address; raises `unavailable` where there is none."""
    with places.place(caller_address()) as free:
        if not free:
            raise Refusal("unavailable", "too many logs are being verified", retry_after=5)
        yield


@contextmanager
def _room_on_disk() -> Iterator[None]:
    """Raise `unavailable` where what comes in cannot be kept, as on a full disk."""
    try:
        yield
    except OSError as error:
        logging.getLogger("shithead.api").error("an upload cannot be kept: %s", error.strerror)
        raise Refusal("unavailable", "there is no room for it now", retry_after=60) from None


def _received(file: IO[bytes]) -> bool:
    """Read what is sent to its end; return whether it came as one, in `file`, or else in parts."""
    request.max_content_length = context().settings.max_bundle_bytes
    if request.mimetype in (ZIP, NDJSON, OCTETS):
        copy_body(file)
        return True
    if request.mimetype != MULTIPART:
        raise Refusal("unsupported-media-type", f"send {ZIP}, {NDJSON} or {MULTIPART}")
    check_encoding()
    request.max_form_memory_size = context().settings.max_bundle_bytes
    request.max_form_parts = MOST_PARTS
    try:
        _ = request.files  # which reads all parts; large files go to the disk
    except RequestEntityTooLarge:
        whole = request.content_length
        if whole is not None and whole <= context().settings.max_bundle_bytes:
            said = f"there are more than {MOST_PARTS} parts; of many receipts the newest says most"
            raise Refusal("too-large", said) from None
        raise
    return False


def _verify_whole(raw: bytes) -> object:
    """Verify what came as one."""
    if not raw:
        raise malformed("the body is empty")
    return services().verifying.verify(raw)


@operation(evidence, "GET", "/keys", answer=ServerKeysSchema, token=Token.IGNORED)
def keys(_call: Call) -> Response:
    """The keys that receipts are signed with, and when each was in use."""
    return shared(json_response(page(services().keys(), None)), seconds=60)


def _parts() -> dict[str, list[bytes]]:
    """Return what came in parts, by name; any other part than those documented is refused."""
    parts: dict[str, list[bytes]] = {name: [] for name in PARTS}
    for name, text in request.form.items(multi=True):
        parts.setdefault(name, []).append(text.encode())
    for name, upload in request.files.items(multi=True):
        parts.setdefault(name, []).append(upload.read())
    unknown = parts.keys() - set(PARTS)
    if unknown:
        raise invalid(f"/{min(unknown)}", "is not known here")
    if len(parts["file"]) != 1:
        raise invalid("/file", "is to be there once")
    if len(parts["proof"]) > 1:
        raise invalid("/proof", "is there more than once")
    return parts


def _verify_parts() -> object:
    """Verify what came in parts."""
    parts = _parts()
    return services().verifying.verify(
        parts["file"][0],
        receipts=parts["receipt"],
        keys=_words("key", parts["key"]),
        seat_keys=_words("seat_key", parts["seat_key"]),
        key_changes=parts["key_change"],
        proof=next(iter(parts["proof"]), None),
    )


def _words(name: str, values: list[bytes]) -> list[str]:
    try:
        return [value.decode("ascii").strip() for value in values]
    except UnicodeDecodeError:
        raise invalid(f"/{name}", "is not a key") from None
