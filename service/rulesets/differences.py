"""Two rulesets side by side: only what differs, in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from schemas.settings import Tree, full_tree, leaves, merged
from service.domain.ruleset import ALL_RANKS
from service.rulesets.catalogue import Definition, definition
from service.rulesets.statements import model, rule_of
from service.rulesets.words import label_of, value_in_words

_PLAIN: Tree = {rank: {} for rank in ALL_RANKS}


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One setting that two rulesets do not share."""

    setting: str  # dotted path
    before: Any
    after: Any
    rule: str  # the statement of the second ruleset behind it
    text: str

    def data(self) -> dict[str, Any]:
        """Return the difference as the interface gives it."""
        return {
            "setting": self.setting,
            "from": self.before,
            "to": self.after,
            "rule": self.rule,
            "text": self.text,
        }


def differences(a: Definition | Tree, b: Definition | Tree) -> tuple[Difference, ...]:
    """
    Return what `b` does otherwise than `a`, both with their default options.

    Settings that a tree leaves out stand at their defaults. What second hands
    play by is told apart only where it is not the same change once more.
    """
    cites = b.cites if isinstance(b, Definition) else model().cites
    before, after = _first_hand(a), _first_hand(b)
    pairs = {path: (before[path], after[path]) for path in before}
    if _has_second(a) or _has_second(b):
        before, after = _second_hand(a), _second_hand(b)
        seconds = {path: (before[path], after[path]) for path in before}
        changed = {path: pair for path, pair in seconds.items() if pair != pairs[path]}
        pairs |= {f"second_hand.{path}": pair for path, pair in changed.items()}
    return tuple(
        Difference(
            setting=path,
            before=old,
            after=new,
            rule=rule_of(cites, path),
            text=_in_words(path, old, new),
        )
        for path, (old, new) in pairs.items()
        if old != new
    )


def differs_from_base(ruleset: Definition) -> tuple[Difference, ...]:
    """Return what a ruleset does otherwise than its base; nothing where it has none."""
    return differences(definition(ruleset.base), ruleset) if ruleset.base else ()


def _in_words(setting: str, old: Any, new: Any) -> str:
    old_words, new_words = value_in_words(setting, old), value_in_words(setting, new)
    return f"{label_of(setting)}: {new_words} instead of {old_words}."


def _settings(ruleset: Definition | Tree) -> Tree:
    return ruleset.settings({}) if isinstance(ruleset, Definition) else ruleset


def _has_second(ruleset: Definition | Tree) -> bool:
    return "second_hand" in _settings(ruleset)


def _first_hand(ruleset: Definition | Tree) -> dict[str, Any]:
    return _values({k: v for k, v in _settings(ruleset).items() if k != "second_hand"})


def _second_hand(ruleset: Definition | Tree) -> dict[str, Any]:
    settings = _settings(ruleset)
    return _first_hand(merged(settings, settings.get("second_hand", {})))


def _values(tree: Tree) -> dict[str, Any]:
    """Return every setting, those of ranks that are not special included."""
    full = full_tree(merged({"ranks": _PLAIN}, tree))
    plain = ((path, list(v) if isinstance(v, tuple) else v) for path, v in leaves(full))
    return dict(plain)
