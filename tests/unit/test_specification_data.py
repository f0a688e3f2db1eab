"""The generated files of ops/spec match their sources, and suffice without them."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

import pytest

from ops.specification import SPEC, generated
from service.rulesets.catalogue import Definition, catalogue
from service.shx.canonical import canonical

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
    assert known["hash"] == sha256_of(tree_of(name, {}))
    for option, described in known["options"].items():
        for effect in described.get("effects", []):
            value = [effect["value"]] if described["kind"] == "set" else effect["value"]
            assert effect["hash"] == sha256_of(tree_of(name, {option: value}))
