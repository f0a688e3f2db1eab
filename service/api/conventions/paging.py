"""Pages of a list: the JSON, and the address of the next page in the header Link (RFC 8288)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from flask import Response, request

from service.api.conventions.responses import json_response, page


def listed(items: Sequence[Any], next_: str | int | None, *, parameter: str = "cursor") -> Response:
    """Return one page of a list; `next_` is the value of `parameter` for the next page."""
    return with_next(json_response(page(items, next_)), next_, parameter=parameter)


def with_next(
    response: Response, next_: str | int | None, *, parameter: str = "cursor"
) -> Response:
    """Return the answer with the address of the next page, which has the other parameters too."""
    if next_ is not None:
        query = {**request.args.to_dict(), parameter: str(next_)}
        response.headers.add("Link", f'<{request.path}?{urlencode(query)}>; rel="next"')
    return response
