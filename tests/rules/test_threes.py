"""The Game of Threes and its two house variants: statements T1 to T14."""

from __future__ import annotations

import pytest

from service.domain.commands import Command
from service.domain.decide import decide
from service.domain.events import PlayStarted
from service.domain.legal import may_act
from service.domain.ruleset import Ruleset, deck_of
from tests.rules.phrases import (
    burned,
    drew,
    failed,
    pass_,
    play,
    played,
    ready,
    swap,
    take,
    took,
    try_stock,
    turn_over,
    turned,
)
from tests.rules.scenario import moves, not_your_turn, refused, scenario
from tests.rules.tables import all_ready, cards, dealt, rules, table

THREES = rules("threes")
HOUSE = rules("threes-house")
KATASTROPHIC = rules("threes-katastrophic")
EVERY = (THREES, HOUSE, KATASTROPHIC)


def test_t1_two_to_five_play_with_one_deck() -> None:
    """T1 (reading): as many players as one deck is enough for."""
    for ruleset in EVERY:
        assert (ruleset.seats_min, ruleset.seats_max) == (2, 5)
        assert deck_of(ruleset, 5) == (1, 0, ())


def test_t2_three_cards_each_and_a_free_exchange() -> None:
    """T2: three cards down, three up, three in hand; exchange freely."""
    game, _ = dealt(THREES, seats=2, up=["4c 5c 6c"], hands=["Kc Qc Jc"])
    assert {(len(s.down), len(s.up), len(s.hand)) for s in game.seats} == {(3, 3, 3)}
    after = scenario(THREES, given=game, when=swap(0, "Kc Qc Jc", "4c 5c 6c"))
    assert after.seats[0].up_cards == cards("Kc Qc Jc")


@pytest.mark.parametrize(
    ("hands", "may", "rank"),
    [
        (["Kc Qc 3c", "Kd Qd 3d", "Kh Qh 4h"], {0, 1}, "3"),
        (["Kc Qc 5c", "Kd Qd 6d", "Kh Qh 4h"], {2}, "4"),
        (["Ac 2c 2d", "Ad 2h 2s", "Ah As Kd"], {2}, "K"),
        (["Ac 2c Kc", "Kd 2d 2h", "Kh Ks Qd"], {2}, "Q"),
    ],
)
def test_t3_a_seat_with_a_three_may_start(hands: list[str], may: set[int], rank: str) -> None:
    """T3: a three in hand may start, first come, first served; else a four, and so on."""
    game, _ = dealt(THREES, seats=3, up=["3s 3h"], hands=hands)
    game = all_ready(game)
    assert game.turn is None
    assert {s for s in range(3) if may_act(game, s)} == may
    for seat in may:
        assert all(c[0] == rank for m in moves(THREES, game, seat) for c in m.split())
        other = next(c for c in hands[seat].split() if c[0] != rank)
        scenario(THREES, given=game, when=play(seat, other), then=refused("T3"))
    for seat in {0, 1, 2} - may:
        scenario(THREES, given=game, when=play(seat, hands[seat][:2]), then=not_your_turn())


@pytest.mark.parametrize(
    ("command", "rule"),
    [
        (take(0), "1-empty-pile"),
        (pass_(0), "1-pass"),
        (try_stock(0), "1-try"),
        (turn_over(0, 0), "T9"),
    ],
)
def test_t3_an_opening_must_be_a_play(command: Command, rule: str) -> None:
    """The refusal cites the statement that would refuse the command in any turn."""
    game, _ = dealt(THREES, seats=2, hands=["3c Kc Qc", "Kd Qd Jd"])
    scenario(THREES, given=all_ready(game), when=command, then=refused(rule))


def test_t3_play_starts_without_a_named_opener() -> None:
    """T3: first come, first served, even if only one player has a three."""
    game, _ = dealt(THREES, seats=2, hands=["3c Kc Qc", "Kd Qd Jd"])
    game = scenario(THREES, given=game, when=ready(0))
    assert decide(ready(1), game)[-1] == PlayStarted(turn=None)


def test_t3_the_first_accepted_opening_counts() -> None:
    """T3: first come, first served; play goes on from the player who came first."""
    game, _ = dealt(THREES, seats=3, hands=["3c Kc Qc", "Kd Qd Jd", "3d 3h Jc"], stock="9c 9d")
    game = all_ready(game)
    assert moves(THREES, game, 2) == {"3d", "3h", "3d 3h"}
    after = scenario(
        THREES, given=game, when=play(2, "3d 3h"), then=[played(2, "3d 3h", turn=0), drew(2, 2)]
    )
    scenario(THREES, given=game, when=[play(0, "3c"), play(2, "3d")], then=not_your_turn())
    assert moves(THREES, after, 0) == {"3c", "Kc", "Qc"}


def test_t3_the_opener_is_judged_after_the_exchange() -> None:
    """T3: a three taken into the hand counts, and one laid on the table does not."""
    game, _ = dealt(THREES, seats=2, up=["3c", "Ks"], hands=["Kc Qc Jc", "3d Qd Jd"])
    game = scenario(THREES, given=game, when=[swap(0, "Kc", "3c"), swap(1, "3d", "Ks")])
    game = all_ready(game)
    assert [may_act(game, s) for s in (0, 1)] == [True, False]


def test_t4_a_play_is_equal_or_higher_or_special() -> None:
    """T4: equal or higher, or special; several of one rank; the ace is high."""
    at = table(pile="9c", hands=["9d 8d Jd Jh Ad Td 2d", "9s"])
    assert moves(THREES, at) == {"9d", "Jd", "Jh", "Jd Jh", "Ad", "Td", "2d"}
    scenario(THREES, given=at, when=play(0, "8d"), then=refused("T4"))
    scenario(THREES, given=at, when=play(0, "Jd Ad"), then=refused("T4"))


def test_t5_the_hand_is_refilled_to_three() -> None:
    """T5: draw until there are three cards in the hand."""
    at = table(hands=["4c 4d 4h 9c", "9s"], stock="Kc Kd Kh")
    scenario(THREES, given=at, when=play(0, "4c"), then=[played(0, "4c", turn=1)])
    then = (played(0, "4c 4d 4h", turn=1), drew(0, 2))
    scenario(THREES, given=at, when=play(0, "4c 4d 4h"), then=then)


def test_t6_a_seat_that_cannot_play_takes_the_pile() -> None:
    """T6: unable: take the pile; the next player plays anything."""
    at = table(pile="9c Kc", hands=["4d", "4s Ks"])
    after = scenario(THREES, given=at, when=take(0), then=[took(0, 2, turn=1)])
    assert moves(THREES, after, 1) == {"4s", "Ks"}


def test_t7_a_seat_that_can_play_must_play() -> None:
    """T7: a player who can play must play, even a two or a ten."""
    for card in ("Ad", "2d", "Td"):
        at = table(pile="Kc", hands=[f"4d {card}", "4s"])
        scenario(THREES, given=at, when=take(0), then=refused("T7"))


def test_t8_a_pick_up_goes_to_the_hand_without_a_face_up_card() -> None:
    """T8: face-up cards come next; the pile goes to the hand, and no table card goes along."""
    at = table(pile="Kc", hands=["", "4s"], up=["4d 5d"], down=["3c 3d"])
    assert moves(THREES, at) == {"take"}
    scenario(THREES, given=at, when=take(0, "4d"), then=refused("T8"))
    after = scenario(THREES, given=at, when=take(0), then=[took(0, 1, turn=1)])
    assert after.seats[0].hand == cards("Kc")
    scenario(THREES, given=after, when=[play(1, "4s")])


def test_t9_face_down_cards_are_played_last() -> None:
    """T9: face-down cards last, picked at random; one that does not fit goes to the hand."""
    at = table(pile="Kc", hands=["", "4s"], down=["4d Ad"])
    assert moves(THREES, at) == {"turn 0", "turn 1"}
    scenario(THREES, given=at, when=turn_over(0, 0), then=[failed(0, 0, "4d", 1, turn=1)])
    scenario(THREES, given=at, when=turn_over(0, 1), then=[turned(0, 1, "Ad", turn=1)])


def test_t10_a_two_at_any_time_and_anything_on_it() -> None:
    """T10: a two can be played at any time, and anything on a two."""
    assert "2d" in moves(THREES, table(pile="Ac", hands=["2d", "9s"]))
    assert moves(THREES, table(pile="Ac 2c", hands=["3d", "9s"])) == {"3d"}


@pytest.mark.parametrize("pile", ["Ac", "7c", "2c", ""])
def test_t11_a_ten_clears_at_any_time(pile: str) -> None:
    """T11: a ten can be played at any time and clears; the same player plays again."""
    scenario(
        THREES,
        given=table(pile=pile, hands=["Td 4d", "9s"]),
        when=play(0, "Td"),
        then=[played(0, "Td", turn=0), burned(0, cause="rank", count=len(pile.split()) + 1)],
    )


def test_t12_four_of_one_rank_clear() -> None:
    """T12: four of one rank directly on one another clear, by one or several players."""
    several = table(hands=["9c 9d 4c", "9h 9s 4d"])
    scenario(
        THREES,
        given=several,
        when=[play(0, "9c 9d"), play(1, "9h 9s")],
        then=[played(1, "9h 9s", turn=1), burned(1, cause="set", count=4)],
    )


@pytest.mark.parametrize(
    ("ruleset", "pile"), [(HOUSE, "9c 9d Jc 9h"), (KATASTROPHIC, "9c 9d 8c 9h")]
)
def test_t12_a_transparent_card_between_them_breaks_a_set(ruleset: Ruleset, pile: str) -> None:
    """T12: four of one rank must lie directly on one another."""
    given = table(pile=pile, hands=["9s 4d", "Ks"])
    scenario(ruleset, given=given, when=play(0, "9s"), then=[played(0, "9s", turn=1)])


def test_t13_a_jack_mirrors_the_card_below() -> None:
    """T13: a jack on anything mirrors the card below; alone it asks for nothing."""
    at = table(pile="Ac", hands=["Jd 4d", "Ks As Js"])
    after = scenario(HOUSE, given=at, when=play(0, "Jd"), then=[played(0, "Jd", turn=1)])
    assert moves(HOUSE, after, 1) == {"As", "Js"}
    low = table(pile="4c Jc Jh", hands=["3d 4d Kd", "9s"])
    assert moves(HOUSE, low) == {"4d", "Kd"}
    empty = table(pile="Jc", hands=["3d 4d", "9s"])
    assert moves(HOUSE, empty) == {"3d", "4d"}


def test_t14_an_eight_reverses_and_is_transparent() -> None:
    """T14: an eight on anything reverses, and the card below counts; two eights cancel out."""
    at = table(pile="Ac", hands=["8d 8h Jd", "Ks", "As Js"])
    after = scenario(
        KATASTROPHIC, given=at, when=play(0, "8d"), then=[played(0, "8d", turn=2, direction=-1)]
    )
    assert moves(KATASTROPHIC, after, 2) == {"As"}
    scenario(KATASTROPHIC, given=at, when=play(0, "8d 8h"), then=[played(0, "8d 8h", turn=1)])
    scenario(KATASTROPHIC, given=at, when=play(0, "Jd"), then=refused("T4"))
