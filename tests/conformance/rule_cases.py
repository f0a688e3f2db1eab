"""Cases of `legality`: one move by other rules than the game's, then an honest hand to its end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from typing import Final

from service.domain.ruleset import Ruleset
from service.rulesets.catalogue import catalogue
from service.rulesets.custom import custom_definition
from tests.attacks.cheating import NoPlace, cheat, options_of
from tests.attacks.registry import game_at
from tests.attacks.special_rule_attacks import CHEATS
from tests.conformance.case import Case, fails, passes
from tests.random_games import Plan, made_game
from tests.tamper import Forgery

TRIES: Final = 30
"""Hands in which a place for the move is looked for."""

MOST: Final = 220
"""Events of the longest hand that is looked for."""


def cases() -> Iterator[Case]:
    """Yield a case for each special rule that a short hand can break."""
    for says, ruleset, _, loosened in CHEATS:
        found = _cheated(ruleset, loosened)
        if found is not None:
            f, seq = found
            name = f"legality/{ruleset}-{says.replace(' ', '-')}"
            yield fails(name, f"{ruleset}: {says}", f.lines(), legality=seq)
    yield from _covered_or_reversing()


def _covered_or_reversing() -> Iterator[Case]:
    """Yield hands with queens that reverse, and that have to be covered while two seats are in."""
    changes = {"ranks": {"Q": {"covers_with_two": True, "reverses": True}}}
    settings = custom_definition(catalogue()["shithead"], "Own", changes).tree
    for number in count():
        plan = Plan(
            name=f"covers with two and reverses {number}",
            settings=settings,
            seats=3,
            bots=True,
            turn_limit=200,
        )
        f = Forgery(made_game(plan))
        if len(f.events) < MOST and _queens(f) == {(2, True), (3, False)}:
            break
    says = "queens that reverse, and are covered while two are in play"
    yield passes("legality/covers-with-two-and-reverses", says, f.lines())
    seq = f.find("cards_played", lambda event: event["data"]["cards"][0][0] == "Q")
    f.data(seq)["direction"] *= -1
    says = "a queen that has to be covered with two in play, and does not reverse with three"
    yield fails("legality/covers-with-two-does-not-reverse", says, f.lines(), legality=seq)


def _is_queen(f: Forgery, seq: int) -> bool:
    is_play = f.events[seq]["type"] == "cards_played"
    return is_play and bool(f.data(seq)["cards"][0][0] == "Q")


def _queens(f: Forgery) -> set[tuple[int, bool]]:
    """Return how many seats were in play when queens were played, and whether the seat goes on."""
    return {
        (len(game_at(f, seq).in_play()), f.data(seq)["turn"] == f.data(seq)["seat"])
        for seq in range(len(f.events))
        if _is_queen(f, seq)
    }


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
