"""Compression of answers, except those that contain a secret."""

from __future__ import annotations

import gzip
from functools import cache
from http import HTTPStatus
from typing import Final

from flask import Flask, Response, request

from service.api.call import present_call
from service.api.conventions.responses import JsonResponse
from service.api.parsing import present_request

MIN_COMPRESSED_BYTES: Final = 1024
"""Minimum size of a compressed answer; a smaller one fits into one packet without compression."""

GZIP_LEVEL: Final = 5

ZSTD_LEVEL: Final = 3

BEST_GZIP_LEVEL: Final = 9

BEST_ZSTD_LEVEL: Final = 19

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
    present_call().is_secret = True


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


def packed(response: Response, content: bytes) -> None:
    """
    Compress an answer that never changes as well as its encoding can, once for a process.

    The best levels take ten times as long, and make scripts some 8 % smaller.
    """
    encoding = request.accept_encodings.best_match(ENCODINGS)
    if len(content) < MIN_COMPRESSED_BYTES:
        return
    response.vary.add("Accept-Encoding")
    if encoding is not None:
        response.set_data(_best(content, encoding))
        response.headers["Content-Encoding"] = encoding


@cache
def _best(content: bytes, encoding: str) -> bytes:
    if encoding == "zstd":
        import zstandard  # loaded only if a client accepts it

        packed: bytes = zstandard.ZstdCompressor(level=BEST_ZSTD_LEVEL).compress(content)
        return packed
    return gzip.compress(content, BEST_GZIP_LEVEL, mtime=0)


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
    if present_call().is_secret and response.status_code < HTTPStatus.BAD_REQUEST:
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
