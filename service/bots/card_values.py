"""Values of cards for bots: the rules of the table, and the worth of each rank."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

from service.bots.bot import Move, View
from service.domain.cards import JOKER
from service.domain.ruleset import Asks, Plays, Ruleset
from service.rulesets.catalogue import catalogue, custom_ruleset

DEFAULT_RULESET = "shithead"
"""The ruleset assumed if a view has neither settings nor a ruleset of the catalogue."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Values:
    """The rules of a table, and the values of its ranks that follow from them."""

    rules: Ruleset
    heights: Mapping[str, int]
    worth: Mapping[str, int]


def rules_of(view: View) -> Ruleset:
    """Return the rules by which a bot values cards; its legal moves come with the view."""
    return _values_of(view).rules


def heights(view: View) -> Mapping[str, int]:
    """Return the place of each rank in the order of the table, jokers above all."""
    return _values_of(view).heights


def worth(view: View) -> Mapping[str, int]:
    """Return the worth of each rank to a bot, from 0 to about 30; cheap ranks are played first."""
    return _values_of(view).worth


def _values_of(view: View) -> _Values:
    ruleset = view["ruleset"]
    own = None if ruleset["id"] in catalogue() else ruleset.get("settings")
    chosen = ruleset["options"]
    options = json.dumps(chosen, sort_keys=True) if chosen else "{}"
    settings = None if own is None else json.dumps(own, sort_keys=True)
    return _values(ruleset["id"], options, settings, view["hand"] % 2)


def own_seat(view: View) -> View:
    """Return the bot's own seat in a view."""
    seat: View = view["seats"][view["as"]]
    return seat


def of_type(moves: Sequence[Move], kind: str) -> list[Move]:
    """Return the moves of one type."""
    return [move for move in moves if move["type"] == kind]


@lru_cache(maxsize=256)
def _values(identity: str, options: str, settings: str | None, parity: int) -> _Values:
    """Return the values for options and the settings of a custom ruleset, both as JSON text."""
    rules = _rules(identity, options, settings, parity)
    heights: dict[str, int] = {rank: place for place, rank in enumerate(rules.order)}
    heights[JOKER] = len(rules.order)
    worth = MappingProxyType(worth_of_ranks(rules))
    return _Values(rules=rules, heights=MappingProxyType(heights), worth=worth)


def _rules(identity: str, options: str, settings: str | None, parity: int) -> Ruleset:
    definition, chosen = catalogue().get(identity), json.loads(options)
    if settings is not None:
        pinned = {"id": identity, "options": chosen, "settings": json.loads(settings)}
        return custom_ruleset(pinned, 2 - parity)
    if definition is None:
        return catalogue()[DEFAULT_RULESET].ruleset({})
    return definition.ruleset(chosen, hand=2 - parity)


def worth_of_ranks(ruleset: Ruleset) -> dict[str, int]:
    """Return the worth of each rank under a ruleset (`worth`)."""
    return {rank: _worth_of(ruleset, rank) for rank in (*ruleset.order, "X")}


def _worth_of(ruleset: Ruleset, rank: str) -> int:
    """Return the height of a rank, with a bonus for ranks that rescue a seat or burden others."""
    order = [str(r) for r in ruleset.order]
    worth = order.index(rank) if rank in order else len(order)
    rule = next((rule for name, rule in ruleset.ranks.items() if name == rank), None)
    if rule is None:
        return worth
    if rule.plays is Plays.ANYTHING:
        worth = max(worth, 8) + 6
    if rule.plays is Plays.WITH_COMPANION:
        worth = 9  # helps with another card, and is a burden as the last one
    if rule.burns:
        worth += 8
    if rule.asks in (Asks.AT_MOST, Asks.BELOW) or rule.skips:
        worth += 1
    if rule.covers:
        worth -= 6
    return worth
