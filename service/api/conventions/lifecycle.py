"""Operations that will end: the headers Deprecation (RFC 9745) and Sunset (RFC 8594)."""

from __future__ import annotations

from datetime import datetime

from flask import Response
from msgspec import Struct
from werkzeug.http import http_date

POLICY = "/docs/stability.md"
"""The page on what may change in the interface."""


class Deprecated(Struct, frozen=True, kw_only=True):
    """An operation that another one replaces: since when, and from when on it may be gone."""

    since: datetime
    sunset: datetime

    def add_to(self, response: Response) -> None:
        """Add the headers to an answer."""
        response.headers["Deprecation"] = f"@{int(self.since.timestamp())}"
        response.headers["Sunset"] = http_date(self.sunset)
        response.headers.add("Link", f'<{POLICY}>; rel="deprecation"; type="text/plain"')
