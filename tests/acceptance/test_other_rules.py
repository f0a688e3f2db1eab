"""One move is decided by a rule other than the game's: every ruleset, every setting."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import asdict, fields
from enum import StrEnum
from typing import Any

import pytest

from schemas.settings import SECTIONS
from service.domain.ruleset import Ruleset
from service.rulesets.catalogue import catalogue, definition
from service.rulesets.validation import Contradiction, contradictions
from service.verify.finding import Check
from tests.attacks.cheating import NoPlace, cheated, options_of
from tests.changed import replace
from tests.tamper import failing, report_on

CHANGED_SECTIONS = ("opening", "refill", "turn", "pick_up", "burn", "end")
WITHOUT_EFFECT = ("next_dealer", "paper_bag", "opener")
"""Settings without effect within one hand, or without effect unless others change too."""

NAMES = (*sorted(catalogue()), "reverse-second")
MAX_TRIED = 5
"""CI tries at most this many settings of each ruleset; the long run tries all of them."""

FEWEST_CHEATS = 20
"""The long run cheats with at least this many settings of each ruleset; 21 to 79 allow it."""

Changed = Callable[[Ruleset], Ruleset]


def others(value: Any) -> Iterator[Any]:
    """Yield other values of a setting: of a number those beside it."""
    match value:
        case bool():
            yield not value
        case StrEnum():
            yield from (other for other in type(value) if other is not value)
        case int():
            yield from (value + 1, value - 1) if value else (3,)
        case tuple():
            yield ()


def changes(ruleset: Ruleset) -> Iterator[tuple[str, Changed]]:
    """Yield the name of each change of one setting of a ruleset, and the function that makes it."""
    for section in CHANGED_SECTIONS:
        settings = getattr(ruleset, section)
        for field in fields(settings):
            if field.name in WITHOUT_EFFECT:
                continue
            for other in others(getattr(settings, field.name)):
                name = f"{section}.{field.name}={other}"
                yield name, _section(section, field.name, other)
    for rank, rule in ruleset.ranks.items():
        for field in fields(rule):
            for other in others(getattr(rule, field.name)):
                yield f"ranks.{rank}.{field.name}={other}", _rank(rank, field.name, other)


def _section(section: str, name: str, value: Any) -> Changed:
    def changed(ruleset: Ruleset) -> Ruleset:
        settings = replace(getattr(ruleset, section), **{name: value})
        return replace(ruleset, **{section: settings})

    return changed


def _rank(rank: Any, name: str, value: Any) -> Changed:
    def changed(ruleset: Ruleset) -> Ruleset:
        rule = replace(ruleset.rank(rank), **{name: value})
        return replace(ruleset, ranks={**ruleset.ranks, rank: rule})

    return changed


def played(name: str) -> Ruleset:
    identity, second, _ = name.partition("-second")
    return definition(identity).ruleset(options_of(name), hand=2 if second else 1)


def refusals(ruleset: Ruleset) -> list[Contradiction]:
    """Return why the service accepts no custom ruleset with these settings; empty if it does."""
    tree: dict[str, Any] = {
        "players": {"min": ruleset.seats_min, "max": ruleset.seats_max},
        "order": {"low_to_high": ruleset.order},
        "ranks": {rank: asdict(rule) for rank, rule in ruleset.ranks.items()},
    }
    return contradictions(tree | {name: asdict(getattr(ruleset, name)) for name in SECTIONS})


def passing(name: str, chosen: list[tuple[str, Changed]], *, tries: int) -> tuple[int, list[str]]:
    """
    Return the number of changes that were tried, and those that were not detected.

    By settings that contradict one another some positions cannot be played, with an error: such
    changes are left out. An error by settings that the service accepts is raised.
    """
    made, passed = 0, []
    for setting, changed in chosen:
        try:
            forgery, seq = cheated(name, changed, tries=tries)
        except NoPlace:
            continue
        except (ValueError, LookupError) as error:
            if not refusals(changed(played(name))):
                error.add_note(f"{name} {setting}, which the service accepts")
                raise
            continue
        made += 1
        if failing(report_on(forgery.lines())).get(Check.LEGALITY) != seq:
            passed.append(f"{name} {setting} at {seq}")
    return made, passed


@pytest.mark.attack("SPECIAL", "one move by a different rule", check="legality")
@pytest.mark.heavy
def test_one_move_by_another_rule_does_not_pass() -> None:
    """Random settings of each ruleset, the same in every run, until one allows a cheat."""
    cheated_with = 0
    for name in NAMES:
        every = list(changes(played(name)))
        for one in random.Random(name).sample(every, min(len(every), MAX_TRIED)):
            made, passed = passing(name, [one], tries=1)
            assert passed == []
            cheated_with += made
            if made:
                break
    assert cheated_with > len(NAMES) // 2


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_no_move_by_another_rule_passes_in_the_long_run(name: str) -> None:
    made, passed = passing(name, list(changes(played(name))), tries=4)
    assert passed == []
    assert made >= FEWEST_CHEATS
