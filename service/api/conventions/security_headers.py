"""The headers of every answer that restrict how browsers use it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

_NEVER = "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

DATA_POLICY = f"default-src 'none'; {_NEVER}"
"""The Content-Security-Policy of data: a browser that opens it as a page runs and loads nothing."""

PAGE_POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self' data:; script-src 'self'; "
    f"connect-src 'self'; worker-src 'self'; manifest-src 'self'; {_NEVER}"
)
"""The Content-Security-Policy of pages: our own files, and calls to this server."""

EMBED_POLICY = (
    "sandbox allow-scripts; default-src 'none'; style-src 'self'; img-src 'self' data:; "
    "script-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors *"
)
"""
The Content-Security-Policy of a page in a frame of another site.

The sandbox gives it an origin of its own, `null`: it has no storage of this server's pages, sends
no token, submits nothing and opens no page. Every site may show it.
"""

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

FOR_PAGES = (*_DEFAULT_HEADERS, ("Content-Security-Policy", PAGE_POLICY))

FOR_DATA = (*_DEFAULT_HEADERS, ("Content-Security-Policy", DATA_POLICY))


def missing_headers(
    headers: Iterable[tuple[str, str]], wanted: Sequence[tuple[str, str]]
) -> list[tuple[str, str]]:
    """Return the wanted headers that an answer does not have."""
    names = {name for name, _ in headers}  # as spelled: this service uses one spelling
    return [(name, value) for name, value in wanted if name not in names]
