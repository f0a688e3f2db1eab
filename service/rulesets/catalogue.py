"""The catalogue of rulesets with their options, variants known only by name, pinned rulesets."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, Final

from schemas.settings import Tree, check_changes, full_tree, leaves, merged, ruleset_of
from service.domain.cards import RANKS
from service.domain.ruleset import Ruleset
from service.rulesets.statements import (
    MODEL,
    Statement,
    kept,
    model,
    read_statements,
    rule_of,
    shared_cites,
    text_of,
)
from service.shx.canonical import canonical, parse


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

    A game pins `tree` unchanged, because the ruleset's id depends on it, and pins the chosen
    options separately.

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


__all__ = [
    "HEADER",
    "NOT_RULESETS",
    "Definition",
    "Option",
    "OptionError",
    "Statement",
    "catalogue",
    "definition",
    "read_definition",
]

NAMES_ONLY: Final = "unknown"
"""The file of the variants known only by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownByName:
    """A variant that a source names without its rules; it cannot be played."""

    id: str
    name: str
    source: Mapping[str, str]
    text: str
    playable: bool = False


@cache
def known_by_name() -> Mapping[str, KnownByName]:
    """Return the variants known only by name, by id."""
    document = tomllib.loads((files(__package__) / f"{NAMES_ONLY}.toml").read_text("utf-8"))
    return {table["id"]: KnownByName(**table) for table in document["known"]}


def read_ruleset(pinned: Mapping[str, Any], hand: int) -> Ruleset:
    """
    Return the ruleset pinned in a `game_created`, for the hand of this number.

    A game keeps the settings that its first event pins. If it pins only an id of the catalogue,
    it has the settings of the catalogue.

    Raises KeyError for an unknown id without settings, SettingsError or OptionError for
    settings or options that cannot be read.
    """
    return _read(canonical(dict(pinned)), hand % 2)


def shared(pinned: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a pinned ruleset (nine kilobytes) as one object for all games with an equal one."""
    return _parsed(canonical(dict(pinned)))


@lru_cache(maxsize=1024)
def _parsed(pinned: bytes) -> Mapping[str, Any]:
    ruleset: Mapping[str, Any] = parse(pinned)
    return ruleset


def custom_ruleset(pinned: Mapping[str, Any], hand: int) -> Ruleset:
    """
    Return a custom ruleset from its pinned settings and the options of the table.

    It cites the statements that all rulesets share, because a log does not pin its own ones.

    Raises SettingsError or OptionError for settings or options that cannot be read.
    """
    options = pinned["options"]
    settings = custom_settings(pinned["settings"], options)
    return ruleset_of(pinned["id"], options, settings, hand=hand, cites=shared_cites())


@lru_cache(maxsize=1024)
def _read(pinned: bytes, hand: int) -> Ruleset:
    ruleset = parse(pinned)
    try:
        known = definition(ruleset["id"])
    except KeyError:
        known = None
    if ruleset["settings"] is None:
        if known is None:
            raise KeyError(ruleset["id"])
        return known.ruleset(known.chosen(ruleset["options"]), hand=hand)
    settings, options = ruleset["settings"], ruleset["options"]
    if known is None:
        return custom_ruleset(ruleset, hand)
    return ruleset_of(ruleset["id"], options, settings, hand=hand, cites=known.cites)


HEADER = (
    "name",
    "base",
    "source",
    "reconstruction",
    "own_statements",
    "replaces",
    "statements",
    "options",
    "cites",
)
"""Keys of a ruleset's file; every other key is a section of settings."""

NOT_RULESETS = (MODEL, NAMES_ONLY)
"""TOML files in this folder that do not describe a ruleset."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """A ruleset: the content of its file, with the settings and statements of its base."""

    id: str
    name: str
    base: str | None
    source: Mapping[str, str]
    reconstruction: bool
    tree: Tree
    own: Tree  # the settings in this file, without those of the base
    cites: Mapping[str, str]
    options: Mapping[str, Option]
    statements: tuple[Statement, ...]

    def chosen(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """
        Return the options that differ from their defaults, in canonical form.

        Raises OptionError for an unknown option or a value that it does not allow.

        >>> definition("leeds").chosen({"next_dealer": "loser"})
        {}
        """
        chosen = {}
        for name, value in options.items():
            option = self.options.get(name)
            if option is None:
                there = ", ".join(self.options) or "none"
                raise OptionError(name, f"is no option of {self.id}, which has: {there}")
            canonical = canonical_value(option, value)
            if canonical != option.default:
                chosen[name] = canonical
        return chosen

    def settings(self, chosen: Mapping[str, Any]) -> Tree:
        """Return the full tree of settings with options applied."""
        tree = self.tree
        for option in self.options.values():
            tree = applied(tree, option, chosen.get(option.name, option.default))
        return full_tree(tree)

    def pinned(self, chosen: Mapping[str, Any]) -> dict[str, Any]:
        """
        Return the ruleset as the first event of a hand pins it: id, options, settings.

        The settings include the chosen options, except in a custom ruleset: its id follows
        from its settings, so they stay unchanged (SHX/1, section 2).
        """
        custom = self.id not in catalogue()
        settings = full_tree(self.tree) if custom else self.settings(chosen)
        return {"id": self.id, "options": dict(chosen), "settings": settings}

    def ruleset(self, chosen: Mapping[str, Any], *, hand: int = 1) -> Ruleset:
        """Return the ruleset of one hand of a table with these options."""
        settings = self.settings(chosen)
        return ruleset_of(self.id, chosen, settings, hand=hand, cites=self.cites_of(chosen))

    def cites_of(self, chosen: Mapping[str, Any]) -> dict[str, str]:
        """
        Return the statements behind the settings of a table with these options.

        A rank that only an option not chosen would make special is a plain rank: it cites the
        statements about all ranks, not that of the option.
        """
        unchosen = unchosen_settings(self.options.values(), chosen)
        plain = {path for path in unchosen if path.startswith("ranks.")}
        return {path: rule for path, rule in self.cites.items() if path not in plain}

    def rule_of(self, setting: str) -> str:
        """Return the id of the statement behind the setting at a dotted path."""
        return rule_of(self.cites, setting)

    def text_of(self, rule: str) -> str | None:
        """Return the text of a statement, including those of the model; None for an unknown id."""
        return text_of(self.statements, rule)


@cache
def catalogue() -> Mapping[str, Definition]:
    """Return every ruleset of the catalogue by id."""
    names = sorted(f.name for f in files(__package__).iterdir() if f.name.endswith(".toml"))
    identities = (name.removesuffix(".toml") for name in names)
    return {name: definition(name) for name in identities if name not in NOT_RULESETS}


@cache
def definition(identity: str) -> Definition:
    """
    Return one ruleset.

    Raises KeyError for an id that is not in the catalogue.

    >>> definition("leeds").name
    'Leeds Rules (Merde de Tête)'
    """
    path = files(__package__) / f"{identity}.toml"
    readable = identity.replace("-", "").isalnum() and identity not in NOT_RULESETS
    if not readable or not path.is_file():
        raise KeyError(identity)
    return read_definition(identity, tomllib.loads(path.read_text("utf-8")))


def read_definition(identity: str, document: Mapping[str, Any]) -> Definition:
    """
    Return the ruleset that a parsed file describes.

    If the file sets `own_statements`, the ruleset inherits the settings of its base, but not its
    statements and citations. `cites` in the file names a new statement for a setting that keeps
    the value of the base; a key without a dot names a rule of the model.

    Raises SettingsError for settings that cannot be read, ValueError for a statement of an
    unknown section.
    """
    base = definition(document["base"]) if document.get("base") else None
    own, cited = _split({k: v for k, v in document.items() if k not in HEADER})
    check_changes(own)
    tree = merged(base.tree if base else {}, own)
    inherited = None if document.get("own_statements") else base
    cites = {**(inherited.cites if inherited else model().cites), **cited}
    for key, rule in document.get("cites", {}).items():
        cites[key if "." in key else f"model.{key}"] = rule
    for table in document.get("options", {}).values():
        cites |= _option_cites(table)
    options = _options(document.get("options", {}), base)
    return Definition(
        id=identity,
        name=document["name"],
        base=base.id if base else None,
        source=document["source"],
        reconstruction=document.get("reconstruction", False),
        tree=tree,
        own=own,
        cites=cites,
        options={name: with_default(option, tree) for name, option in sorted(options.items())},
        statements=(
            *kept(inherited.statements if inherited else (), document.get("replaces", ())),
            *read_statements(document),
        ),
    )


def _split(document: Mapping[str, Any]) -> tuple[Tree, dict[str, str]]:
    """Return the settings of `{is, rule}` leaves, and the id of each one's statement by path."""
    tree: Tree = {}
    cites: dict[str, str] = {}
    for key, value in document.items():
        if set(value) == {"is", "rule"}:
            tree[key], cites[key] = value["is"], value["rule"]
        else:
            tree[key], below = _split(value)
            cites |= {f"{key}.{path}": rule for path, rule in below.items()}
    return tree, {k.removeprefix("second_hand."): v for k, v in cites.items()}


def _options(tables: Mapping[str, Any], base: Definition | None) -> dict[str, Option]:
    options = dict(base.options) if base else {}
    for name, table in tables.items():
        changes = {str(v): _split(tree)[0] for v, tree in table.get("changes", {}).items()}
        for tree in changes.values():
            check_changes(tree)
        options[name] = Option(
            name=name,
            kind=table.get("kind", "choice"),
            values=tuple(table.get("values", ())),
            default=table.get("default"),
            sets=table.get("sets"),
            changes=changes,
            rule=table["rule"],
        )
    return options


def _option_cites(table: Mapping[str, Any]) -> dict[str, str]:
    cites = {table["sets"]: table["rule"]} if "sets" in table else {}
    for tree in table.get("changes", {}).values():
        cites |= _split(tree)[1]
    return cites
