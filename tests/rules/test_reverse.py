"""Reverse Shithead: the statement R, first hand and reverse phase."""

from __future__ import annotations

import pytest

from service.domain.commands import Ready
from service.domain.decide import decide
from service.domain.events import CardsThrown
from service.domain.evolve import evolve
from service.domain.game import Game
from service.domain.legal import first_lay
from service.domain.ruleset import deck_of
from tests.rules.phrases import (
    burned,
    ended,
    failed,
    lay,
    out,
    play,
    played,
    take,
    took,
    turn_over,
)
from tests.rules.scenario import moves, refused, scenario
from tests.rules.tables import cards, dealt, rules, table

FIRST = rules("reverse")
SECOND = rules("reverse", hand=2)
JOKERS = rules("reverse", jokers=2)


def laid_out(game: Game) -> Game:
    """Return the game after every seat has laid its first cards and is ready."""
    for seat in range(len(game.seats)):
        for command in (first_lay(game, seat), Ready(seat=seat)):
            for event in decide(command, game):
                game = evolve(game, event)
    return game


def test_r_odd_hands_are_first_hands() -> None:
    """R: the odd hands of a table are first hands, and the even ones are second hands."""
    assert rules("reverse", hand=3).order == FIRST.order
    assert rules("reverse", hand=4).order == SECOND.order != FIRST.order


def test_r_a_seat_that_can_play_must_play_and_no_face_up_card_goes_along() -> None:
    """R, first hand: a player who can play must; a pick-up takes no face-up card along."""
    at = table(pile="9c", hands=["4d Kc", "9s"])
    scenario(FIRST, given=at, when=take(0), then=refused("R"))
    table_cards = table(pile="Kc", hands=["", "9s"], up=["4d 5d"], down=["6c 6d"])
    assert moves(FIRST, table_cards) == {"take"}
    scenario(FIRST, given=table_cards, when=take(0, "4d"), then=refused("R"))


@pytest.mark.parametrize("pile", ["Ac", "7c", "2c", ""])
def test_r_twos_and_tens_go_on_anything(pile: str) -> None:
    """R, first hand: twos and tens can be played on anything; a ten burns."""
    at = table(pile=pile, hands=["Td 2d 4d", "9s"])
    assert {"Td", "2d"} <= moves(FIRST, at)
    count = len(pile.split()) + 1
    then = (played(0, "Td", turn=0), burned(0, cause="rank", count=count))
    scenario(FIRST, given=at, when=play(0, "Td"), then=then)
    assert moves(FIRST, table(pile="Kc 2c", hands=["3d", "9s"])) == {"3d"}


def test_r_threes_are_thrown_before_the_laying_out() -> None:
    """R: from the dealer's left each seat throws all its threes and draws as many, repeatedly."""
    hands = ["3c Kc Qc Jc 9c 8c", "3d 3h Kd Qd Jd 9d", "Kh Qh Jh 9h 8h 7h"]
    game, events = dealt(FIRST, seats=3, dealer=0, hands=hands, stock="3s 4c 5c 6c")
    thrown = [e for e in events if isinstance(e, CardsThrown)]
    assert thrown == [
        CardsThrown(seat=1, cards=cards("3d 3h"), count=2),
        CardsThrown(seat=1, cards=cards("3s"), count=1),
        CardsThrown(seat=0, cards=cards("3c"), count=1),
    ]
    assert game.pile == cards("3d 3h 3s 3c")  # they burn nothing
    assert [len(s.hand) for s in game.seats] == [6, 6, 6]
    assert game.direction == 1
    after = laid_out(game)
    assert after.turn == 1  # left of seat 0, which threw last


def test_r_without_threes_fours_are_thrown() -> None:
    """R: if there are no threes, fours are thrown, and so on; only one rank is thrown."""
    hands = ["Kc Qc Jc 9c 8c 7c", "4d 5h Kd Qd Jd 9d", "Kh Qh Jh 9h 8h 7h"]
    _, events = dealt(FIRST, seats=3, dealer=1, hands=hands, stock="3s 4c 5c 6c")
    thrown = [e for e in events if isinstance(e, CardsThrown)]
    assert thrown == [CardsThrown(seat=1, cards=cards("4d"), count=1)]


def test_r_the_first_play_goes_onto_the_thrown_cards() -> None:
    """R: the opener must beat the thrown cards, here with a four drawn for a thrown five."""
    hands = ["5c Qc Jc 9c 8c 7c", "5d 6h Kd Qd Jd 9d"]
    game, _ = dealt(FIRST, seats=2, dealer=0, hands=hands, stock="4s 6s 5h 6c")
    game = laid_out(game)
    assert game.pile == cards("5d 5c")
    assert game.turn == 1
    assert cards("4s")[0] in game.seats[1].hand
    assert moves(FIRST, game, 1) == {"9d", "Jd"}


def test_r_stacks_may_be_laid() -> None:
    """R: cards of one rank may be stacked on one slot, and a stack is played whole."""
    hands = ["Kc Kd Qc Qd Jc 9c", "7d 6h Kh Qh Jd 9d"]
    game, _ = dealt(FIRST, seats=2, dealer=0, hands=hands)
    after = scenario(FIRST, given=game, when=lay(0, "Kc Kd", "Qc Qd", "Jc"))
    assert len(after.seats[0].hand) == 3
    scenario(FIRST, given=game, when=lay(0, "Kc Qc", "Qd", "Jc"), then=refused("R"))
    at = table(pile="9c", hands=["", "9s"], up=["Kc+Kd 4d"], down=["3c 3d"])
    assert moves(FIRST, at) == {"Kc Kd"}
    scenario(FIRST, given=at, when=play(0, "Kc"), then=refused("R"))


def test_r_a_jack_makes_the_next_seat_miss_a_turn() -> None:
    """R: n jacks skip n seats; with two players left one jack returns the turn."""
    at = table(pile="9c", hands=["Jc Jd 4c", "9s", "9h", "9d"])
    scenario(FIRST, given=at, when=play(0, "Jc"), then=[played(0, "Jc", turn=2)])
    scenario(FIRST, given=at, when=play(0, "Jc Jd"), then=[played(0, "Jc Jd", turn=3)])
    two = table(pile="9c", hands=["Jc Jd 4c", "9s"])
    scenario(FIRST, given=two, when=play(0, "Jc"), then=[played(0, "Jc", turn=0)])
    scenario(FIRST, given=two, when=play(0, "Jc Jd"), then=[played(0, "Jc Jd", turn=1)])


def test_r_a_joker_goes_on_anything_and_skips_a_seat() -> None:
    """R: a joker makes the next player miss a turn and is transparent; jokers are optional."""
    assert deck_of(FIRST, 3) == (1, 0, ())
    assert deck_of(JOKERS, 3) == (1, 2, ())
    at = table(pile="Qc", hands=["X1 4c", "9s", "Ks Js"])
    after = scenario(JOKERS, given=at, when=play(0, "X1"), then=[played(0, "X1", turn=2)])
    assert moves(JOKERS, after, 2) == {"Ks"}


def test_r_second_hand_the_ace_is_low_and_the_king_high() -> None:
    """R, reverse phase: the ace counts as one, and the king is the highest card."""
    at = table(pile="Qc", hands=["Ad Kd 3d", "9s"])
    assert moves(SECOND, at) == {"Kd"}
    ace = table(pile="Ac", hands=["Ad Kd 3d 4d", "9s"])
    assert moves(SECOND, ace) == {"Ad", "Kd", "3d", "4d"}


def test_r_second_hand_anything_but_an_ace_on_a_two() -> None:
    """R, reverse phase: a two goes on anything, and anything but an ace goes on it."""
    at = table(pile="Kc 2c", hands=["Ad Kd 3d Td 2d", "9s"])
    assert moves(SECOND, at) == {"Kd", "3d", "Td", "2d"}
    scenario(SECOND, given=at, when=play(0, "Ad"), then=refused("R", "P7"))
    assert "2d" in moves(SECOND, table(pile="Kc", hands=["2d", "9s"]))


@pytest.mark.parametrize(
    ("hands", "thrown"),
    [
        (["Kc Qc Jc 9c 8c 7c", "Qd 3d 4d 5d 6d 7d"], "Kc"),
        (["Jc Qc 4c 9c 8c 7c", "Jd 3d 4d 5d 6d 7d"], "Qc"),
        (["3c Ac 2c 3d Ad 2d", "Ah 2h 2s As 3h 3s"], "3c 3d 3h 3s"),
    ],
)
def test_r_second_hand_kings_are_thrown(hands: list[str], thrown: str) -> None:
    """R, reverse phase: without kings queens are thrown, and so on down to the three."""
    game, _ = dealt(SECOND, seats=2, dealer=1, hands=hands, stock="4s 4h 5s 5h 6s 6h")
    assert game.pile == cards(thrown)


def test_r_second_hand_aces_then_twos_are_thrown_last() -> None:
    """R, reverse phase: after the three come the ace and then the two."""
    assert "".join(SECOND.deal.throws) == "KQJT9876543A2"
    assert "".join(FIRST.deal.throws) == "3456789TJQKA2"


def test_r_second_hand_the_previous_player_takes_the_pile() -> None:
    """R: if a player cannot play, the previous one takes the pile; the player then leads."""
    at = table(hands=["Qc 4c", "3c 4d", "5d"])
    after = scenario(
        SECOND, given=at, when=[play(0, "Qc"), take(1)], then=[took(1, 1, turn=1, taker=0)]
    )
    assert set(after.seats[0].hand) == set(cards("4c Qc"))
    assert moves(SECOND, after, 1) == {"3c", "4d"}
    scenario(SECOND, given=at, when=[play(0, "4c"), take(1)], then=refused("R"))


def test_r_second_hand_without_a_previous_player_the_seat_takes_it() -> None:
    """R (reading): if the previous player is out, or none has played yet, the seat takes it."""
    gone = table(pile="Qc", hands=["4c", "5d", ""], out=[2], last=2)
    scenario(SECOND, given=gone, when=take(0), then=[took(0, 1, turn=1)])
    thrown = table(pile="Qc Qd", hands=["4c", "5d", "6d"], first_turn=True)
    scenario(SECOND, given=thrown, when=take(0), then=[took(0, 2, turn=1)])


def test_r_second_hand_a_seat_that_is_its_own_previous_player_takes_the_pile_and_leads() -> None:
    """R (reading): after a jack with two seats left, the seat takes the pile itself and leads."""
    at = table(hands=["Jc 4c", "3c 4d"])
    after = scenario(SECOND, given=at, when=play(0, "Jc"))
    scenario(SECOND, given=after, when=take(0), then=[took(0, 1, turn=0)])


def test_r_second_hand_after_a_failed_blind_card_the_previous_player_takes_the_pile() -> None:
    """R (reading): the seat takes the card it turned, and leads."""
    at = table(pile="3d Qc", hands=["", "5d", "6d"], down=["4c 4d"], last=2)
    after = scenario(
        SECOND, given=at, when=turn_over(0, 0), then=[failed(0, 0, "4c", 2, turn=0, taker=2)]
    )
    assert after.seats[0].hand == cards("4c")
    assert set(after.seats[2].hand) == set(cards("6d 3d Qc"))
    gone = table(pile="3d Qc", hands=["", "5d", ""], down=["4c 4d"], last=2, out=[2])
    scenario(SECOND, given=gone, when=turn_over(0, 0), then=[failed(0, 0, "4c", 2, turn=1)])


def test_r_the_last_seat_with_cards_is_the_shithead_of_either_hand() -> None:
    """R: the shithead of the match is the shithead of the second hand."""
    at = table(pile="9c", hands=["Qc", "3c"])
    then = (played(0, "Qc", turn=None), out(0, 1), *ended("shithead", 1, 0, 1))
    for ruleset in (FIRST, SECOND):
        scenario(ruleset, given=at, when=play(0, "Qc"), then=then)
