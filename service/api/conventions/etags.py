"""ETags of answers: conditional requests, and the versions in If-Match."""

from __future__ import annotations

import hashlib
import re

from flask import Response

from service.api.conventions.responses import JsonResponse
from service.api.parsing import malformed, present_request
from service.replay.sentences import said

_TAG = r'(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"'

_TAGS = re.compile(rf"[ \t,]*{_TAG}(?:[ \t]*,[ \t,]*{_TAG})*[ \t,]*")
"""A list of ETags (RFC 9110, 8.8.3 and 5.6.1), which may have empty elements."""

_DOCUMENTED_TAG = r'(?:W/)?"v[0-9]{1,9}(?:\.[0-9a-f]{32})?"'

PRECONDITION = rf"^(?:\*|{_DOCUMENTED_TAG}(?:, ?{_DOCUMENTED_TAG})*)$"
"""The format of If-Match in the API description; other ETags are parsed too (RFC 9110, 13.1.1)."""

_VERSION_TAG = re.compile(r'"v(0|[1-9][0-9]{0,8})(?:\.[0-9a-f]{1,64})?"')
"""
An ETag of a version, as `versioned` makes it or without the hash.

If-Match compares versions, not bytes, so it also accepts a tag that a proxy has weakened.
"""


def expected_versions() -> tuple[int, ...] | None:
    """
    Return the versions in If-Match; None if it is missing or `*`.

    One match is enough. Of `"v4.<hash>"` the version counts, and ETags without one match none.
    `request.if_match` of werkzeug is not used: it accepts `v5` without quotes, and the valid
    elements of a malformed list.

    Raises Refusal `malformed` for a malformed list.
    """
    header: str | None = present_request().environ.get("HTTP_IF_MATCH")
    if header is None or header.strip() == "*":
        return None
    if not _TAGS.fullmatch(header):
        raise malformed(said("request.no_etag"), "If-Match")
    return tuple(int(version) for version in _VERSION_TAG.findall(header))


def versioned(response: Response, version: int) -> Response:
    """
    Return the answer with the ETag of a version of a game or table: `"v<version>.<hash>"`.

    The body also depends on the caller, on names and on stand-ins, which change without an event,
    so the version alone would be the tag of many bodies. If-Match compares the version only.
    """
    response.headers.add("ETag", f'"v{version}.{_hash(response)}"')
    return response


def conditional(response: Response) -> Response:
    """
    Return the answer to a GET with its ETag, or 304 if the caller has these bytes.

    Without an ETag it gets a hash of its bytes. If-Match is for changes and is ignored here.
    """
    if "ETag" not in response.headers:
        response.headers.add("ETag", f'"{_hash(response)}"')
    present = present_request()
    if "HTTP_IF_NONE_MATCH" not in present.environ:
        return response
    tag, _ = response.get_etag()
    if tag is not None and present.if_none_match.contains_weak(tag):
        response.status_code = 304
        response.set_data(b"")
        del response.headers["Content-Type"]
    return response


def _hash(response: Response) -> str:
    # A JsonResponse has one part; `get_data` takes longer than the hash.
    data = response.response[0] if isinstance(response, JsonResponse) else response.get_data()
    return hashlib.sha256(data).hexdigest()[:32]
