"""The OpenAPI 3.1 document, generated from the schemas and the calls."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

import flask_smorest
from apispec.ext.marshmallow import MarshmallowPlugin
from apispec.ext.marshmallow.common import resolve_schema_cls
from apispec.ext.marshmallow.openapi import OpenAPIConverter
from flask import Flask
from marshmallow import Schema, fields
from werkzeug.routing import BaseConverter

from schemas.move_schema import MOVE_SCHEMAS, MoveField
from schemas.strict_fields import GIVEN_NAME, OneOf
from schemas.tables_schema import BotSeatSchema, SeatRequestField

VERSION = "1.0.0"
DESCRIPTION = (
    "Shithead with a record of every game that settles a dispute. Errors are problems "
    "(RFC 9457), each type documented at its address. Unknown fields are refused. Lists are "
    '{"items", "next"}, newest first. Games and tables carry ETag "v<version>".'
)


class Converter(OpenAPIConverter):
    """Adds what marshmallow has no word for: one of several schemas."""

    def schema2jsonschema(self, schema: Any) -> dict[str, Any]:
        """Return the JSON Schema of a marshmallow schema."""
        kind = _class_of(schema)
        if issubclass(kind, OneOf):
            return _one_of(self, kind.variants)
        plain: Any = super()
        described: dict[str, Any] = plain.schema2jsonschema(schema)
        if kind.__doc__:
            described["description"] = " ".join(kind.__doc__.split())
        return described

    def field2default(self, field: fields.Field[Any], **more: Any) -> dict[str, Any]:
        """Return the default of a field; none stands for what is simply left out."""
        found: dict[str, Any] = super().field2default(field, **more)
        return {} if found.get("default", ...) is None else found


class Plugin(MarshmallowPlugin):
    """Converts with our converter."""

    Converter = Converter


class Api(flask_smorest.Api):  # type: ignore[misc] # the library has no types
    """The API's document; errors are answered by `problems`, not by the library."""

    DEFAULT_ERROR_RESPONSE_NAME = None

    def _register_error_handlers(self) -> None:
        """Leave errors to `problems`."""

    def _register_responses(self) -> None:
        """Document none of the library's own errors."""

    def _register_pagination_header(self) -> None:
        """Document none of the library's own pages."""

    def _register_etag_headers(self) -> None:
        """Document none of the library's own ETags."""


class NameConverter(BaseConverter):
    """A name in a path, as the project gives them; any other is at no address."""

    regex = GIVEN_NAME


def make_api(app: Flask) -> Api:
    """Return the document of an application, still without calls."""
    app.config.update(
        API_TITLE="Shithead",
        API_VERSION=VERSION,
        OPENAPI_VERSION="3.1.0",
        OPENAPI_URL_PREFIX=None,
    )
    plugin = Plugin(schema_name_resolver=_name)
    api = Api(app, spec_kwargs={"marshmallow_plugin": plugin, "info": {"description": DESCRIPTION}})
    app.url_map.converters["name"] = NameConverter
    api.register_converter(
        NameConverter, lambda _: {"type": "string", "pattern": f"^{GIVEN_NAME}$"}
    )
    converter: Any = plugin.converter
    converter.add_attribute_function(_move)
    converter.add_attribute_function(_seat)
    api.spec.components.security_scheme(
        "bearer", {"type": "http", "scheme": "bearer", "description": "the token of a player"}
    )
    return api


def _name(schema: Any) -> str:
    """Return the name of a schema in the document."""
    return _class_of(schema).__name__.removesuffix("Schema")


def _class_of(schema: Any) -> type[Schema]:
    return cast("type[Schema]", resolve_schema_cls(schema))


def _one_of(converter: Any, schemas: Iterable[type[Schema]]) -> dict[str, Any]:
    return {"oneOf": [converter.resolve_nested_schema(one) for one in schemas]}


def _move(converter: Any, field: fields.Field[Any], **_more: Any) -> dict[str, Any]:
    if not isinstance(field, MoveField):
        return {}
    kinds = _one_of(converter, MOVE_SCHEMAS.values())
    if field.allow_none:
        kinds["oneOf"].append({"type": "null"})
    return kinds


def _seat(converter: Any, field: fields.Field[Any], **_more: Any) -> dict[str, Any]:
    if not isinstance(field, SeatRequestField):
        return {}
    bot = converter.resolve_nested_schema(BotSeatSchema)
    return {"oneOf": [{"type": "string", "enum": ["me", "open"]}, bot]}
