"""Schemas of events for the OpenAPI document, made from the table of event types."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from marshmallow import Schema, fields, validate

from schemas.moves import AuthSchema
from schemas.strict_fields import (
    Chosen,
    Closed,
    Integer,
    OneOfTypes,
    about,
    card_field,
    described,
    hex_digits,
    key_field,
    seat_field,
    time_field,
)
from service.shx.event_shapes import EVENTS as TABLE
from service.shx.event_shapes import SIGNED, VERSION, EventShape
from service.shx.validators import OPENING, card


def _field(schema: Mapping[str, Any], **more: Any) -> fields.Field[Any]:
    """Return the field of a JSON Schema of the table; raises ValueError for an unknown form."""
    match schema:
        case {"anyOf": [inner, {"type": "null"}]}:
            return _field(inner, allow_none=True, **more)
        case {"enum": words} if isinstance(words[0], str):
            return Chosen(*words, **more)
        case {"enum": numbers}:
            return fields.Integer(strict=True, validate=validate.OneOf(numbers), **more)
        case {"type": "integer", "minimum": low, "maximum": high}:
            return Integer(low=low, high=high, **more)
        case {"type": "array", "items": items}:
            return fields.List(_field(items, required=True), **more)
        case {"type": "object", "properties": _}:
            return fields.Nested(_object(schema), **more)
        case {"type": "object"}:
            return fields.Dict(keys=fields.String(), **more)
        case {"format": "uuid"}:
            return fields.UUID(**more)
    return _string(schema, **more)


def _string(schema: Mapping[str, Any], **more: Any) -> fields.Field[Any]:
    match schema:
        case {"pattern": pattern} if pattern == card.schema["pattern"]:
            return card_field(**more)
        case {"pattern": _}:
            return hex_digits(64, **more)
        case {"contentEncoding": "base64"}:
            return key_field(**more)
        case {"type": "string"}:
            return fields.String(**more)
    raise ValueError(f"no field is known for {schema}")


def _members(properties: Mapping[str, Any], optional: Iterable[str] = ()) -> dict[str, Any]:
    """Return the attributes of a schema's class; some names are attributes of every schema."""
    members = {}
    for name, one in properties.items():
        text = about if name in optional else described
        own = {"data_key": name} if hasattr(Schema, name) else {}
        members[f"{name}_" if own else name] = _field(one, **own, **text(one["description"]))
    return members


_OBJECTS: dict[str, type[Schema]] = {}


def _object(schema: Mapping[str, Any]) -> type[Schema]:
    """Return the one class of a closed object of the table; its title is its name."""
    name = f"{schema['title']}Schema"
    if name not in _OBJECTS:
        optional = schema["properties"].keys() - schema["required"]
        members = {"__doc__": schema["description"], **_members(schema["properties"], optional)}
        _OBJECTS[name] = type(name, (Closed,), members)
    return _OBJECTS[name]


OpeningSchema = _object(OPENING.schema)
"""The opening of a card's commitment."""


def _data_schema(kind: str, shape: EventShape) -> type[Schema]:
    """Return the schema of an event's `data`."""
    members = {"__doc__": shape.meaning, **_members(shape.data.schema["properties"])}
    return type(f"{_camel(kind)}Data", (Closed,), members)


def _camel(kind: str) -> str:
    return "".join(word.capitalize() for word in kind.split("_"))


DATA: Mapping[str, type[Schema]] = {
    kind: _data_schema(kind, shape) for kind, shape in TABLE.items()
}
"""The schema of each type's `data`, in the order of a game."""


class _Envelope(Closed):
    game = fields.UUID(**described("the id of the game"))
    seq = Integer(**described("the place in the log, from 0"))
    prev = hex_digits(64, **described("the head before the event"))
    at = time_field(**described("the server's time; the same for all events of a move"))
    by = seat_field("the seat that acted, null for the server", allow_none=True)


def _event_schema(kind: str, shape: EventShape) -> type[Schema]:
    """Return the schema of a whole event of one type."""
    members: dict[str, Any] = {
        "__doc__": shape.meaning,
        "v": fields.Integer(
            strict=True,
            validate=validate.OneOf([VERSION]),
            **described("the version of the event's format"),
        ),
        "type": Chosen(kind, **described("the type of the event")),
        "data": fields.Nested(DATA[kind], **described("the fields of this event type")),
    }
    if kind in SIGNED:
        members["auth"] = fields.Nested(
            AuthSchema,
            **about("the signed move; only on the first event of a signed move"),
        )
    return type(f"{_camel(kind)}EventSchema", (_Envelope,), members)


EVENTS: Mapping[str, type[Schema]] = {
    kind: _event_schema(kind, shape) for kind, shape in TABLE.items()
}
"""The schema of each type of event as a whole."""


class EventSchema(OneOfTypes):
    """One event of a game's log (SHX/1, section 2), by its `type`."""

    types = EVENTS
