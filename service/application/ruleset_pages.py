"""Rulesets as the API shows them (api.md, section 2)."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from schemas.settings_schema import json_schema
from service.application.errors import not_found
from service.application.rulebook import Rulebook
from service.record.hashing import ruleset_hash
from service.rulesets.catalogue import Definition, catalogue
from service.rulesets.differences import differences, differs_from_base
from service.rulesets.known import KnownByName, known_by_name
from service.rulesets.page import rules_page


class RulesetPages:
    """The catalogue to read, the players' own rulesets, and two side by side."""

    def __init__(self, rulebook: Rulebook) -> None:
        self._rulebook = rulebook

    def all(self) -> list[dict[str, Any]]:
        """Return all rulesets of the catalogue, then those known by name only."""
        return [*map(_described, catalogue()), *map(_named, known_by_name().values())]

    def get(self, identity: str) -> dict[str, Any]:
        """Return one ruleset; raises `not-found`."""
        if identity in known_by_name():
            return _named(known_by_name()[identity])
        if identity in catalogue():
            return _described(identity)
        return described(self._found(identity))

    def differences(self, identity: str, from_: str) -> list[dict[str, Any]]:
        """Return what a ruleset does otherwise than another; raises `not-found`."""
        both = self._found(from_), self._found(identity)
        return [difference.data() for difference in differences(*both)]

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of a tree of settings."""
        return json_schema()

    def _found(self, identity: str) -> Definition:
        found = self._rulebook.find(identity)
        if found is None:
            raise not_found("ruleset")
        return found


@lru_cache(maxsize=256)
def _described(identity: str) -> dict[str, Any]:
    return described(catalogue()[identity])


def described(ruleset: Definition) -> dict[str, Any]:
    """Return a playable ruleset as the API shows it, with its default options."""
    settings = ruleset.settings({})
    pinned = {"id": ruleset.id, "options": {}, "settings": settings}
    return {
        "id": ruleset.id,
        "name": ruleset.name,
        "base": ruleset.base,
        "hash": ruleset_hash(pinned).hex(),
        "source": dict(ruleset.source),
        "reconstruction": ruleset.reconstruction,
        "playable": True,
        "seats": settings["players"],
        "options": {
            name: {"values": list(option.values), "default": option.default}
            for name, option in ruleset.options.items()
        },
        "settings": settings,
        "statements": [
            {
                "id": statement.id,
                "section": section.name,
                "text": statement.text,
                "reading": statement.reading,
            }
            for section in rules_page(ruleset).sections
            for statement in section.statements
        ],
        "differs": [difference.data() for difference in differs_from_base(ruleset)],
    }


def _named(known: KnownByName) -> dict[str, Any]:
    return {
        "id": known.id,
        "name": known.name,
        "base": None,
        "hash": None,
        "source": dict(known.source),
        "reconstruction": False,
        "playable": False,
        "seats": None,
        "options": {},
        "settings": None,
        "statements": [],
        "differs": [],
    }
