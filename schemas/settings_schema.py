"""The JSON Schema of a tree of settings, as it is published."""

from __future__ import annotations

import typing
from collections.abc import Mapping
from typing import Any, Final

from schemas.settings import PLAYERS, SECTIONS, is_optional, setting_kinds
from service.domain.cards import RANKS
from service.domain.ruleset import ALL_RANKS, RankRule

_ORDER: Final = {
    "type": "array",
    "items": {"enum": list(RANKS)},
    "uniqueItems": True,
    "minItems": len(RANKS),
}
_SUITS: Final = r"^(?!.*(.).*\1)([cdhs]{4})?$"  # each suit once, or none


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of a tree of settings."""
    branch = {name: _section_schema(kind) for name, kind in SECTIONS.items()}
    rank = _section_schema(RankRule)
    seats = {"type": "integer", "minimum": PLAYERS["min"], "maximum": PLAYERS["max"]}
    branch["players"] = _object({"min": seats, "max": seats})
    branch["order"] = _object({"low_to_high": _ORDER}) | {"required": ["low_to_high"]}
    branch["ranks"] = _object({str(r): rank for r in ALL_RANKS})
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Settings of a ruleset",
        **_object({**branch, "second_hand": _object(branch)}),
    }


def _section_schema(kind: type[Any]) -> dict[str, Any]:
    return _object({name: _schema_of(hint) for name, hint in setting_kinds(kind).items()})


def _object(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": dict(properties), "additionalProperties": False}


def _schema_of(kind: Any) -> dict[str, Any]:
    if is_optional(kind):
        return {"enum": [None, *ALL_RANKS]}
    if typing.get_origin(kind) is tuple:
        return {"type": "array", "items": {"enum": list(ALL_RANKS)}, "uniqueItems": True}
    if kind is bool:
        return {"type": "boolean"}
    if kind is int:
        return {"type": "integer", "minimum": 0, "maximum": 1000}
    if kind is str:
        return {"type": "string", "pattern": _SUITS}
    return {"enum": [member.value for member in kind]}
