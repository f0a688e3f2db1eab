"""Responses: JSON in one part, text, pages of a list, Location."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

import orjson
from flask import Response
from werkzeug.datastructures import Headers

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment
from service.api.conventions.media_types import JSON, PLAIN
from service.api.conventions.security_headers import FOR_DATA, missing_headers

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
        start_response(self.status, [*self.headers, *missing_headers(self.headers, FOR_DATA)])
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
        return body, status, [*headers, *missing_headers(headers, FOR_DATA)]

    def get_wsgi_headers(self, environ: WSGIEnvironment) -> Headers:
        """Return the headers; those of a 304 without the ones that describe a body."""
        if self.status_code == HTTPStatus.NOT_MODIFIED:
            return super().get_wsgi_headers(environ)
        return self.headers


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


def with_location(response: Response, location: str | None) -> Response:
    """Return the answer with a Location: the template `location`, filled in from its body."""
    if location is not None and response.status_code == 201:
        response.headers["Location"] = location.format_map(orjson.loads(response.get_data()))
    return response


def page(items: Sequence[Any], next_: str | int | None, **more: Any) -> Mapping[str, Any]:
    """Return one page of a list as the API represents it."""
    return {"items": items, **more, "next": next_}
