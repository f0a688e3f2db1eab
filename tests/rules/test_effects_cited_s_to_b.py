"""The statements cited for the effects of moves: sources S, T and M, and section 7."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from service.domain.commands import Command
from service.domain.decide import decide
from service.domain.events import CardsThrown
from service.domain.evolve import evolve
from service.domain.ruleset import Ruleset
from service.rulesets.statements import rules_behind
from tests.rules.phrases import play, take, try_stock, turn_over
from tests.rules.tables import Table, dealt, game_of, rules, table

QUEEN, THREES, BOOT = rules("covered-queen"), rules("threes"), rules("shit-boot")
KATASTROPHIC, MOREHEAD = rules("threes-katastrophic"), rules("morehead", jokers=2)
FIRST, SECOND = rules("reverse"), rules("reverse", hand=2)

FOLLOWED = table(hands=["8c Jd Jh", "9s", "9h"], stock="8d 3c")
FOURTH = table(pile="9h 9s", hands=["9c Jd Jh", "Ks"], stock="9d 3c")
LAST_QUEEN = table(hands=["Qc", "9s", "4s"])
TABLE_CARD = table(pile="Ac", hands=["", "9s", "4s"], up=["4d"], down=["5d"])
BLIND = table(pile="Kd", hands=["", "Ks", "Js"], down=["3d"], last=1)
UNABLE = table(pile="Kd", hands=["4d", "Ks", "Js"], stock="5d", last=1)
JOKER = table(pile="9d", hands=["X1 4d", "Ks", "Js"])


def behind(ruleset: Ruleset, given: Table, commands: Sequence[Command]) -> list[tuple[str, ...]]:
    """Return the statements cited for each event of the last of these moves."""
    game = game_of(ruleset, given)
    *before, last = commands
    for command in before:
        for event in decide(command, game):
            game = evolve(game, event)
    events = decide(last, game)
    return [rules_behind(game, event, events[0]) for event in events]


@pytest.mark.parametrize(
    ("ruleset", "given", "commands", "cited"),
    [
        (QUEEN, FOLLOWED, [play(0, "8c")], ["S11 1-direction", "S4"]),
        (QUEEN, FOLLOWED, [play(0, "8c"), play(0, "8d")], ["S11 S4 1-direction", "S4"]),
        (QUEEN, FOURTH, [play(0, "9c"), play(0, "9d")], ["S6 S4 1-direction", "S4", "S6"]),
        (QUEEN, LAST_QUEEN, [play(0, "Qc")], ["S13 1-going-out 1-direction", "1-going-out"]),
        (QUEEN, TABLE_CARD, [take(0, "4d")], ["S5 1-picking-up S7"]),
        (THREES, BLIND, [turn_over(0, 0)], ["T9 T6 1-picking-up"]),
        (THREES, UNABLE, [take(0)], ["T6 1-picking-up"]),
        (MOREHEAD, JOKER, [play(0, "X1")], ["M10 1-direction"]),
        (MOREHEAD, TABLE_CARD, [take(0, "4d")], ["M7 1-picking-up M8"]),
        (FIRST, UNABLE, [take(0)], ["R"]),
        (SECOND, UNABLE, [take(0)], ["R 1-previous"]),
        (SECOND, BLIND, [turn_over(0, 0)], ["R 1-previous"]),
        (BOOT, UNABLE, [try_stock(0)], ["B 1-picking-up"]),
        (BOOT, TABLE_CARD, [take(0, "4d")], ["B 1-picking-up"]),
    ],
)
def test_the_statements_that_decide_an_effect_are_cited(
    ruleset: Ruleset, given: Table, commands: list[Command], cited: list[str]
) -> None:
    """The deciding statement comes first."""
    assert [" ".join(rules) for rules in behind(ruleset, given, commands)] == cited


def test_a_throw_cites_only_the_statement_on_throws() -> None:
    """R: the seat draws as many cards as it threw; P8 is about the refill after a play."""
    game, events = dealt(FIRST, seats=3, hands=["3c"])
    assert isinstance(events[1], CardsThrown)
    assert rules_behind(game, events[1]) == ("R",)
