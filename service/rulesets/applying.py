"""The general statements that can apply in a ruleset; its rules page omits the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from service.domain.ruleset import (
    After,
    Along,
    Layout,
    Opener,
    OpeningPlay,
    Plays,
    Ruleset,
    Taker,
    TryStock,
)
from service.rulesets.catalogue import Definition
from service.rulesets.statements import Statement, model

FIRST_COME: Final = (Opener.FIRST_COME_HAND, Opener.FIRST_COME_TABLE)
USUAL_SET: Final = 4


def _companions(ruleset: Ruleset) -> bool:
    return any(rule.plays is Plays.WITH_COMPANION for rule in ruleset.ranks.values())


def _previous(ruleset: Ruleset) -> bool:
    pick_up = ruleset.pick_up
    return pick_up.taker is Taker.PREVIOUS or pick_up.after in (
        After.PREVIOUS,
        After.PREVIOUS_ABOVE_TWO,
    )


APPLIES: Final[Mapping[str, Callable[[Ruleset], bool]]] = {
    "exchange": lambda r: r.deal.exchange or r.deal.layout is not Layout.NONE,
    "stacks": lambda r: r.deal.layout is Layout.STACKS,
    "first_come": lambda r: r.opening.opener in FIRST_COME,
    "any_opening": lambda r: r.opening.play is OpeningPlay.ANY,
    "several_ranks": lambda r: r.turn.runs or _companions(r),
    "follow_up": lambda r: r.turn.follow_up,
    "windows": lambda r: r.turn.follow_up or r.opening.opener in FIRST_COME,
    "try": lambda r: r.turn.try_stock is not TryStock.NEVER,
    "pass": _companions,
    "previous": _previous,
    "along": lambda r: r.pick_up.along is not Along.NOTHING,
    "set": lambda r: r.burn.set_size == USUAL_SET,
    "turning": lambda r: any(rule.reverses or rule.skips for rule in r.ranks.values()),
    "covering": lambda r: any(rule.covers or rule.covers_with_two for rule in r.ranks.values()),
    "shown": lambda r: r.pick_up.show_blind,
    "duties": lambda r: r.burn.flusher or r.end.paper_bag,
}
"""Conditions on a ruleset, by the names that statements of the model use (`applies`)."""


def applying(ruleset: Definition) -> tuple[Statement, ...]:
    """Return the general statements that can apply in one of the hands of a ruleset."""
    hands = [ruleset.ruleset({}, hand=hand) for hand in (1, 2)]
    return tuple(
        statement
        for statement in model().statements
        if not statement.applies or any(APPLIES[statement.applies](hand) for hand in hands)
    )
