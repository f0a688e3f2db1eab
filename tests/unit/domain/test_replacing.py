"""`replace` of the game against the one of the standard library."""

from __future__ import annotations

import dataclasses

import pytest

from service.domain.cards import Card
from service.domain.events import CardsDrawn, SeatReady
from service.domain.game import SeatState
from service.domain.replacing import replace

STATE = SeatState(
    hand=(Card("4c"), Card("7d")), up=((Card("Ks"),), (Card("2h"),)), down=(3, None), time_outs=1
)


def test_it_does_what_the_standard_library_does() -> None:
    pairs = (
        (replace(STATE), dataclasses.replace(STATE)),
        (replace(STATE, hand=()), dataclasses.replace(STATE, hand=())),
        (replace(STATE, ready=True, place=2), dataclasses.replace(STATE, ready=True, place=2)),
    )
    for ours, theirs in pairs:
        assert (ours, hash(ours), repr(ours)) == (theirs, hash(theirs), repr(theirs))


def test_the_value_it_came_from_stays_as_it_was() -> None:
    replace(STATE, hand=())
    assert len(STATE.hand) == 2


def test_a_field_that_does_not_exist_is_refused() -> None:
    with pytest.raises(TypeError, match="cards"):
        replace(STATE, cards=())  # type: ignore[call-arg] # the claim


def test_a_value_of_one_field_is_made_new() -> None:
    with pytest.raises(TypeError, match="SeatReady"):
        replace(SeatReady(seat=0), seat=1)


def test_a_class_that_does_something_when_made_is_refused() -> None:
    @dataclasses.dataclass(frozen=True, slots=True)
    class Checked:
        low: int
        high: int

        def __post_init__(self) -> None:
            assert self.low < self.high

    with pytest.raises(TypeError, match="Checked"):
        replace(Checked(1, 2), low=3)


def test_other_kinds_are_told_apart() -> None:
    drawn = CardsDrawn(seat=0, count=2)
    assert replace(drawn, count=3) == CardsDrawn(seat=0, count=3)
    assert replace(STATE, ready=True).ready
