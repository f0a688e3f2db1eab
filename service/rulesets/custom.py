"""A ruleset of one's own: a base of the catalogue with changes, checked and told in words."""

from __future__ import annotations

import hashlib
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from schemas.settings import (
    SettingsError,
    Tree,
    check_changes,
    check_tree,
    full_tree,
    leaves,
    merged,
)
from service.domain.ruleset import ALL_RANKS
from service.record.canonical import canonical
from service.rulesets.catalogue import Definition, Statement
from service.rulesets.contradictions import Contradiction, contradictions
from service.rulesets.differences import differences
from service.rulesets.options import options_of_own
from service.rulesets.statements import model, rule_of, sections_of
from service.rulesets.words import label_of, value_in_words


class RulesetRefused(ValueError):
    """A ruleset cannot be played; `reasons` are (JSON pointer, message), at least one."""

    def __init__(self, *reasons: Contradiction) -> None:
        super().__init__("; ".join(f"{at}: {message}" for at, message in reasons))
        self.reasons = reasons


def custom_definition(base: Definition, name: str, changes: Any) -> Definition:
    """
    Return the ruleset that `changes` make of `base`, the base's options at their defaults.

    Of options it has those that every ruleset has: its id names its settings, and
    any other would change what they say. Raises RulesetRefused, the pointers within
    `changes` where the fault lies there.
    """
    try:
        check_changes(changes)
        before = plain_settings(base.settings({}))
        settings = plain_settings(merged(before, changes))
        check_tree(settings)
    except SettingsError as error:
        raise RulesetRefused((error.at, error.message)) from None
    if found := contradictions(settings):
        raise RulesetRefused(*found)
    if settings == before:
        raise RulesetRefused(("", f"nothing is changed: these are the settings of {base.id}"))
    return custom_of(base, name, settings)


def custom_of(base: Definition, name: str, settings: Tree) -> Definition:
    """Return the ruleset of accepted settings, as `custom_definition` gave them."""
    told = _told(base, settings)
    return Definition(
        id=custom_id(settings),
        name=name,
        base=base.id,
        source=base.source,
        reconstruction=base.reconstruction,
        tree=settings,
        own=settings,
        cites=told.cites,
        options=options_of_own(settings),
        statements=told.statements,
    )


def custom_id(settings: Tree) -> str:
    """Return the id of a ruleset of one's own; it binds the name to the settings (SHX/1)."""
    return f"custom-{hashlib.sha256(canonical(settings)).hexdigest()[:16]}"


def plain_settings(tree: Tree) -> Tree:
    """
    Return a full tree in one spelling, so that equal rulesets have equal ids.

    Every setting is written out; ranks that are not special are left out, and so is
    what second hands say that first hands say as well.
    """
    full: Tree = _lists(full_tree(tree))
    ranks = full["ranks"]
    plain = full_tree({**full, "ranks": {"A": {}}})["ranks"]["A"]
    full["ranks"] = {rank: rule for rank, rule in ranks.items() if rule != plain}
    every = {**full, "ranks": {rank: ranks.get(rank, plain) for rank in ALL_RANKS}}
    if second := _what_differs(full.pop("second_hand", {}), every):
        full["second_hand"] = second
    return full


def _what_differs(changes: Mapping[str, Any], tree: Mapping[str, Any]) -> Tree:
    """Return the changes that change something in `tree`, which has every setting."""
    result: Tree = {}
    for name, value in changes.items():
        if not isinstance(value, Mapping):
            if value != tree[name]:
                result[name] = value
        elif below := _what_differs(value, tree[name]):
            result[name] = below
    return result


@dataclass(frozen=True, slots=True, kw_only=True)
class _Told:
    statements: tuple[Statement, ...]
    cites: Mapping[str, str]


def _told(base: Definition, settings: Tree) -> _Told:
    """
    Return the base's statements that still hold, and sentences for all settings that lost theirs.

    A statement goes with the first of its settings that changed; the settings
    that stay as it said are then told again, one sentence each.
    """
    changed = {d.setting: d.text for d in differences(base, settings)}
    gone = {
        (base.rule_of(setting), section) for setting in changed for section in sections_of(setting)
    }
    statements = [
        s
        for s in base.statements
        if (s.id, s.section) not in gone and (s.goes_with, s.section) not in gone
    ]
    lost = {s.id for s in base.statements if s not in statements}
    cites = dict(base.cites)
    sentences = dict(changed)
    for setting, value in leaves(settings):
        places = {(base.rule_of(setting), section) for section in sections_of(setting)}
        own = any((s.id, s.section) in places for s in base.statements)
        if setting not in changed and own and places & gone:
            sentences[setting] = f"{label_of(setting)}: {value_in_words(setting, value)}."
    for number, (setting, text) in enumerate(sentences.items(), 1):
        section = sections_of(setting)[0]
        statements.append(Statement(id=f"C{number}", section=section, text=text, reading=False))
        cites[setting.removeprefix("second_hand.")] = f"C{number}"
    return _Told(statements=tuple(statements), cites=_standing(cites, statements, lost))


def _standing(
    cites: Mapping[str, str], statements: Iterable[Statement], lost: Container[str]
) -> dict[str, str]:
    """
    Return the citations, with the model's where the statement behind one no longer stands.

    What no setting says, as that a stack is played whole, may have stood in any entry of
    its statement: it rests on the model as soon as one of them is gone.
    """
    ids = {s.id for s in (*statements, *model().statements)}
    standing = {}
    for path, rule in cites.items():
        of_the_model = path.startswith("model.")
        if rule in ids and not (of_the_model and rule in lost):
            standing[path] = rule
        elif path in model().cites or not of_the_model:
            standing[path] = rule_of(model().cites, path)
    return standing


def _lists(value: Any) -> Any:
    """Return a tree with lists where the settings have tuples."""
    if isinstance(value, Mapping):
        return {key: _lists(item) for key, item in value.items()}
    return [_lists(item) for item in value] if isinstance(value, list | tuple) else value
