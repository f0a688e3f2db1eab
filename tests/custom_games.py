"""A custom ruleset for each value of each setting, and a hand played by it."""

from __future__ import annotations

import typing
from collections.abc import Iterator
from typing import Any, Final

import orjson

from schemas.settings import SECTIONS, Tree, full_tree, leaves, setting_kinds
from service.domain.ruleset import RankRule
from service.rulesets.catalogue import Definition, catalogue
from service.rulesets.custom import RulesetRefused, custom_definition
from tests.random_games import Plan, made_game

Value = tuple[str, Any]
"""The path of a setting, and one of its values; a setting of a rank begins with `ranks`."""

_REVERSED: Final = list("AKQJT98765432")
_NUMBERS: Final[dict[str, tuple[Any, ...]]] = {
    "decks": (1, 2),
    "seats_per_deck": (0, 2, 4),
    "jokers": (0, 1, 2),
    "jokers_from_seats": (0, 3),
    "jokers_then": (0, 2),
    "down": (0, 2, 3),
    "up": (0, 1, 3),
    "hand": (1, 3, 5),
    "size": (2, 3, 5),
    "set_size": (0, 2, 3, 4, 5),
}
_RANKS: Final[dict[str, tuple[Any, ...]]] = {
    "partial": ([], list("23456789")),
    "throws": ([], ["2"], list("3456789TJQKA2")),
    "ranks": ([], list("3456789TJQKA2")),
    "not_on": ([], ["A"]),
    "besides": ([], ["2"]),
}
_NEEDS: Final[dict[Value, Tree]] = {
    ("deck.count", "by_seats"): {"deck": {"seats_per_deck": 2}},
    ("deck.seats_per_deck", 2): {"deck": {"count": "by_seats"}},
    ("deck.jokers_from_seats", 3): {"deck": {"jokers_then": 2}},
    ("deal.down", 0): {"deal": {"up": 0, "exchange": False}},
    ("opening.opener", "worst_card"): {"opening": {"ranks": _REVERSED[::-1], "suits": "cdhs"}},
    ("pick_up.taker", "previous"): {"pick_up": {"after": "same"}},
    ("pick_up.after", "same"): {"pick_up": {"taker": "previous"}},
    ("pick_up.after", "previous_above_two"): {"players": {"max": 4}},
}
"""Changes without which a value has no effect in most rulesets."""

_IMPOSSIBLE: Final = (("ranks.alone", "transparent"),)
"""Values that no ruleset can have."""


def values() -> tuple[Value, ...]:
    """Return every value of every setting; of numbers and lists of ranks some values."""
    found: list[Value] = []
    for section, kind in SECTIONS.items():
        for name, hint in setting_kinds(kind).items():
            found += [(f"{section}.{name}", value) for value in _values(name, hint)]
    for name, hint in setting_kinds(RankRule).items():
        found += [(f"ranks.{name}", value) for value in _values(name, hint)]
    found = [one for one in found if one not in _IMPOSSIBLE]
    found += [("order.low_to_high", _REVERSED), ("second_hand.order.low_to_high", _REVERSED)]
    return tuple(found)


def rulesets_with(setting: str, value: Any) -> Iterator[tuple[str, Tree]]:
    """Yield (base, settings) for each ruleset of the catalogue that can have the value."""
    for base in catalogue().values():
        for changes in _changes(setting, value):
            settings = _settings(base, changes)
            if settings is not None and _has(settings, setting, value):
                yield base.id, settings
                break


def hand_by(settings: Tree, *, name: str) -> list[bytes]:
    """
    Return the log of a hand by the settings of a custom ruleset.

    It has three seats if the ruleset allows it, and ends after sixty actions at the latest.
    """
    players = settings["players"]
    second = "second_hand" in settings
    plan = Plan(
        name=name,
        settings=settings,
        seats=max(players["min"], min(players["max"], 3)),
        bots=True,
        turn_limit=60,
        hand=2 if second else 1,
        dealer=0 if second else None,
        prev_game="00000000-0000-4000-8000-000000000001" if second else None,
    )
    return made_game(plan)


def title(setting: str, value: Any) -> str:
    """Return a value of a setting in the form of a file name, without the ending."""
    text = "".join(value) if isinstance(value, list) else str(value).lower()
    return f"{setting}={text or 'none'}"


def kinds_of_events(log: list[bytes]) -> set[tuple[str, ...]]:
    """Return the kinds of events in a log, as far as they move cards in different ways."""
    shown: set[tuple[str, ...]] = set()
    for line in log:
        event = orjson.loads(line)
        data = event["data"]
        detail = (str(data.get("zone", "")), str(data.get("cause", "")))
        shown.add((event["type"], *detail, str(data.get("taker") == data.get("seat"))))
    return shown


def _values(name: str, hint: Any) -> tuple[Any, ...]:
    if hint is bool:
        return (False, True)
    if hint is int:
        return _NUMBERS[name]
    if hint is str:
        return ("", "cdhs")
    if typing.get_origin(hint) is tuple:
        return _RANKS[name]
    if type(None) in typing.get_args(hint):
        return (None, "7")
    return tuple(member.value for member in hint)


def _changes(setting: str, value: Any) -> Iterator[Tree]:
    section, _, name = setting.partition(".")
    needed = next((more for key, more in _NEEDS.items() if key == (setting, value)), {})
    if section == "ranks":
        for rank in ("7", "3", "Q", "T", "X", "2"):
            yield {"ranks": {rank: {name: value}}}
    elif section == "second_hand":
        yield {"second_hand": {"order": {"low_to_high": value}}}
    else:
        yield {section: {name: value}}
        if needed:
            yield {**needed, section: {**needed.get(section, {}), name: value}}


def _settings(base: Definition, changes: Tree) -> Tree | None:
    """Return the settings of a base with changes; None if the service refuses them."""
    try:
        return custom_definition(base, "Own", changes).tree
    except RulesetRefused:
        return full_tree(base.tree) if _all_in(changes, full_tree(base.tree)) else None


def _all_in(changes: Tree, tree: Tree) -> bool:
    inherited = dict(leaves(tree))
    return all(path in inherited and inherited[path] == item for path, item in leaves(changes))


def _has(settings: Tree, setting: str, value: Any) -> bool:
    section, _, name = setting.partition(".")
    if section == "ranks":
        return any(rule.get(name) == value for rule in settings["ranks"].values())
    return bool(dict(leaves(settings)).get(setting) == value)
