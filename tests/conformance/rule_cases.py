"""Cases of `legality`: one move by other rules than the game's, then an honest hand to its end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from service.domain.ruleset import Ruleset
from tests.attacks.cheating import NoPlace, cheat, options_of
from tests.attacks.special_rule_attacks import CHEATS
from tests.conformance.case import Case, fails
from tests.random_games import Plan, made_game
from tests.tamper import Forgery

TRIES: Final = 30
"""Hands in which a place for the move is looked for."""


def cases() -> Iterator[Case]:
    """Yield a case for each special rule that a short hand can break."""
    for says, ruleset, _, loosened in CHEATS:
        found = _cheated(ruleset, loosened)
        if found is not None:
            f, seq = found
            name = f"legality/{ruleset}-{says.replace(' ', '-')}"
            yield fails(name, f"{ruleset}: {says}", f.lines(), legality=seq)


def _cheated(ruleset: str, loosened: Callable[[Ruleset], Ruleset]) -> tuple[Forgery, int] | None:
    """Return a short hand with one move by other rules, and the seq of its first wrong event."""
    for number in range(TRIES):
        f = Forgery(_short(ruleset, number))
        try:
            return f, cheat(f, loosened)
        except NoPlace:
            continue
    return None


def _short(ruleset: str, number: int) -> list[bytes]:
    """Return an honest hand that its turn limit ends; `reverse-second` is a second hand."""
    name, second, _ = ruleset.partition("-second")
    plan = Plan(
        name=f"short {ruleset} {number}",
        ruleset=name,
        options=options_of(ruleset),
        seats=6 if name == "shithead-six" else (2, 3)[number % 2],
        bots=True,
        turn_limit=14,
        hand=2 if second else 1,
        dealer=0 if second else None,
        prev_game="5b7f90c3-5ccd-4995-9042-3b8b34d9aef9" if second else None,
    )
    return made_game(plan)
