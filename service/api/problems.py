"""Problems (RFC 9457): every type; the only file that knows the status codes of errors."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import orjson
from flask import Flask, Response, g, request
from werkzeug.exceptions import HTTPException

from service.api.conventions import own
from service.application.errors import Refusal, Unfollowed
from service.event_store.protocol import PlayerErased, StoreUnavailable, StreamArchived

MEDIA_TYPE = "application/problem+json"
MOST_FAULTS = 50
"""How many places at fault one answer names."""

RETRY_AFTER = 2
"""Seconds after which to try again, where a refusal says nothing better."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One type of problem."""

    status: HTTPStatus
    title: str
    meaning: str


def _kind(status: HTTPStatus, title: str, meaning: str) -> Kind:
    return Kind(status=status, title=title, meaning=meaning)


PROBLEMS: Mapping[str, Kind] = {
    "malformed": _kind(
        HTTPStatus.BAD_REQUEST,
        "The request cannot be read",
        "The body is no JSON, or the query or a header has a value that it cannot have. `errors` "
        "names the places. Keys twice in an object, NaN and invalid UTF-8 are no JSON here.",
    ),
    "unauthorized": _kind(
        HTTPStatus.UNAUTHORIZED,
        "A valid token is needed",
        "Send `Authorization: Bearer <token>`. A token ends when another is made.",
    ),
    "forbidden": _kind(
        HTTPStatus.FORBIDDEN,
        "This is for others to do",
        "The caller is known, but may not do this.",
    ),
    "not-seated": _kind(
        HTTPStatus.FORBIDDEN,
        "You have no seat here",
        "Only those who sit at the table, or in the game, may do this.",
    ),
    "sealed": _kind(
        HTTPStatus.FORBIDDEN,
        "Shown only after the seal",
        "What other seats hold is shown when the game is over and its seed published.",
    ),
    "not-found": _kind(
        HTTPStatus.NOT_FOUND,
        "There is nothing here",
        "Nothing stands at this address, or nothing for this caller: a private table answers so "
        "to all but its seats, its host and whoever holds its invite.",
    ),
    "method-not-allowed": _kind(
        HTTPStatus.METHOD_NOT_ALLOWED,
        "This cannot be done here",
        "The address exists, the method does not. `Allow` lists those that do.",
    ),
    "not-acceptable": _kind(
        HTTPStatus.NOT_ACCEPTABLE,
        "Not in the form you accept",
        "The answer has none of the media types of the `Accept` header.",
    ),
    "not-your-turn": _kind(HTTPStatus.CONFLICT, "It is not your turn", "The seat may not act now."),
    "game-over": _kind(
        HTTPStatus.CONFLICT, "The game is over", "The hand has ended or was given up."
    ),
    "hand-running": _kind(
        HTTPStatus.CONFLICT,
        "A hand is being played",
        "This is possible between hands only.",
    ),
    "table-not-full": _kind(
        HTTPStatus.CONFLICT, "Seats are still open", "A hand is dealt when every seat is taken."
    ),
    "seat-taken": _kind(
        HTTPStatus.CONFLICT,
        "The seat is taken",
        "Somebody sits there, no seat is open, or the caller sits at the table already.",
    ),
    "nonce-reused": _kind(
        HTTPStatus.CONFLICT,
        "The nonce was used before",
        "Every signed move of a game has a nonce of its own.",
    ),
    "stale-version": _kind(
        HTTPStatus.PRECONDITION_FAILED,
        "The game has moved on",
        "What the caller had seen no longer holds: somebody acted since. `version` is the present "
        "one; look again, and decide again.",
    ),
    "too-large": _kind(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        "The body is too large",
        "A body may have 1 MiB, a bundle to be verified 32 MiB.",
    ),
    "unsupported-media-type": _kind(
        HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
        "The body has a type that is not read here",
        "Send JSON as `application/json`, without a content encoding.",
    ),
    "rule-refused": _kind(
        HTTPStatus.UNPROCESSABLE_ENTITY,
        "A rule says no",
        "`rule` is the statement of the ruleset, `rule_text` says it in words, `legal` lists what "
        "the caller may do instead. A card that the caller does not hold is refused with the same "
        "answer wherever it lies.",
    ),
    "unknown-card": _kind(
        HTTPStatus.UNPROCESSABLE_ENTITY,
        "There is no such card",
        "A code was named that is not in this game's deck.",
    ),
    "invalid-body": _kind(
        HTTPStatus.UNPROCESSABLE_ENTITY,
        "The body does not fit",
        "The body is JSON, but not what is asked for. `errors` has a JSON pointer to each fault. "
        "Unknown fields are refused.",
    ),
    "idempotency-conflict": _kind(
        HTTPStatus.UNPROCESSABLE_ENTITY,
        "The key was used for something else",
        "An `Idempotency-Key` belongs to one body: the first that was sent with it to this path.",
    ),
    "bad-signature": _kind(
        HTTPStatus.UNPROCESSABLE_ENTITY,
        "The signature does not hold",
        "It is not by the seat's key, or the signed intent is not for this move in this game.",
    ),
    "signature-required": _kind(
        HTTPStatus.UNPROCESSABLE_ENTITY,
        "This seat signs its moves",
        "The seat has a key: add `auth` with the signed intent.",
    ),
    "entropy-refused": _kind(
        HTTPStatus.UNPROCESSABLE_ENTITY,
        "Not this entropy, or not now",
        "The seat gives none, gave it already, or reveals another value than it committed to.",
    ),
    "cannot-deal": _kind(
        HTTPStatus.UNPROCESSABLE_ENTITY,
        "These cards cannot be dealt",
        "The ruleset is for another number of seats, or its decks do not suffice for the deal.",
    ),
    "ruleset-refused": _kind(
        HTTPStatus.UNPROCESSABLE_ENTITY,
        "Nobody can play by this ruleset",
        "Its settings contradict one another, or its rules are not known.",
    ),
    "not-a-bundle": _kind(
        HTTPStatus.UNPROCESSABLE_ENTITY,
        "This is no record of a game",
        "What was sent is neither a `.shx` bundle nor the lines of a log.",
    ),
    "rate-limited": _kind(
        HTTPStatus.TOO_MANY_REQUESTS,
        "Too much at once",
        "Wait as long as `Retry-After` says, or finish something first.",
    ),
    "unavailable": _kind(
        HTTPStatus.SERVICE_UNAVAILABLE,
        "Not just now",
        "The database does not answer, the service is busy, the bundle of an archived game is not "
        "at hand, or what is stored of a game does not fit together. Repeat the request after "
        "`Retry-After`, with the same `Idempotency-Key`: what was done is not done twice.",
    ),
}
"""Every type of problem, by the last part of its address."""

_OF_STATUS: Mapping[int, str] = {
    400: "malformed",
    401: "unauthorized",
    403: "forbidden",
    404: "not-found",
    405: "method-not-allowed",
    406: "not-acceptable",
    413: "too-large",
    415: "unsupported-media-type",
    429: "rate-limited",
    503: "unavailable",
}


def register(app: Flask) -> None:
    """Answer every error of the application, and of Flask itself, with a problem."""
    app.register_error_handler(Refusal, _refused)
    app.register_error_handler(StoreUnavailable, _unavailable)
    app.register_error_handler(StreamArchived, _not_to_be_had)
    app.register_error_handler(PlayerErased, _erased)
    app.register_error_handler(Unfollowed, _not_to_be_had)
    app.register_error_handler(HTTPException, _of_http)
    app.register_error_handler(Exception, _unforeseen)


def status_of(code: str) -> int:
    """Return the status code of a type of problem."""
    return int(PROBLEMS[code].status)


def problem(code: str, detail: str, extra: Mapping[str, Any] | None = None) -> Response:
    """Return the answer for one type of problem; `extra` are further members of its object."""
    kind = PROBLEMS[code]
    members = dict(extra or {})
    if "errors" in members:  # a body could bring on a fault for every few of its bytes
        members["errors"] = list(members["errors"])[:MOST_FAULTS]
    retry_after = members.pop("retry_after", RETRY_AFTER)
    response = _answer(f"/problems/{code}", kind.title, int(kind.status), detail, members)
    g.problem = code
    if code in ("rate-limited", "unavailable"):
        response.headers["Retry-After"] = str(retry_after)
    if code == "unauthorized":
        response.headers["WWW-Authenticate"] = 'Bearer realm="shithead"'
    return response


def _answer(
    type_: str, title: str, status: int, detail: str, members: Mapping[str, Any]
) -> Response:
    body = {
        "type": type_,
        "title": title,
        "status": status,
        "detail": detail,
        "instance": request.path,
        **members,
    }
    # Who may not see a thing is told something else than who may: no answer of this kind is kept.
    return own(Response(orjson.dumps(body), status=status, content_type=MEDIA_TYPE))


def _refused(refusal: Refusal) -> Response:
    return problem(refusal.code, refusal.detail, refusal.extra)


def _unavailable(_error: StoreUnavailable) -> Response:
    return problem("unavailable", "the database does not answer")


def _not_to_be_had(error: StreamArchived | Unfollowed) -> Response:
    """Answer that the game is not to be had now: nobody may guess what it would say."""
    log = logging.getLogger("shithead.api")
    if isinstance(error, StreamArchived):
        log.error("an archived game cannot be read: %s", error)
        return problem("unavailable", "this game is archived, and its bundle is not at hand")
    log.error("a stored game cannot be read: %s", error)
    return problem("unavailable", "what is stored of this game does not fit together")


def _erased(_error: PlayerErased) -> Response:
    """Answer as if the erasure, which came at the same moment, had come before the token."""
    return problem("unauthorized", "this token does not hold, or no longer")


def _of_http(error: HTTPException) -> Response:
    status = error.code or 500
    code = _OF_STATUS.get(status)
    if code is None and 400 <= status < 500:
        code = "malformed"
    if code is None:
        return _unforeseen(error)
    response = problem(code, _DETAILS.get(code) or error.description or PROBLEMS[code].title)
    valid = getattr(error, "valid_methods", None)
    if valid:
        response.headers["Allow"] = ", ".join(sorted(valid))
    return response


_DETAILS: Mapping[str, str] = {
    "not-found": "there is nothing at this address",
    "method-not-allowed": "this method is not for this address",
    "too-large": "the body is larger than this call reads",
}


def _unforeseen(error: Exception) -> Response:
    """Answer a fault of ours; what it was stands in the log, not in the answer."""
    g.problem = "internal"
    logging.getLogger("shithead.api").error("a request failed", exc_info=error)
    detail = "something went wrong here; the X-Request-ID finds it in the log"
    return _answer("about:blank", "Internal Server Error", 500, detail, {})
