"""What a pile asks and what answers it, apart from any ruleset of the catalogue."""

from __future__ import annotations

import pytest

from service.domain.cards import Card, Rank
from service.domain.demand import demand_of, fits, satisfies
from service.domain.ruleset import Asks, Plays, RankRule, Ruleset

SEVEN, EIGHT, JACK = Rank("7"), Rank("8"), Rank("J")


def asking(**rule: object) -> Ruleset:
    """Return rules by which a seven is special."""
    ranks = {SEVEN: RankRule(**rule)}  # type: ignore[arg-type] # as RankRule takes them
    return Ruleset(id="custom-test", seats_min=2, seats_max=2, ranks=ranks)


@pytest.mark.parametrize(
    ("asks", "fitting"),
    [
        (Asks.AT_LEAST, "789TJQKA"),
        (Asks.AT_MOST, "234567"),
        (Asks.BELOW, "23456"),
        (Asks.ANYTHING, "23456789TJQKA"),
    ],
)
def test_a_rank_asks_for_at_least_at_most_below_or_anything(asks: Asks, fitting: str) -> None:
    """Demand: the top card's rank says what is asked."""
    rules = asking(asks=asks)
    demand = demand_of(rules, (Card("Kc"), Card("7c")))
    assert "".join(r for r in rules.order if satisfies(rules, r, demand)) == fitting


def test_a_transparent_card_hands_on_what_lies_below() -> None:
    """Demand: read from the top down, passing over transparent cards."""
    rules = asking(asks=Asks.TRANSPARENT)
    assert demand_of(rules, (Card("Jc"), Card("7c"), Card("7d"))).rank == JACK
    assert demand_of(rules, (Card("7c"), Card("Jc"))).rank == JACK
    assert demand_of(rules, (Card("7c"), Card("7d"))).kind is Asks.ANYTHING
    assert demand_of(rules, ()).kind is Asks.ANYTHING


def test_an_exception_bars_a_rank_that_goes_on_anything() -> None:
    """A normal play: on anything, perhaps with exceptions."""
    rules = asking(plays=Plays.ANYTHING, not_on=(EIGHT,))
    assert fits(rules, SEVEN, demand_of(rules, (Card("Kc"),)))
    assert not fits(rules, SEVEN, demand_of(rules, (Card("8c"),)))


def test_a_rank_that_needs_a_companion_never_fits_alone() -> None:
    """L18, for any rank."""
    rules = asking(plays=Plays.WITH_COMPANION)
    assert not fits(rules, SEVEN, demand_of(rules, ()))


def test_a_card_may_ask_as_another_rank() -> None:
    """P34: a joker with the value of a seven."""
    rules = asking(asks_as=JACK)
    demand = demand_of(rules, (Card("7c"),))
    assert (demand.rank, demand.asked_by) == (JACK, SEVEN)
