"""Tests that run once for each ruleset of the catalogue, and helpers that describe a ruleset."""

from __future__ import annotations

import pytest

from service.domain.ruleset import Asks, PlayedFor, Ruleset
from service.rulesets.catalogue import catalogue
from tests.rules.tables import Table, rules, table

OPTIONS: dict[str, dict[str, object]] = {"morehead": {"jokers": 2}, "reverse": {"jokers": 2}}
EVERY = [
    rules(name, hand=hand, **OPTIONS.get(name, {}))
    for name, definition in catalogue().items()
    for hand in ((1, 2) if "second_hand" in definition.tree else (1,))
]


def each(*, of: list[Ruleset] | None = None) -> pytest.MarkDecorator:
    """Run a test for these rulesets."""
    chosen = EVERY if of is None else of
    return pytest.mark.parametrize("ruleset", chosen, ids=_name)


def _name(ruleset: Ruleset) -> str:
    return ruleset.id if ruleset.order[0] == "2" else f"{ruleset.id}-second"


def transparent(ruleset: Ruleset) -> list[str]:
    """Return the transparent ranks that the ruleset's deck has."""
    return [r for r, rule in ruleset.ranks.items() if rule.asks is Asks.TRANSPARENT]


def plain(ruleset: Ruleset) -> list[str]:
    """Return the ranks without any rule of their own, low to high."""
    return [r for r in ruleset.order if r not in ruleset.ranks]


def at_table(ruleset: Ruleset, **given: object) -> Table:
    """Return a position; `hands` are filled up to the seats that the ruleset needs."""
    hands = list(given.pop("hands"))  # type: ignore[call-overload] # a list of strings
    gone = list(range(len(hands), ruleset.seats_min))
    hands += [""] * len(gone)
    out = (*gone, *given.pop("out", ()))  # type: ignore[misc] # a tuple of seats
    return table(hands=hands, out=out, **given)  # type: ignore[arg-type] # as table takes them


LOSERS = [r for r in EVERY if r.end.played_for is PlayedFor.LOSER]
