"""What a bot makes of a view: the rules of the table, and what each rank is worth to it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache

from service.bots.bot import Move, View
from service.domain.ruleset import Asks, Plays, Ruleset
from service.rulesets.catalogue import catalogue

FAMILIAR = "shithead"
"""What a bot supposes at a table whose ruleset is not of the catalogue."""


def rules_of(view: View) -> Ruleset:
    """Return the rules by which a bot values cards; which moves are legal it is told."""
    ruleset = view["ruleset"]
    options = json.dumps(ruleset["options"], sort_keys=True)
    return _rules(ruleset["id"], options, view["hand"] % 2)


def heights(view: View) -> dict[str, int]:
    """Return the place of each rank in the order of the table, jokers above all."""
    order = rules_of(view).order
    return {**{rank: place for place, rank in enumerate(order)}, "X": len(order)}


def worth(view: View) -> dict[str, int]:
    """Return for each rank how much a bot would rather keep it: from 0 to about 30."""
    return _worth(rules_of(view))


def own_seat(view: View) -> View:
    """Return the part of a view that is about the bot's own seat."""
    seat: View = view["seats"][view["as"]]
    return seat


def of_type(moves: Sequence[Move], kind: str) -> list[Move]:
    """Return the moves of one type."""
    return [move for move in moves if move["type"] == kind]


@lru_cache(maxsize=256)
def _rules(identity: str, options: str, parity: int) -> Ruleset:
    definition = catalogue().get(identity)
    if definition is None:
        return catalogue()[FAMILIAR].ruleset({})
    return definition.ruleset(json.loads(options), hand=2 - parity)


def _worth(ruleset: Ruleset) -> dict[str, int]:
    # Rulesets hold mappings and cannot be hashed; this is quick enough to do again.
    return {rank: _worth_of(ruleset, rank) for rank in (*ruleset.order, "X")}


def _worth_of(ruleset: Ruleset, rank: str) -> int:
    """Height, and more for what gets a seat out of trouble or others into it."""
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
