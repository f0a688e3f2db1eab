"""Reads the TOML files of the catalogue: bases, settings with citations, options, statements."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from schemas.settings import Tree, check_changes, full_tree, merged, ruleset_of
from service.domain.ruleset import Ruleset
from service.rulesets.known import KNOWN
from service.rulesets.options import (
    Option,
    OptionError,
    applied,
    canonical_value,
    unchosen_settings,
    with_default,
)
from service.rulesets.statements import (
    MODEL,
    Statement,
    kept,
    model,
    read_statements,
    rule_of,
    text_of,
)

__all__ = [
    "Definition",
    "Option",
    "OptionError",
    "Statement",
    "catalogue",
    "definition",
    "read_definition",
]

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
NO_RULESETS = (MODEL, KNOWN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """A ruleset as its file says it, with all that it takes from its base."""

    id: str
    name: str
    base: str | None
    source: Mapping[str, str]
    reconstruction: bool
    tree: Tree
    own: Tree  # what this file says itself
    cites: Mapping[str, str]
    options: Mapping[str, Option]
    statements: tuple[Statement, ...]

    def chosen(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """
        Return the options that differ from their defaults, in canonical form.

        Raises OptionError where one is unknown or has a value it cannot have.
        """
        chosen = {}
        for name, value in given.items():
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
        Return what the first event of a hand says of its rules: id, options, settings.

        Settings are those that the options lead to, save for a ruleset of one's own:
        its id follows from its settings, so these stand as they are (SHX/1, section 2).
        """
        own = self.id not in catalogue()
        settings = full_tree(self.tree) if own else self.settings(chosen)
        return {"id": self.id, "options": dict(chosen), "settings": settings}

    def ruleset(self, chosen: Mapping[str, Any], *, hand: int = 1) -> Ruleset:
        """Return the ruleset as one hand of a table with these options is played by it."""
        settings = self.settings(chosen)
        return ruleset_of(self.id, chosen, settings, hand=hand, cites=self.cites_of(chosen))

    def cites_of(self, chosen: Mapping[str, Any]) -> dict[str, str]:
        """
        Return the statements behind the settings of a table with these options.

        A rank that an option would make special, and does not as chosen, is a plain
        one there: it rests on what is said of all ranks, not on the option.
        """
        unchosen = unchosen_settings(self.options.values(), chosen)
        plain = {path for path in unchosen if path.startswith("ranks.")}
        return {path: rule for path, rule in self.cites.items() if path not in plain}

    def rule_of(self, setting: str) -> str:
        """Return the id of the statement that a setting, given by its dotted path, rests on."""
        return rule_of(self.cites, setting)

    def text_of(self, rule: str) -> str | None:
        """Return what a statement says here, those of the model included; None: no such id."""
        return text_of(self.statements, rule)


@cache
def catalogue() -> Mapping[str, Definition]:
    """Return every ruleset of the catalogue by id."""
    names = sorted(f.name for f in files(__package__).iterdir() if f.name.endswith(".toml"))
    identities = (name.removesuffix(".toml") for name in names)
    return {name: definition(name) for name in identities if name not in NO_RULESETS}


@cache
def definition(identity: str) -> Definition:
    """Return one ruleset; raises KeyError where the catalogue has none of this id."""
    path = files(__package__) / f"{identity}.toml"
    readable = identity.replace("-", "").isalnum() and identity not in NO_RULESETS
    if not readable or not path.is_file():
        raise KeyError(identity)
    return read_definition(identity, tomllib.loads(path.read_text("utf-8")))


def read_definition(identity: str, document: Mapping[str, Any]) -> Definition:
    """
    Return the ruleset that a parsed file describes.

    With `own_statements` it takes only settings from its base: none of the
    base's statements, and so none of its citations. `cites` names the statements
    of settings that stay as in the base while the base's statement is replaced,
    and, by keys without a dot, of the model's rules.
    """
    base = definition(document["base"]) if document.get("base") else None
    own, cited = _split({k: v for k, v in document.items() if k not in HEADER})
    check_changes(own)
    tree = merged(base.tree if base else {}, own)
    teller = None if document.get("own_statements") else base
    cites = {**(teller.cites if teller else model().cites), **cited}
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
            *kept(teller.statements if teller else (), document.get("replaces", ())),
            *read_statements(document),
        ),
    )


def _split(document: Mapping[str, Any]) -> tuple[Tree, dict[str, str]]:
    """Return the settings of `{is, rule}` leaves, and the statement that each rests on."""
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
