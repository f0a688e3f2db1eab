"""Write the generated files of ops/spec from their sources: python -m ops.specification."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from apispec import APISpec

from schemas.audit import AuditSchema, ServerKeysSchema
from schemas.settings import Tree, full_tree, json_schema, setting_defaults
from service.api.openapi import Plugin, schema_name
from service.rulesets.catalogue import Definition, Option, catalogue
from service.rulesets.statements import Statement, model
from service.shx.bundle import MANIFEST_SHAPE
from service.shx.canonical import canonical
from service.shx.event_shapes import ENVELOPE, EVENTS, SIGNED, VERSION
from service.shx.moves import ATTEMPT, INTENT, MOVE_SHAPES, check_auth
from service.shx.validators import schema_of

SPEC: Final = Path(__file__).resolve().parent / "spec"

ABOUT: Final = (
    "The catalogue of rulesets; normative (rules.md, section 2). Tree of a table: begin with "
    "`settings`; for each option, in order of names, merge the `changes` of its value (the chosen "
    "or the default one) into it; a rank that is new begins with `defaults.rank`. `settings_hash` "
    "is the SHA-256 of the canonical tree: of a ruleset with all defaults, of a value with that "
    "value alone chosen. Of a set each member in the value applies, and its hash is that of the "
    "member alone. `ruleset_hash` is that of `game_created` for a table with all defaults: of the "
    "object with id, options {} and the tree as settings. An option with `sets` and without "
    "`effects` has any value of its kind: the setting takes it. `cites` has the statement of each "
    "setting that has one of its own, for a rank only if the table's options make it special; all "
    "others cite `shared`."
)


def generated() -> dict[str, str]:
    """Return the text of each generated file by its path in ops/spec."""
    files = {"rulesets.json": rulesets(), "schemas.json": schemas()}
    return {name: _laid_out(value) + "\n" for name, value in files.items()}


def schemas() -> dict[str, Any]:
    """
    Return the JSON Schema of each object of the record, as definitions of one document.

    An event is `event.<type>.v<version>`.
    """
    events = {f"event.{kind}.v{VERSION}": _event(kind) for kind in EVENTS}
    settings = {name: part for name, part in json_schema().items() if name != "$schema"}
    players = settings["properties"]["players"]
    required = {"players": {**players, "required": ["min", "max"]}}
    settings["properties"] = {**settings["properties"], **required}
    definitions = {
        **events,
        "move": {"oneOf": [shape.schema for shape in MOVE_SHAPES.values()]},
        "intent": _with_moves(INTENT.schema),
        "manifest": MANIFEST_SHAPE.schema,
        "refusals.line": ATTEMPT.schema,
        "settings": {**settings, "required": ["players", "order"]},
        **_answers(),
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "The objects of SHX/1",
        "$comment": "Strings are printable ASCII; shx-1.md has what a schema cannot express.",
        "$defs": _without_empty(json.loads(json.dumps(definitions))),
    }


def _with_moves(intent: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of an intent, which refers to that of a move."""
    return {**intent, "properties": {**intent["properties"], "move": {"$ref": "#/$defs/move"}}}


def _without_empty(value: Any) -> Any:
    """Return a schema without empty titles and descriptions."""
    if isinstance(value, list):
        return [_without_empty(one) for one in value]
    if not isinstance(value, dict):
        return value
    empty = {name for name in ("title", "description") if value.get(name) == ""}
    return {name: _without_empty(one) for name, one in value.items() if name not in empty}


def _event(kind: str) -> dict[str, Any]:
    """Return the schema of a whole event of a type."""
    fields = {name: schema_of(check) for name, check in ENVELOPE.items()}
    properties = {
        **fields,
        "v": {"const": VERSION},
        "type": {"const": kind},
        "data": EVENTS[kind].data.schema,
    }
    auth = {**check_auth.schema["properties"], "intent": {"$ref": "#/$defs/intent"}}
    signed = {"auth": {**check_auth.schema, "properties": auth}}
    if kind not in SIGNED:
        signed = {}
    return {
        "type": "object",
        "description": EVENTS[kind].meaning,
        "properties": {**properties, **signed},
        "required": sorted(properties),
        "additionalProperties": False,
    }


def _answers() -> dict[str, Any]:
    """Return the schemas of the list of server keys and of an audit, with what they refer to."""
    plugin = Plugin(schema_name_resolver=schema_name)
    spec = APISpec("SHX/1", "1", "3.1.0", [plugin])
    for schema in (ServerKeysSchema, AuditSchema):
        spec.components.schema(schema_name(schema), schema=schema)
    text = json.dumps(spec.to_dict()["components"]["schemas"])
    found: dict[str, Any] = json.loads(text.replace("#/components/schemas/", "#/$defs/"))
    return found


def rulesets() -> dict[str, Any]:
    """Return the catalogue as data: settings, options, the effect of each value, hashes."""
    return {
        "about": ABOUT,
        "v": 1,
        "defaults": setting_defaults(),
        "shared": _shared(),
        "rulesets": {name: _ruleset(known) for name, known in sorted(catalogue().items())},
    }


def _ruleset(known: Definition) -> dict[str, Any]:
    return {
        "settings_hash": _hash(known.settings({})),
        "ruleset_hash": _hash(known.pinned({})),
        "settings": full_tree(known.tree),
        "options": {name: _option(known, option) for name, option in known.options.items()},
        "cites": {path: rule for path, rule in sorted(known.cites.items()) if _own(path, rule)},
        "statements": _texts(known.statements),
    }


def _shared() -> dict[str, Any]:
    """Return the statements of the model, and the settings that cite them."""
    shared = model()
    of_ranks = {f"ranks.*.{name}": rule for name, rule in shared.rank_cites.items()}
    cites = dict(sorted({**shared.cites, **of_ranks}.items()))
    return {"cites": cites, "statements": _texts(shared.statements)}


def _own(path: str, rule: str) -> bool:
    return model().cites.get(path) != rule


def _texts(statements: Iterable[Statement]) -> list[dict[str, Any]]:
    return [
        {"id": s.id, "section": s.section, "text": s.text, "reading": s.reading} for s in statements
    ]


def _option(known: Definition, option: Option) -> dict[str, Any]:
    described: dict[str, Any] = {"kind": option.kind, "default": option.default}
    if option.sets is not None:
        described["sets"] = option.sets
    if option.kind == "ranks":
        return described
    described["effects"] = [_effect(known, option, value) for value in option.values]
    return described


def _effect(known: Definition, option: Option, value: Any) -> dict[str, Any]:
    tree = known.settings({option.name: [value] if option.kind == "set" else value})
    return {"value": value, "changes": _changes(option, value), "settings_hash": _hash(tree)}


def _changes(option: Option, value: Any) -> Tree:
    if option.sets is not None:
        section, key = option.sets.split(".")
        return {section: {key: value}}
    return dict(option.changes.get(str(value), {}))


def _hash(tree: Mapping[str, Any]) -> str:
    return hashlib.sha256(canonical(tree)).hexdigest()


def _laid_out(value: Any, indent: str = "") -> str:
    """Return a value as JSON, with each value that fits in a line of 120 characters on one line."""
    line = json.dumps(value, ensure_ascii=False)
    if len(indent) + len(line) <= 116 or not isinstance(value, Mapping | list):
        return line
    inner = indent + " "
    if isinstance(value, Mapping):
        parts = [f"{inner}{json.dumps(key)}: {_laid_out(one, inner)}" for key, one in value.items()]
        return "{\n" + ",\n".join(parts) + f"\n{indent}}}"
    return "[\n" + ",\n".join(inner + _laid_out(one, inner) for one in value) + f"\n{indent}]"


def write() -> None:
    """Write every generated file."""
    for name, text in generated().items():
        path = SPEC / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


if __name__ == "__main__":
    write()
