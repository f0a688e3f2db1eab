"""Custom rulesets: a ruleset of the catalogue with changes, validated and described."""

from __future__ import annotations

import hashlib
from collections.abc import Container, Iterable, Mapping
from collections.abc import Set as AbstractSet
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
from service.rulesets.catalogue import Definition, Statement, custom_options
from service.rulesets.labels import differences, label_of, value_in_words
from service.rulesets.spoken_of import (
    Place,
    SpokenSettings,
    definition_of,
    without_references,
)
from service.rulesets.statements import model, rule_of, sections_of
from service.rulesets.validation import Contradiction, contradictions
from service.rulesets.without_effect import changes_without_effect, page_omits, with_neutral_values
from service.shx.canonical import canonical


class RulesetRefused(ValueError):
    """A ruleset cannot be played; `reasons` are (JSON pointer, message), at least one."""

    def __init__(self, *reasons: Contradiction) -> None:
        super().__init__("; ".join(f"{at}: {message}" for at, message in reasons))
        self.reasons = reasons


def custom_definition(base: Definition, name: str, changes: Any, named: Any = None) -> Definition:
    """
    Return the ruleset `base` with `changes`, and with the base's options at their defaults.

    It has only the options that every ruleset has: its id follows from its settings, and
    other options would change them. A change without effect is refused if it was requested,
    and otherwise left out. `named` are the requested changes; None: all of `changes`.

    Raises RulesetRefused with JSON pointers, which refer to `changes` if the fault is there.
    """
    try:
        check_changes(changes)
        before = canonical_settings(base.settings({}))
        requested = canonical_settings(merged(before, changes))
        check_tree(requested)
    except SettingsError as error:
        raise RulesetRefused((error.at, error.message)) from None
    if found := contradictions(requested) or changes_without_effect(
        requested, changes if named is None else named
    ):
        raise RulesetRefused(*found)
    settings = canonical_settings(with_neutral_values(requested))
    if settings == canonical_settings(with_neutral_values(before)):
        raise RulesetRefused(("", f"nothing is changed: these are the settings of {base.id}"))
    return custom_of(base, name, settings)


def custom_of(base: Definition, name: str, settings: Tree) -> Definition:
    """Return the ruleset with these settings, which `custom_definition` has accepted."""
    described = _described(base, settings)
    return Definition(
        id=custom_id(settings),
        name=name,
        base=base.id,
        source=base.source,
        reconstruction=base.reconstruction,
        tree=settings,
        own=settings,
        cites=described.cites,
        options=custom_options(settings),
        statements=described.statements,
    )


def custom_id(settings: Tree) -> str:
    """Return the id of a custom ruleset, which is a hash of its settings (SHX/1)."""
    return f"custom-{hashlib.sha256(canonical(settings)).hexdigest()[:16]}"


def canonical_settings(tree: Tree) -> Tree:
    """
    Return a full tree in canonical form, so that equal rulesets have equal ids.

    Every setting is written out; plain ranks are left out, and so are settings of `second_hand`
    (every second hand of a table) that equal those of the first hands.
    """
    full: Tree = _lists(full_tree(tree))
    ranks = full["ranks"]
    plain = full_tree({**full, "ranks": {"A": {}}})["ranks"]["A"]
    full["ranks"] = {rank: rule for rank, rule in ranks.items() if rule != plain}
    every = {**full, "ranks": {rank: ranks.get(rank, plain) for rank in ALL_RANKS}}
    if second := _effective_changes(full.pop("second_hand", {}), every):
        full["second_hand"] = second
    return full


def _effective_changes(changes: Mapping[str, Any], tree: Mapping[str, Any]) -> Tree:
    """Return the changes that differ from `tree`, which has every setting."""
    result: Tree = {}
    for name, value in changes.items():
        if not isinstance(value, Mapping):
            if value != tree[name]:
                result[name] = value
        elif below := _effective_changes(value, tree[name]):
            result[name] = below
    return result


@dataclass(frozen=True, slots=True, kw_only=True)
class _Described:
    statements: tuple[Statement, ...]
    cites: Mapping[str, str]


def _described(base: Definition, settings: Tree) -> _Described:
    """
    Return the base's statements that still apply, and new sentences for the other settings.

    A statement is dropped if a setting changed that it states or speaks of; its unchanged settings
    are then described by a sentence each. The sentences for statements that speak of a changed
    setting come last, so that they do not change the ids of the others.
    """
    changed = {d.setting: d.text for d in differences(base, settings)}
    wording = SpokenSettings.of(base, base.options.keys() - custom_options(settings).keys())
    stated, gone = wording.stated(changed), wording.gone(changed)
    statements = list(wording.kept(changed))
    lost = {s.id for s in base.statements if s not in statements}
    statements = without_references(statements)
    cites = dict(base.cites)
    values = dict(leaves(settings))
    for number, (setting, text) in enumerate(_sentences(base, settings, changed, stated, gone), 1):
        section, rule = sections_of(setting)[0], f"C{number}"
        texts = (text, definition_of(setting, values.get(setting)))
        statements += [
            Statement(id=rule, section=section, text=one, reading=False) for one in texts if one
        ]
        cites[setting.removeprefix("second_hand.")] = rule
    return _Described(statements=tuple(statements), cites=_citations_kept(cites, statements, lost))


def _sentences(
    base: Definition,
    settings: Tree,
    changed: Mapping[str, str],
    stated: AbstractSet[Place],
    gone: AbstractSet[Place],
) -> list[tuple[str, str]]:
    """Return the settings that no statement describes any more, each with a sentence, in order."""
    omits = page_omits(settings, base.settings({}))
    sentences = {path: text for path, text in changed.items() if not omits(path)}
    for dropped in (stated, gone):
        for setting, value in leaves(settings):
            places = {(base.rule_of(setting), section) for section in sections_of(setting)}
            has_statement = any((s.id, s.section) in places for s in base.statements)
            unsaid = setting not in changed and setting not in sentences
            if unsaid and has_statement and places & dropped and not omits(setting):
                sentences[setting] = f"{label_of(setting)}: {value_in_words(setting, value)}."
    return list(sentences.items())


def _citations_kept(
    cites: Mapping[str, str], statements: Iterable[Statement], lost: Container[str]
) -> dict[str, str]:
    """
    Return the citations; those of dropped statements are replaced by the model's.

    A rule without a setting, such as that a stack is played whole, may be stated in any of the
    entries with the id that it cites. Therefore it cites the model if one of them is dropped.
    """
    ids = {s.id for s in (*statements, *model().statements)}
    citations = {}
    for path, rule in cites.items():
        of_the_model = path.startswith("model.")
        if rule in ids and not (of_the_model and rule in lost):
            citations[path] = rule
        elif path in model().cites or not of_the_model:
            citations[path] = rule_of(model().cites, path)
    return citations


def _lists(value: Any) -> Any:
    """Return a tree with its tuples replaced by lists."""
    if isinstance(value, Mapping):
        return {key: _lists(item) for key, item in value.items()}
    return [_lists(item) for item in value] if isinstance(value, list | tuple) else value
