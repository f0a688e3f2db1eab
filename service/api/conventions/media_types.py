"""Media types of bodies, and the one that Accept prefers."""

from __future__ import annotations

from flask import request
from werkzeug.datastructures import MIMEAccept

from service.api.parsing import present_request
from service.application.errors import Refusal
from service.replay.sentences import said

JSON = "application/json"

NDJSON = "application/x-ndjson"

PLAIN = "text/plain"

EVENT_STREAM = "text/event-stream"

SVG = "image/svg+xml"

PNG = "image/png"

ZIP = "application/zip"

OCTETS = "application/octet-stream"

TAR = "application/x-tar"


def negotiated_type(produces: tuple[str, ...]) -> str:
    """Return the media type that Accept prefers; raises `not-acceptable` if it excludes all."""
    if not present_request().environ.get("HTTP_ACCEPT"):  # cheaper than `request.headers`
        return produces[0]
    # Parameters of a media type, such as a charset, are ignored.
    plain = MIMEAccept([(kind.partition(";")[0], q) for kind, q in request.accept_mimetypes])
    best = plain.best_match(produces, default="")
    if not best:
        raise Refusal("not-acceptable", said("request.media_types", types=produces))
    return best
