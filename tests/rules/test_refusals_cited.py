"""Refusals: the statement that each of them names, and the sentence for the player."""

from __future__ import annotations

import pytest

from service.domain.commands import Command, RuleRefused, UnknownCard
from service.domain.decide import decide
from service.domain.game import Game
from service.domain.ruleset import Ruleset
from service.replay.sentences import reason_of
from tests.changed import replace
from tests.rules.phrases import (
    forfeit,
    lay,
    pass_,
    play,
    ready,
    swap,
    take,
    try_stock,
    turn_over,
)
from tests.rules.scenario import refused, scenario
from tests.rules.tables import Table, all_ready, dealt, game_of, rules, table

SHITHEAD, LEEDS, KARMA = rules("shithead"), rules("leeds"), rules("karma-radford")
QUEEN, BOOT, MOREHEAD = rules("covered-queen"), rules("shit-boot"), rules("morehead")
KEEP, LAYOUT = rules("shithead-keep-table"), rules("shithead-layout")
EGILSSON, RUNS = rules("egilsson"), rules("guarducci", switches=[5])
SIX, NO_SWITCHES = rules("shithead-six"), rules("guarducci", switches=[])


def detail_of(ruleset: Ruleset, given: Table | Game, command: Command) -> str:
    """Return the sentence of the refusal that the player reads."""
    game = given if isinstance(given, Game) else game_of(ruleset, given)
    with pytest.raises(RuleRefused) as caught:
        decide(command, game)
    return reason_of(caught.value).text


@pytest.mark.parametrize(
    ("ruleset", "rule"), [(SHITHEAD, "P4"), (KARMA, "P31"), (LAYOUT, "P21"), (LEEDS, "L6")]
)
def test_swaps_and_laying_are_refused_in_play(ruleset: Ruleset, rule: str) -> None:
    """Cards are exchanged and laid out before the first play."""
    at = table(pile="4c", hands=["9c 3c", "9d"], up=["Kc Kd"], down=["5c 5d"])
    for command in (swap(0, "9c", "Kc"), lay(0, "9c", "3c"), ready(0)):
        scenario(ruleset, given=at, when=command, then=refused(rule))
        assert detail_of(ruleset, at, command) == "face-up cards are settled before play"


@pytest.mark.parametrize(("ruleset", "rule"), [(SHITHEAD, "P4"), (KARMA, "P31"), (LAYOUT, "P21")])
def test_moves_of_a_turn_are_refused_before_all_are_ready(ruleset: Ruleset, rule: str) -> None:
    game, _ = dealt(ruleset, seats=2)
    card = game.seats[0].hand[0]
    for command in (play(0, card), take(0), turn_over(0, 0), pass_(0), try_stock(0)):
        scenario(ruleset, given=game, when=command, then=refused(rule))


@pytest.mark.parametrize(("ruleset", "rule"), [(KARMA, "P31"), (LAYOUT, "P21")])
def test_cards_laid_by_the_player_are_not_exchanged(ruleset: Ruleset, rule: str) -> None:
    """P21: each player lays three cards face-up, and does not exchange them afterwards."""
    game, _ = dealt(ruleset, seats=2, hands=["Ac Kc Qc 9c 8c 6c"])
    scenario(ruleset, given=game, when=ready(0), then=refused(rule))
    game = scenario(ruleset, given=game, when=lay(0, "9c", "8c", "6c"))
    scenario(ruleset, given=game, when=swap(0, "Ac", "9c"), then=refused(rule))


def test_cards_dealt_face_up_are_not_laid() -> None:
    """P3: three cards are dealt face-up, so the player lays none."""
    game, _ = dealt(SHITHEAD, seats=2, hands=["Ac Kc Qc"])
    scenario(SHITHEAD, given=game, when=lay(0, "Ac", "Kc", "Qc"), then=refused("P3"))


def test_the_shared_model_is_cited_if_the_ruleset_has_no_statement() -> None:
    at = table(pile="4c", hands=["9c", "9d", ""], out=[2], up=["Kc"], down=["5c"])
    scenario(SHITHEAD, given=at, when=pass_(0), then=refused("1-pass"))
    scenario(SHITHEAD, given=at, when=forfeit(2), then=refused("1-forfeit"))
    empty = table(hands=["9c", "9d"])
    scenario(SHITHEAD, given=empty, when=take(0), then=refused("1-empty-pile"))
    assert SHITHEAD.cite("no.such.setting") == "1-model"


def test_a_seat_with_only_face_down_cards_must_turn_one() -> None:
    """P15: a face-down card is turned openly, not played as if it were known."""
    at = table(pile="4c", hands=["", "9d"], down=["9c 8c"], stock="6c")
    scenario(SHITHEAD, given=at, when=play(0, "9c"), then=refused("P15"))
    assert "turn one" in detail_of(SHITHEAD, at, play(0, "9c"))
    assert "turn one" in detail_of(EGILSSON, at, try_stock(0))
    for slot in (-1, 2):
        scenario(SHITHEAD, given=at, when=turn_over(0, slot), then=refused("P15"))


def test_a_part_of_a_stack_is_refused_by_the_statement_on_stacks() -> None:
    """P31: in the endgame a stack is played as one group."""
    at = table(pile="4c", hands=["", "9d"], up=["7c+7d 8c"], down=["3c 3d"])
    scenario(KARMA, given=at, when=play(0, "7c"), then=refused("P31"))


def test_the_opening_play_is_refused_by_the_statement_on_it() -> None:
    """S3: the worst card must be in the opening play; T3: it is of one given rank."""
    game, _ = dealt(QUEEN, seats=2, hands=["4c 9h Kh", "5d Qd Jd"])
    scenario(QUEEN, given=all_ready(game), when=play(0, "9h"), then=refused("S3"))
    threes = rules("threes")
    game, _ = dealt(threes, seats=2, hands=["3c 9h Kh", "5d Qd Jd"])
    scenario(threes, given=all_ready(game), when=play(0, "9h"), then=refused("T3"))


def test_a_refused_try_from_the_stock_names_the_reason() -> None:
    unable = table(pile="Kc", hands=["4c", "9d"], stock="6c")
    never = "the top card of the stock is not tried in this ruleset"
    assert detail_of(SHITHEAD, unable, try_stock(0)) == never
    none_left = table(pile="Kc", hands=["4c", "9d"])
    assert detail_of(SHITHEAD, none_left, try_stock(0)) == never
    assert detail_of(EGILSSON, none_left, try_stock(0)) == "the stock is empty"
    covering = table(pile="Kc", hands=["4c", "9d"], stock="6c", covering=True)
    assert detail_of(EGILSSON, covering, try_stock(0)) == "the seat has to cover its own card first"
    able = table(pile="4c", hands=["9c", "9d"], stock="6c")
    assert detail_of(BOOT, able, try_stock(0)) == "a seat that can play may not try the stock"


def test_a_refused_pick_up_names_the_face_up_cards_that_go_along() -> None:
    """P14: one card or stack; P24: none; S7: one or several of a rank; none with a hand."""
    both = table(pile="Kc", hands=["4c", "9d"], up=["5c"], down=["6c"])
    none = "no face-up card goes along with the pile while the seat has a hand"
    assert detail_of(SHITHEAD, both, take(0, "5c")) == none
    up = table(pile="Kc", hands=["", "9d"], up=["5c 7c"], down=["6c 6d"])
    assert "along with the pile" in detail_of(KEEP, up, take(0, "5c"))
    assert detail_of(KEEP, up, take(0, "5c")).startswith("no face-up card")
    assert "one stack" in detail_of(SHITHEAD, up, take(0))
    assert "several of one rank" in detail_of(QUEEN, up, take(0))


def test_a_pick_up_instead_of_a_cover_is_refused_by_the_statement_on_queens() -> None:
    """S13: a queen must be covered."""
    at = table(pile="4c 5c Qc", hands=["9c", "9d"], covering=True)
    scenario(QUEEN, given=at, when=take(0), then=refused("S13"))


def test_cards_that_are_not_in_the_game_are_unknown_wherever_they_are_named() -> None:
    """In a pick-up, a follow-up, a swap and a laying out."""
    game, _ = dealt(SHITHEAD, seats=2, up=["4c 5c 6c"], hands=["Kc Qc Jc"])
    for command in (swap(0, "X1", "4c"), swap(0, "Kc", "X1")):
        scenario(SHITHEAD, given=game, when=command, then=refused(kind=UnknownCard))
    game, _ = dealt(BOOT, seats=2, hands=["Kc Qc Jc 9c 8c 6c"])
    scenario(BOOT, given=game, when=lay(0, "X1", "Kc", "Qc"), then=refused(kind=UnknownCard))
    up = table(pile="Kc", hands=["", "9d"], up=["5c 7c"], down=["6c 6d"])
    scenario(SHITHEAD, given=up, when=take(0, "X1"), then=refused(kind=UnknownCard))
    at = table(pile="8c", hands=["9c Kc Qc", "Jd", "Jh"], stock="9d")
    after = scenario(QUEEN, given=at, when=play(0, "9c"))
    scenario(QUEEN, given=after, when=play(0, "X1"), then=refused(kind=UnknownCard))
    scenario(QUEEN, given=after, when=play(0, "9d 9d"), then=refused())
    with pytest.raises(UnknownCard) as caught:
        decide(play(0, "X1"), after)
    assert caught.value.card == "X1"


def test_a_card_written_otherwise_is_refused_with_its_code() -> None:
    """A player who writes `10h` for `Th` reads the code to write."""
    at = table(pile="8c", hands=["Th 9c", "Jd"])
    for written, sentence in (
        ("10h", "there is no card 10h in this game; its code is Th"),
        ("X9", "there is no card X9 in this game"),
    ):
        with pytest.raises(UnknownCard) as caught:
            decide(play(0, written), game_of(SHITHEAD, at))
        assert reason_of(caught.value).text == sentence


def test_a_card_named_twice_in_a_pick_up_is_refused() -> None:
    """S7: one table card, or several of one rank, go along with the pile."""
    up = table(pile="Kc", hands=["", "9d"], up=["5c 7c"], down=["6c 6d"])
    scenario(QUEEN, given=up, when=take(0, "5c 5c"), then=refused("S7"))
    scenario(SHITHEAD, given=up, when=take(0, "5c 5c"), then=refused("P14"))
    stacked = table(pile="Kc", hands=["", "9d"], up=["7d+7c 8c"], down=["6c 6d"])
    for along in ("7c 7d", "7d 7c"):
        after = scenario(KARMA, given=stacked, when=take(0, along))
        assert set(after.seats[0].hand) == {"Kc", "7c", "7d"}


@pytest.mark.parametrize(
    ("ruleset", "hand", "laid", "rule"),
    [
        (LEEDS, "6c 9c", "6c 9c", "L8"),
        (LEEDS, "5c 4c", "5c 4c", "L17"),  # higher than five
        (LEEDS, "2c 5c", "2c 5c", "L17"),  # not two
        (LEEDS, "5c 6c 9c", "5c 6c 9c", "L17"),  # of one rank
        (SIX, "X1 9c", "X1 9c", "P20"),  # never with other cards
        (SIX, "8c 9c", "8c 9c", "P7"),
        (rules("guarducci"), "4c 6c", "4c 6c", "P34"),  # no run
        (rules("guarducci"), "X1 6c", "X1 6c", "P34"),
        (NO_SWITCHES, "4c 5c", "4c 5c", "P7"),  # a run, where there are none
    ],
)
def test_cards_of_several_ranks_are_refused_by_the_statement_closest_to_them(
    ruleset: Ruleset, hand: str, laid: str, rule: str
) -> None:
    """L8, P7: cards of one rank; fives, jokers and runs have statements of their own."""
    others = ["9s", "8s", "7s", "6s", "Ks"][: ruleset.seats_min - 1]
    given = table(pile="3d", hands=[hand, *others])
    scenario(ruleset, given=given, when=play(0, laid), then=refused(rule))


@pytest.mark.parametrize(
    ("switches", "pile", "card", "rule"),
    [
        ([], "8c", "7d", "P7"),
        ([2], "8c", "9d", "P34"),
        ([2], "7c", "4d", "P7"),
        ([1], "7c", "4d", "P34"),  # glass alone
        ([1], "9c 7c", "4d", "P34"),  # the nine is seen through glass
        ([1], "9c", "4d", "P7"),
        ([3], "8c", "4d", "P7"),
        ([3], "8c", "Td", "P34"),
    ],
)
def test_a_switch_that_is_off_is_not_cited(
    switches: list[int], pile: str, card: str, rule: str
) -> None:
    """P34: each switch is usable alone; without it the rank is played by the normal rule (P7)."""
    given = table(pile=pile, hands=[f"{card} Kc", "9s"])
    ruleset = rules("guarducci", switches=switches)
    scenario(ruleset, given=given, when=play(0, card), then=refused(rule))


def test_a_try_is_refused_if_the_seat_must_turn_or_cover() -> None:
    """P15: a seat with face-down cards only must turn one; S13: a queen must be covered first."""
    turning = table(pile="Kc", hands=["", "9d"], down=["4c"], stock="6c")
    scenario(EGILSSON, given=turning, when=try_stock(0), then=refused("P15"))
    none_left = table(pile="Kc", hands=["4c", "9d"])
    scenario(EGILSSON, given=none_left, when=try_stock(0), then=refused("P37"))
    trying = replace(QUEEN, turn=EGILSSON.turn)
    covering = table(pile="Qc", hands=["4c", "9d"], stock="6c", covering=True)
    scenario(trying, given=covering, when=try_stock(0), then=refused("S13"))


@pytest.mark.parametrize("command", [swap(0, "9c", "Kc"), lay(0, "9c"), ready(0)])
def test_custom_rules_cite_the_statements_that_they_have(command: Command) -> None:
    """Without a statement on the exchange, the one on laying out is cited."""
    own = replace(KARMA, cites={"deal.layout": "own"})
    at = table(pile="4c", hands=["9c 3c", "9d"], up=["Kc Kd"], down=["5c 5d"])
    scenario(own, given=at, when=command, then=refused("own"))


def test_before_play_custom_rules_cite_the_statements_that_they_have() -> None:
    """The statement on laying out comes before that on the exchange."""
    game, _ = dealt(replace(KARMA, cites={"deal.layout": "own"}), seats=2)
    scenario(game.ruleset, given=game, when=take(0), then=refused("own"))
    laid = scenario(game.ruleset, given=game, when=lay(0, *game.seats[0].hand[:3]))
    up, hand = laid.seats[0].hand[0], laid.seats[0].up_cards[0]
    scenario(game.ruleset, given=laid, when=swap(0, up, hand), then=refused("own"))
    both = replace(laid, ruleset=replace(KARMA, cites={"deal.layout": "a", "deal.exchange": "b"}))
    scenario(both.ruleset, given=both, when=swap(0, up, hand), then=refused("a"))
    only = replace(laid, ruleset=replace(KARMA, cites={"deal.exchange": "b"}))
    scenario(only.ruleset, given=only, when=swap(0, up, hand), then=refused("b"))
    plain, _ = dealt(replace(SHITHEAD, cites={"deal.layout": "own"}), seats=2)
    stacks = [str(card) for card in plain.seats[0].hand]
    scenario(plain.ruleset, given=plain, when=lay(0, *stacks), then=refused("own"))


def test_a_refused_opening_cites_the_opening_play_or_else_the_opener() -> None:
    """S3 states both in one; custom rules may state them separately."""
    at = table(hands=["4c 9h", "9c"], first_turn=True)
    for cites, rule in (
        ({"opening.play": "what", "opening.opener": "who"}, "what"),
        ({"opening.opener": "who"}, "who"),
    ):
        own = replace(QUEEN, cites=cites)
        scenario(own, given=at, when=play(0, "9h"), then=refused(rule))


@pytest.mark.parametrize(
    ("ruleset", "hand", "setting"),
    [
        (SIX, "X1 9c", "model.jokers"),
        (LEEDS, "5c 4c", "ranks.5.plays"),
        (RUNS, "4c 6c", "turn.runs"),
    ],
)
def test_cards_of_several_ranks_are_refused_by_their_own_statement_or_else_by_that_on_plays(
    ruleset: Ruleset, hand: str, setting: str
) -> None:
    """P20, L17, P34: custom rules may state nothing on jokers, companions or runs."""
    at = table(pile="3d", hands=[hand, "9s", "8s"])
    general = replace(ruleset, cites={"model.normal_play": "general"})
    scenario(general, given=at, when=play(0, hand), then=refused("general"))
    own = replace(general, cites={**general.cites, setting: "own"})
    scenario(own, given=at, when=play(0, hand), then=refused("own"))


def test_a_part_of_a_stack_is_refused_by_the_layout_or_else_by_the_model() -> None:
    """P31: a stack is played whole."""
    at = table(pile="4c", hands=["", "9d"], up=["7c+7d 8c"], down=["3c 3d"])
    stacked = replace(LAYOUT, deal=replace(LAYOUT.deal, layout=KARMA.deal.layout))
    scenario(stacked, given=at, when=play(0, "7c"), then=refused("1-stacks"))
    own = replace(stacked, cites={"deal.layout": "own"})
    scenario(own, given=at, when=play(0, "7c"), then=refused("own"))


def test_a_ten_on_a_seven_is_refused_by_the_statement_on_tens() -> None:
    """S12: a ten on anything but a seven; other high cards are refused by S10, on sevens."""
    at = table(pile="7c", hands=["Tc 9c 4c", "9d"])
    own = replace(QUEEN, cites={**QUEEN.cites, "ranks.T.not_on": "ten", "ranks.7.asks": "seven"})
    scenario(own, given=at, when=play(0, "Tc"), then=refused("ten"))
    scenario(own, given=at, when=play(0, "9c"), then=refused("seven"))
    together = replace(QUEEN, cites={"ranks.T.plays": "ten", "ranks.7.asks": "seven"})
    scenario(together, given=at, when=play(0, "Tc"), then=refused("ten"))
