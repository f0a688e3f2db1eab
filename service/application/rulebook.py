"""Every ruleset that a table can be opened with, by id."""

from __future__ import annotations

from service.application.errors import Refusal, invalid
from service.rulesets.catalogue import Definition, definition
from service.rulesets.known import known_by_name


class Rulebook:
    """The catalogue, and what players have added to it."""

    def definition(self, identity: str) -> Definition:
        """Return a ruleset; raises Refusal where there is none, or nobody knows its rules."""
        try:
            return definition(identity)
        except KeyError:
            pass
        if identity in known_by_name():
            raise Refusal("ruleset-refused", "this ruleset is known by name, its rules are not")
        raise invalid("/ruleset", "there is no ruleset of this name")
