"""The statements that an audit cites for each event of a move, the deciding one first."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from service.domain.commands import Command
from service.domain.decide import decide
from service.domain.ruleset import Ruleset
from service.rulesets.statements import rules_allowing, rules_behind
from tests.rules.phrases import (
    forfeit,
    pass_,
    play,
    take,
    try_stock,
    turn_over,
)
from tests.rules.tables import Table, game_of, rules, table

SHITHEAD, LEEDS, KARMA = rules("shithead"), rules("leeds"), rules("karma-radford")
SIX, GULTNIEKS, SMEGHEAD = rules("shithead-six"), rules("gultnieks"), rules("smeghead")
GUARDUCCI, EGILSSON = rules("guarducci"), rules("egilsson")
WINNER, IN_RANK = rules("shithead-winner"), rules("shithead-ten-in-rank")
BLIND = table(pile="9c", hands=["", "Ks"], down=["4c"])
STACKED = table(pile="3c", hands=["", "Ks"], up=["4c+4d"], down=["9c"])


def behind(ruleset: Ruleset, given: Table, command: Command) -> dict[str, tuple[str, ...]]:
    """Return the statements cited for each event of a move, by event type."""
    game = game_of(ruleset, given)
    events = decide(command, game)
    return {type(e).__name__: rules_behind(game, e, events[0]) for e in events}


def two(hand: str, *, pile: str = "", stock: str = "") -> Table:
    """Return a table of two seats with this hand at seat 0."""
    return table(pile=pile, hands=[hand, "Ks"], stock=stock)


def six(hand: str, pile: str) -> Table:
    """Return a table of six seats with this hand at seat 0."""
    return table(pile=pile, hands=[hand, "9s", "8s", "7s", "6s", "5s"])


@pytest.mark.parametrize(
    ("ruleset", "given", "command", "event", "first"),
    [
        (LEEDS, two("Jd 4c", pile="9c"), play(0, "Jd"), "CardsPlayed", "L20"),
        (LEEDS, two("5c Jd 4c", pile="Kc"), play(0, "5c Jd"), "CardsPlayed", "L20"),
        (LEEDS, two("Td 4c", pile="9c"), play(0, "Td"), "CardsPlayed", "L21"),
        (LEEDS, two("Td 4c", pile="9c"), play(0, "Td"), "PileBurned", "L21"),
        (LEEDS, two("Js 4c", pile="Jc Jd Jh"), play(0, "Js"), "PileBurned", "L22"),
        (LEEDS, two("9c", stock="4c"), play(0, "9c"), "CardsDrawn", "L9"),
        (LEEDS, two("4c", pile="9c"), take(0), "PilePickedUp", "L11"),
        (LEEDS, BLIND, turn_over(0, 0), "BlindFailed", "L13"),
        (LEEDS, two("9c"), play(0, "9c"), "SeatOut", "L14"),
        (LEEDS, two("9c"), play(0, "9c"), "GameEnded", "L15"),
        (LEEDS, two("5c"), pass_(0), "TurnPassed", "1-pass"),
        (SIX, six("X1 4c", "9c"), play(0, "X1"), "CardsPlayed", "P20"),
        (GULTNIEKS, two("8d 4c", pile="9c"), play(0, "8d"), "CardsPlayed", "P30"),
        (GULTNIEKS, two("Td 4c", pile="9c"), play(0, "Td"), "PileBurned", "P12"),
        (KARMA, table(pile="9c", hands=["4c", "Ks"], last=1), take(0), "PilePickedUp", "P31"),
        (IN_RANK, two("Td 4c", pile="9c"), play(0, "Td"), "PileBurned", "P23"),
        (GUARDUCCI, two("X1 4c", pile="9c"), play(0, "X1"), "CardsPlayed", "P34"),
        (GUARDUCCI, two("9d Td 4c", pile="8c"), take(0), "PilePickedUp", "P34"),
        (GUARDUCCI, two("9d Td 4c", pile="7c"), play(0, "9d Td"), "PileBurned", "P34"),
        (EGILSSON, two("4c", pile="9c", stock="3c"), try_stock(0), "StockFailed", "P37"),
        (EGILSSON, two("4c", pile="9c", stock="Ac"), try_stock(0), "CardsPlayed", "P37"),
        (WINNER, two("9c"), play(0, "9c"), "GameEnded", "P22"),
        (WINNER, two("9c"), play(0, "9c"), "SeatOut", "P22"),
        (SHITHEAD, two("9c"), forfeit(1), "GameEnded", "1-forfeit"),
        (
            SHITHEAD,
            table(hands=["9c 4c", "Ks"], actions=9, turn_limit=10),
            play(0, "9c"),
            "GameEnded",
            "1-turn-limit",
        ),
    ],
)
def test_an_event_cites_first_the_statement_that_decides_it(
    ruleset: Ruleset, given: Table, command: Command, event: str, first: str
) -> None:
    """It is a statement of the ruleset itself, if there is one."""
    assert behind(ruleset, given, command)[event][0] == first


def test_a_burn_cleared_by_the_flusher_cites_both_statements() -> None:
    """P12, P32: a ten burns the pile, and the flusher clears it."""
    at = table(pile="9c", hands=["Td 4c", "Ks"], flusher=1)
    assert behind(SMEGHEAD, at, play(0, "Td"))["PileBurned"] == ("P12", "P32")
    own = table(pile="9c", hands=["Td 4c", "Ks"], flusher=0)
    assert behind(SMEGHEAD, own, play(0, "Td"))["PileBurned"] == ("P12",)


def test_a_ten_as_last_card_cites_the_statements_on_tens_and_on_going_out() -> None:
    """P12, P16: after a ten the same player plays again, except if it was the last card."""
    at = table(pile="9c", hands=["Td", "Ks", "Kc"])
    assert behind(SHITHEAD, at, play(0, "Td"))["CardsPlayed"][:2] == ("P12", "P16")


def test_the_previous_player_is_cited_only_if_that_rule_applies() -> None:
    """P34(6): with more than two players the previous one plays after a pick-up."""
    three = table(pile="8c", hands=["9d 4c", "Ks", "Kd"], last=1)
    assert "1-previous" in behind(GUARDUCCI, three, take(0))["PilePickedUp"]
    two = table(pile="8c", hands=["9d 4c", "Ks"], last=1)
    assert "1-previous" not in behind(GUARDUCCI, two, take(0))["PilePickedUp"]
    karma = table(pile="8c", hands=["", "Ks"], up=["9d 4c"], down=["3c 3d"], last=1)
    assert behind(KARMA, karma, take(0, "4c"))["PilePickedUp"] == (
        "P31",
        "1-picking-up",
        "P14",
        "1-previous",
    )


@pytest.mark.parametrize(
    ("ruleset", "given", "laid", "cited"),
    [
        (SHITHEAD, two("Kd", pile="9c"), "Kd", ["P7"]),
        (SHITHEAD, two("2d", pile="9c"), "2d", ["P11"]),
        (SHITHEAD, two("3d", pile="2c"), "3d", ["P11", "P7"]),
        (SHITHEAD, two("3d"), "3d", ["1-empty-pile", "P7"]),
        (IN_RANK, two("Td", pile="9c"), "Td", ["P23", "P7"]),
        (LEEDS, two("Jd", pile="9c"), "Jd", ["L20", "L8"]),
        (LEEDS, two("4d", pile="7c"), "4d", ["L19", "L8"]),
        (LEEDS, two("5d 6d", pile="Kc"), "5d 6d", ["L17"]),
        (GULTNIEKS, two("Td", pile="7c"), "Td", ["P30"]),
        (GULTNIEKS, two("4d", pile="7c"), "4d", ["P30", "P7"]),
        (EGILSSON, two("4d", pile="5c"), "4d", ["P37", "P7"]),
        (EGILSSON, two("5d", pile="Kc"), "5d", ["P37"]),
        (GUARDUCCI, two("8d", pile="8c"), "8d", ["P34", "P7"]),
        (GUARDUCCI, two("Qd Kd", pile="Jc"), "Qd Kd", ["P7", "P34"]),
        (rules("guarducci", switches=[]), two("8d", pile="7c"), "8d", ["P7"]),
        (KARMA, STACKED, "4c 4d", ["P7", "P31", "P10"]),
    ],
)
def test_a_legal_play_cites_the_statements_that_allow_it(
    ruleset: Ruleset, given: Table, laid: str, cited: Sequence[str]
) -> None:
    """First the statement on the rank, then on the card on the pile, then on a normal play."""
    assert list(rules_allowing(game_of(ruleset, given), play(0, laid))) == cited
