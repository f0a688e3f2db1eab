"""The decorator of API operations: declares them, and describes them for OpenAPI."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from http import HTTPStatus
from typing import Any, TypeVar, assert_never

import flask_smorest
from flask import Response
from marshmallow import Schema, fields, validate

from schemas.errors import ProblemSchema
from schemas.strict_fields import Closed
from schemas.tokens import Scope
from service.api import problems
from service.api.answer_headers import LIMIT_HEADERS
from service.api.call import Call
from service.api.context import INVITE_HEADER
from service.api.conventions.etags import PRECONDITION, conditional
from service.api.conventions.idempotency import IDEMPOTENCY_KEY
from service.api.conventions.lifecycle import Deprecated
from service.api.conventions.media_types import (
    EVENT_STREAM,
    JSON,
    NDJSON,
    OCTETS,
    PLAIN,
    PNG,
    SVG,
    TAR,
    ZIP,
)
from service.api.conventions.responses import with_location
from service.api.limits import limits_of
from service.api.parsing import PATH_PARAMETER
from service.api.steps import Admits, Repeats, Spec, Token, answering, may_be_missing
from service.application.quotas import Weight
from service.store.replica import from_replica

__all__ = ["Call", "Repeats", "Token", "blueprint", "operation"]

EVENT_ID = r"^[0-9]{1,9}$"
"""The format of Last-Event-ID: the seq of an event."""


class MatchHeaders(Schema):
    """Precondition of a change: the version that the caller has seen."""

    if_match = fields.String(
        data_key="If-Match",
        validate=validate.Regexp(PRECONDITION),
        metadata={
            "description": "the version that the caller has seen: the ETag of an answer, or "
            '"v<version>"; one match in a list is enough, otherwise 412 `stale-version`',
            "example": '"v17"',
        },
    )


class ConditionalHeaders(Schema):
    """Conditional GET: the answers that the caller has."""

    if_none_match = fields.String(
        data_key="If-None-Match",
        metadata={"description": "ETags that the caller has; 304 if one of them is current"},
    )


class RepeatHeaders(Schema):
    """The key that makes a request safe to repeat."""

    idempotency_key = fields.String(
        data_key="Idempotency-Key",
        validate=validate.Regexp(IDEMPOTENCY_KEY),
        metadata={
            "description": "1 to 255 visible ASCII characters; a repeated request with the same "
            "key and body gets the first answer again, for at least a day"
        },
    )


class ResumeHeaders(Schema):
    """The event after which a stream continues when a lost connection is opened again."""

    last_event_id = fields.String(
        data_key="Last-Event-ID",
        validate=validate.Regexp(EVENT_ID),
        metadata={
            "description": "the `id` of the last event that the client has; browsers send it when "
            "they reconnect, and it takes precedence over `after`",
            "example": "41",
        },
    )


class InviteHeaders(Schema):
    """Access to a private table."""

    invite = fields.String(
        data_key=INVITE_HEADER,
        metadata={"description": "the invite of a private table: shows the table and its games"},
    )


BODY_BYTES = 32 << 10
"""Maximum size of a JSON body, if its operation needs no more."""

STATEMENT_BYTES = 64 << 10
"""The same for a statement: 4,000 characters, of which each may be escaped as twelve bytes."""

F = TypeVar("F", bound=Callable[..., Response])


def blueprint(name: str, import_name: str, description: str) -> flask_smorest.Blueprint:
    """Return a group of operations under /v1, with its description in the document."""
    made = flask_smorest.Blueprint(name, import_name, url_prefix="/v1", description=description)
    made.weights = {}  # by the name of the function
    return made


def operation(
    blueprint: flask_smorest.Blueprint,
    method: str,
    rule: str,
    *,
    answer: type[Schema] | None,
    weight: Weight,
    status: int = 200,
    body: type[Schema] | None = None,
    query: type[Schema] = Closed,
    token: Token = Token.USED,
    scope: Scope | None = Scope.READ,
    repeats: Repeats = Repeats.HARMLESS,
    refuses: tuple[str, ...] = (),
    produces: tuple[str, ...] = (JSON,),
    headers: tuple[type[Schema], ...] = (),
    location: str | None = None,
    tagged: bool = False,
    doc: Mapping[str, Any] | None = None,
    deferred: bool = False,
    replica: bool = False,
    streamed: bool = False,
    most_bytes: int = BODY_BYTES,
    admits: Admits = lambda _caller, **_path: None,
    deprecated: Deprecated | None = None,
) -> Callable[[F], F]:
    """
    Return a decorator that registers and documents a view function as an API operation.

    The view gets the `Call` and the parameters of the path. Errors are reported in the order of
    `steps.py` and api.md, section 1, then those that the view raises.

    Every GET except a stream is answered with an ETag, or with 304. With
    `deferred`, the token of a request that changes a game is checked by the commit, which saves
    a query. With `tagged` the answer to a change has the ETag of the new version. With `replica`
    a replica of the database may answer the reads. With `streamed` the answer is made while it is
    sent, so it has no ETag. A token that is sent needs `scope`, unless the operation ignores it.
    `most_bytes` limits a JSON body; `admits` raises Refusal for callers whose body is not worth
    validating. The answers of a `deprecated` operation say so.
    """
    query_schema, body_schema = query(), None if body is None else body()
    fields_of_answer = {} if answer is None else answer().fields
    is_secret = not _SECRETS.isdisjoint(fields_of_answer)
    is_conditional = method == "GET" and EVENT_STREAM not in produces and not streamed
    finished: Callable[[Response], Response] = (
        conditional if is_conditional else partial(with_location, location=location)
    )
    if deprecated is not None:
        finished = _with_its_end(finished, deprecated)
    is_paged = _is_paged(query_schema, fields_of_answer)
    sent = _answer_headers(
        repeats,
        location,
        tagged=tagged or is_conditional,
        linked=is_paged or deprecated is not None,
        ends=deprecated is not None,
    )
    headers = _headers(headers, repeats, is_conditional=is_conditional)
    if token is Token.IGNORED:
        scope = None
    described = {
        "security": _security(token, scope),
        "parameters": [
            {"in": "query", "schema": query},
            *({"in": "headers", "schema": header} for header in headers),
        ],
        "responses": {
            **_successes(answer, status, produces, headers, sent),
            **_refusals(token, scope, repeats, refuses, status, has_body=body is not None),
        },
        **({} if body is None else {"requestBody": _request_body(body)}),
        **({} if deprecated is None else {"deprecated": True}),
        **(doc or {}),
    }

    spec = Spec(
        produces=produces,
        status=status,
        token=token,
        scope=scope,
        repeats=repeats,
        deferred=deferred,
        is_secret=is_secret,
        most_bytes=most_bytes,
        query=query_schema,
        body=body_schema,
        admits=admits,
    )

    def decorate(view: F) -> F:
        blueprint.weights[view.__name__] = weight
        answer_request = answering(view, spec, finished)
        answered = from_replica()(answer_request) if replica else answer_request
        described["x-limits"] = limits_of(weight, has_player=token is not Token.IGNORED)
        if body is not None:
            described["x-limits"]["body_bytes"] = most_bytes
        documented = blueprint.doc(operationId=f"{blueprint.name}.{view.__name__}", **described)(
            answered
        )
        blueprint.route(rule, methods=[method], parameters=_path_parameters(rule))(documented)
        return view

    return decorate


def _headers(
    headers: tuple[type[Schema], ...], repeats: Repeats, *, is_conditional: bool
) -> tuple[type[Schema], ...]:
    repeated = (RepeatHeaders,) if repeats is Repeats.ANSWERED else ()
    return (*headers, *((ConditionalHeaders,) if is_conditional else ()), *repeated)


def _request_body(body: type[Schema]) -> dict[str, Any]:
    return {"required": not may_be_missing(body), "content": {JSON: {"schema": body}}}


def _successes(
    answer: type[Schema] | None,
    status: int,
    produces: tuple[str, ...],
    headers: tuple[type[Schema], ...],
    answer_headers: Mapping[str, Any],
) -> dict[int, Any]:
    """Return the successful answers of an operation for the OpenAPI document, by status."""
    success: dict[str, Any] = {"description": HTTPStatus(status).phrase}
    content = {
        media_type: {"schema": answer if media_type == JSON else _OTHER_SCHEMAS[media_type]}
        for media_type in produces
        if answer is not None or media_type != JSON
    }
    if content:
        success["content"] = content
    if answer_headers:
        success["headers"] = answer_headers
    if ResumeHeaders in headers:
        return {status: success, 204: {"description": "`Last-Event-ID` is the end of the log"}}
    if ConditionalHeaders not in headers:
        return {status: success}
    unchanged = {
        "description": "The caller has this answer already",
        "headers": _named("ETag", *LIMIT_HEADERS),
    }
    return {status: success, 304: unchanged}


def _answer_headers(
    repeats: Repeats,
    location: str | None,
    *,
    tagged: bool,
    linked: bool,
    ends: bool,
) -> dict[str, Any]:
    """Return the headers of a successful answer for the OpenAPI document, by name."""
    present = {
        "ETag": tagged,
        "Link": linked,
        "Deprecation": ends,
        "Sunset": ends,
        "Location": location is not None,
        "Idempotency-Replayed": repeats is Repeats.ANSWERED,
    }
    return _named(*(name for name, is_sent in present.items() if is_sent), *LIMIT_HEADERS)


def _with_its_end(
    finished: Callable[[Response], Response], deprecated: Deprecated
) -> Callable[[Response], Response]:
    """Return `finished`, which then adds the headers of an operation that will end."""

    def finished_with_its_end(response: Response) -> Response:
        done = finished(response)
        deprecated.add_to(done)
        return done

    return finished_with_its_end


def _is_paged(query: Schema, fields_of_answer: Iterable[str]) -> bool:
    starts = query.fields.keys() & {"cursor", "after", "from_"}  # where a page begins
    return bool(starts) and ("limit" in query.fields or "next" in fields_of_answer)


def _named(*names: str) -> dict[str, str]:
    """Return references to headers in the components of the document."""
    return {name: name for name in names}


def _refusals(
    token: Token,
    scope: Scope | None,
    repeats: Repeats,
    refuses: tuple[str, ...],
    status: int,
    *,
    has_body: bool,
) -> dict[int, Any]:
    """Return the problems of an operation for the OpenAPI document, by status."""
    codes = {"malformed", "rate-limited", "unavailable", *refuses}
    if status != HTTPStatus.NO_CONTENT:
        codes.add("not-acceptable")
    if token is not Token.IGNORED:
        codes.add("unauthorized")
    if scope is not None:
        codes.add("missing-scope")
    if repeats is Repeats.ANSWERED:
        codes.add("idempotency-conflict")
    if has_body:
        codes |= {"body-timeout", "too-large", "unsupported-media-type", "invalid-body"}
    by_status: dict[int, list[str]] = {}
    for code in sorted(codes):
        is_of_a_move = "not-your-turn" in codes and code in problems.OF_A_MOVE
        for one in {problems.status_of(code), problems.status_of(code, out_of_turn=is_of_a_move)}:
            by_status.setdefault(one, []).append(code)
    return {
        status: {
            "description": f"{HTTPStatus(status).phrase}: {', '.join(listed)}",
            "content": {problems.MEDIA_TYPE: {"schema": ProblemSchema}},
            **_PROBLEM_HEADERS.get(status, {}),
        }
        for status, listed in sorted(by_status.items())
    }


def _security(token: Token, scope: Scope | None) -> list[dict[str, list[str]]]:
    """Return the token that an operation takes, with the scope that it needs, for the document."""
    bearer = {"bearer": [] if scope is None else [scope.value]}
    match token:
        case Token.NEEDED:
            return [bearer]
        case Token.USED:
            return [bearer, {}]
        case Token.IGNORED:
            return []
        case _:
            assert_never(token)


def _path_parameters(rule: str) -> list[dict[str, str]]:
    """Return the descriptions of the parameters in a path."""
    return [
        {"in": "path", "name": name, "description": _described_parameter(name)}
        for name in PATH_PARAMETER.findall(rule)
    ]


def _described_parameter(name: str) -> str:
    """Return the description of a parameter: `game_id` is the id of a game."""
    return _PATH_PARAMETERS.get(name) or f"the id of a {name.removesuffix('_id')}"


_PATH_PARAMETERS: Mapping[str, str] = {
    "player_id": "the id of a player, or `me`: the caller",
    "token_id": "the id of a token, which is no secret",
    "seq": "the seq of an event",
    "card": "the code of a card; the `/` of a further deck is not escaped, as in `7c/2`",
    "level": "the level of the tile, from 0, or `entries`",
    "rest": "the index of the tile, and the width of a partial one (C2SP tlog-tiles)",
}
"""The parameters of paths that are not just an id, with their descriptions in the document."""

_SECRETS = frozenset({"token", "recovery", "invite"})  # answers with them are never compressed

_STRING = {"type": "string"}

_PROBLEM_HEADERS: Mapping[int, Mapping[str, Any]] = {
    HTTPStatus.UNAUTHORIZED: {"headers": _named("WWW-Authenticate", *LIMIT_HEADERS)},
    HTTPStatus.TOO_MANY_REQUESTS: {"headers": _named("Retry-After", *LIMIT_HEADERS)},
    HTTPStatus.SERVICE_UNAVAILABLE: {"headers": _named("Retry-After", *LIMIT_HEADERS)},
}
"""The headers of problems, by status."""

_BINARY = {"type": "string", "format": "binary"}
_OTHER_SCHEMAS: Mapping[str, Mapping[str, str]] = {
    **dict.fromkeys((NDJSON, PLAIN, SVG, EVENT_STREAM), _STRING),
    **dict.fromkeys((PNG, ZIP, TAR, OCTETS), _BINARY),
}
"""The schemas of answers of the media types other than JSON."""
