"""Cache-Control and Vary of answers."""

from __future__ import annotations

from typing import Final

from flask import Response

from service.api.context import INVITE_HEADER
from service.api.conventions.etags import conditional
from service.api.conventions.responses import JsonResponse

YEAR = 365 * 24 * 3600


def private(response: Response) -> Response:
    """Return an answer that no cache stores, because it depends on the caller."""
    return _cached(response, "private, no-store", vary=True)


def immutable(response: Response, *, public: bool) -> Response:
    """Return an answer that never changes: caches store it, for all or for the caller alone."""
    scope = "public" if public else "private"
    return _cached(response, f"{scope}, max-age={YEAR}, immutable", vary=not public)


def shared(response: Response, *, seconds: int = 0) -> Response:
    """Return an answer that is the same for every caller, fresh for some seconds."""
    return _cached(response, f"public, max-age={seconds}" if seconds else "no-cache", vary=False)


def revalidated(response: Response) -> Response:
    """Return an answer that caches store and revalidate at each use, or 304 if it is unchanged."""
    response.headers["Cache-Control"] = "no-cache"
    return conditional(response)


def _cached(response: Response, value: str, *, vary: bool) -> Response:
    response.headers.add("Cache-Control", value)  # `add` does not search for an earlier value
    if vary:
        response.headers.add("Vary", _VARY_OF_PRIVATE)
        if isinstance(response, JsonResponse):
            response.varies_by_encoding = True
    return response


_VARY_OF_PRIVATE: Final = f"Authorization, {INVITE_HEADER}, Accept-Encoding"
