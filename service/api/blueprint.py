"""How a call is declared: one decorator says what it takes, gives and refuses, and sees to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import wraps
from http import HTTPStatus
from typing import Any, NoReturn, TypeVar, cast

import flask_smorest
from flask import Response, g, request
from marshmallow import Schema, ValidationError
from webargs.flaskparser import FlaskParser

from schemas.errors import pointers
from schemas.problem_schema import ProblemSchema
from schemas.strict_fields import Closed
from service.api import problems
from service.api.auth import caller_of, player_of_request, required
from service.api.bodies import json_body, query
from service.api.context import services
from service.api.conventions import (
    EVENT_STREAM,
    JSON,
    NDJSON,
    OCTETS,
    PLAIN,
    ZIP,
    accepted,
    answered,
    idempotency_key,
    located,
    repetition,
)
from service.api.headers import RepeatHeaders, VersionHeaders
from service.application.callers import Caller, Idempotency, Player
from service.application.errors import Refusal, misfit

F = TypeVar("F", bound=Callable[..., Response])


class Token(Enum):
    """What a call does with a token."""

    NEEDED = "needed"
    USED = "used"  # where there is one
    IGNORED = "ignored"


class Repeats(Enum):
    """What a call does with an Idempotency-Key."""

    ANSWERED = "answered"  # the first answer again
    REFUSED = "refused"  # the answer holds a token, which is kept nowhere
    HARMLESS = "harmless"  # nothing changes, or the same again


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A request whose token, key, query and body have been read."""

    player: Player | None
    caller: Caller
    repeat: Idempotency | None
    query: Mapping[str, Any]
    body: Any
    media_type: str

    @property
    def by(self) -> Player:
        """Return the player who calls; raises `unauthorized` where nobody does."""
        return required(self.player)


class StrictParser(FlaskParser):
    """Reads bodies and queries strictly, and refuses in the words of the API."""

    DEFAULT_UNKNOWN_BY_LOCATION = {  # noqa: RUF012 - the library's own kind of setting
        **FlaskParser.DEFAULT_UNKNOWN_BY_LOCATION,
        "query": None,
    }

    def load_json(self, _request: Any, schema: Any) -> Any:
        """Return the body's value."""
        return json_body(required=not getattr(schema, "may_be_missing", False))

    def load_querystring(self, _request: Any, _schema: Any) -> Any:
        """Return the query's values."""
        return query()

    def handle_error(self, error: ValidationError, *_args: Any, **_kwargs: Any) -> NoReturn:
        """Refuse what does not fit its schema."""
        [(location, messages)] = cast("dict[str, Any]", error.messages).items()
        faults = pointers(messages)
        if location == "json":
            raise misfit(faults)
        raise in_query(faults)


def in_query(faults: Iterable[Mapping[str, str]]) -> Refusal:
    """Return the refusal of a query, whose faults are known by the names in it."""
    named = [{**fault, "at": fault["at"].removeprefix("/")} for fault in faults]
    detail = "; ".join(f"{fault['at']}: {fault['message']}" for fault in named)
    return Refusal("malformed", f"the query does not fit: {detail}", errors=named)


class Blueprint(flask_smorest.Blueprint):  # type: ignore[misc] # the library has no types
    """A blueprint whose calls are documented together with what they refuse."""

    ARGUMENTS_PARSER = StrictParser()

    def __init__(self, name: str, import_name: str, description: str) -> None:
        super().__init__(name, import_name, url_prefix="/v1", description=description)
        self._prepare_doc_cbks.append(_refusals_doc)


def operation(
    blueprint: Blueprint,
    method: str,
    rule: str,
    *,
    answer: type[Schema] | None,
    status: int = 200,
    body: type[Schema] | None = None,
    query: type[Schema] = Closed,
    token: Token = Token.USED,
    repeats: Repeats = Repeats.HARMLESS,
    refuses: tuple[str, ...] = (),
    produces: tuple[str, ...] = (JSON,),
    headers: tuple[type[Schema], ...] = (),
    location: str | None = None,
    doc: Mapping[str, Any] | None = None,
) -> Callable[[F], F]:
    """
    Return the decorator that makes a view a call of the API.

    The view gets a `Call` and the parts of the path. Faults are told in the order
    of api.md, section 1: media type, token, idempotency, query, body, then whatever
    the view finds.
    """

    def decorate(view: F) -> F:
        @wraps(view)
        def read(query: Any, body: Any = None, **path: Any) -> Response:
            asked: _Asked = g.asked
            call = Call(
                player=asked.player,
                caller=caller_of(asked.player),
                repeat=asked.repeat,
                query=query,
                body=body,
                media_type=asked.media_type,
            )
            return located(view(call, **path), location)

        call: Any = read
        if body is not None:
            call = blueprint.arguments(body(), required=not _may_be_missing(body))(call)
        call = blueprint.arguments(query(), location="query", error_status_code=400)(call)
        told = {"ETag": _ETAG} if VersionHeaders in headers else {}
        if location is not None:
            told["Location"] = _LOCATION
        for media_type in reversed(produces):
            schema = answer if media_type == JSON else _TEXTS[media_type]
            call = blueprint.alt_response(
                status, schema=schema, content_type=media_type, headers=told or None, success=True
            )(call)
        if VersionHeaders in headers:
            call = blueprint.alt_response(304, description="The caller has this version")(call)
        guarded = _guarded(call, token, repeats, produces, status, location)
        doc_ = {"operationId": f"{blueprint.name}.{view.__name__}", **(doc or {})}
        refused = refuses if status == HTTPStatus.NO_CONTENT else (*refuses, "not-acceptable")
        _document(guarded, token, repeats, headers, refused, body=body is not None, doc=doc_)
        blueprint.route(rule, methods=[method])(guarded)
        return view

    return decorate


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """What is known of a request before its query and body are read."""

    player: Player | None
    repeat: Idempotency | None
    media_type: str


def _guarded(
    call: Callable[..., Response],
    token: Token,
    repeats: Repeats,
    produces: tuple[str, ...],
    status: int,
    location: str | None,
) -> Callable[..., Response]:
    """Return the call behind what comes first: media type, token, idempotency."""

    @wraps(call)
    def guarded(**path: Any) -> Response:
        # An answer without a body has no form that anybody could not accept.
        media_type = produces[0] if status == HTTPStatus.NO_CONTENT else accepted(produces)
        player = None if token is Token.IGNORED else player_of_request()
        if token is Token.NEEDED:
            required(player)
        repeat = None
        if request.method == "POST":
            key = idempotency_key(allowed=repeats is not Repeats.REFUSED)
            repeat = repetition(key) if repeats is Repeats.ANSWERED else None
        if player is not None and repeats is Repeats.ANSWERED:
            kept = services().answers.kept(player.id, repeat)
            if kept is not None:
                return located(answered(kept, status), location)
        g.asked = _Asked(player=player, repeat=repeat, media_type=media_type)
        try:
            return call(**path)
        except Refusal as refusal:
            if refusal.code == "invalid-body" and request.method in ("GET", "HEAD"):
                raise in_query(refusal.extra.get("errors", ())) from None
            raise

    return guarded


def _document(
    guarded: Any,
    token: Token,
    repeats: Repeats,
    headers: tuple[type[Schema], ...],
    refuses: tuple[str, ...],
    *,
    body: bool,
    doc: Mapping[str, Any],
) -> None:
    """Leave beside the call what the document says of it."""
    common = ["malformed", "rate-limited", "unavailable"]
    if token is not Token.IGNORED:
        common.append("unauthorized")
    if repeats is Repeats.ANSWERED:
        common.append("idempotency-conflict")
        headers = (*headers, RepeatHeaders)
    if body:
        common += ["too-large", "unsupported-media-type", "invalid-body"]
    security: dict[Token, list[dict[str, list[str]]]] = {
        Token.NEEDED: [{"bearer": []}],
        Token.USED: [{"bearer": []}, {}],
        Token.IGNORED: [],
    }
    guarded._apidoc = {  # noqa: SLF001 - where flask-smorest keeps what it documents
        **guarded._apidoc,  # noqa: SLF001 - where the library keeps it
        "refusals": sorted({*common, *refuses}),
        "headers": headers,
        "manual_doc": {"security": security[token], **doc},
    }


def _refusals_doc(doc: dict[str, Any], info: Mapping[str, Any], **_more: Any) -> dict[str, Any]:
    """Return an operation's document with its header parameters and its refusals."""
    doc.setdefault("parameters", []).extend(
        {"in": "headers", "schema": schema()} for schema in info.get("headers", ())
    )
    by_status: dict[int, list[str]] = {}
    for code in info.get("refusals", ()):
        by_status.setdefault(problems.status_of(code), []).append(code)
    for status, codes in by_status.items():
        doc.setdefault("responses", {})[status] = {
            "description": f"{HTTPStatus(status).phrase}: {', '.join(codes)}",
            "content": {problems.MEDIA_TYPE: {"schema": ProblemSchema}},
        }
    doc["responses"] = dict(sorted(doc["responses"].items()))
    return doc


def _may_be_missing(schema: type[Schema]) -> bool:
    return bool(getattr(schema, "may_be_missing", False))


_ETAG = {"description": '"v<version>"', "schema": {"type": "string"}}
_LOCATION = {
    "description": "the address of what was made",
    "schema": {"type": "string", "format": "uri-reference"},
}
_STRING = {"type": "string"}
_BINARY = {"type": "string", "format": "binary"}
_TEXTS: Mapping[str, Mapping[str, str]] = {
    NDJSON: _STRING,
    PLAIN: _STRING,
    EVENT_STREAM: _STRING,
    ZIP: _BINARY,
    OCTETS: _BINARY,
}
