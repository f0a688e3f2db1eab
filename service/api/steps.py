"""The steps of a request to an operation, in their order: from the media type to the answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import wraps
from http import HTTPStatus
from types import MappingProxyType
from typing import Any, Final

from flask import Response, request
from marshmallow import Schema, ValidationError
from werkzeug.exceptions import HTTPException

from schemas.errors import pointers
from schemas.strict_fields import ME
from schemas.tokens import Scope
from service.api.call import Call, present_call, required
from service.api.context import bearer_token, caller_of, context, services
from service.api.conventions.compression import leave_uncompressed
from service.api.conventions.idempotency import change_response, idempotency_key, idempotency_of
from service.api.conventions.media_types import negotiated_type
from service.api.parsing import json_body, limit_body, present_request, query_values
from service.application.calls import Idempotency
from service.application.errors import Fault, Refusal, first_of, invalid_body, missing_scope
from service.application.quotas import limited_by
from service.application.request import RequestRead
from service.replay.sentences import said

Admits = Callable[..., None]
"""Takes the call and the parameters of the path; raises Refusal."""


class Token(Enum):
    """Whether an operation reads the bearer token."""

    NEEDED = "needed"
    USED = "used"  # optional: an anonymous caller sees what is public
    IGNORED = "ignored"


class Repeats(Enum):
    """The use that an operation makes of an Idempotency-Key."""

    ANSWERED = "answered"  # returns the first answer again
    REFUSED = "refused"  # the answer contains a token, which is not stored
    HARMLESS = "harmless"  # a repeated request has no further effect


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """The parts of an operation's declaration (`operation.py`) that the steps use."""

    produces: tuple[str, ...]
    status: int
    token: Token
    scope: Scope | None
    repeats: Repeats
    deferred: bool
    is_secret: bool
    most_bytes: int
    query: Schema
    body: Schema | None
    admits: Admits
    no_query: Mapping[str, Any] | None = field(init=False)  # its values without parameters

    def __post_init__(self) -> None:
        object.__setattr__(self, "no_query", _loaded_empty(self.query))


def negotiate(call: Call, spec: Spec, _path: dict[str, Any]) -> None:
    """Choose the media type of the answer, and limit the body; raises `not-acceptable`."""
    if spec.is_secret:
        leave_uncompressed()
    if spec.body is not None:
        limit_body(spec.most_bytes)
    # An answer without a body is acceptable in every media type.
    empty = spec.status == HTTPStatus.NO_CONTENT
    call.media_type = spec.produces[0] if empty else negotiated_type(spec.produces)


def authenticate(call: Call, spec: Spec, path: dict[str, Any]) -> None:
    """
    Find the player of the token, count the call for its limit, and read the idempotency key.

    One query reads the token, the stored answer and the game. If the operation is deferred and
    token and game are cached, the commit checks the token. Raises `unauthorized` for an unknown or
    expired token, even if the operation needs no token: otherwise the caller would mistake the
    public view for their own. Raises `rate-limited`, and `missing-scope`.
    """
    call.bearer = None if spec.token is Token.IGNORED else bearer_token()
    call.read = services().first_reads.begin(call.bearer, path.get("game_id"))
    if spec.token is Token.NEEDED:
        required(call.bearer)
    try:
        call.repeat = call.read.request = _idempotency(spec.repeats)
    except (Refusal, HTTPException):
        _admit(call, call.read, spec.scope, deferred=False)  # a fault of the token comes first
        raise
    _admit(call, call.read, spec.scope, deferred=spec.deferred)


def _admit(call: Call, read: RequestRead, scope: Scope | None, *, deferred: bool) -> None:
    if read.token is None:
        return
    if not (deferred and read.defer()):
        read.confirm()
    call.player = read.player
    if read.player is None:
        return
    context().rate_limits.count_player(read.player.id)
    context().presence.note(read.player.id)
    if scope is not None and scope not in read.player.scopes:
        if not read.confirmed:
            read.confirm()  # an ended token is reported first
        raise missing_scope(scope)


def name_caller(call: Call, _spec: Spec, path: dict[str, Any]) -> None:
    """Replace `me` in the path by the caller's id; raises `unauthorized` without a token."""
    if path.get("player_id") == ME:
        path["player_id"] = call.by.id


def find(call: Call, spec: Spec, _path: dict[str, Any]) -> None:
    """Answer a repeated request as the first time, if the token is confirmed already."""
    if call.read is not None and call.read.confirmed:
        call.answer = _first_answer(call, spec)


def read_query(call: Call, spec: Spec, _path: dict[str, Any]) -> None:
    """Validate the query, and state who calls; raises `malformed`."""
    if call.read is not None:
        call.caller = caller_of(call.player, call.read)
    if spec.no_query is not None and not present_request().query_string:
        call.query = spec.no_query
    else:
        call.query = _query(spec.query)


def read_body(call: Call, spec: Spec, path: dict[str, Any]) -> None:
    """Validate the body of a caller who is admitted; raises Refusal."""
    if spec.body is None:
        return
    value = json_body(required=not may_be_missing(type(spec.body)))
    spec.admits(call, **path)
    try:
        call.body = spec.body.load(value)
    except ValidationError as error:
        raise invalid_body(pointers(error.messages)) from None


Step = Callable[[Call, Spec, dict[str, Any]], None]

FINAL_STEPS: Final[tuple[Step, ...]] = (negotiate, authenticate, name_caller)
"""
The first steps of an operation; what they refuse is final.

Before them, for every request: its id and its clock, its host, and the limit of its address
(`app.py` registers these in this order).
"""

STEPS: Final[tuple[Step, ...]] = (find, read_query, read_body)
"""
The steps after them, whose work is limited; one that sets an answer is the last one.

An expired token, or the stored first answer, takes precedence over what they refuse. Then the view
decides and commits. No step does work for a caller whom an earlier one could refuse.
"""


def answering(
    view: Callable[..., Response], spec: Spec, finished: Callable[[Response], Response]
) -> Callable[..., Response]:
    """Return the function that answers a request to an operation with a finished answer."""

    @wraps(view)
    def answer_request(**path: Any) -> Response:
        return finished(_answered(view, spec, path))

    return answer_request


def _answered(view: Callable[..., Response], spec: Spec, path: dict[str, Any]) -> Response:
    """Return the answer of an operation to the present request; raises Refusal."""
    call = present_call()
    for step in FINAL_STEPS:
        step(call, spec, path)
    player = None if call.player is None else call.player.id
    call.work = work = context().long_games.request(player)  # weighed when it is known
    with limited_by(work):
        try:
            for step in STEPS:
                step(call, spec, path)
                if call.answer is not None:
                    return call.answer
            return _decided(view, call, path)
        except (Refusal, HTTPException):
            read = call.read
            first = None if read is None or read.confirmed else _first_answer(call, spec)
            if first is None:
                raise
            return first


def _first_answer(call: Call, spec: Spec) -> Response | None:
    first = None if call.read is None else call.read.first_answer()
    return None if first is None else change_response(first, spec.status)


def _decided(view: Callable[..., Response], call: Call, path: Mapping[str, Any]) -> Response:
    """Return the answer of a view; in a GET, `invalid-body` is reported as a malformed query."""
    try:
        return view(call, **path)
    except Refusal as refusal:
        if refusal.code == "invalid-body" and request.method in ("GET", "HEAD"):
            raise query_refusal(refusal.extra.get("errors", ())) from None
        raise


def query_refusal(errors: Iterable[Fault]) -> Refusal:
    """Return the refusal of a query; its errors name parameters instead of JSON pointers."""
    by_parameter = [{**error, "at": error["at"].removeprefix("/")} for error in errors]
    detail = said("request.query", what=first_of(by_parameter))
    return Refusal("malformed", detail, errors=by_parameter)


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


def may_be_missing(schema: type[Schema]) -> bool:
    """Return whether a body of this schema may be left out."""
    return bool(getattr(schema, "may_be_missing", False))
