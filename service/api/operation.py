"""The decorator of API operations: reads and validates requests, describes them for OpenAPI."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from enum import Enum
from functools import partial, wraps
from http import HTTPStatus
from types import MappingProxyType
from typing import Any, TypeVar, assert_never
from uuid import UUID

import flask_smorest
from flask import Response, request
from marshmallow import Schema, ValidationError, fields, validate
from msgspec import Struct
from werkzeug.exceptions import HTTPException

from schemas.errors import ProblemSchema, pointers
from schemas.strict_fields import ME, Closed
from schemas.tokens import Scope
from service.api import problems
from service.api.answer_headers import LIMIT_HEADERS
from service.api.context import (
    INVITE_HEADER,
    admit,
    bearer_token,
    caller_of,
    context,
    required,
    services,
)
from service.api.conventions.compression import leave_uncompressed
from service.api.conventions.etags import PRECONDITION, conditional
from service.api.conventions.idempotency import (
    IDEMPOTENCY_KEY,
    change_response,
    idempotency_key,
    idempotency_of,
)
from service.api.conventions.lifecycle import Deprecated
from service.api.conventions.media_types import (
    EVENT_STREAM,
    JSON,
    NDJSON,
    OCTETS,
    PLAIN,
    SVG,
    TAR,
    ZIP,
    negotiated_type,
)
from service.api.conventions.responses import with_location
from service.api.limits import limits_of
from service.api.parsing import (
    PATH_PARAMETER,
    json_body,
    limit_body,
    present_notes,
    present_request,
    query_values,
)
from service.application.calls import Caller, Idempotency, RegisteredPlayer
from service.application.errors import Fault, Refusal, first_of, invalid_body, missing_scope
from service.application.quotas import Weight, limited_by
from service.application.request import RequestRead
from service.replay.sentences import said
from service.store.replica import from_replica

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

Admits = Callable[..., None]
"""Takes the caller and the parameters of the path; raises Refusal."""

F = TypeVar("F", bound=Callable[..., Response])


class Token(Enum):
    """Whether an operation reads the bearer token."""

    NEEDED = "needed"
    USED = "used"  # optional: an anonymous caller sees what is public
    IGNORED = "ignored"


class Repeats(Enum):
    """What an operation does with an Idempotency-Key."""

    ANSWERED = "answered"  # returns the first answer again
    REFUSED = "refused"  # the answer contains a token, which is not stored
    HARMLESS = "harmless"  # a repeated request has no further effect


class Call(Struct, frozen=True, kw_only=True):
    """A request whose token, idempotency key, query and body have been read and checked."""

    player: RegisteredPlayer | None
    caller: Caller
    repeat: Idempotency | None
    query: Mapping[str, Any]
    body: Any
    media_type: str

    @property
    def by(self) -> RegisteredPlayer:
        """Return the authenticated player; raises `unauthorized` for an anonymous caller."""
        return required(self.player)

    def player_named(self, name: str | None) -> UUID | None:
        """Return the player whom a query names by id or as `me`; raises `unauthorized`."""
        if name is None:
            return None
        return self.by.id if name == ME else UUID(name)

    @property
    def token(self) -> str:
        """Return the bearer token; raises `unauthorized` for an anonymous caller."""
        return required(bearer_token())


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

    The view gets a `Call` and the parameters of the path. Errors are reported in the order
    of api.md, section 1: media type, token, idempotency, query, body, then those that the
    view raises. Every GET except a stream is answered with an ETag, or with 304. With
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
    no_query = _loaded_empty(query_schema)
    is_conditional = method == "GET" and EVENT_STREAM not in produces and not streamed
    finished: Callable[[Response], Response] = (
        conditional if is_conditional else partial(with_location, location=location)
    )
    if deprecated is not None:
        finished = _with_its_end(finished, deprecated)
    asked = query_schema.fields.keys()
    is_paged = ("next" in fields_of_answer or "limit" in asked) and not _PAGES.isdisjoint(asked)
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

    def read_call(read: RequestRead, media_type: str, path: Mapping[str, Any]) -> Call:
        caller = caller_of(read.player, read)
        return Call(
            player=read.player,
            caller=caller,
            repeat=read.request,
            query=no_query
            if no_query is not None and not present_request().query_string
            else _query(query_schema),
            body=None
            if body_schema is None
            else _body(body_schema, partial(admits, caller, **path)),
            media_type=media_type,
        )

    def decorate(view: F) -> F:
        @wraps(view)
        def answer_request(**path: Any) -> Response:
            if is_secret:
                leave_uncompressed()
            if body_schema is not None:
                limit_body(most_bytes)
            # An answer without a body is acceptable in every media type.
            empty = status == HTTPStatus.NO_CONTENT
            media_type = produces[0] if empty else negotiated_type(produces)
            read = _first_read(token, scope, repeats, path.get("game_id"), deferred=deferred)
            path = _naming_caller(path, read.player)
            with _limited_work(read.player):
                try:
                    stored = read.first_answer() if read.confirmed else None
                    if stored is not None:
                        return finished(change_response(stored, status))
                    call = read_call(read, media_type, path)
                    return finished(_answer(view, call, path))
                except (Refusal, HTTPException):
                    # An expired token, or the stored first answer, takes precedence over the fault.
                    first = None if read.confirmed else read.first_answer()
                    if first is None:
                        raise
                    return finished(change_response(first, status))

        blueprint.weights[view.__name__] = weight
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


def query_refusal(errors: Iterable[Fault]) -> Refusal:
    """Return the refusal of a query; its errors name parameters instead of JSON pointers."""
    by_parameter = [{**error, "at": error["at"].removeprefix("/")} for error in errors]
    detail = said("request.query", what=first_of(by_parameter))
    return Refusal("malformed", detail, errors=by_parameter)


def _first_read(
    token: Token, scope: Scope | None, repeats: Repeats, game: UUID | None, *, deferred: bool
) -> RequestRead:
    """
    Return the first read of a request, confirmed unless its commit checks the token.

    Raises Refusal: `missing-scope` for a token without the scope, and those of `admit`.
    """
    bearer = None if token is Token.IGNORED else bearer_token()
    read = services().first_reads.begin(bearer, game)
    if token is Token.NEEDED and bearer is None:
        required(None)
    try:
        read.request = _idempotency(repeats)
    except (Refusal, HTTPException):
        _admit(read, scope, deferred=False)  # a fault of the token is reported first
        raise
    _admit(read, scope, deferred=deferred)
    return read


def _naming_caller(path: dict[str, Any], player: RegisteredPlayer | None) -> dict[str, Any]:
    """Return the parameters of a path with the caller's id for `me`; raises `unauthorized`."""
    if path.get("player_id") != ME:
        return path
    return {**path, "player_id": required(player).id}


def _admit(read: RequestRead, scope: Scope | None, *, deferred: bool) -> None:
    player = admit(read, deferred=deferred)
    if scope is None or player is None or scope in player.scopes:
        return
    if not read.confirmed:
        read.confirm()  # an ended token is reported first
    raise missing_scope(scope)


def _limited_work(player: RegisteredPlayer | None) -> AbstractContextManager[None]:
    """Return a context manager that limits the work of the request."""
    work = context().long_games.request(player.id if player else None)
    present_notes().work = work  # weighed when it is known
    return limited_by(work)


def _idempotency(repeats: Repeats) -> Idempotency | None:
    if present_request().method != "POST":
        return None
    key = idempotency_key(allowed=repeats is not Repeats.REFUSED)
    return idempotency_of(key) if repeats is Repeats.ANSWERED else None


def _loaded_empty(schema: Schema) -> Mapping[str, Any] | None:
    """Return the values of an empty query; None if the schema requires a parameter."""
    try:
        return MappingProxyType(schema.load({}))
    except ValidationError:
        return None


def _query(schema: Schema) -> Mapping[str, Any]:
    values = query_values()
    try:
        loaded: Mapping[str, Any] = schema.load(values)
    except ValidationError as error:
        raise query_refusal(pointers(error.messages)) from None
    return loaded


def _body(schema: Schema, admit_caller: Callable[[], None]) -> Any:
    """Return the validated body of a caller who is admitted; raises Refusal."""
    value = json_body(required=not _may_be_missing(type(schema)))
    admit_caller()
    try:
        return schema.load(value)
    except ValidationError as error:
        raise invalid_body(pointers(error.messages)) from None


def _answer(view: Callable[..., Response], call: Call, path: Mapping[str, Any]) -> Response:
    """Return the answer of a view; in a GET, `invalid-body` is reported as a malformed query."""
    try:
        return view(call, **path)
    except Refusal as refusal:
        if refusal.code == "invalid-body" and request.method in ("GET", "HEAD"):
            raise query_refusal(refusal.extra.get("errors", ())) from None
        raise


def _headers(
    headers: tuple[type[Schema], ...], repeats: Repeats, *, is_conditional: bool
) -> tuple[type[Schema], ...]:
    repeated = (RepeatHeaders,) if repeats is Repeats.ANSWERED else ()
    return (*headers, *((ConditionalHeaders,) if is_conditional else ()), *repeated)


def _request_body(body: type[Schema]) -> dict[str, Any]:
    return {"required": not _may_be_missing(body), "content": {JSON: {"schema": body}}}


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


_PAGES = frozenset({"cursor", "after", "from_"})  # where a page of a list begins


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
        {"in": "path", "name": name, "description": _PATH_PARAMETERS[name]}
        for name in PATH_PARAMETER.findall(rule)
    ]


def _may_be_missing(schema: type[Schema]) -> bool:
    return bool(getattr(schema, "may_be_missing", False))


_PATH_PARAMETERS: Mapping[str, str] = {
    "player_id": "the id of a player, or `me`: the caller",
    "ruleset_id": "the id of a ruleset",
    "seek_id": "the id of a seek",
    "table_id": "the id of a table",
    "game_id": "the id of a game",
    "dispute_id": "the id of a dispute",
    "token_id": "the id of a token, which is no secret",
    "seq": "the seq of an event",
    "card": "the code of a card; the `/` of a further deck is not escaped, as in `7c/2`",
    "level": "the level of the tile, from 0, or `entries`",
    "rest": "the index of the tile, and the width of a partial one (C2SP tlog-tiles)",
}
"""Every parameter of a path, with its description in the document."""

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
    NDJSON: _STRING,
    PLAIN: _STRING,
    SVG: _STRING,
    EVENT_STREAM: _STRING,
    ZIP: _BINARY,
    TAR: _BINARY,
    OCTETS: _BINARY,
}
"""The schemas of answers of the media types other than JSON."""
