"""The OpenAPI document, generated from the schemas and the recorded examples."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache, cached_property
from importlib.resources import files
from threading import Lock
from typing import Any, cast

import flask_smorest
import orjson
from apispec import APISpec
from apispec.ext.marshmallow import MarshmallowPlugin
from apispec.ext.marshmallow.common import resolve_schema_cls
from apispec.ext.marshmallow.openapi import OpenAPIConverter
from flask import Blueprint, Flask, Response
from flask_smorest.spec import FlaskPlugin
from marshmallow import Schema, fields
from werkzeug.routing import BaseConverter, UUIDConverter

from schemas.strict_fields import ID_PATTERN, ME, PLAYER_PATTERN, OneOf
from schemas.tables import BotSeatSchema, Dealing, SeatRequestField
from schemas.webhooks import WebhookEventSchema, WebhookPingSchema
from service.api.answer_headers import HEADERS
from service.api.conventions.caching import revalidated
from service.api.conventions.media_types import JSON
from service.api.problems import PROBLEMS
from service.application.errors import Refusal
from service.application.quotas import Slots
from service.replay.sentences import said
from service.runtime.version import VERSION

Json = dict[str, Any]

MAX_INLINE = 8000
"""Maximum characters of an inline example; a longer one is in the components, referenced."""


@cache
def recorded() -> Mapping[str, Any]:
    """
    Return the recorded examples.

    `calls` has for each operation id `path` and `query` (values by parameter), `bodies` (by
    media type) and `answers` (by status and media type); `problems` has one answer of each
    problem type. Bodies of binary media types are in base64.
    """
    found: Json = orjson.loads((files(__package__) / "examples.json").read_bytes())
    return found


def add_examples(document: Json) -> None:
    """Add the recorded examples to a finished document."""
    shared = document["components"].setdefault("examples", {})
    for code, problem in recorded()["problems"].items():
        shared[f"problem-{code}"] = {"summary": problem["title"], "value": problem}
    for calls in document["paths"].values():
        for method, call in calls.items():
            if method != "parameters":
                found = recorded()["calls"].get(call["operationId"], {})
                _add_to_parameters(calls.get("parameters", []), found.get("path", {}))
                _add_to_parameters(call.get("parameters", []), found.get("query", {}))
                _add_to_call(call, found, shared)


def _add_to_parameters(parameters: list[Json], values: Mapping[str, str]) -> None:
    for parameter in parameters:
        if parameter["name"] in values and "example" not in parameter:
            value = values[parameter["name"]]
            is_integer = parameter["schema"].get("type") == "integer"
            parameter["example"] = int(value) if is_integer else value


def _add_to_call(call: Json, found: Mapping[str, Any], shared: Json) -> None:
    for media_type, content in call.get("requestBody", {}).get("content", {}).items():
        if media_type in found.get("bodies", {}):
            content.update(_example(media_type, found["bodies"][media_type], shared))
    for status, answer in call["responses"].items():
        answers = found.get("answers", {}).get(status, {})
        for media_type, content in answer.get("content", {}).items():
            if media_type == "application/problem+json":
                codes = answer["description"].partition(": ")[2].split(", ")
                content["examples"] = {
                    code: {"$ref": f"#/components/examples/problem-{code}"} for code in codes
                }
            elif media_type in answers:
                content.update(_example(media_type, answers[media_type], shared))


def _example(media_type: str, value: Any, shared: Json) -> Json:
    """Return the member of a media type object that contains an example."""
    if not isinstance(value, str) or len(value) <= MAX_INLINE:
        return {"example": value}
    name = f"recorded-{media_type.rpartition('/')[2].replace('+', '-')}"
    shared.setdefault(name, {"summary": f"the body, as {media_type}", "value": value})
    return {"examples": {"recorded": {"$ref": f"#/components/examples/{name}"}}}


DESCRIPTION = (
    "The card game Shithead, with a verifiable public record of every game. Errors are problems "
    "(RFC 9457), each type documented at its address. Unknown fields are refused. Lists are "
    '{"items", "next"}, newest first unless `items` states another order. Games and tables have '
    'the ETag "v<version>.<hash>". SHX/1, the format of the record, is specified at '
    "`/docs/shx-1.md`. Every fault is answered with a problem, except those that the HTTP server "
    "finds before the service: malformed HTTP (400), more than 100 headers or a head, address "
    "included, of more than about 32 KiB (431); these answers have no body."
)


class Converter(OpenAPIConverter):
    """Adds `oneOf` and descriptions, which marshmallow schemas cannot express."""

    def schema2jsonschema(self, schema: Any) -> dict[str, Any]:
        """Return the JSON Schema of a marshmallow schema."""
        kind = _class_of(schema)
        if issubclass(kind, OneOf):
            return {
                **_description(kind),
                **_one_of(self, kind.variants),
                **_discriminator(self, kind),
            }
        plain: Any = super()
        described: dict[str, Any] = plain.schema2jsonschema(schema)
        return {**described, **_description(kind)}

    def field2default(self, field: fields.Field[Any], **more: Any) -> dict[str, Any]:
        """Return the default of a field; None marks an optional field without a default."""
        found: dict[str, Any] = super().field2default(field, **more)
        return {} if found.get("default", ...) is None else found


class Plugin(MarshmallowPlugin):
    """The marshmallow plugin with our converter."""

    Converter = Converter


class ApiDocument:
    """
    The document of the API, and the blueprints whose operations it describes.

    It replaces the class of the same name in flask-smorest, which also registers handlers
    and schemas of its own for errors, pagination and ETags. The blueprints of flask-smorest
    read the constants.
    """

    DEFAULT_ERROR_RESPONSE_NAME = None
    DEFAULT_REQUEST_BODY_CONTENT_TYPE = JSON
    DEFAULT_RESPONSE_CONTENT_TYPE = JSON

    def __init__(self, app: Flask, spec: APISpec) -> None:
        self._app = app
        self._spec = spec
        self._undescribed: list[flask_smorest.Blueprint] = []

    def register_blueprint(self, blueprint: Any) -> None:
        """Serve the operations of a blueprint; they are described when the document is read."""
        self._app.register_blueprint(blueprint)
        self._spec.tag({"name": blueprint.name, "description": blueprint.description})
        self._undescribed.append(blueprint)

    def to_dict(self) -> dict[str, Any]:
        """Return the document as plain values."""
        while self._undescribed:
            blueprint = self._undescribed.pop(0)
            blueprint.register_views_in_doc(
                self, self._app, self._spec, name=blueprint.name, parameters=None
            )
        found: dict[str, Any] = self._spec.to_dict()
        return found


class NameConverter(BaseConverter):
    """The name of a ruleset or source package in a path; other paths do not match."""

    regex = ID_PATTERN


class PlayerConverter(UUIDConverter):
    """The id of a player in a path, or `me`, which an operation replaces by the caller's id."""

    regex = f"(?:{ME}|{UUIDConverter.regex})"

    def to_python(self, value: str) -> Any:
        """Return the id, or `me`."""
        return value if value == ME else super().to_python(value)


def make_api(app: Flask, limits: Mapping[str, Any]) -> ApiDocument:
    """Return the document of an application with its limits, without operations yet."""
    routes, schemas = FlaskPlugin(), Plugin(schema_name_resolver=schema_name)
    app.url_map.converters.update(name=NameConverter, player=PlayerConverter)
    routes.register_converter(
        NameConverter, lambda _: {"type": "string", "pattern": f"^{ID_PATTERN}$"}
    )
    routes.register_converter(
        PlayerConverter, lambda _: {"type": "string", "pattern": f"^{PLAYER_PATTERN}$"}
    )
    more = {
        "info": {
            "description": DESCRIPTION,
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": "/", "description": "the server that sent this document"}],
        "x-limits": limits,
    }
    # Generators name a client after the title; `shithead_client` is our own wheel.
    spec = APISpec("Shithead API", VERSION, "3.1.0", [routes, schemas], **more)
    converter: Any = schemas.converter
    converter.add_attribute_function(_seat)
    converter.add_attribute_function(_dealing)
    for name, header in HEADERS.items():
        spec.components.header(name, dict(header))
    spec.options["webhooks"] = {
        "event": _request_to_receiver(converter, "an own event", WebhookEventSchema),
        "ping": _request_to_receiver(converter, "a ping, before all events", WebhookPingSchema),
    }
    spec.components.security_scheme(
        "bearer",
        {
            "type": "http",
            "scheme": "bearer",
            "description": "a token of a player: the first from POST /v1/players, further ones "
            "from POST /v1/players/me/tokens. Each operation names the scope that a token needs; "
            "without it the answer is 403 `missing-scope`.",
        },
    )
    return ApiDocument(app, spec)


def _request_to_receiver(converter: Any, what: str, body: type[Schema]) -> Json:
    """Return the description of a request that the service sends to a player's receiver."""
    content = {JSON: {"schema": converter.resolve_nested_schema(body)}}
    return {
        "post": {
            "summary": f"Receive {what}.",
            "description": "The service sends this request to the address of `PUT "
            "/v1/players/me/webhook`, signed with its secret as Standard Webhooks defines it.",
            "requestBody": {"required": True, "content": content},
            "responses": {"2XX": {"description": "accepted"}},
        }
    }


def schema_name(schema: Any) -> str:
    """Return the name of a schema in the document."""
    return _class_of(schema).__name__.removesuffix("Schema")


def _class_of(schema: Any) -> type[Schema]:
    return cast("type[Schema]", resolve_schema_cls(schema))


def _description(schema: type[Schema]) -> dict[str, str]:
    return {"description": " ".join(schema.__doc__.split())} if schema.__doc__ else {}


def _one_of(converter: Any, schemas: Iterable[type[Schema]]) -> dict[str, Any]:
    return {"oneOf": [converter.resolve_nested_schema(schema) for schema in schemas]}


def _discriminator(converter: Any, kind: type[OneOf]) -> dict[str, Any]:
    """Return the discriminator of a schema whose variants differ in the value of one field."""
    values = kind.by_value()
    if not values:
        return {}
    mapping = {
        value: converter.resolve_nested_schema(schema)["$ref"] for value, schema in values.items()
    }
    return {"discriminator": {"propertyName": kind.discriminator, "mapping": mapping}}


def _seat(converter: Any, field: fields.Field[Any], **_more: Any) -> dict[str, Any]:
    if not isinstance(field, SeatRequestField):
        return {}
    bot = converter.resolve_nested_schema(BotSeatSchema)
    return {"oneOf": [{"type": "string", "enum": ["me", "open"]}, bot]}


def _dealing(_converter: Any, field: fields.Field[Any], **_more: Any) -> dict[str, Any]:
    if not isinstance(field, Dealing):
        return {}
    return {"oneOf": [{"type": "boolean"}, {"type": "string", "enum": ["always"]}]}


class Document:
    """The finished document, as values and as JSON text."""

    def __init__(self, api: ApiDocument) -> None:
        self._api = api
        self._generation = Lock()
        self._first = Slots("first document", 4, per_address=4)
        self._generated: Json | None = None

    @property
    def value(self) -> Json:
        """
        Return the document as plain values; the first request of a process generates it.

        Raises Refusal (`unavailable`) while four other requests wait for it.
        """
        if self._generated is not None:
            return self._generated
        with self._first.slot("") as free:
            if not free:
                raise Refusal("unavailable", said("request.document_busy"), retry_after=1)
            return self._generate()

    def _generate(self) -> Json:
        with self._generation:
            if self._generated is None:
                document: Json = orjson.loads(orjson.dumps(self._api.to_dict(), option=_OPTIONS))
                add_examples(document)
                self._generated = document
            return self._generated

    @cached_property
    def text(self) -> bytes:
        """Return the document as JSON, without spaces: indented it is twice as large."""
        return orjson.dumps(self.value)

    def operations_refusing(self, code: str) -> list[Json]:
        """Return the operations that can answer with a problem type."""
        return [
            {"id": call["operationId"], "method": method.upper(), "path": path}
            for path, calls in self.value["paths"].items()
            for method, call in calls.items()
            if method != "parameters" and code in (one for one, _ in refusals(call))
        ]


def refusals(call: Json) -> list[tuple[str, str]]:
    """Return the problem types of an operation with their statuses; its answers list them."""
    lists = [
        (answer["description"].partition(": ")[2], status)
        for status, answer in call["responses"].items()
    ]
    return [
        (code, status) for codes, status in lists for code in codes.split(", ") if code in PROBLEMS
    ]


def register(app: Flask, api: ApiDocument) -> Document:
    """Serve and return the document of an application whose operations are all registered."""
    document, routes = Document(api), Blueprint("openapi", __name__)

    @routes.get("/v1/openapi.json")
    def openapi() -> Response:
        return revalidated(Response(document.text, content_type=JSON))

    app.register_blueprint(routes)
    return document


_OPTIONS = orjson.OPT_NON_STR_KEYS
