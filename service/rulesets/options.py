"""Options that a table may choose in a ruleset, and their effect on the settings."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from schemas.settings import Tree, leaves, merged
from service.domain.cards import RANKS


class OptionError(ValueError):
    """An unknown option of a ruleset, or a value that the option does not allow."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(f"{name}: {message}")
        self.name = name
        self.message = message


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """A choice that a ruleset leaves to the table."""

    name: str
    kind: str  # choice: one of `values`; set: some of them; ranks: a list of ranks
    values: tuple[Any, ...]
    default: Any
    sets: str | None  # the setting that takes the chosen value
    changes: Mapping[str, Tree]  # by value: the settings that it changes
    rule: str  # the id of its statement


NEXT_DEALER = Option(
    name="next_dealer",
    kind="choice",
    values=("loser", "rotate"),
    default="loser",
    sets="end.next_dealer",
    changes={},
    rule="1-next-dealer",
)
"""The seat that deals the next hand: an option of every ruleset (rules.md, section 0)."""


def canonical_value(option: Option, value: Any) -> Any:
    """
    Return a chosen value in canonical form.

    Raises OptionError for a value that the option does not allow.

    >>> canonical_value(NEXT_DEALER, "rotate")
    'rotate'
    """
    if option.kind == "choice":
        if not _is_one_of(value, option.values):
            raise OptionError(option.name, f"is not one of {_listed(option.values)}")
        return value
    allowed = list(RANKS) if option.kind == "ranks" else list(option.values)
    if not isinstance(value, list):
        raise OptionError(option.name, f"is not a list of any of {_listed(allowed)}")
    if not all(_is_one_of(v, allowed) for v in value) or len(set(value)) < len(value):
        raise OptionError(option.name, f"is not a list of any of {_listed(allowed)}, each once")
    return sorted(value, key=allowed.index)


def applied(tree: Tree, option: Option, value: Any) -> Tree:
    """Return a tree of settings after setting one option to `value`."""
    if option.sets is not None:
        section, key = option.sets.split(".")
        tree = merged(tree, {section: {key: value}})
    for one in value if option.kind == "set" else [value]:
        if option.kind != "ranks" and str(one) in option.changes:
            tree = merged(tree, option.changes[str(one)])
    return tree


def unchosen_settings(options: Iterable[Option], chosen: Mapping[str, Any]) -> frozenset[str]:
    """Return the paths of settings that the options could change but, as chosen, do not."""
    taken: set[str] = set()
    able: set[str] = set()
    for option in options:
        value = chosen.get(option.name, option.default)
        picked = {str(one) for one in (value if option.kind == "set" else [value])}
        for name, tree in option.changes.items():
            paths = [path for path, _ in leaves(tree)]
            able.update(paths)
            taken.update(paths if name in picked else ())
    return frozenset(able - taken)


def custom_options(tree: Tree) -> dict[str, Option]:
    """
    Return the options of a custom ruleset by name: those that every ruleset has.

    The other options of its base are fixed in its settings.
    """
    return {NEXT_DEALER.name: with_default(NEXT_DEALER, tree)}


def custom_settings(tree: Tree, chosen: Mapping[str, Any]) -> Tree:
    """
    Return the settings of a table that plays a custom ruleset with options.

    A game pins `tree` unchanged, because the ruleset's id depends on it, and the options apart.

    Raises OptionError for an unknown option, a value not allowed, or the default value.
    """
    options = custom_options(tree)
    for name, value in chosen.items():
        option = options.get(name)
        if option is None:
            raise OptionError(name, "is no option of a custom ruleset")
        if canonical_value(option, value) == option.default:
            raise OptionError(name, "repeats the default")
        tree = applied(tree, option, value)
    return tree


def _is_one_of(value: Any, allowed: Iterable[Any]) -> bool:
    """Return whether a value is allowed; neither `true` nor 1.0 is the integer 1."""
    return any(type(one) is type(value) and one == value for one in allowed)


def _listed(values: Iterable[Any]) -> str:
    """Return values as in a JSON body, but strings without quotes."""
    return ", ".join(v if isinstance(v, str) else json.dumps(v) for v in values)


def with_default(option: Option, tree: Tree) -> Option:
    """
    Return the option with the value that `tree` has for its setting as the default.

    So a derived ruleset can change the default: `shithead-winner` rotates the deal. An option
    that sets no single setting stays as it is.
    """
    if option.sets is None:
        return option
    section, key = option.sets.split(".")
    return replace(option, default=tree.get(section, {}).get(key, option.default))
