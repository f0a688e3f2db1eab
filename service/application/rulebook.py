"""Rulesets by id: those of the catalogue and those made by players."""

from __future__ import annotations

from collections import OrderedDict

import orjson

from service.application.errors import Refusal, invalid
from service.application.quotas import work
from service.rulesets.catalogue import Definition, catalogue, known_by_name
from service.rulesets.custom import custom_of
from service.store.directory import CustomRuleset, PlayerRepository

KEPT = 1000

READING = 25
"""Work of reading a custom ruleset, as the number of events that take as long to fold."""


class Rulebook:
    """The catalogue and the players' rulesets; a ruleset never changes."""

    def __init__(self, directory: PlayerRepository) -> None:
        self._directory = directory
        self._own: OrderedDict[str, Definition] = OrderedDict()

    def find(self, identity: str) -> Definition | None:
        """Return a playable ruleset, None if there is none with this id."""
        if identity in catalogue():
            return catalogue()[identity]
        known = self._own.get(identity)
        if known is not None:
            return known
        row = self._directory.ruleset(identity)
        return None if row is None else self._read(row)

    def own(self, *, after: str | None, limit: int) -> list[Definition]:
        """Return a page of the players' rulesets, newest first, beginning after `after`."""
        rows = self._directory.list_rulesets(after=after, limit=limit)
        return [self._own.get(row.id) or self._read(row) for row in rows]

    def definition(self, identity: str, at: str = "/ruleset") -> Definition:
        """Return a playable ruleset; raises Refusal `invalid-body` or `ruleset-refused`."""
        found = self.find(identity)
        if found is not None:
            return found
        if identity in known_by_name():
            raise Refusal("ruleset-refused", "this ruleset is known by name only, without rules")
        raise invalid(at, "there is no ruleset of this name: GET /v1/rulesets lists them")

    def text(self, identity: str, rule: str) -> str:
        """Return the text of a statement of a ruleset, empty if it has none."""
        found = self.find(identity)
        return (found.text_of(rule) if found else None) or ""

    def _read(self, row: CustomRuleset) -> Definition:
        document = orjson.loads(row.document)
        with work(READING):
            read = custom_of(catalogue()[document["base"]], row.name, document["settings"])
        self._own[row.id] = read
        if len(self._own) > KEPT:
            self._own.popitem(last=False)
        return read
