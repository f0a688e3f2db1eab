"""Ratings: which hands count, what a place is worth, newcomers, bots in several seats."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.audit.ratings import FinishedHand, Rating, Standings, bot_id
from tests.changed import replace
from tests.examples import examples

ANN, BOB, CAT = "ann", "bob", "cat"
HAND = FinishedHand(
    ruleset="leeds",
    seats=(ANN, BOB, CAT),
    reason="shithead",
    places=(2, 0, 1),
    shithead=1,
    cad=False,
)


def after(*hands: FinishedHand) -> dict[str, Rating]:
    standings = Standings()
    for hand in hands:
        standings.add(hand)
    return dict(standings.of("leeds"))


def test_the_first_out_gains_and_the_shithead_loses() -> None:
    found = after(HAND)
    assert found[CAT].mu > found[ANN].mu > found[BOB].mu
    assert [who for who, _ in found.items()] == [CAT, ANN, BOB]
    assert all(rating.sigma < Rating().sigma for rating in found.values())
    assert {rating.hands for rating in found.values()} == {1}


def test_a_rating_is_that_of_the_library() -> None:
    """The numbers of OpenSkill 6 for a hand of newcomers: the model must not change unnoticed."""
    numbers = [after(HAND)[who].numbers for who in (CAT, ANN, BOB)]
    assert [one["mu"] for one in numbers] == [27.869, 25.7173, 21.4137]
    assert [one["sigma"] for one in numbers] == [8.2052, 8.0582, 8.0582]
    assert numbers[0]["rating"] == 3.2533


@pytest.mark.parametrize(
    "changes",
    [
        {"reason": None, "places": (), "shithead": None},
        {"reason": "stalemate", "places": (), "shithead": None},
        {"cad": True},
    ],
)
def test_aborted_hands_stalemates_and_hands_of_a_cad_are_not_rated(
    changes: dict[str, object],
) -> None:
    assert after(replace(HAND, **changes)) == {}


def test_seats_without_a_place_tie_and_who_gave_up_is_last() -> None:
    winner = after(replace(HAND, reason="winner", places=(1,), shithead=None))
    assert winner[BOB].mu > winner[ANN].mu == winner[CAT].mu
    given_up = after(replace(HAND, reason="forfeit", places=(), shithead=0))
    assert given_up[BOB].mu == given_up[CAT].mu > given_up[ANN].mu
    late = after(replace(HAND, reason="forfeit", places=(2,), shithead=0))
    assert late[CAT].mu > late[BOB].mu > late[ANN].mu


def plackett_luce(
    ratings: list[tuple[float, float]], ranks: list[int]
) -> list[tuple[float, float]]:
    """Return mu and sigma after a hand by the formulas of Weng and Lin (2011), written anew."""
    beta, kappa, tau = 25 / 6, 0.0001, 25 / 300
    spread = [(mu, sigma**2 + tau**2) for mu, sigma in ratings]
    c = math.sqrt(sum(variance + beta**2 for _, variance in spread))
    strength = [math.exp(mu / c) for mu, _ in spread]
    found = []
    for i, (mu, variance) in enumerate(spread):
        omega = delta = 0.0
        for q, rank in enumerate(ranks):
            if rank <= ranks[i]:
                left = sum(one for one, other in zip(strength, ranks, strict=True) if other >= rank)
                share, tied = strength[i] / left, ranks.count(rank)
                omega += ((q == i) - share) / tied
                delta += share * (1 - share) / tied
        shrink = 1 - math.sqrt(variance) / c * variance / c**2 * delta
        found.append((mu + variance / c * omega, math.sqrt(variance * max(shrink, kappa))))
    return found


def test_seats_that_share_a_rank_are_rated_by_the_formulas_without_averaging() -> None:
    """The example of the format of dumps, section 6; the second hand begins with other ratings."""
    tie = replace(HAND, reason="winner", places=(0,), shithead=None)
    first = after(tie)
    assert [(round(first[one].mu, 4), round(first[one].sigma, 4)) for one in (ANN, BOB, CAT)] == [
        (27.8690, 8.2052), (23.5655, 8.0582), (23.5655, 8.0582),
    ]  # fmt: skip
    second = replace(HAND, reason="winner", places=(2,), shithead=None)
    assert after(tie, second)[ANN].mu != after(tie, second)[BOB].mu, "no averaging"
    state = [(25.0, 25 / 3)] * 3
    for hand, ranks in ((tie, [0, 1, 1]), (second, [1, 1, 0])):
        state = plackett_luce(state, ranks)
        assert [int(rank) for rank in hand.ranks] == ranks
    found = after(tie, second)
    for one, (mu, sigma) in zip((ANN, BOB, CAT), state, strict=True):
        assert (found[one].mu, found[one].sigma) == pytest.approx((mu, sigma), rel=1e-12)


def test_an_erased_player_is_a_newcomer_in_each_hand_and_has_no_rating() -> None:
    erased = replace(HAND, seats=(ANN, BOB, None))
    found = after(erased, erased)
    assert set(found) == {ANN, BOB}
    newcomer = replace(HAND, seats=(ANN, BOB, "new 1"))
    assert found == {
        who: rating
        for who, rating in after(newcomer, replace(newcomer, seats=(ANN, BOB, "new 2"))).items()
        if who in (ANN, BOB)
    }


def test_the_seats_of_one_bot_count_once_with_their_mean() -> None:
    bot = bot_id("greedy")
    twice = after(replace(HAND, seats=(ANN, bot, bot)))
    apart = after(HAND)
    assert twice[bot].mu == (apart[BOB].mu + apart[CAT].mu) / 2
    assert twice[bot].hands == 1
    assert twice[ANN] == apart[ANN]


def test_a_rating_is_provisional_below_ten_hands() -> None:
    assert [after(*[HAND] * n)[ANN].provisional for n in (1, 9, 10)] == [True, True, False]


def test_rulesets_are_rated_apart() -> None:
    standings = Standings()
    standings.add(HAND)
    standings.add(replace(HAND, ruleset="threes", places=(1, 0, 2), shithead=2))
    assert standings.rulesets == ["leeds", "threes"]
    assert dict(standings.of("leeds"))[CAT].mu > 25 > dict(standings.of("threes"))[CAT].mu


@examples(20)
@given(st.lists(st.permutations([0, 1, 2]), min_size=1, max_size=8), st.randoms())
def test_ratings_that_continue_from_stored_numbers_are_those_of_all_hands(
    places: list[list[int]], chance: random.Random
) -> None:
    """The service counts a few hands at a time and stores the numbers between."""
    hands = [replace(HAND, places=tuple(one), shithead=one[-1]) for one in places]
    cut = chance.randint(0, len(hands))
    continued = Standings()
    for who, rating in after(*hands[:cut]).items():
        continued.put("leeds", who, rating)
    for hand in hands[cut:]:
        continued.add(hand)
    assert dict(continued.of("leeds")) == after(*hands)
