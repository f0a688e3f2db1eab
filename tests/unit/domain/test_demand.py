"""The demand of a pile and the cards that meet it, independent of the catalogue."""

from __future__ import annotations

import pytest

from service.domain.cards import JOKER, Card, Rank
from service.domain.demand import Demand, demand_of, fits, fitting_ranks, satisfies
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
    """The rank of the top card determines the demand."""
    rules = asking(asks=asks)
    demand = demand_of(rules, (Card("Kc"), Card("7c")))
    assert "".join(r for r in rules.order if satisfies(rules, r, demand)) == fitting


def test_a_transparent_card_asks_what_the_card_below_asks() -> None:
    """The demand is read from the top down, passing over transparent cards."""
    rules = asking(asks=Asks.TRANSPARENT)
    assert demand_of(rules, (Card("Jc"), Card("7c"), Card("7d"))).rank == JACK
    assert demand_of(rules, (Card("7c"), Card("Jc"))).rank == JACK
    assert demand_of(rules, (Card("7c"), Card("7d"))).kind is Asks.ANYTHING
    assert demand_of(rules, ()).kind is Asks.ANYTHING


def test_an_exception_bars_a_rank_that_goes_on_anything() -> None:
    """A rank may be played on anything, perhaps with exceptions."""
    rules = asking(plays=Plays.ANYTHING, not_on=(EIGHT,))
    assert fits(rules, SEVEN, demand_of(rules, (Card("Kc"),)))
    assert not fits(rules, SEVEN, demand_of(rules, (Card("8c"),)))


def test_a_rank_that_needs_a_companion_never_fits_alone() -> None:
    """As a five under Leeds Rules (L18), here a seven."""
    rules = asking(plays=Plays.WITH_COMPANION)
    assert not fits(rules, SEVEN, demand_of(rules, ()))


def test_a_card_may_ask_as_another_rank() -> None:
    """P34: a joker may have the value of a seven; here a seven has that of a jack."""
    rules = asking(asks_as=JACK)
    demand = demand_of(rules, (Card("7c"),))
    assert (demand.rank, demand.asked_by) == (JACK, SEVEN)


def test_a_pile_that_asks_nothing_names_the_card_and_the_setting() -> None:
    """An empty pile, a card that anything beats, and a joker, which has no height."""
    rules = asking(asks=Asks.ANYTHING)
    assert demand_of(rules, ()) == Demand(kind=Asks.ANYTHING, setting="model.empty_pile")
    assert demand_of(rules, (Card("7c"),)) == Demand(
        kind=Asks.ANYTHING, asked_by=SEVEN, setting="ranks.7.asks"
    )
    assert demand_of(rules, (Card("X1"),)) == Demand(
        kind=Asks.ANYTHING, asked_by=JOKER, setting="ranks.X.asks"
    )
    assert fits(rules, Rank("2"), demand_of(rules, (Card("X1"),)))


def test_a_pile_of_transparent_cards_asks_by_its_bottom_card() -> None:
    """P34: transparent cards alone, with a seven at the bottom, ask for at least seven."""
    glass = {"asks": Asks.TRANSPARENT}
    ranks = {
        SEVEN: RankRule(alone=Asks.AT_LEAST, **glass),  # type: ignore[arg-type] # as RankRule takes it
        JOKER: RankRule(**glass),  # type: ignore[arg-type] # likewise
    }
    rules = Ruleset(id="custom-test", seats_min=2, seats_max=2, ranks=ranks)
    assert demand_of(rules, (Card("7c"), Card("X1"))).rank == SEVEN
    assert demand_of(rules, (Card("X1"), Card("7c"))).rank is None


def test_a_rank_outside_the_order_satisfies_only_what_asks_nothing() -> None:
    """Jokers have no height; by the normal rule alone they go on nothing."""
    rules = asking(asks=Asks.AT_LEAST)
    assert satisfies(rules, JOKER, demand_of(rules, (Card("7c"),))) is False
    assert satisfies(rules, JOKER, demand_of(rules, ())) is True


def test_fits_returns_a_boolean() -> None:
    companion = asking(plays=Plays.WITH_COMPANION)
    assert fits(companion, SEVEN, demand_of(companion, ())) is False
    barred = asking(plays=Plays.ANYTHING, not_on=(EIGHT,))
    assert fits(barred, SEVEN, demand_of(barred, (Card("8c"),))) is False


def test_the_ranks_that_fit_are_listed_low_to_high_the_joker_last() -> None:
    """A five with companions is listed too: it may be played on anything."""
    ranks = {
        Rank("5"): RankRule(plays=Plays.WITH_COMPANION),
        JOKER: RankRule(plays=Plays.ANYTHING),
    }
    order = tuple(Rank(r) for r in "A23456789TJQK")
    rules = Ruleset(id="custom-test", seats_min=2, seats_max=2, ranks=ranks, order=order)
    assert "".join(fitting_ranks(rules, demand_of(rules, (Card("Jc"),)))) == "5JQKX"
    assert "".join(fitting_ranks(rules, demand_of(rules, ()))) == "A23456789TJQKX"
    assert JOKER not in fitting_ranks(asking(), demand_of(rules, (Card("Jc"),)))
