"""The generated files of ops/spec match their sources, and suffice without them."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final

import jsonschema_rs
import pytest

from ops.specification import SPEC, generated
from service.application.rulesets import summarized
from service.rulesets.catalogue import Definition, catalogue
from service.shx.archives import read_zip
from service.shx.bundle import read_log
from service.shx.canonical import canonical
from service.verify.report import audit_object
from service.verify.verify import verify_bundle
from tests.examples import stride
from tests.tamper import LOGS

RULESETS: Final = json.loads((SPEC / "rulesets.json").read_text("utf-8"))


def test_generated_files_are_those_that_the_command_writes() -> None:
    """`python -m ops.specification` writes them again."""
    for name, text in generated().items():
        assert (SPEC / name).read_text("utf-8") == text, name


def merged(tree: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Merge as rulesets.json describes it."""
    result = dict(tree)
    for key, value in changes.items():
        result[key] = merged(result.get(key, {}), value) if isinstance(value, dict) else value
    return result


def tree_of(name: str, chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tree of a table from rulesets.json alone."""
    known = RULESETS["rulesets"][name]
    tree: dict[str, Any] = known["settings"]
    for option, described in sorted(known["options"].items()):
        value = chosen.get(option, described["default"])
        if "effects" not in described:
            section, setting = described["sets"].split(".")
            tree = merged(tree, {section: {setting: value}})
            continue
        members = value if described["kind"] == "set" else [value]
        for effect in described["effects"]:
            if effect["value"] in members:
                tree = merged(tree, effect["changes"])
    rank = RULESETS["defaults"]["rank"]
    return {**tree, "ranks": {name: rank | rule for name, rule in tree["ranks"].items()}}


def sha256_of(tree: Any) -> str:
    return hashlib.sha256(canonical(tree)).hexdigest()


def choices(known: Definition) -> Iterator[dict[str, Any]]:
    """Yield choices of options: all of them, except for lists of ranks."""
    values: list[list[Any]] = []
    for option in known.options.values():
        if option.kind == "set":
            sizes = range(len(option.values) + 1)
            sets = (itertools.combinations(option.values, size) for size in sizes)
            values.append([list(chosen) for chosen in itertools.chain.from_iterable(sets)])
        elif option.kind == "ranks":
            values.append([[], ["2", "9"]])
        else:
            values.append(list(option.values))
    for chosen in itertools.product(*values):
        yield dict(zip(known.options, chosen, strict=True))


@pytest.mark.parametrize("name", catalogue())
def test_the_tree_of_every_choice_of_options_follows_from_the_file_alone(name: str) -> None:
    known = catalogue()[name]
    for chosen in choices(known):
        assert tree_of(name, chosen) == known.settings(chosen), chosen


@pytest.mark.parametrize("name", catalogue())
def test_each_hash_in_the_catalogue_is_that_of_its_tree(name: str) -> None:
    known = RULESETS["rulesets"][name]
    settings = tree_of(name, {})
    assert known["settings_hash"] == sha256_of(settings)
    pinned = {"id": name, "options": {}, "settings": settings}
    assert known["ruleset_hash"] == sha256_of(pinned)
    answered = summarized(catalogue()[name])
    for one in ("ruleset_hash", "settings_hash"):
        assert answered[one] == known[one], "the API has the same values by the same names"
    for option, described in known["options"].items():
        for effect in described.get("effects", []):
            value = [effect["value"]] if described["kind"] == "set" else effect["value"]
            assert effect["settings_hash"] == sha256_of(tree_of(name, {option: value}))


SCHEMAS: Final = json.loads((SPEC / "schemas.json").read_text("utf-8"))


@cache
def validator(name: str) -> jsonschema_rs.Draft202012Validator:
    """Return the validator of one object of the record."""
    return jsonschema_rs.Draft202012Validator({**SCHEMAS, "$ref": f"#/$defs/{name}"})


def event_fits(line: bytes) -> bool:
    """Return whether a line fits the schema of the type and version that it states."""
    event = json.loads(line)
    name = f"event.{event['type']}.v{event['v']}"
    return name in SCHEMAS["$defs"] and validator(name).is_valid(event)


@pytest.mark.heavy
def test_every_event_of_the_samples_fits_its_schema() -> None:
    for path in LOGS[:: stride(3)]:
        for line in path.read_bytes().splitlines():
            assert event_fits(line), (path.name, line)


@pytest.mark.parametrize(
    "name",
    [
        "version",
        "type",
        "added",
        "removed",
        "beside",
        "upper-case",
        "short-hash",
        "cause",
        "true",
        "seat-64",
        "card",
        "text-301",
        "text-empty",
        "hand-0",
        "no-seats",
    ],
)
def test_an_event_with_a_wrong_field_does_not_fit_its_schema(name: str) -> None:
    lines = (SPEC / "conformance" / "bytes" / f"{name}.jsonl").read_bytes().splitlines()
    assert not all(map(event_fits, lines))


def test_manifest_attempts_settings_and_audit_fit_their_schemas() -> None:
    files = read_zip((SPEC / "conformance" / "seal" / "honest.shx").read_bytes())
    objects: dict[str, Any] = {"manifest": json.loads(files["manifest.json"])}
    objects["refusals.line"] = json.loads(files["refusals.jsonl"].splitlines()[0])
    objects["settings"] = tree_of("guarducci", {})
    objects["Audit"] = audit_object(verify_bundle(read_log(LOGS[0].read_bytes())))
    for name, value in objects.items():
        assert validator(name).is_valid(value), name
        assert not validator(name).is_valid({**value, "note": 1}), name
