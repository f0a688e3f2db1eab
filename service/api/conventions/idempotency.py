"""Idempotency keys of requests, and answers to repetitions."""

from __future__ import annotations

import hashlib
import re

from flask import Response

from service.api.conventions.caching import private
from service.api.conventions.etags import versioned
from service.api.conventions.responses import json_response
from service.api.parsing import body_bytes, malformed, path_of, present_request
from service.application.calls import Answered, Idempotency
from service.replay.sentences import said

IDEMPOTENCY_KEY = r"^[\x21-\x7e]{1,255}$"


def idempotency_key(*, allowed: bool) -> str | None:
    """Return the request's idempotency key, None without one; raises `malformed`."""
    name = "Idempotency-Key"
    key: str | None = present_request().environ.get("HTTP_IDEMPOTENCY_KEY")
    if key is None:
        return None
    if not allowed:
        raise malformed(said("request.no_idempotency"), name)
    if not re.fullmatch(IDEMPOTENCY_KEY, key):
        raise malformed(said("request.idempotency_key"), name)
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


def change_response(answer: Answered, status: int = 201) -> Response:
    """Return the answer to a request that changed something, or to its repetition."""
    response = private(json_response(answer.body, status))
    if answer.version is not None:
        versioned(response, answer.version)
    if answer.replayed:
        response.headers["Idempotency-Replayed"] = "true"
    return response
