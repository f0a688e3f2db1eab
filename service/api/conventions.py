"""Conventions of all answers (api.md, section 1): ETags, caching, media types, repetitions."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any
from uuid import uuid4

import orjson
from flask import Flask, Response, g, request
from werkzeug.datastructures import MIMEAccept

from service.api.auth import INVITE_HEADER
from service.api.bodies import body_bytes, malformed
from service.api.html import POLICY as PAGE_POLICY
from service.application.callers import Answered, Idempotency
from service.application.errors import Refusal

JSON = "application/json"
NDJSON = "application/x-ndjson"
PLAIN = "text/plain"
EVENT_STREAM = "text/event-stream"
ZIP = "application/zip"
OCTETS = "application/octet-stream"
YEAR = 365 * 24 * 3600

POLICY = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
"""The Content-Security-Policy of answers that are data: as a page they may do nothing."""

SAFE = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
}
"""What every answer tells browsers."""

_TAG = r'(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"'
_TAGS = re.compile(rf"[ \t,]*{_TAG}(?:[ \t]*,[ \t,]*{_TAG})*[ \t,]*")
"""A list of ETags (RFC 9110, 8.8.3 and 5.6.1): elements of it may be empty."""

_OURS = re.compile(r'(?<!W/)"v(0|[1-9][0-9]{0,8})"')
"""An ETag of ours that is strong: If-Match asks for no less."""

IDEMPOTENCY_KEY = r"^[\x21-\x7e]{1,255}$"

_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,100}")


def register(app: Flask) -> None:
    """Give every answer its X-Request-ID; one that a proxy gave is kept."""

    @app.before_request
    def name_request() -> None:
        given = request.headers.get("X-Request-ID", "")
        g.request_id = given if _REQUEST_ID.fullmatch(given) else uuid4().hex

    @app.after_request
    def tell_name(response: Response) -> Response:
        response.headers["X-Request-ID"] = g.get("request_id") or uuid4().hex
        return response

    @app.after_request
    def tell_browsers(response: Response) -> Response:
        if request.method == "OPTIONS" and response.content_length in (None, 0):
            response.headers.pop("Content-Type", None)  # Flask's own answer, which has no body
        if response.status_code == 204:
            response.headers.pop("Content-Type", None)
        is_page = response.mimetype == "text/html"
        for name, value in SAFE.items():
            response.headers.setdefault(name, value)
        if request.is_secure:
            response.headers.setdefault("Strict-Transport-Security", f"max-age={YEAR}")
        response.headers.setdefault("Content-Security-Policy", PAGE_POLICY if is_page else POLICY)
        # Whatever says nothing of keeping may hold somebody's token or cards.
        response.headers.setdefault("Cache-Control", "no-store")
        return response


def accepted(produces: tuple[str, ...]) -> str:
    """Return the media type, out of those a call produces, that the caller likes best."""
    if not request.headers.get("Accept"):
        return produces[0]
    # What a caller adds to a type, such as a charset, asks for no other form.
    plain = MIMEAccept([(kind.partition(";")[0], q) for kind, q in request.accept_mimetypes])
    best = plain.best_match(produces, default="")
    if not best:
        raise Refusal("not-acceptable", f"this is given as {' or '.join(produces)}")
    return best


def idempotency_key(*, allowed: bool) -> str | None:
    """Return the key of a request that may be repeated, None where it brings none."""
    name = "Idempotency-Key"
    key = request.headers.get(name)
    if key is None:
        return None
    if not allowed:
        raise malformed("is not for calls that answer with a token", name)
    if not re.fullmatch(IDEMPOTENCY_KEY, key):
        raise malformed("is not 1 to 255 visible ASCII characters", name)
    return key


def repetition(key: str | None) -> Idempotency | None:
    """Return what a request with this key is known by; its body is read for that."""
    if key is None:
        return None
    return Idempotency(key=key, path=request.path, body_hash=hashlib.sha256(body_bytes()).digest())


def expected_versions() -> tuple[int, ...] | None:
    """
    Return the versions that If-Match names, None where it asks for none in particular.

    One of them that holds is enough. An ETag that is weak or none of ours matches no
    version (RFC 9110, 13.1.1), and neither does what is no list of ETags.
    """
    header = request.headers.get("If-Match")
    if header is None or header.strip() == "*":
        return None
    if not _TAGS.fullmatch(header):
        return ()
    return tuple(int(version) for version in _OURS.findall(header))


def etag(version: int) -> str:
    """Return the ETag of a version."""
    return f'"v{version}"'


def json_response(value: Any, status: int = 200) -> Response:
    """Return a JSON answer; bytes are JSON already."""
    body = value if isinstance(value, bytes) else orjson.dumps(value)
    return Response(body, status=status, content_type=JSON)


def text_response(text: str | bytes) -> Response:
    """Return an answer that is text."""
    return Response(text, content_type=f"{PLAIN}; charset=utf-8")


def answered(answer: Answered, status: int = 201) -> Response:
    """Return the answer to a request that changed something, or did so before."""
    response = own(json_response(answer.body, status))
    if answer.version is not None:
        tagged(response, answer.version)
    if answer.replayed:
        response.headers["Idempotency-Replayed"] = "true"
    return response


def located(response: Response, location: str | None) -> Response:
    """Return the answer with the address of what was made: `location`, filled in from its body."""
    if location is not None and response.status_code == 201:
        response.headers["Location"] = location.format_map(orjson.loads(response.get_data()))
    return response


def tagged(response: Response, version: int) -> Response:
    """Return the answer with the ETag of a version."""
    response.headers["ETag"] = etag(version)
    return response


def versioned(response: Response, version: int) -> Response:
    """Return the answer with its ETag, or 304 where the caller has that version."""
    tagged(response, version)
    known = request.headers.get("If-None-Match", "")
    if known.strip() == "*" or etag(version) in re.findall(r'"[^"]*"', known):
        response.status_code = 304
        response.set_data(b"")
        del response.headers["Content-Type"]
    return response


def own(response: Response) -> Response:
    """Mark an answer that depends on who asks: kept by nobody."""
    return _cached(response, "private, no-store", vary=True)


def unchanging(response: Response, *, public: bool) -> Response:
    """Mark an answer that never changes: kept by all, or by the caller alone."""
    scope = "public" if public else "private"
    return _cached(response, f"{scope}, max-age={YEAR}, immutable", vary=not public)


def shared(response: Response, *, seconds: int = 0) -> Response:
    """Mark an answer that is the same for everybody, but may change."""
    return _cached(response, f"public, max-age={seconds}" if seconds else "no-cache", vary=False)


def _cached(response: Response, value: str, *, vary: bool) -> Response:
    response.headers["Cache-Control"] = value
    if vary:
        response.headers["Vary"] = f"Authorization, {INVITE_HEADER}"
    return response


def page(items: list[Any], next_: str | int | None, **more: Any) -> Mapping[str, Any]:
    """Return a list as the API gives it."""
    return {"items": items, **more, "next": next_}
