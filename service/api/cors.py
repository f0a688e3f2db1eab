"""Cross-origin calls: pages of the origins that the settings name may call, all others may not."""

from __future__ import annotations

from flask import Flask, Response, request

from service.api.auth import INVITE_HEADER
from service.config import Settings

EXPOSED = (
    *("ETag", "Location", "Retry-After", "X-Request-ID", "Idempotency-Replayed"),
    *("Allow", "WWW-Authenticate", "Content-Disposition"),
)
"""Headers of answers that a page gets to read, beside those that every page may."""

TAKEN = (
    *("Authorization", "Content-Type", "Accept", "Idempotency-Key", "If-Match", "If-None-Match"),
    *("Last-Event-ID", "X-Request-ID", INVITE_HEADER),
)
"""Headers of requests that a page may send."""

KEPT_SECONDS = 600
"""How long a browser may rely on the answer to its preflight."""


def register(app: Flask, settings: Settings) -> None:
    """
    Let pages of the named origins call; without names, no page of another origin.

    An origin is named back only where it is one of them. There are no cookies here, so
    `Access-Control-Allow-Credentials` is never sent: a page has to bring the token itself.
    """
    allowed = frozenset(part.strip() for part in (settings.cors_origins or "").split(",")) - {""}
    if not allowed:
        return

    @app.after_request
    def let_in(response: Response) -> Response:
        # Every answer varies, or a cache would hand one made for another origin on.
        response.vary.add("Origin")
        origin = request.headers.get("Origin")
        if origin not in allowed:
            return response
        response.headers["Access-Control-Allow-Origin"] = origin
        if request.method == "OPTIONS" and "Access-Control-Request-Method" in request.headers:
            return _preflight(response)
        response.headers["Access-Control-Expose-Headers"] = ", ".join(EXPOSED)
        return response


def _preflight(response: Response) -> Response:
    """Add what may follow to Flask's own answer, which names the methods of the address."""
    response.headers["Access-Control-Allow-Methods"] = response.headers.get("Allow", "")
    response.headers["Access-Control-Allow-Headers"] = ", ".join(TAKEN)
    response.headers["Access-Control-Max-Age"] = str(KEPT_SECONDS)
    return response
