"""Rulesets as the API shows them (api.md, section 2)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from schemas.settings_schema import json_schema
from service.application.errors import invalid, not_found
from service.application.rulebook import Rulebook
from service.record.hashing import ruleset_hash
from service.rulesets.catalogue import Definition, catalogue
from service.rulesets.differences import differences, differs_from_base
from service.rulesets.known import KnownByName, known_by_name
from service.rulesets.page import rules_page
from service.rulesets.statements import Statement

OWN_KEPT = 500


class RulesetPages:
    """The catalogue to read, the players' own rulesets, and two side by side."""

    def __init__(self, rulebook: Rulebook) -> None:
        self._rulebook = rulebook
        # A ruleset never changes, and its sentences take a while to write.
        self._own = lru_cache(maxsize=OWN_KEPT)(lambda identity: described(self._found(identity)))

    def all(self) -> list[dict[str, Any]]:
        """Return all rulesets of the catalogue, then those known by name only."""
        return [*map(_described, catalogue()), *map(_named, known_by_name().values())]

    def get(self, identity: str) -> dict[str, Any]:
        """Return one ruleset; raises `not-found`."""
        if identity in known_by_name():
            return _named(known_by_name()[identity])
        if identity in catalogue():
            return _described(identity)
        return self._own(identity)

    def page(self, *, limit: int, cursor: str | None) -> tuple[list[dict[str, Any]], str | None]:
        """
        Return a page of all rulesets and the cursor of the next, None on the last.

        The catalogue comes first, then what is known by name only, then the players'
        own, newest first. The cursor is the id of the last ruleset on the page.
        """
        fixed = [*catalogue(), *known_by_name()]
        among_own = cursor is not None and cursor not in fixed
        if among_own and self._rulebook.find(cursor or "") is None:
            raise invalid("/cursor", "is none that this list gave")
        start = 0 if cursor is None else len(fixed) if among_own else fixed.index(cursor) + 1
        ids = fixed[start : start + limit + 1]
        if len(ids) <= limit:
            own = self._rulebook.own(
                after=cursor if among_own else None, limit=limit + 1 - len(ids)
            )
            ids += [ruleset.id for ruleset in own]
        items = [self.get(identity) for identity in ids[:limit]]
        return items, ids[limit - 1] if len(ids) > limit else None

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
    pinned = ruleset.pinned({})
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
        "statements": [_statement(statement) for statement in _statements(ruleset)],
        "differs": [difference.data() for difference in differs_from_base(ruleset)],
    }


def _statements(ruleset: Definition) -> Iterator[Statement]:
    """Yield all that a refusal or an audit can cite: the page's statements, then the model's."""
    page = rules_page(ruleset)
    for section in page.sections:
        yield from section.statements
    yield from page.common


def _statement(statement: Statement) -> dict[str, Any]:
    return {
        "id": statement.id,
        "section": statement.section,
        "text": statement.text,
        "reading": statement.reading,
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
