"""Every ruleset that a table can be opened with, by id: the catalogue, and the players' own."""

from __future__ import annotations

from collections import OrderedDict

import orjson

from service.application.errors import Refusal, invalid
from service.event_store.directory import CustomRuleset, Directory
from service.rulesets.catalogue import Definition, catalogue
from service.rulesets.custom import custom_of
from service.rulesets.known import known_by_name

KEPT = 1000


class Rulebook:
    """The catalogue, and what players have added to it; neither ever changes."""

    def __init__(self, directory: Directory) -> None:
        self._directory = directory
        self._own: OrderedDict[str, Definition] = OrderedDict()

    def find(self, identity: str) -> Definition | None:
        """Return a ruleset that can be played, None where there is none of this id."""
        if identity in catalogue():
            return catalogue()[identity]
        known = self._own.get(identity)
        if known is not None:
            return known
        row = self._directory.ruleset(identity)
        return None if row is None else self._read(row)

    def own(self, *, after: str | None, limit: int) -> list[Definition]:
        """Return what players have added, newest first; what follows the ruleset `after`."""
        rows = self._directory.list_rulesets(after=after, limit=limit)
        return [self._own.get(row.id) or self._read(row) for row in rows]

    def definition(self, identity: str, at: str = "/ruleset") -> Definition:
        """Return a ruleset; raises Refusal where there is none, or nobody knows its rules."""
        found = self.find(identity)
        if found is not None:
            return found
        if identity in known_by_name():
            raise Refusal("ruleset-refused", "this ruleset is known by name, its rules are not")
        raise invalid(at, "there is no ruleset of this name")

    def text(self, identity: str, rule: str) -> str:
        """Return what a statement says in a ruleset."""
        found = self.find(identity)
        return (found.text_of(rule) if found else None) or ""

    def _read(self, row: CustomRuleset) -> Definition:
        document = orjson.loads(row.document)
        read = custom_of(catalogue()[document["base"]], row.name, document["settings"])
        self._own[row.id] = read
        if len(self._own) > KEPT:
            self._own.popitem(last=False)
        return read
