"""Strings of a log are printable ASCII: none that the service writes is refused as another."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from schemas.settings import json_schema
from service.bots.registry import bots
from service.rulesets.catalogue import catalogue, definition
from service.rulesets.custom import custom_definition
from service.runtime.version import VERSION
from service.shx.canonical import canonical
from service.shx.validators import free_object, text
from tests.tamper import SAMPLES
from tests.write_conformance import FOLDER


def strings(schema: Any) -> Iterator[str]:
    """Yield the pattern of each string in a JSON Schema, and the values of each enumeration."""
    if isinstance(schema, dict):
        if schema.get("type") == "string":
            yield schema["pattern"]
        yield from (value for value in schema.get("enum", ()) if isinstance(value, str))
        yield from schema.get("properties", {})
        for below in schema.values():
            yield from strings(below)
    if isinstance(schema, list):
        for below in schema:
            yield from strings(below)


def test_released_logs_and_the_corpus_are_ascii() -> None:
    logs = [*SAMPLES.glob("*.jsonl"), *FOLDER.glob("*.jsonl")]
    assert len(logs) > 100
    assert [path.name for path in logs if not path.read_bytes().isascii()] == []


def test_settings_have_no_free_strings() -> None:
    """A ruleset that a player makes brings none into a log; its name is not in the log."""
    found = set(strings(json_schema()))
    assert {"at_least", "X", "low_to_high", "suits"} <= found
    assert all(one.isascii() and one.isprintable() for one in found)
    own = custom_definition(definition("shithead"), "Égaré 🂡", {"burn": {"set_size": 3}})
    free_object(own.pinned({}), "")
    assert canonical(own.pinned({})).isascii()


def test_rulesets_options_bots_and_the_version_are_printable_ascii() -> None:
    for ruleset in catalogue().values():
        free_object(ruleset.pinned({}), ruleset.id)
        for option in ruleset.options.values():
            free_object({option.name: list(map(str, option.values))}, ruleset.id)
    for name in (*bots(), VERSION, *catalogue()):
        text(name, name)
