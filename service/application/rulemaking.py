"""Rulesets of one's own: checked, played out, kept under the hash of their settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import orjson

from schemas.settings import SettingsError, Tree, check_changes, merged
from service.application.answers import Answers
from service.application.callers import Answered, Idempotency, Player
from service.application.errors import Refusal
from service.application.ports import World
from service.application.rulebook import Rulebook
from service.application.ruleset_pages import described
from service.event_store.directory import CustomRuleset, Directory
from service.rulesets.catalogue import Definition, catalogue
from service.rulesets.custom import RulesetRefused, custom_definition

MOST_A_PLAYER = 50


class Trials(Protocol):
    """Plays trial hands somewhere else than in the request."""

    def refusal(self, settings: Tree) -> str | None:
        """Return why rules cannot be played, None where trial hands went well."""


class Rulemaking:
    """What players do to add rulesets."""

    def __init__(
        self,
        *,
        directory: Directory,
        rulebook: Rulebook,
        trials: Trials,
        world: World,
        answers: Answers,
    ) -> None:
        self._answers = answers
        self._directory = directory
        self._rulebook = rulebook
        self._trials = trials
        self._world = world

    def make(
        self,
        player: Player,
        *,
        name: str,
        base: str,
        changes: Mapping[str, Any],
        request: Idempotency | None = None,
    ) -> Answered:
        """
        Return a ruleset made of a base and changes, accepted and kept.

        The same settings are the same ruleset: whoever asks again, or comes
        second, gets it as the first one named it. Raises `ruleset-refused`.
        """
        root, own = self._based(base, changes)
        try:
            made = custom_definition(root, name, own)
        except RulesetRefused as error:
            reasons = [{"at": _within(at), "message": message} for at, message in error.reasons]
            raise Refusal("ruleset-refused", reasons[0]["message"], errors=reasons) from None
        if self._rulebook.find(made.id) is None:
            self._keep(player, name, root, made)
        answer = Answered(body=orjson.dumps(described(self._rulebook.definition(made.id))))
        return self._answers.keep(player.id, request, answer)

    def _based(
        self, base: str, changes: Mapping[str, Any]
    ) -> tuple[Definition, Mapping[str, Any]]:
        """A ruleset based on one of a player's own goes back to the catalogue's."""
        found = self._rulebook.definition(base, "/base")
        if found.base is None or found.id in catalogue():
            return found, changes
        try:
            check_changes(changes)
        except SettingsError:
            return found, changes  # told with the changes as they came
        return catalogue()[found.base], merged(found.own, changes)

    def _keep(self, player: Player, name: str, root: Definition, made: Definition) -> None:
        if self._directory.standing(player.id).rulesets >= MOST_A_PLAYER:
            raise Refusal("rate-limited", "you have as many rulesets as a player may have")
        refusal = self._trials.refusal(made.tree)
        if refusal is not None:
            raise Refusal("ruleset-refused", refusal)
        document = orjson.dumps({"base": root.id, "settings": made.tree}).decode()
        self._directory.save_ruleset(
            CustomRuleset(
                id=made.id,
                name=name,
                owner=player.id,
                document=document,
                created_at=self._world.now(),
            )
        )


def _within(at: str) -> str:
    return f"/changes{at}" if at != "/" else "/changes"
