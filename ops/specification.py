"""Write the generated files of ops/spec from their sources: python -m ops.specification."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from schemas.settings import Tree, full_tree, json_schema, setting_defaults
from service.rulesets.catalogue import Definition, Option, catalogue
from service.rulesets.statements import Statement, model
from service.shx.canonical import canonical

SPEC: Final = Path(__file__).resolve().parent / "spec"

ABOUT: Final = (
    "The catalogue of rulesets; normative (rules.md, section 2). Tree of a table: begin with "
    "`settings`; for each option, in order of names, merge the `changes` of its value (the chosen "
    "or the default one) into it; a rank that is new begins with `defaults.rank`. `hash` is the "
    "SHA-256 of the canonical tree: of a ruleset with all defaults, of a value with that value "
    "alone chosen. Of a set each member in the value applies, and its hash is that of the member "
    "alone. An option with `sets` and without `effects` has any value of its kind: the setting "
    "takes it. `cites` has the statement of each setting that has one of its own, for a rank only "
    "if the table's options make it special; all others cite `shared`."
)


def generated() -> dict[str, str]:
    """Return the text of each generated file by its path in ops/spec."""
    files: dict[str, Any] = {"rulesets.json": rulesets()}
    files |= {f"schemas/{name}.json": schema for name, schema in schemas().items()}
    return {name: _laid_out(value) + "\n" for name, value in files.items()}


def schemas() -> dict[str, Any]:
    """Return the JSON Schema of each object of the record by name."""
    settings = {**json_schema(), "required": ["players", "order"]}
    return {"settings": settings}


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
        "hash": _hash(known.settings({})),
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
        {"id": s.id, "section": s.section, "text": s.text, "reading": s.reading}
        for s in statements
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
    return {"value": value, "changes": _changes(option, value), "hash": _hash(tree)}


def _changes(option: Option, value: Any) -> Tree:
    if option.sets is not None:
        section, key = option.sets.split(".")
        return {section: {key: value}}
    return dict(option.changes.get(str(value), {}))


def _hash(tree: Tree) -> str:
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
