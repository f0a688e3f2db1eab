"""Use cases for rulesets: finding, creating and reading them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol
from uuid import UUID

import orjson

from schemas.settings import SettingsError, Tree, check_changes, json_schema, merged
from service.application import quotas
from service.application.calls import Answered, Idempotency, RegisteredPlayer
from service.application.errors import Refusal, invalid, not_found
from service.application.handler import Handler
from service.application.ports import World
from service.application.quotas import work
from service.replay.sentences import said
from service.rulesets.catalogue import Definition, KnownByName, catalogue, known_by_name
from service.rulesets.custom import RulesetRefused, custom_definition, custom_of
from service.rulesets.in_short import in_short
from service.rulesets.labels import differences, differs_from_base
from service.rulesets.rules_page import rules_page
from service.rulesets.statements import Statement, model
from service.runtime.recent import Recent
from service.shx.canonical import ruleset_hash, settings_hash
from service.store.directory import CustomRuleset, PlayerRepository
from service.store.events import QuotaKind


class Trials(Protocol):
    """Plays trial hands outside the request."""

    def refusal(self, settings: Tree, by: UUID, address: str) -> str | None:
        """
        Return why a ruleset cannot be played; None if its trial hands show no reason.

        `by` is the player, `address` counts the trials of all players there. Raises Refusal
        `rate-limited` while another trial of the player or too many from the address run,
        `unavailable` if trials cannot be played now.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Rulemaking:
    """Creates custom rulesets."""

    directory: PlayerRepository
    rulebook: Rulebook
    trials: Trials
    world: World
    handler: Handler

    def make(
        self,
        player: RegisteredPlayer,
        *,
        name: str,
        base: str,
        changes: Mapping[str, Any],
        address: str = "",
        request: Idempotency | None = None,
    ) -> Answered:
        """
        Create a ruleset from a base and changes, and return it.

        Rulesets with equal settings are one ruleset: if it exists already, even from another
        player, it is returned under its first name. Raises Refusal `ruleset-refused`;
        `invalid-body` for an unknown base; `limit-reached` at the maximum number of rulesets,
        `rate-limited` while another trial of the player runs; `unavailable` if no trial can be
        played now; and those of `Handler.once`.
        """
        root, own = self._based(base, changes)
        try:
            made = custom_definition(root, name, own, changes)
        except RulesetRefused as error:
            reasons = [{"at": _within(at), "message": message} for at, message in error.reasons]
            detail = said("request.ruleset_refused", reason=reasons[0]["message"])
            raise Refusal("ruleset-refused", detail, errors=reasons) from None

        def act() -> tuple[Answered, bool]:
            is_new = self.rulebook.find(made.id) is None
            if is_new:
                self._save(player, name, root, made, address)
            found = self.rulebook.definition(made.id)
            return Answered(body=orjson.dumps(described(found))), is_new

        return self.handler.once(player.id, request, act)

    def _based(self, base: str, changes: Mapping[str, Any]) -> tuple[Definition, Mapping[str, Any]]:
        """Return the catalogue ruleset and the changes to it; `base` may be a custom ruleset."""
        found = self.rulebook.definition(base, "/base")
        if found.base is None or found.id in catalogue():
            return found, changes
        try:
            check_changes(changes)
        except SettingsError:
            return found, changes  # custom_definition refuses them, with pointers into the request
        return catalogue()[found.base], merged(found.own, changes)

    def _save(
        self, player: RegisteredPlayer, name: str, root: Definition, made: Definition, address: str
    ) -> None:
        most = quotas.QUOTAS[QuotaKind.RULESETS].most
        if self.directory.holdings(player.id).rulesets >= most:
            raise quotas.quota_refused(QuotaKind.RULESETS)
        refusal = self.trials.refusal(made.tree, player.id, address)
        if refusal is not None:
            raise Refusal("ruleset-refused", said("request.ruleset_refused", reason=refusal))
        document = orjson.dumps({"base": root.id, "settings": made.tree}).decode()
        self.directory.save_ruleset(
            CustomRuleset(
                id=made.id,
                name=name,
                owner=player.id,
                document=document,
                created_at=self.world.now(),
            ),
            most=most,
        )


def _within(at: str) -> str:
    return f"/changes{at}" if at != "/" else "/changes"


MAX_CACHED = 500  # custom rulesets

TEXT_COST = 25
"""Work of generating the texts of a ruleset, as the number of events that take as long to fold."""


class RulesetPages:
    """Reads one ruleset, lists of them, and the differences of two."""

    def __init__(self, rulebook: Rulebook) -> None:
        self._rulebook = rulebook
        # A ruleset never changes, and its texts are slow to generate.
        self._describe_custom = lru_cache(maxsize=MAX_CACHED)(self._describe_uncached)
        self._summarize_custom = lru_cache(maxsize=MAX_CACHED)(self._summarize_uncached)

    def built_in(self) -> list[dict[str, Any]]:
        """Return the rulesets of the catalogue, then those known by name only."""
        return [*map(_of_catalogue, catalogue()), *map(_named, known_by_name().values())]

    def get(self, identity: str) -> dict[str, Any]:
        """Return one ruleset; raises Refusal `not-found`."""
        if identity in known_by_name():
            return _named(known_by_name()[identity])
        if identity in catalogue():
            return _of_catalogue(identity)
        return self._describe_custom(identity)

    def summary(self, identity: str) -> dict[str, Any]:
        """Return one ruleset as lists show it; raises Refusal `not-found`."""
        if identity in known_by_name():
            return _summary_of_name(known_by_name()[identity])
        if identity in catalogue():
            return _summary_of_catalogue(identity)
        return self._summarize_custom(identity)

    def page(self, *, limit: int, cursor: str | None) -> tuple[list[dict[str, Any]], str | None]:
        """
        Return a page of all rulesets, and the cursor of the next page; None after the last page.

        The catalogue comes first, then the rulesets known by name only, then custom ones,
        newest first. The cursor is the id of the last ruleset on the page. Raises Refusal
        `invalid-body` for an unknown cursor.
        """
        fixed = [*catalogue(), *known_by_name()]
        is_custom = cursor is not None and cursor not in fixed
        if is_custom and self._rulebook.find(cursor or "") is None:
            raise invalid("/cursor", said("request.no_cursor"))
        start = 0 if cursor is None else len(fixed) if is_custom else fixed.index(cursor) + 1
        ids = fixed[start : start + limit + 1]
        if len(ids) <= limit:
            custom = self._rulebook.custom(
                after=cursor if is_custom else None, limit=limit + 1 - len(ids)
            )
            ids += [ruleset.id for ruleset in custom]
        items = [self.summary(identity) for identity in ids[:limit]]
        return items, ids[limit - 1] if len(ids) > limit else None

    def differences(self, identity: str, from_: str) -> list[dict[str, Any]]:
        """Return the differences of a ruleset from another; raises Refusal `not-found`."""
        both = self._found(from_), self._found(identity)
        return [difference.data() for difference in differences(*both)]

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of a ruleset's settings."""
        return json_schema()

    def _describe_uncached(self, identity: str) -> dict[str, Any]:
        found = self._found(identity)
        with work(TEXT_COST):
            return described(found)

    def _summarize_uncached(self, identity: str) -> dict[str, Any]:
        return summarized(self._found(identity))

    def _found(self, identity: str) -> Definition:
        found = self._rulebook.find(identity)
        if found is None:
            raise not_found("ruleset")
        return found


@lru_cache(maxsize=256)
def _of_catalogue(identity: str) -> dict[str, Any]:
    return described(catalogue()[identity])


@lru_cache(maxsize=256)
def _summary_of_catalogue(identity: str) -> dict[str, Any]:
    return summarized(catalogue()[identity])


def described(ruleset: Definition) -> dict[str, Any]:
    """Return a playable ruleset as the API shows it, with its default options."""
    return {
        **summarized(ruleset),
        "settings": ruleset.settings({}),
        "in_short": _in_short(ruleset),
        "statements": [_statement(statement) for statement in _statements(ruleset)],
        "differs": [difference.data() for difference in differs_from_base(ruleset)],
    }


def summarized(ruleset: Definition) -> dict[str, Any]:
    """Return what `described` does without settings and texts."""
    settings = ruleset.settings({})
    pinned = ruleset.pinned({})
    return {
        "id": ruleset.id,
        "name": ruleset.name,
        "base": ruleset.base,
        "ruleset_hash": ruleset_hash(pinned).hex(),
        "settings_hash": settings_hash(settings).hex(),
        "source": dict(ruleset.source),
        "reconstruction": ruleset.reconstruction,
        "playable": True,
        "seats": settings["players"],
        "options": {
            name: {"values": list(option.values), "default": option.default}
            for name, option in ruleset.options.items()
        },
    }


def _statements(ruleset: Definition) -> Iterator[Statement]:
    """Yield the statements that a refusal or audit can cite: the source's, then the model's."""
    for section in rules_page(ruleset).sections:
        yield from section.statements
    yield from model().statements


def _in_short(ruleset: Definition) -> dict[str, Any]:
    found = in_short(ruleset.ruleset({}))
    special = [{"rank": one.rank, "does": list(one.does)} for one in found.special]
    return {
        "played_for": found.played_for,
        "burning_set": found.burning_set,
        "special": special,
    }


def _statement(statement: Statement) -> dict[str, Any]:
    return {
        "id": statement.id,
        "section": statement.section,
        "text": statement.text,
        "reading": statement.reading,
    }


def _named(known: KnownByName) -> dict[str, Any]:
    return {
        **_summary_of_name(known),
        "settings": None,
        "in_short": None,
        "statements": [],
        "differs": [],
    }


def _summary_of_name(known: KnownByName) -> dict[str, Any]:
    return {
        "id": known.id,
        "name": known.name,
        "base": None,
        "ruleset_hash": None,
        "settings_hash": None,
        "source": dict(known.source),
        "reconstruction": False,
        "playable": False,
        "seats": None,
        "options": {},
    }


MAX_RULESETS = 1000  # custom rulesets in memory

READ_COST = 25
"""Work of reading a custom ruleset, as the number of events that take as long to fold."""


class Rulebook:
    """The catalogue and the players' rulesets; a ruleset never changes."""

    def __init__(self, directory: PlayerRepository) -> None:
        self._directory = directory
        self._custom = Recent[str, Definition](MAX_RULESETS)

    def find(self, identity: str) -> Definition | None:
        """Return a playable ruleset, None if there is none with this id."""
        if identity in catalogue():
            return catalogue()[identity]
        known = self._custom.get(identity)
        if known is not None:
            return known
        row = self._directory.ruleset(identity)
        return None if row is None else self._read(row)

    def custom(self, *, after: str | None, limit: int) -> list[Definition]:
        """Return a page of the players' rulesets, newest first, beginning after `after`."""
        rows = self._directory.list_rulesets(after=after, limit=limit)
        return [self._custom.get(row.id) or self._read(row) for row in rows]

    def definition(self, identity: str, at: str = "/ruleset") -> Definition:
        """Return a playable ruleset; raises Refusal `invalid-body` or `ruleset-refused`."""
        found = self.find(identity)
        if found is not None:
            return found
        if identity in known_by_name():
            raise Refusal("ruleset-refused", said("request.name_only"))
        raise invalid(at, said("request.unknown_ruleset"))

    def check_known(self, identity: str) -> None:
        """Raise Refusal `not-found` for a ruleset that is neither playable nor known by name."""
        if self.find(identity) is None and identity not in known_by_name():
            raise not_found("ruleset")

    def text(self, identity: str, rule: str) -> str:
        """Return the text of a statement of a ruleset, empty if it has none."""
        found = self.find(identity)
        return "" if found is None else found.text_of(rule) or ""

    def _read(self, row: CustomRuleset) -> Definition:
        document = orjson.loads(row.document)
        with work(READ_COST):
            read = custom_of(catalogue()[document["base"]], row.name, document["settings"])
        self._custom.keep(row.id, read)
        return read
