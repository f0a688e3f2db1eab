"""Problem types (RFC 9457) with their status codes, and the error handlers."""

from __future__ import annotations

import errno
import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, cast

import orjson
from flask import Flask, Response, current_app, redirect, render_template, request
from werkzeug.exceptions import HTTPException

from schemas.strict_fields import MAX_ERRORS
from service.api.call import present_call
from service.api.conventions.caching import private
from service.api.conventions.media_types import JSON
from service.api.conventions.security_headers import PAGE_POLICY
from service.application.errors import InvalidHistory, Refusal
from service.application.quotas import quota_refused
from service.keys import KeyringError
from service.replay.sentences import (
    ENGLISH,
    LANGUAGES,
    Sentence,
    Voice,
    said,
    sentence,
    values_json,
)
from service.store.events import PlayerErased, QuotaFull, StoreUnavailable, StreamArchived

MEDIA_TYPE = "application/problem+json"
HTML = "text/html"

RETRY_AFTER = 2
"""Default seconds of Retry-After."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemType:
    """A problem type: status, title and the explanation on its page."""

    status: HTTPStatus
    title: str
    meaning: str


def _type(status: HTTPStatus, title: str, meaning: str) -> ProblemType:
    return ProblemType(status=status, title=title, meaning=meaning)


PROBLEMS: Mapping[str, ProblemType] = {
    "malformed": _type(
        HTTPStatus.BAD_REQUEST,
        "The request is malformed",
        "The body is not JSON, or the query or a header has an invalid value. `errors` "
        "names the places. Duplicate names in an object, NaN and invalid UTF-8 are not accepted.",
    ),
    "unauthorized": _type(
        HTTPStatus.UNAUTHORIZED,
        "A valid token is required",
        "Send `Authorization: Bearer <token>`. A token ends when it is deleted or replaced, at its "
        "own end, and with all others when the recovery code is used.",
    ),
    "forbidden": _type(
        HTTPStatus.FORBIDDEN,
        "This is not permitted",
        "The token is valid, but this player has no permission. `detail` names the condition.",
    ),
    "missing-scope": _type(
        HTTPStatus.FORBIDDEN,
        "The token does not permit this",
        "`scope` is the scope that the operation needs and the token lacks. `GET /v1/token` shows "
        "the scopes of a token; one with the scope `account` issues others.",
    ),
    "not-seated": _type(
        HTTPStatus.FORBIDDEN,
        "You have no seat here",
        "Only players with a seat at the table, or in the game, can do this.",
    ),
    "sealed": _type(
        HTTPStatus.FORBIDDEN,
        "Visible only after the seal",
        "Hidden cards of other seats are visible once the game is over and its seed is published.",
    ),
    "not-found": _type(
        HTTPStatus.NOT_FOUND,
        "Not found",
        "Nothing exists at this address, or nothing that this caller can see. A private table is "
        "visible only to its seats, its host, invited players and holders of its invite; a hand of "
        "it to these but invited players, to the players of that hand and to the referees of its "
        "disputes.",
    ),
    "method-not-allowed": _type(
        HTTPStatus.METHOD_NOT_ALLOWED,
        "Method not allowed",
        "This address does not support the method. `Allow` lists the methods that it supports.",
    ),
    "not-acceptable": _type(
        HTTPStatus.NOT_ACCEPTABLE,
        "No acceptable media type",
        "The answer is not available in any media type of the `Accept` header; `detail` lists "
        "those in which it is.",
    ),
    "not-your-turn": _type(HTTPStatus.CONFLICT, "It is not your turn", "The seat cannot act now."),
    "game-over": _type(
        HTTPStatus.CONFLICT, "The game is over", "The hand has ended or was aborted."
    ),
    "dispute-open": _type(
        HTTPStatus.CONFLICT,
        "This dispute is open already",
        "There is at most one open dispute for a game, charge and move, of collusion for accused "
        "and partner. `id` is the id of the open one.",
    ),
    "dispute-withdrawn": _type(
        HTTPStatus.CONFLICT,
        "You withdrew this charge",
        "The caller has made this charge and withdrawn it; it cannot be made again by the same "
        "player. `id` is the id of the withdrawn dispute.",
    ),
    "hand-running": _type(
        HTTPStatus.CONFLICT,
        "A hand is being played",
        "This is possible only between hands.",
    ),
    "table-not-full": _type(
        HTTPStatus.CONFLICT, "Seats are still open", "A hand can be dealt once every seat is taken."
    ),
    "seat-taken": _type(
        HTTPStatus.CONFLICT,
        "The seat is taken",
        "The seat is occupied, no seat is open, or the caller has a seat at the table already.",
    ),
    "nonce-reused": _type(
        HTTPStatus.CONFLICT,
        "The nonce was used before",
        "Every signed move of a game needs a new nonce.",
    ),
    "limit-reached": _type(
        HTTPStatus.CONFLICT,
        "The caller has the maximum number of these",
        "`detail` names the limit and what has to end first: a table, hand, seek or "
        "dispute of the caller. Waiting alone does not help. The limits are in `x-limits` of the "
        "API document.",
    ),
    "challenge-over": _type(
        HTTPStatus.CONFLICT,
        "The challenge is over",
        "Only an open challenge can be accepted, declined or withdrawn. `GET` of the challenge "
        "shows how it ended.",
    ),
    "handle-taken": _type(
        HTTPStatus.CONFLICT,
        "This handle is not free",
        "Another player has it or one that looks alike, or had it within 90 days, or it is "
        "reserved. Choose another one.",
    ),
    "seek-over": _type(
        HTTPStatus.CONFLICT,
        "The seek is over",
        "Only an open seek can be renewed or withdrawn. `seek` is the seek as it ended: `matched` "
        "means that the caller sits at its `table`.",
    ),
    "not-lost": _type(
        HTTPStatus.CONFLICT,
        "No restore lost this move",
        "The game has the move of this receipt, or no declared restore explains that it lacks it, "
        "or the caller has moved in this game since that restore.",
    ),
    "not-away": _type(
        HTTPStatus.CONFLICT,
        "The player is not away",
        "The rules allow the claim, but the player has called or had a stream within the time that "
        "`GET /v1/games/{game_id}/absences` names, or the hand has not waited for so long.",
    ),
    "unknown-version": _type(
        HTTPStatus.CONFLICT,
        "There was never such a version",
        "`after` or `Last-Event-ID` is beyond the newest version, which `version` names. A client "
        "that has seen more saw a state that was lost, as after the restore of a backup: fetch the "
        "game from its beginning, and keep the receipts.",
    ),
    "stale-version": _type(
        HTTPStatus.PRECONDITION_FAILED,
        "The version is outdated",
        "The game or table has moved on since the version that the caller has seen. `version` is "
        "the present one: fetch it again, then decide again.",
    ),
    "body-timeout": _type(
        HTTPStatus.REQUEST_TIMEOUT,
        "The body arrived too slowly",
        "The server waits some seconds for a body, and one more for each 64 KiB of it. The "
        "request had no effect, and the connection is closed: repeat it.",
    ),
    "too-large": _type(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        "The body is too large",
        "The limit is 32 KiB for a body, 64 KiB for one with a statement and 32 MiB for evidence "
        "to be verified, unless the operator has set others.",
    ),
    "unsupported-media-type": _type(
        HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
        "Unsupported media type",
        "Send JSON as `application/json`, without `Content-Encoding`.",
    ),
    "rule-refused": _type(
        HTTPStatus.UNPROCESSABLE_ENTITY,
        "The rules forbid this move",
        "`rule` is the id of the statement in the ruleset, `rule_text` its text, and `legal` lists "
        "the caller's legal moves. A card that the caller does not hold is refused with the same "
        "answer wherever it lies. Out of turn, as at an opening or a follow-up, the status is 409.",
    ),
    "unknown-card": _type(
        HTTPStatus.UNPROCESSABLE_ENTITY,
        "There is no such card",
        "The card code is not in this game's deck. Codes are rank and suit, such as `Th` for the "
        "ten of hearts. In a move out of turn the status is 409.",
    ),
    "invalid-body": _type(
        HTTPStatus.UNPROCESSABLE_ENTITY,
        "The body is invalid",
        "The body is JSON, but does not match the schema of the operation. `errors` has a JSON "
        "pointer to each invalid value. Unknown fields are refused.",
    ),
    "idempotency-conflict": _type(
        HTTPStatus.UNPROCESSABLE_ENTITY,
        "The idempotency key was used with another body",
        "An `Idempotency-Key` belongs to the first body that was sent with it to this path. Use a "
        "new key for another request.",
    ),
    "bad-signature": _type(
        HTTPStatus.UNPROCESSABLE_ENTITY,
        "The signature is invalid",
        "The signature was not made with the seat's key, or the signed intent is for another move, "
        "seat or game.",
    ),
    "signature-required": _type(
        HTTPStatus.UNPROCESSABLE_ENTITY,
        "A signature is required",
        "The seat has a key, so its moves must be signed: add `auth` with the signed intent.",
    ),
    "entropy-refused": _type(
        HTTPStatus.UNPROCESSABLE_ENTITY,
        "The entropy is not accepted",
        "The seat contributes no entropy, has contributed it already, or reveals a value that does "
        "not match its commitment.",
    ),
    "cannot-deal": _type(
        HTTPStatus.UNPROCESSABLE_ENTITY,
        "These cards cannot be dealt",
        "The ruleset does not permit this number of seats, or its decks have too few cards.",
    ),
    "ruleset-refused": _type(
        HTTPStatus.UNPROCESSABLE_ENTITY,
        "The ruleset cannot be played",
        "Its settings contradict one another, its trial hands cannot be played, or it is known by "
        "name only. `detail` names the reason.",
    ),
    "not-a-bundle": _type(
        HTTPStatus.UNPROCESSABLE_ENTITY,
        "Not a record of a game",
        "The upload is neither a `.shx` bundle nor the lines of a log.",
    ),
    "rate-limited": _type(
        HTTPStatus.TOO_MANY_REQUESTS,
        "Too many requests",
        "`detail` names the limit. Wait for the seconds in `Retry-After`. `RateLimit` and "
        "`RateLimit-Policy` state what is left of the limits of a minute.",
    ),
    "unavailable": _type(
        HTTPStatus.SERVICE_UNAVAILABLE,
        "Temporarily unavailable",
        "The database does not answer, the service is busy, the bundle of an archived game or the "
        "key of a game is missing, or the stored record of a game is inconsistent. Repeat the "
        "request after `Retry-After` seconds with the same `Idempotency-Key`: it takes effect only "
        "once.",
    ),
}
"""Every problem type, by the last part of its address."""

OF_A_MOVE = frozenset({"not-your-turn", "rule-refused", "unknown-card"})
"""
Problems of a refused move. Which one it is depends on hidden cards, their status does not.

Out of turn, cards decide whether a seat may open or follow up: there all have the status of
`not-your-turn`, so that logs, metrics and proxies can state the status that the caller got.
"""

_OF_STATUS: Mapping[int, str] = {
    400: "malformed",
    401: "unauthorized",
    403: "forbidden",
    404: "not-found",
    405: "method-not-allowed",
    406: "not-acceptable",
    408: "body-timeout",
    413: "too-large",
    415: "unsupported-media-type",
    429: "rate-limited",
    503: "unavailable",
}


def register(app: Flask) -> None:
    """Register handlers that answer every error, also those of Flask, with a problem."""
    app.register_error_handler(Refusal, _refused)
    app.register_error_handler(StoreUnavailable, _unavailable)
    app.register_error_handler(StreamArchived, _unreadable)
    app.register_error_handler(PlayerErased, _erased)
    app.register_error_handler(QuotaFull, _quota_full)
    app.register_error_handler(InvalidHistory, _unreadable)
    app.register_error_handler(KeyringError, _keyless)
    app.register_error_handler(OSError, _of_system)
    app.register_error_handler(HTTPException, _of_http)
    app.register_error_handler(Exception, _unforeseen)


def status_of(code: str, *, out_of_turn: bool = False) -> int:
    """Return the status code of a problem type; `out_of_turn` of one in OF_A_MOVE."""
    return int(PROBLEMS["not-your-turn" if out_of_turn else code].status)


def problem(code: str, detail: str, extra: Mapping[str, Any] | None = None) -> Response:
    """Return a problem as an answer; `extra` are further members of its object."""
    kind = PROBLEMS[code]
    members = dict(extra or {})
    if "errors" in members:
        members["errors"] = list(members["errors"])[:MAX_ERRORS]
    retry_after = members.pop("retry_after", RETRY_AFTER)
    status = status_of(code, out_of_turn=members.pop("out_of_turn", False))
    response = _answer(f"/problems/{code}", kind.title, status, detail, members)
    present_call().problem = code
    if code in ("rate-limited", "unavailable"):
        response.headers["Retry-After"] = str(retry_after)
    if code == "unauthorized":
        response.headers["WWW-Authenticate"] = 'Bearer realm="shithead"'
    return response


def unlisted(status: HTTPStatus, why: Sentence) -> Response:
    """Return a problem without a type and a page of its own as an answer."""
    members = {"code": why.code, "values": values_json(why.values)}
    return _answer("about:blank", status.phrase, int(status), why.text, members)


def _is_for_a_person() -> bool:
    """Return whether a browser requests a page; its errors are HTML instead of JSON."""
    if request.path.startswith("/v1/") or request.method not in ("GET", "HEAD"):
        return False
    return request.accept_mimetypes.best_match((MEDIA_TYPE, JSON, HTML)) == HTML


def _page(title: str, status: int, members: Mapping[str, Any]) -> Response:
    language = request.accept_languages.best_match(LANGUAGES) or ENGLISH
    detail = sentence(members["code"], members["values"], Voice(language=language))
    values = {"title": title, "status": status, "detail": detail, "language": language}
    text = render_template("error.html", **values)
    response = Response(text, status=status, content_type=f"{HTML}; charset=utf-8")
    response.headers["Content-Security-Policy"] = PAGE_POLICY
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
    if _is_for_a_person():
        return private(_page(title, status, members))
    # A problem can depend on what the caller may see, so no cache stores it.
    return private(Response(orjson.dumps(body), status=status, content_type=MEDIA_TYPE))


def _refused(refusal: Refusal) -> Response:
    return problem(refusal.code, refusal.detail, refusal.extra)


def _unavailable(_error: StoreUnavailable) -> Response:
    return _refused(Refusal("unavailable", said("request.no_database")))


def _unreadable(error: StreamArchived | InvalidHistory) -> Response:
    """Answer for a game whose record is missing or inconsistent; the log names the reason."""
    log = logging.getLogger("shithead.api")
    if isinstance(error, StreamArchived):
        log.error("an archived game cannot be read: %s", error)
        return _refused(Refusal("unavailable", said("request.archived")))
    log.error("a stored game cannot be read: %s", error)
    return _refused(Refusal("unavailable", said("request.unreadable_game")))


def _keyless(error: KeyringError) -> Response:
    """Answer for a game whose key is not in the key file; the log names the key."""
    logging.getLogger("shithead.api").error("a stored game cannot be decrypted: %s", error)
    return _refused(Refusal("unavailable", said("request.no_game_key")))


def _quota_full(error: QuotaFull) -> Response:
    """Answer for a player with too many tables, hands, rulesets or disputes at the commit."""
    return _refused(quota_refused(error.kind))


def _of_system(error: OSError) -> Response:
    """Answer for a process without free file descriptors: another one, or a later try, has some."""
    if error.errno not in (errno.EMFILE, errno.ENFILE):
        return _unforeseen(error)
    logging.getLogger("shithead.api").error("no file descriptor is free: %s", error.strerror)
    return _refused(Refusal("unavailable", said("request.no_files")))


def _erased(_error: PlayerErased) -> Response:
    """Answer for a player who was erased during the request: as for an unknown token."""
    return _refused(Refusal("unauthorized", said("request.unknown_token")))


def _of_http(error: HTTPException) -> Response:
    status = error.code or 500
    code = _OF_STATUS.get(status)
    if code is None and 400 <= status < 500:
        code = "malformed"
    if code is None:
        return _unforeseen(error)
    if code == "not-found" and (page := _without_slash()) is not None:
        return page
    response = _refused(Refusal(code, _detail_of_http(code, error)))
    valid = getattr(error, "valid_methods", None)
    if valid:
        response.headers["Allow"] = ", ".join(sorted(valid))
    return response


def _detail_of_http(code: str, error: HTTPException) -> Sentence:
    if code == "not-found":
        return _malformed_id() or said("request.no_address")
    if code == "method-not-allowed":
        return said("request.no_method")
    if code == "too-large" and request.max_content_length is not None:
        return said("limit.body", n=request.max_content_length)
    return said("request.http", reason=error.description or PROBLEMS[code].title)


def _without_slash() -> Response | None:
    """Return a redirect to the page whose address was written with a slash at its end."""
    path = request.path.rstrip("/")
    if path == request.path or path.startswith("/v1") or request.method not in ("GET", "HEAD"):
        return None
    try:
        current_app.url_map.bind("").match(path, method="GET")
    except HTTPException:
        return None
    query = request.query_string.decode("ascii", "replace")
    return cast("Response", redirect(f"{path}?{query}" if query else path, code=308))


def _malformed_id() -> Sentence | None:
    """Return a detail about an id in the path that is not a UUID; None if no route fits."""
    parts = request.path.split("/")
    for rule in current_app.url_map.iter_rules():
        segments = rule.rule.split("/")
        if len(segments) != len(parts):
            continue
        pairs = list(zip(segments, parts, strict=True))
        if any(segment != part for segment, part in pairs if not segment.startswith("<")):
            continue
        for segment, part in pairs:
            if segment.startswith(("<uuid:", "<player:")) and not _UUID.fullmatch(part):
                name = segment.partition(":")[2].removesuffix("_id>")
                return said("request.no_id", text=repr(part[:_SHOWN]), what=name)
    return None


_UUID = re.compile(r"[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
_SHOWN = 40
"""Characters of a path that a detail repeats."""


def _unforeseen(error: Exception) -> Response:
    """Answer for an internal error; details are logged, not sent."""
    present_call().problem = "internal"
    # Flask wraps an error that a function registered with `after_request` raises.
    cause = getattr(error, "original_exception", None) or error
    logging.getLogger("shithead.api").error("a request failed", exc_info=cause)
    return unlisted(HTTPStatus.INTERNAL_SERVER_ERROR, said("request.internal"))
