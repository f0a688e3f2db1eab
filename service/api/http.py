"""HTTP conventions of all answers: types, ETags, caching, idempotency, CORS, compression."""

from __future__ import annotations

import gzip
import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

import orjson
from flask import Flask, Response, request
from werkzeug.datastructures import Headers, HeaderSet, MIMEAccept

from service.api.context import INVITE_HEADER
from service.api.parsing import (
    body_bytes,
    malformed,
    path_of,
    present_notes,
    present_request,
)
from service.application.calls import Answered, Idempotency
from service.application.errors import Refusal
from service.runtime.config import Settings

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

JSON = "application/json"
NDJSON = "application/x-ndjson"
PLAIN = "text/plain"
EVENT_STREAM = "text/event-stream"
ZIP = "application/zip"
OCTETS = "application/octet-stream"
YEAR = 365 * 24 * 3600

_NEVER = "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
DATA_POLICY = f"default-src 'none'; {_NEVER}"
"""The Content-Security-Policy of data: a browser that opens it as a page runs and loads nothing."""

PAGE_POLICY = f"default-src 'none'; style-src 'self'; img-src 'self' data:; {_NEVER}"
"""The Content-Security-Policy of pages: one style sheet of our own, no script at all."""

SCRIPT_POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self' data:; script-src 'self'; "
    f"connect-src 'self'; worker-src 'self'; manifest-src 'self'; {_NEVER}"
)
"""The Content-Security-Policy of pages with scripts: our own files, and calls to this server."""

SECURITY_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
}
"""Headers of every answer that restrict how browsers use it."""

_DEFAULT_HEADERS = (
    *SECURITY_HEADERS.items(),
    # An answer without caching rules could contain a token or cards.
    ("Cache-Control", "no-store"),
)
_FOR_PAGES = (*_DEFAULT_HEADERS, ("Content-Security-Policy", PAGE_POLICY))
_FOR_DATA = (*_DEFAULT_HEADERS, ("Content-Security-Policy", DATA_POLICY))

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

IDEMPOTENCY_KEY = r"^[\x21-\x7e]{1,255}$"
EVENT_ID = r"^[0-9]{1,9}$"
"""The format of Last-Event-ID: the seq of an event."""

CORS_EXPOSED = (
    *("ETag", "Location", "Retry-After", "X-Request-ID", "Idempotency-Replayed"),
    *("Allow", "WWW-Authenticate", "Content-Disposition", "RateLimit", "RateLimit-Policy"),
)
"""Response headers that a page of a permitted origin can read, beside the safelisted ones."""

CORS_ALLOWED = (
    *("Authorization", "Content-Type", "Accept", "Idempotency-Key", "If-Match", "If-None-Match"),
    *("Last-Event-ID", "X-Request-ID", INVITE_HEADER),
)
"""Request headers that a page of a permitted origin can send."""

PREFLIGHT_SECONDS = 600
"""How long a browser may cache the answer to a preflight request."""


def register(app: Flask, settings: Settings) -> None:
    """Add the security headers, and the CORS headers for the origins in the settings."""

    @app.after_request
    def add_security_headers(response: Response) -> Response:
        present = present_request()
        if response.status_code == 204 or (
            present.method == "OPTIONS" and response.content_length in (None, 0)
        ):
            response.headers.pop("Content-Type", None)  # there is no body
        if not isinstance(response, JsonResponse):  # a JsonResponse adds them when it is sent
            is_page = response.mimetype == "text/html"
            response.headers.extend(
                _missing(response.headers, _FOR_PAGES if is_page else _FOR_DATA)
            )
        if present.is_secure:
            response.headers.setdefault("Strict-Transport-Security", f"max-age={YEAR}")
        return response

    origins = frozenset(part.strip() for part in (settings.cors_origins or "").split(",")) - {""}
    if origins:
        _register_cors(app, origins)


def _register_cors(app: Flask, origins: frozenset[str]) -> None:
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


def negotiated_type(produces: tuple[str, ...]) -> str:
    """Return the media type that Accept prefers; raises `not-acceptable` if it excludes all."""
    if not present_request().environ.get("HTTP_ACCEPT"):  # cheaper than `request.headers`
        return produces[0]
    # Parameters of a media type, such as a charset, are ignored.
    plain = MIMEAccept([(kind.partition(";")[0], q) for kind, q in request.accept_mimetypes])
    best = plain.best_match(produces, default="")
    if not best:
        raise Refusal("not-acceptable", f"this is available as {' or '.join(produces)}")
    return best


def idempotency_key(*, allowed: bool) -> str | None:
    """Return the request's idempotency key, None without one; raises `malformed`."""
    name = "Idempotency-Key"
    key: str | None = present_request().environ.get("HTTP_IDEMPOTENCY_KEY")
    if key is None:
        return None
    if not allowed:
        raise malformed("is not accepted by operations that answer with a token", name)
    if not re.fullmatch(IDEMPOTENCY_KEY, key):
        raise malformed("must be 1 to 255 visible ASCII characters", name)
    return key


def idempotency_of(key: str | None) -> Idempotency | None:
    """
    Return the key, the path and the hash of the body; None without a key.

    A repeated request has the same three; another body with the same key and path is a conflict.
    """
    if key is None:
        return None
    path, body_hash = path_of(present_request()), hashlib.sha256(body_bytes()).digest()
    return Idempotency(key=key, path=path, body_hash=body_hash)


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
        raise malformed('is no ETag: send "v<version>", in quotes', "If-Match")
    return tuple(int(version) for version in _VERSION_TAG.findall(header))


_EMPTY: Final = frozenset({int(HTTPStatus.NO_CONTENT), int(HTTPStatus.NOT_MODIFIED)})
"""Statuses of answers without a body."""


class JsonResponse(Response):
    """
    A JSON answer in one part, sent without the copies and the checks of werkzeug.

    The security headers are added in one step when the answer is sent.
    """

    response: list[bytes]
    """The body in one part: `json_response` makes it, and `set_data` replaces it."""

    varies_by_encoding = False
    """Whether Vary names Accept-Encoding already."""

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Send the answer; its list of one part is what the server sends at once."""
        if self.status_code in _EMPTY or environ["REQUEST_METHOD"] == "HEAD":
            return super().__call__(environ, start_response)
        start_response(self.status, [*self.headers, *_missing(self.headers, _FOR_DATA)])
        return self.response

    @property
    def size(self) -> int:
        """Return the number of bytes of the body."""
        return sum(map(len, self.response))  # a list of one part

    def get_wsgi_response(
        self, environ: WSGIEnvironment
    ) -> tuple[Iterable[bytes], str, list[tuple[str, str]]]:
        """Return body, status and headers as the server sends them."""
        body, status, headers = super().get_wsgi_response(environ)
        return body, status, [*headers, *_missing(headers, _FOR_DATA)]

    def get_wsgi_headers(self, environ: WSGIEnvironment) -> Headers:
        """Return the headers; those of a 304 without the ones that describe a body."""
        if self.status_code == HTTPStatus.NOT_MODIFIED:
            return super().get_wsgi_headers(environ)
        return self.headers


def _missing(
    headers: Iterable[tuple[str, str]], wanted: Sequence[tuple[str, str]]
) -> list[tuple[str, str]]:
    """Return the wanted headers that an answer does not have."""
    names = {name for name, _ in headers}  # as spelled: this service uses one spelling
    return [(name, value) for name, value in wanted if name not in names]


def json_response(value: Any, status: int = 200) -> Response:
    """Return a JSON answer; `value` may be bytes that are JSON already."""
    body = value if isinstance(value, bytes) else orjson.dumps(value)
    headers = Headers()
    headers.add("Content-Type", JSON)
    headers.add("Content-Length", len(body))
    return JsonResponse([body], status=status, headers=headers)


def text_response(text: str | bytes) -> Response:
    """Return a plain text answer."""
    return Response(text, content_type=f"{PLAIN}; charset=utf-8")


def change_response(answer: Answered, status: int = 201) -> Response:
    """Return the answer to a request that changed something, or to its repetition."""
    response = private(json_response(answer.body, status))
    if answer.version is not None:
        versioned(response, answer.version)
    if answer.replayed:
        response.headers["Idempotency-Replayed"] = "true"
    return response


def with_location(response: Response, location: str | None) -> Response:
    """Return the answer with a Location: the template `location`, filled in from its body."""
    if location is not None and response.status_code == 201:
        response.headers["Location"] = location.format_map(orjson.loads(response.get_data()))
    return response


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


def revalidated(response: Response) -> Response:
    """Return an answer that caches store and revalidate at each use, or 304 if it is unchanged."""
    response.headers["Cache-Control"] = "no-cache"
    return conditional(response)


def _hash(response: Response) -> str:
    # A JsonResponse has one part; `get_data` takes longer than the hash.
    data = response.response[0] if isinstance(response, JsonResponse) else response.get_data()
    return hashlib.sha256(data).hexdigest()[:32]


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


def _cached(response: Response, value: str, *, vary: bool) -> Response:
    response.headers.add("Cache-Control", value)  # `add` does not search for an earlier value
    if vary:
        response.headers.add("Vary", _VARY_OF_PRIVATE)
        if isinstance(response, JsonResponse):
            response.varies_by_encoding = True
    return response


_VARY_OF_PRIVATE: Final = f"Authorization, {INVITE_HEADER}, Accept-Encoding"


def page(items: Sequence[Any], next_: str | int | None, **more: Any) -> Mapping[str, Any]:
    """Return one page of a list as the API represents it."""
    return {"items": items, **more, "next": next_}


MIN_COMPRESSED_BYTES: Final = 1024
"""Minimum size of a compressed answer; a smaller one fits into one packet without compression."""

GZIP_LEVEL: Final = 5
ZSTD_LEVEL: Final = 3

ENCODINGS: Final = ("zstd", "gzip")
"""The encodings, the preferred one first."""

_TEXTS: Final = frozenset(
    {
        *("application/json", "application/problem+json", "application/x-ndjson"),
        *("text/html", "text/css", "text/javascript", "text/plain", "image/svg+xml"),
    }
)
"""Media types that are compressed; those of bundles and streams are not among them."""


def leave_uncompressed() -> None:
    """
    Exclude the answer of this request, because it has a token, recovery code or invite.

    The length of a compressed answer could reveal a secret that is next to text chosen by an
    attacker. Problems contain no secret, so they are compressed even then.
    """
    present_notes().leave_uncompressed = True


def register_compression(app: Flask) -> None:
    """Compress the answers of an application, as the last step before they are sent."""

    @app.after_request
    def compress(response: Response) -> Response:
        if response.status_code == 304:
            _add_vary(response)
            return response
        if not _compressible(response):
            return response
        _add_vary(response)
        if "HTTP_ACCEPT_ENCODING" not in present_request().environ:
            return response
        encoding = request.accept_encodings.best_match(ENCODINGS)
        if encoding is None:
            return response
        response.set_data(_compressed(response.get_data(), encoding))
        response.headers["Content-Encoding"] = encoding
        _weaken(response)
        return response


def _add_vary(response: Response) -> None:
    """Add Accept-Encoding to Vary, without parsing the header as `response.vary` would."""
    if isinstance(response, JsonResponse) and response.varies_by_encoding:
        return
    named = response.headers.get("Vary")
    if named is None:
        response.headers["Vary"] = "Accept-Encoding"
    elif "Accept-Encoding" not in named:
        response.headers["Vary"] = f"{named}, Accept-Encoding"


def _compressible(response: Response) -> bool:
    if present_notes().get("leave_uncompressed") and response.status_code < HTTPStatus.BAD_REQUEST:
        return False
    if isinstance(response, JsonResponse):
        return response.size >= MIN_COMPRESSED_BYTES
    if response.is_streamed or response.direct_passthrough:
        return False
    if response.mimetype not in _TEXTS or "Content-Encoding" in response.headers:
        return False
    return len(response.get_data()) >= MIN_COMPRESSED_BYTES


def _compressed(data: bytes, encoding: str) -> bytes:
    if encoding == "zstd":
        import zstandard  # loaded only if a client accepts it

        packed: bytes = zstandard.ZstdCompressor(level=ZSTD_LEVEL).compress(data)
        return packed
    return gzip.compress(data, GZIP_LEVEL, mtime=0)


def _weaken(response: Response) -> None:
    """Make the ETag weak: it is a hash of the bytes, and compression changes them."""
    tag, is_weak = response.get_etag()
    if tag is not None and not is_weak:
        response.set_etag(tag, weak=True)
