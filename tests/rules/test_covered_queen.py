"""The computer version: statements S1 to S4, from the deal to the follow-up."""

from __future__ import annotations

import pytest

from service.domain.commands import Command
from service.domain.legal import may_act, may_be_followed_up
from service.domain.ruleset import NextDealer, deck_of
from tests.rules.phrases import (
    burned,
    drew,
    pass_,
    play,
    played,
    swap,
    take,
    time_out,
    try_stock,
    turn_over,
)
from tests.rules.scenario import moves, not_your_turn, refused, scenario
from tests.rules.tables import all_ready, cards, dealt, rules, table

QUEEN = rules("covered-queen")


@pytest.mark.parametrize(("seats", "decks"), [(2, 1), (4, 1), (5, 2), (8, 2), (9, 3), (12, 3)])
def test_s1_one_deck_for_every_four_players(seats: int, decks: int) -> None:
    """S1 (reading): one deck for every four players or part of four."""
    assert deck_of(QUEEN, seats) == (decks, 0, ())
    assert (QUEEN.seats_min, QUEEN.seats_max) == (2, 12)


def test_s1_a_partial_deck_replaces_the_last_one() -> None:
    """S1: beyond four players a partial deck may be added; its cards carry the next number."""
    partial = rules("covered-queen", partial=["3", "4", "K"])
    assert deck_of(partial, 4) == (1, 0, ())
    assert deck_of(partial, 5) == (1, 0, ("3", "4", "K"))
    assert deck_of(partial, 9) == (2, 0, ("3", "4", "K"))
    game, _ = dealt(partial, seats=5)
    assert len(game.deck) == 64
    assert {c for c in game.deck if c.endswith("/2")} == {
        f"{r}{s}/2" for r in "34K" for s in "cdhs"
    }


def test_s2_three_each_and_a_free_exchange() -> None:
    """S2: three cards down, three up, three in hand; free exchange; the last shithead deals."""
    game, _ = dealt(QUEEN, seats=3, up=["4c 5c 6c"], hands=["Kc Qc Jc"])
    assert {(len(s.down), len(s.up), len(s.hand)) for s in game.seats} == {(3, 3, 3)}
    after = scenario(QUEEN, given=game, when=swap(0, "Kc Qc", "4c 5c"))
    assert after.seats[0].up_cards == cards("Kc Qc 6c")
    assert QUEEN.end.next_dealer is NextDealer.LOSER


@pytest.mark.parametrize(
    ("hands", "opener", "card"),
    [
        (["4d Kc Kd", "4c Ks Kh", "9c 9d 9h"], 1, "4c"),
        (["4h Kc Kd", "4s Ks Kh", "4d 9d 9h"], 1, "4s"),  # c s h d
        (["4h Kc Kd", "5c Ks Kh", "4d 9d 9h"], 0, "4h"),
        (["Tc 2c 3c", "Ac Kc Qc", "Td 2d 3d"], 1, "Qc"),
        (["Tc 2c 3c", "2d 3d 2h", "Td 2s 3h"], 0, "Tc"),  # 10 2 3 are the best
        (["2c 3c 3s", "3h 3d 2d", "2s 2h Ts"], 2, "Ts"),
        (["Jc 3c 3s", "3h 3d 2d", "2s 2h Ac"], 0, "Jc"),
    ],
)
def test_s3_the_worst_card_in_hand_opens(hands: list[str], opener: int, card: str) -> None:
    """S3: the worst card opens, by rank 4 5 6 7 8 9 J Q K A 10 2 3 and then suit c s h d."""
    game, _ = dealt(QUEEN, seats=3, hands=hands)
    game = all_ready(game)
    assert game.turn == opener
    assert all(card in move.split() for move in moves(QUEEN, game, opener))
    others = [c for c in hands[opener].split() if c != card]
    for wrong in others:
        scenario(QUEEN, given=game, when=play(opener, wrong), then=refused("S3"))


def test_s3_cards_of_its_rank_may_be_added_to_the_worst_card() -> None:
    """S3: the opening play contains the worst card, and others of its rank may be added."""
    game, _ = dealt(QUEEN, seats=2, hands=["4c 4d Kd", "9c 9d 9h"])
    assert moves(QUEEN, all_ready(game)) == {"4c", "4c 4d"}


def test_s3_the_worst_card_is_judged_after_the_exchange() -> None:
    game, _ = dealt(QUEEN, seats=2, up=["Ks", "Kh"], hands=["4c Kc Kd", "5c 9d 9h"])
    game = all_ready(scenario(QUEEN, given=game, when=swap(0, "4c", "Ks")))
    assert game.turn == 1
    assert moves(QUEEN, game, 1) == {"5c"}


def test_s3_of_two_equal_worst_cards_the_one_nearest_to_the_dealers_left_opens() -> None:
    """S3 (reading): if one hand has both, the player opens with either of them."""
    hands = ["4c Kc Kd", "9c 9d 9h", "4c/2 Ks Kh", "Jc", "Jd"]
    game, _ = dealt(QUEEN, seats=5, dealer=1, hands=hands)
    game = all_ready(game)
    assert game.turn == 2
    both = ["4c 4c/2 4d", "9c 9d 9h", "Ks Kh Kd", "Jc", "Jd"]
    game, _ = dealt(QUEEN, seats=5, dealer=1, hands=both)
    legal = {"4c", "4c/2", "4c 4c/2", "4c 4d", "4c/2 4d", "4c 4c/2 4d"}
    assert moves(QUEEN, all_ready(game)) == legal


def test_s3_a_queen_as_opener_is_covered() -> None:
    """S3: a queen as opener is covered as usual, by any card."""
    game, _ = dealt(
        QUEEN, seats=2, hands=["Qc 2c 3c", "Kc Kd Kh"], stock="3h 9h", fillers="KJA986745T23Q"
    )
    game = all_ready(game)
    after = scenario(
        QUEEN, given=game, when=play(0, "Qc"), then=[played(0, "Qc", turn=0), drew(0, 1)]
    )
    assert {"2c", "3c"} <= moves(QUEEN, after)


def test_s4_cards_drawn_of_the_rank_played_may_follow() -> None:
    """S4: cards of the rank played may follow if they were drawn for it; each play is refilled."""
    at = table(hands=["5c 5d 9d", "Kd 4d", "6h"], stock="5h 5s Jc")
    after = scenario(
        QUEEN, given=at, when=play(0, "5c"), then=[played(0, "5c", turn=1), drew(0, 1)]
    )
    assert may_act(after, 0)
    assert may_act(after, 1)
    assert moves(QUEEN, after, 0) == {"5h"}
    scenario(QUEEN, given=after, when=play(0, "5d"), then=refused("S4"))
    scenario(QUEEN, given=after, when=play(0, "5h 5d"), then=refused("S4"))
    scenario(QUEEN, given=after, when=take(0), then=refused())
    again = scenario(
        QUEEN, given=after, when=play(0, "5h"), then=[played(0, "5h", turn=1), drew(0, 1)]
    )
    assert moves(QUEEN, again, 0) == {"5s"}
    third = scenario(
        QUEEN, given=again, when=play(0, "5s"), then=[played(0, "5s", turn=1), drew(0, 1)]
    )
    assert moves(QUEEN, third, 0) == set()
    assert not may_act(third, 0)


def test_s4_the_fourth_burns_and_the_turn_returns() -> None:
    """S4: the fourth card of a rank burns the pile, and the same player starts a new one."""
    at = table(hands=["5c 5d 5h", "Kd 4d", "6h"], stock="5s Jc Jd")
    scenario(
        QUEEN,
        given=at,
        when=[play(0, "5c 5d 5h"), play(0, "5s")],
        then=[played(0, "5s", turn=0), burned(0, cause="set", count=4)],
    )


def test_s4_an_eight_and_a_follow_up_eight_skip_two_seats() -> None:
    """S4: the effects are those of all cards together, as if they had been played at once."""
    at = table(hands=["8c 9c 9d", "Kd", "6h", "6d"], stock="8h Jc")
    after = scenario(QUEEN, given=at, when=play(0, "8c"))
    assert after.turn == 2
    scenario(QUEEN, given=after, when=play(0, "8h"), then=[played(0, "8h", turn=3), drew(0, 1)])


def test_s4_a_king_and_a_follow_up_king_cancel_out() -> None:
    """S4: kings count from the direction before the first: two cancel out, three reverse."""
    at = table(hands=["Kc 9c 9d", "Ad", "6h"], stock="Kh Ks Jc")
    one = scenario(QUEEN, given=at, when=play(0, "Kc"))
    assert (one.turn, one.direction) == (2, -1)
    two = scenario(QUEEN, given=one, when=play(0, "Kh"), then=[played(0, "Kh", turn=1), drew(0, 1)])
    three = played(0, "Ks", turn=2, direction=-1)
    scenario(QUEEN, given=two, when=play(0, "Ks"), then=[three, drew(0, 1)])


def test_s4_if_the_turn_returns_to_the_same_seat_it_is_a_new_play() -> None:
    """S4: with two players an eight returns the turn, so the second eight is a play of its own."""
    at = table(hands=["8c 9c 9d", "Kd"], stock="8h Jc")
    after = scenario(QUEEN, given=at, when=play(0, "8c"))
    assert after.turn == 0
    assert moves(QUEEN, after) == {"8h", "9c", "9d", "9c 9d"}
    scenario(QUEEN, given=after, when=play(0, "8h"), then=[played(0, "8h", turn=0), drew(0, 1)])


@pytest.mark.parametrize("other", ["play", "take", "blind", "time-out"])
def test_s4_the_follow_up_is_open_until_another_seat_acts(other: str) -> None:
    """S4: a play, a pick-up, a turned card or a time-out of the next seat closes it."""
    hand = {"play": "Jd", "take": "4d", "blind": "", "time-out": "Jd"}[other]
    at = table(hands=["5c 9c 9d", hand, "6h"], down=["", "7d 4h"], stock="5h 9h")
    after = scenario(QUEEN, given=at, when=play(0, "5c"))
    assert moves(QUEEN, after, 0) == {"5h"}
    act: dict[str, Command] = {
        "play": play(1, "Jd"),
        "take": take(1),
        "blind": turn_over(1, 0),
        "time-out": time_out(1),
    }
    after = scenario(QUEEN, given=after, when=act[other])
    assert after.turn == 2
    assert moves(QUEEN, after, 0) == set()
    scenario(QUEEN, given=after, when=play(0, "5h"), then=not_your_turn())


def test_s4_there_is_no_follow_up_to_a_burn() -> None:
    """S4: after a burn the same player starts a new pile with any card."""
    at = table(pile="9s", hands=["Tc 9c 9d", "Kd"], stock="Th Jc")
    after = scenario(QUEEN, given=at, when=play(0, "Tc"))
    assert after.turn == 0
    assert "Th" in moves(QUEEN, after)
    scenario(QUEEN, given=after, when=[play(0, "9c"), play(0, "Th")], then=not_your_turn())


def test_s4_the_refill_is_to_three() -> None:
    """S4: draw until there are three cards in the hand."""
    at = table(hands=["4c 4d 4h 9c", "9s"], stock="Kc Kd Kh")
    scenario(
        QUEEN, given=at, when=play(0, "4c 4d 4h"), then=[played(0, "4c 4d 4h", turn=1), drew(0, 2)]
    )


def test_s4_a_cover_may_be_followed_up() -> None:
    """S4: cards of the rank of the cover may follow it; the queen below is not part of the play."""
    at = table(pile="9s", hands=["Qc 5c Jd", "Kd", "6h"], stock="Jc 5h Jh")
    after = scenario(QUEEN, given=at, when=[play(0, "Qc"), play(0, "5c")])
    assert after.turn == 1
    assert moves(QUEEN, after, 0) == {"5h"}


def test_s4_out_of_turn_only_a_follow_up_is_legal() -> None:
    """S4: the player may play on the cards just drawn, but the turn belongs to the next player."""
    at = table(hands=["5c 9c 9d", "Kd", "6h"], stock="5h Jc")
    after = scenario(QUEEN, given=at, when=play(0, "5c"))
    assert moves(QUEEN, after, 0) == {"5h"}
    for command in (take(0), pass_(0), try_stock(0), turn_over(0, 0)):
        scenario(QUEEN, given=after, when=command, then=refused("S4"))
    scenario(QUEEN, given=after, when=time_out(0), then=not_your_turn())


def test_s4_cards_drawn_after_a_queen_do_not_follow_its_cover() -> None:
    """S4 (reading): only cards drawn in the refill of the play itself may follow it."""
    at = table(pile="9s", hands=["Qc 5c Jd", "Kd", "6h"], stock="5h Jh")
    after = scenario(QUEEN, given=at, when=[play(0, "Qc"), play(0, "5c")])
    assert after.seats[0].hand == cards("Jd 5h Jh")
    assert moves(QUEEN, after, 0) == set()
    scenario(QUEEN, given=after, when=play(0, "5h"), then=not_your_turn())


@pytest.mark.parametrize(
    ("up", "stock", "may"),
    [
        ("", "Jc 5h 5s", True),  # a jack was drawn, which the others cannot see
        ("", "5s Js", True),  # the fourth five is burned, like every card that is not named
        ("", "Jc Js", False),  # all other fives are visible
        ("5s", "Jc Js", False),
        ("", "", False),  # nothing was drawn
    ],
)
def test_s4_the_possibility_of_a_follow_up_is_public(up: str, stock: str, *, may: bool) -> None:
    """Windows: bots wait for a follow-up only if one is possible by what everybody sees."""
    given = table(hands=["5c 5d 9d", "Kd", "6h"], up=["", up], down=["", "7d"], stock=stock)
    after = scenario(QUEEN, given=given, when=play(0, "5c 5d"))
    assert may_be_followed_up(after) is may
