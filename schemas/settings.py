"""Settings of rulesets: validation, conversion to a `Ruleset`, JSON Schema."""

from __future__ import annotations

import typing
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, fields
from enum import StrEnum
from typing import Any, Final

from service.domain.cards import RANKS, Rank
from service.domain.ruleset import (
    ALL_RANKS,
    BurnSettings,
    DealSettings,
    DeckSettings,
    EndSettings,
    OpeningSettings,
    PickUpSettings,
    RankRule,
    RefillSettings,
    Ruleset,
    TurnSettings,
)

SECTIONS: Mapping[str, type[Any]] = {
    "deck": DeckSettings,
    "deal": DealSettings,
    "opening": OpeningSettings,
    "refill": RefillSettings,
    "turn": TurnSettings,
    "pick_up": PickUpSettings,
    "burn": BurnSettings,
    "end": EndSettings,
}
PLAYERS = {"min": 2, "max": 64}

Tree = dict[str, Any]
"""Settings as plain values: section -> setting -> value; `ranks` and `second_hand` nest deeper."""


class SettingsError(ValueError):
    """A tree of settings cannot be read; `at` is a JSON pointer to the place."""

    def __init__(self, at: str, message: str) -> None:
        super().__init__(f"{at}: {message}")
        self.at = at
        self.message = message


def ruleset_of(
    identity: str,
    options: Mapping[str, Any],
    tree: Tree,
    *,
    hand: int,
    cites: Mapping[str, str] | None = None,
) -> Ruleset:
    """
    Return the ruleset that a full tree of settings describes, for one hand of a table.

    Hands 2, 4, 6 and so on use `second_hand` if the tree has it, as in `reverse`.

    Raises SettingsError for an unknown key or a value of the wrong type.
    """
    check_tree(tree)
    if hand % 2 == 0 and "second_hand" in tree:
        tree = merged(tree, tree["second_hand"])
    parts = {
        name: _dataclass(kind, tree.get(name, {}), f"/{name}") for name, kind in SECTIONS.items()
    }
    ranks = {
        Rank(rank): _dataclass(RankRule, rule, f"/ranks/{rank}")
        for rank, rule in tree.get("ranks", {}).items()
    }
    return Ruleset(
        id=identity,
        options=dict(options),
        seats_min=tree["players"]["min"],
        seats_max=tree["players"]["max"],
        order=tuple(Rank(r) for r in tree["order"]["low_to_high"]),
        ranks=ranks,
        cites=cites or {},
        **parts,
    )


def full_tree(tree: Tree) -> Tree:
    """Return the tree with the defaults of all settings that it leaves out."""
    full: Tree = {"players": dict(tree["players"]), "order": dict(tree["order"])}
    for name, kind in SECTIONS.items():
        full[name] = _defaults(kind) | tree.get(name, {})
    full["ranks"] = {r: _defaults(RankRule) | rule for r, rule in tree.get("ranks", {}).items()}
    if "second_hand" in tree:
        full["second_hand"] = tree["second_hand"]
    return full


def setting_defaults() -> Tree:
    """Return the default of each setting that a tree may leave out; `rank` has those of a rank."""
    kinds: dict[str, type[Any]] = {**SECTIONS, "rank": RankRule}
    return {name: _defaults(kind) for name, kind in kinds.items()}


def merged(tree: Mapping[str, Any], changes: Mapping[str, Any]) -> Tree:
    """Return `tree` with `changes` merged into it recursively."""
    result = dict(tree)
    for key, value in changes.items():
        old = result.get(key)
        both = isinstance(value, Mapping) and isinstance(old, Mapping)
        result[key] = merged(old, value) if both and isinstance(old, Mapping) else value
    return result


def check_tree(tree: Any) -> None:
    """Raise SettingsError unless `tree` is valid, with the sections `players` and `order`."""
    _check_branch(tree, "")
    for name in ("players", "order"):
        if name not in tree:
            raise SettingsError(f"/{name}", "is missing")


def check_changes(changes: Any) -> None:
    """Raise SettingsError unless `changes` could be applied to a tree of settings."""
    _check_branch(changes, "", partial=True)


def leaves(tree: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield (dotted path, value) of every setting in a tree."""
    for key, value in tree.items():
        at = f"{path}.{key}" if path else str(key)
        if isinstance(value, Mapping):
            yield from leaves(value, at)
        else:
            yield at, value


def _check_branch(tree: Any, at: str, *, partial: bool = False) -> None:
    if not isinstance(tree, Mapping):
        raise SettingsError(at or "/", "is not an object")
    for name, value in tree.items():
        here = f"{at}/{name}"
        if name in SECTIONS:
            _dataclass(SECTIONS[name], value, here)
        elif name == "ranks":
            _check_ranks(value, here)
        elif name == "players":
            _check_players(value, here, partial=partial or bool(at))
        elif name == "order":
            _check_order(value, here)
        elif name == "second_hand" and not at:
            _check_branch(value, here, partial=True)
        else:
            raise SettingsError(here, "is not a setting")


def _check_ranks(value: Any, at: str) -> None:
    if not isinstance(value, Mapping):
        raise SettingsError(at, "is not an object")
    for rank, rule in value.items():
        if rank not in ALL_RANKS:
            raise SettingsError(f"{at}/{rank}", "is not a rank")
        _dataclass(RankRule, rule, f"{at}/{rank}")


def _check_players(value: Any, at: str, *, partial: bool) -> None:
    if not isinstance(value, Mapping) or not set(value) <= set(PLAYERS):
        raise SettingsError(at, "must have min and max, and nothing else")
    if not partial and len(value) < len(PLAYERS):
        raise SettingsError(at, "must have min and max")
    for name, count in value.items():
        if type(count) is not int or not 2 <= count <= 64:
            raise SettingsError(f"{at}/{name}", "is not a number of seats from 2 to 64")


def _check_order(value: Any, at: str) -> None:
    if not isinstance(value, Mapping) or set(value) != {"low_to_high"}:
        raise SettingsError(at, "must have low_to_high, and nothing else")
    ranks = value["low_to_high"]
    listed = isinstance(ranks, list | tuple) and all(isinstance(rank, str) for rank in ranks)
    if not listed or sorted(ranks) != sorted(RANKS):
        raise SettingsError(f"{at}/low_to_high", "does not name each rank once")


def _dataclass(kind: type[Any], value: Any, at: str) -> Any:
    if not isinstance(value, Mapping):
        raise SettingsError(at, "is not an object")
    known = setting_kinds(kind)
    values = {}
    for name, item in value.items():
        if name not in known:
            raise SettingsError(f"{at}/{name}", "is not a setting")
        values[name] = _value(known[name], item, f"{at}/{name}")
    return kind(**values)


def _value(kind: Any, value: Any, at: str) -> Any:
    if is_optional(kind):
        return None if value is None else _value(typing.get_args(kind)[0], value, at)
    if typing.get_origin(kind) is tuple:
        if not isinstance(value, list | tuple) or len(value) > len(ALL_RANKS):
            raise SettingsError(at, "is not a list of ranks")
        if len(set(map(str, value))) < len(value):
            raise SettingsError(at, "names a rank twice")
        return tuple(_value(Rank, item, f"{at}/{i}") for i, item in enumerate(value))
    if kind is Rank:
        if value not in ALL_RANKS:
            raise SettingsError(at, "is not a rank")
        return Rank(value)
    if kind is bool or kind is int:
        if type(value) is not kind or (kind is int and not 0 <= value <= 1000):
            wanted = "true or false" if kind is bool else "an integer from 0 to 1000"
            raise SettingsError(at, f"is not {wanted}")
        return value
    if kind is str:
        if not isinstance(value, str) or sorted(value) not in ([], sorted("cdhs")):
            raise SettingsError(at, "is not an order of the suits c, d, h and s")
        return value
    try:
        return kind(value)
    except ValueError:
        allowed = ", ".join(member.value for member in kind)
        raise SettingsError(at, f"is none of {allowed}") from None


def is_optional(kind: Any) -> bool:
    """Return whether a setting of this kind may be null."""
    return type(None) in typing.get_args(kind)


def setting_kinds(kind: type[Any]) -> dict[str, Any]:
    """Return the name and kind of every setting in one section."""
    if kind not in _HINTS:
        _HINTS[kind] = typing.get_type_hints(kind)
    return _HINTS[kind]


_HINTS: dict[type[Any], dict[str, Any]] = {}


def _defaults(kind: type[Any]) -> dict[str, Any]:
    return {field.name: plain_value(_default(field)) for field in fields(kind)}


def _default(field: Field[Any]) -> Any:
    if field.default_factory is not MISSING:
        return field.default_factory()
    return field.default


def plain_value(value: Any) -> Any:
    """Return the value of a setting as in a tree."""
    if isinstance(value, StrEnum):
        return value.value
    return list(value) if isinstance(value, tuple) else value


_ORDER: Final = {
    "type": "array",
    "items": {"enum": list(RANKS)},
    "uniqueItems": True,
    "minItems": len(RANKS),
}
_SUITS: Final = r"^(?!.*(.).*\1)([cdhs]{4})?$"  # each suit once, or none


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of a tree of settings."""
    branch = {name: _section_schema(kind) for name, kind in SECTIONS.items()}
    rank = _section_schema(RankRule)
    seats = {"type": "integer", "minimum": PLAYERS["min"], "maximum": PLAYERS["max"]}
    branch["players"] = _object({"min": seats, "max": seats})
    branch["order"] = _object({"low_to_high": _ORDER}) | {"required": ["low_to_high"]}
    branch["ranks"] = _object({str(r): rank for r in ALL_RANKS})
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Settings of a ruleset",
        **_object({**branch, "second_hand": _object(branch)}),
    }


def _section_schema(kind: type[Any]) -> dict[str, Any]:
    return _object({name: _schema_of(hint) for name, hint in setting_kinds(kind).items()})


def _object(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": dict(properties), "additionalProperties": False}


def _schema_of(kind: Any) -> dict[str, Any]:
    if is_optional(kind):
        return {"enum": [None, *ALL_RANKS]}
    if typing.get_origin(kind) is tuple:
        return {"type": "array", "items": {"enum": list(ALL_RANKS)}, "uniqueItems": True}
    if kind is bool:
        return {"type": "boolean"}
    if kind is int:
        return {"type": "integer", "minimum": 0, "maximum": 1000}
    if kind is str:
        return {"type": "string", "pattern": _SUITS}
    return {"enum": [member.value for member in kind]}
