"""Answers that are pages: rendered, safe to show, kept no longer than they are true."""

from __future__ import annotations

import hashlib
import re
from typing import Any

from flask import Response, render_template, request
from markupsafe import Markup, escape

HTML = "text/html; charset=utf-8"
POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""The Content-Security-Policy of pages: one style sheet of our own, no script at all."""

_TICKED = re.compile("`([^`]+)`")


def html_page(template: str, **values: Any) -> Response:
    """Return a page, or 304 where the caller has it."""
    text = render_template(template, **values)
    return asked_again(Response(text, content_type=HTML))


def asked_again(response: Response) -> Response:
    """
    Mark an answer that callers keep but ask about each time; 304 where it is the same.

    If-Match is for moves: where things are only read it is not looked at.
    """
    tag = hashlib.sha256(response.get_data()).hexdigest()[:16]
    response.set_etag(tag)
    response.headers["Cache-Control"] = "no-cache"
    if request.if_none_match.contains_weak(tag):
        response.status_code = 304
        response.set_data(b"")
        del response.headers["Content-Type"]
    return response


def ticked(text: str) -> Markup:
    """Return plain text as HTML, with what stands between backticks as code."""
    return Markup(_TICKED.sub(r"<code>\1</code>", str(escape(text))))  # noqa: S704 - escaped before
