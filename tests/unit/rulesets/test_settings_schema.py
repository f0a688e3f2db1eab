"""The published JSON Schema accepts what the service reads, and nothing else."""

from __future__ import annotations

import random
from typing import Any

import jsonschema_rs
import pytest

from schemas.settings import SettingsError, check_changes, json_schema
from service.rulesets.catalogue import catalogue, definition
from tests.unit.rulesets.random_settings import random_changes

VALIDATOR = jsonschema_rs.Draft202012Validator(json_schema())


def test_the_schema_is_valid() -> None:
    jsonschema_rs.meta.validate(json_schema())


@pytest.mark.parametrize("identity", catalogue())
def test_the_settings_of_the_catalogue_are_valid(identity: str) -> None:
    assert VALIDATOR.is_valid(definition(identity).settings({}))


def test_random_settings_are_readable_and_valid() -> None:
    for seed in range(100):
        changes = random_changes(random.Random(seed))
        check_changes(changes)
        assert VALIDATOR.is_valid(changes)


@pytest.mark.parametrize(
    "changes",
    [
        {"deal": {"hand": -1}},
        {"deal": {"hand": True}},
        {"deal": {"hand": 1.5}},
        {"deal": {"card": 1}},
        {"deals": {}},
        {"deal": []},
        {"players": {"min": 1}},
        {"players": {"min": 2, "most": 3}},
        {"order": {}},
        {"order": {"low_to_high": ["2"]}},
        {"order": {"low_to_high": [*"23456789TJQK", "X"]}},
        {"opening": {"suits": "ccdh"}},
        {"opening": {"suits": "cdh"}},
        {"opening": {"ranks": ["3", "3"]}},
        {"opening": {"ranks": "3"}},
        {"opening": {"opener": "nobody"}},
        {"ranks": {"10": {}}},
        {"ranks": {"T": {"asks_as": "10"}}},
        {"second_hand": {"second_hand": {}}},
        {"second_hand": None},
        [],
    ],
)
def test_unreadable_settings_are_invalid(changes: Any) -> None:
    with pytest.raises(SettingsError):
        check_changes(changes)
    assert not VALIDATOR.is_valid(changes)
