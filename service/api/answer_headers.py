"""The headers of answers, as the OpenAPI document describes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_STRING = {"type": "string"}
HEADERS: Mapping[str, Mapping[str, Any]] = {
    "ETag": {
        "description": 'a hash of the answer; of a game or table "v<version>.<hash>", which '
        "If-Match takes; weak if the answer is compressed",
        "schema": _STRING,
    },
    "Location": {
        "description": "the address of the created resource",
        "schema": {"type": "string", "format": "uri-reference"},
    },
    "Link": {
        "description": "the address of the next page, `rel=next`, absent from the last one; of "
        "an operation that will end, the page about that, `rel=deprecation`",
        "schema": _STRING,
    },
    "Deprecation": {
        "description": "since when another operation replaces this one (RFC 9745)",
        "schema": {"type": "string", "pattern": "^@[0-9]+$"},
    },
    "Sunset": {
        "description": "the time from which on the operation may be gone (RFC 8594)",
        "schema": _STRING,
    },
    "Idempotency-Replayed": {
        "description": "`true` if this is the first answer again; absent from the first answer",
        "schema": {"type": "string", "enum": ["true"]},
    },
    "Retry-After": {
        "description": "the seconds after which the request can be repeated",
        "schema": {"type": "integer", "minimum": 1},
    },
    "RateLimit-Policy": {
        "description": "the limits that counted the request: `q` requests in `w` seconds",
        "schema": {
            "type": "string",
            "examples": ['"address";q=120000;w=60, "player";q=12000;w=60'],
        },
    },
    "RateLimit": {
        "description": "of each limit the requests that are left, `r`, until it starts again "
        "after `t` seconds",
        "schema": {"type": "string", "examples": ['"address";r=119999;t=60, "player";r=0;t=8']},
    },
    "WWW-Authenticate": {
        "description": "the scheme of the token: Bearer",
        "schema": _STRING,
    },
}
"""Headers of answers, by name: components of the document."""

LIMIT_HEADERS = ("RateLimit-Policy", "RateLimit")
