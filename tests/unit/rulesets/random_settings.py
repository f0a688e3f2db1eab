"""Random changes of settings, most of them invalid."""

from __future__ import annotations

import random
import typing
from typing import Any

from schemas.settings import SECTIONS, Tree, setting_kinds
from service.domain.cards import RANKS, Rank
from service.domain.ruleset import ALL_RANKS, RankRule
from service.rulesets.catalogue import Definition

COUNTS = {
    "decks": (1, 1, 2, 3),
    "seats_per_deck": (0, 2, 4),
    "jokers": (0, 0, 1, 2),
    "jokers_from_seats": (0, 0, 3),
    "jokers_then": (0, 0, 2),
    "down": (0, 1, 2, 3, 3),
    "up": (0, 0, 1, 2, 3),
    "hand": (1, 2, 3, 5, 6),
    "size": (0, 2, 3, 5),
    "set_size": (0, 2, 3, 4, 4, 5),
}


def random_changes(chance: random.Random) -> Tree:
    """Return changes of some settings and ranks, sometimes of the order or the second hand."""
    changes = _branch(chance)
    if chance.random() < 0.2:
        changes["second_hand"] = _branch(chance)
        changes["second_hand"].pop("players", None)
    return changes


def random_options(rules: Definition, chance: random.Random) -> dict[str, Any]:
    """Return random options of a ruleset for a table."""
    options: dict[str, Any] = {}
    for option in rules.options.values():
        if chance.random() < 0.5:
            continue
        if option.kind == "choice":
            options[option.name] = chance.choice(option.values)
        elif option.kind == "set":
            options[option.name] = sorted(v for v in option.values if chance.random() < 0.6)
        else:
            options[option.name] = [r for r in "23456789TJQKA" if chance.random() < 0.9]
    return options


def _branch(chance: random.Random) -> Tree:
    changes: Tree = {}
    for section, kind in SECTIONS.items():
        for name, hint in setting_kinds(kind).items():
            if chance.random() < 0.12:
                changes.setdefault(section, {})[name] = _value(name, hint, chance)
    for rank in ALL_RANKS:
        for name, hint in setting_kinds(RankRule).items():
            if chance.random() < (0.01 if name in ("alone", "asks_as") else 0.04):
                rule = changes.setdefault("ranks", {}).setdefault(str(rank), {})
                rule[name] = _value(name, hint, chance)
    if chance.random() < 0.2:
        changes["order"] = {"low_to_high": chance.sample(RANKS, len(RANKS))}
    if chance.random() < 0.3:
        fewest = chance.choice((2, 3))
        changes["players"] = {"min": fewest, "max": chance.choice((3, 4, 6))}
    return changes


def _value(name: str, hint: Any, chance: random.Random) -> Any:
    if hint is bool:
        return chance.random() < 0.5
    if hint is int:
        return chance.choice(COUNTS[name])
    if hint is str:
        return chance.choice(("", "cdhs", "shdc"))
    if typing.get_origin(hint) is tuple:
        if name in ("ranks", "throws") and chance.random() < 0.8:
            return chance.sample(RANKS, len(RANKS))
        return sorted(chance.sample(ALL_RANKS, chance.randrange(3)))
    if type(None) in typing.get_args(hint):
        return chance.choice((None, Rank("2"), Rank("7"), Rank("X")))
    return chance.choice(list(hint)).value
