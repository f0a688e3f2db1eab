"""CORS: pages of permitted origins may call the API."""

from __future__ import annotations

from flask import Flask, Response, request
from werkzeug.datastructures import HeaderSet

from service.api.context import INVITE_HEADER, INVITE_VARIABLE
from service.api.parsing import present_request

CORS_EXPOSED = (
    *("ETag", "Location", "Retry-After", "X-Request-ID", "Idempotency-Replayed"),
    *("Allow", "WWW-Authenticate", "Content-Disposition", "RateLimit", "RateLimit-Policy"),
    *("Link", "Deprecation", "Sunset"),
)
"""Response headers that a page of a permitted origin can read, beside the safelisted ones."""

CORS_ALLOWED = (
    *("Authorization", "Content-Type", "Accept", "Idempotency-Key", "If-Match", "If-None-Match"),
    *("Last-Event-ID", "X-Request-ID", INVITE_HEADER),
)
"""Request headers that a page of a permitted origin can send."""

PREFLIGHT_SECONDS = 600
"""How long a browser may cache the answer to a preflight request."""


EMBEDDED = frozenset({"pages.embed", "assets.asset"})
"""The page for a frame of another site, and its files; its sandbox has the origin `null`."""


def open_to_every_origin(response: Response) -> None:
    """
    Let the pages of every origin read an answer that everybody gets: any read without a token.

    There are no cookies, so such a page reads what every program reads. Answers that depend on a
    token or an invite stay closed. No preflight request is answered, so such a page cannot send a
    token, an invite or a body.
    """
    present = present_request()
    is_open = present.path.startswith("/v1/") or present.endpoint in EMBEDDED
    if present.endpoint in EMBEDDED:
        # A page with an embedder policy (COEP) loads no frame, and no style sheet in it, without.
        response.headers.setdefault("Cross-Origin-Resource-Policy", "cross-origin")
    if not is_open or present.method not in ("GET", "HEAD"):
        return
    sent = present.environ
    is_anonymous = "HTTP_AUTHORIZATION" not in sent and INVITE_VARIABLE not in sent
    # A cache may answer others with an immutable public answer to a caller with a token.
    if is_anonymous or response.headers.get("Cache-Control", "").startswith("public"):
        response.headers.setdefault("Access-Control-Allow-Origin", "*")
        response.headers.setdefault("Access-Control-Expose-Headers", "*")


def register_cors(app: Flask, origins: frozenset[str]) -> None:
    """
    Permit pages of these origins to call the API.

    There are no cookies, so `Access-Control-Allow-Credentials` is never sent: a page has
    to send the token itself.
    """

    @app.after_request
    def add_cors_headers(response: Response) -> Response:
        # Also without Origin: a cache must not reuse an answer for another origin.
        response.vary.add("Origin")
        origin = request.headers.get("Origin")
        if origin not in origins:
            return response
        response.access_control_allow_origin = origin
        if request.method == "OPTIONS" and request.access_control_request_method:
            response.access_control_allow_methods = response.allow
            response.access_control_allow_headers = HeaderSet(CORS_ALLOWED)
            response.access_control_max_age = PREFLIGHT_SECONDS
        else:
            response.access_control_expose_headers = HeaderSet(CORS_EXPOSED)
        return response
