"""Values of cards for bots: the rules of the table, and the worth of each rank."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache

from service.bots.bot import Move, View
from service.domain.ruleset import Asks, Plays, Ruleset
from service.rulesets.catalogue import catalogue, custom_ruleset

DEFAULT_RULESET = "shithead"
"""The ruleset assumed if a view has neither settings nor a ruleset of the catalogue."""


def rules_of(view: View) -> Ruleset:
    """Return the rules by which a bot values cards; its legal moves come with the view."""
    ruleset = view["ruleset"]
    own = None if ruleset["id"] in catalogue() else ruleset.get("settings")
    chosen = ruleset["options"]
    options = json.dumps(chosen, sort_keys=True) if chosen else "{}"
    settings = None if own is None else json.dumps(own, sort_keys=True)
    return _rules(ruleset["id"], options, settings, view["hand"] % 2)


def heights(view: View) -> dict[str, int]:
    """Return the place of each rank in the order of the table, jokers above all."""
    order = rules_of(view).order
    return {**{rank: place for place, rank in enumerate(order)}, "X": len(order)}


def worth(view: View) -> dict[str, int]:
    """Return the worth of each rank to a bot, from 0 to about 30; cheap ranks are played first."""
    return worth_of_ranks(rules_of(view))


def own_seat(view: View) -> View:
    """Return the bot's own seat in a view."""
    seat: View = view["seats"][view["as"]]
    return seat


def of_type(moves: Sequence[Move], kind: str) -> list[Move]:
    """Return the moves of one type."""
    return [move for move in moves if move["type"] == kind]


@lru_cache(maxsize=256)
def _rules(identity: str, options: str, settings: str | None, parity: int) -> Ruleset:
    """Return the rules for options and the settings of a custom ruleset, both as JSON text."""
    definition, chosen = catalogue().get(identity), json.loads(options)
    if settings is not None:
        pinned = {"id": identity, "options": chosen, "settings": json.loads(settings)}
        return custom_ruleset(pinned, 2 - parity)
    if definition is None:
        return catalogue()[DEFAULT_RULESET].ruleset({})
    return definition.ruleset(chosen, hand=2 - parity)


def worth_of_ranks(ruleset: Ruleset) -> dict[str, int]:
    """Return the worth of each rank under a ruleset (`worth`)."""
    # Not cached: a ruleset contains mappings and has no hash; this is quick.
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
