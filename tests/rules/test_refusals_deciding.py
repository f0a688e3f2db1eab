"""Refusals: which statement is cited if several apply to the cards."""

from __future__ import annotations

import pytest

from service.domain.ruleset import Ruleset
from service.rulesets.statements import rules_allowing
from tests.rules.every_ruleset import at_table
from tests.rules.phrases import lay, play, swap, take
from tests.rules.scenario import refused, scenario
from tests.rules.tables import dealt, game_of, rules, table

QUEEN, BOOT = rules("covered-queen"), rules("shit-boot")


@pytest.mark.parametrize(
    ("ruleset", "pile", "card", "rule"),
    [
        (QUEEN, "Kc 3c", "9d", "S9"),
        (QUEEN, "7c 3c", "9d", "S10"),
        (QUEEN, "7c 3c", "Td", "S12"),
        (rules("threes-house"), "Kc Jc", "9d", "T13"),
        (rules("threes-katastrophic"), "Kc 8c", "9d", "T14"),
        (rules("threes-katastrophic"), "Kc", "9d", "T4"),
        (rules("morehead", jokers=2), "Kc X1", "9d", "M10"),
        (rules("reverse", jokers=2), "Kc X1", "9d", "R"),
        (rules("shithead-six"), "Kc X1", "9d", "P20"),
    ],
)
def test_a_play_too_low_for_the_card_below_is_refused_by_the_transparent_card(
    ruleset: Ruleset, pile: str, card: str, rule: str
) -> None:
    """T13: the jack mirrors the card below, so its statement is cited and not the normal rule."""
    at = at_table(ruleset, pile=pile, hands=[f"{card} 4d", "9s"])
    scenario(ruleset, given=at, when=play(0, card), then=refused(rule))


def test_a_play_on_a_transparent_card_is_allowed_by_two_statements() -> None:
    """M10: the next player must play equal to or higher than the card under the joker."""
    jokers = rules("morehead", jokers=2)
    given = table(pile="9c X1", hands=["Kd 4d", "9s"])
    assert rules_allowing(game_of(jokers, given), play(0, "Kd")) == ("M10", "M5")
    plain = table(pile="9c", hands=["Kd 4d", "9s"])
    assert rules_allowing(game_of(jokers, plain), play(0, "Kd")) == ("M5",)


def test_a_card_named_twice_is_refused_by_the_statement_of_its_purpose() -> None:
    """Exchange, laying out, pick-up and follow-up each have a statement of their own."""
    game, _ = dealt(QUEEN, seats=2, up=["4c 5c 6c"], hands=["Kc Qc Jc"])
    scenario(QUEEN, given=game, when=swap(0, "Kc Kc", "4c 5c"), then=refused("S2"))
    scenario(QUEEN, given=game, when=swap(0, "", ""), then=refused("S2"))
    game, _ = dealt(BOOT, seats=2, hands=["Kc Qc Jc 9c 8c 6c"])
    scenario(BOOT, given=game, when=lay(0, "Kc", "Kc", "Jc"), then=refused("B"))
    up = table(pile="Kc", hands=["", "9d"], up=["5c 7c"], down=["6c 6d"])
    scenario(QUEEN, given=up, when=take(0, "5c 5c"), then=refused("S7"))
    at = table(pile="8c", hands=["9c Kc Qc", "Jd", "Jh"], stock="9d")
    after = scenario(QUEEN, given=at, when=play(0, "9c"))
    scenario(QUEEN, given=after, when=play(0, "9d 9d"), then=refused("S4"))
    scenario(QUEEN, given=at, when=play(0, "9c 9c"), then=refused("S5"))
