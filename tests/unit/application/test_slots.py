"""Semaphores of the API: a fixed number of slots, of which one address gets a part."""

from __future__ import annotations

from service.application.quotas import Slots


def test_no_more_than_all_slots_can_be_acquired() -> None:
    slots = Slots("places", 4)
    assert [slots.acquire(f"10.0.0.{n}") for n in range(5)] == [True] * 4 + [False]
    slots.release("10.0.0.0")
    assert slots.acquire("10.0.0.9")


def test_one_address_never_has_more_than_half_of_the_slots() -> None:
    slots = Slots("places", 4)
    assert [slots.acquire("10.0.0.1") for _ in range(3)] == [True, True, False]
    assert slots.acquire("10.0.0.2")
    slots.release("10.0.0.1")
    assert slots.acquire("10.0.0.1")


def test_a_slot_is_released_after_an_exception() -> None:
    slots = Slots("places", 1)
    for _ in range(3):
        try:
            with slots.slot("10.0.0.1") as free:
                assert free
                with slots.slot("10.0.0.1") as second:
                    assert not second
                raise RuntimeError
        except RuntimeError:
            continue


def test_the_slots_that_an_address_holds_are_known() -> None:
    slots = Slots("places", 2, per_address=1)
    assert slots.acquire("10.0.0.1")
    assert (slots.held("10.0.0.1"), slots.held("10.0.0.2")) == (1, 0)
    slots.release("10.0.0.1")
    assert slots.held("10.0.0.1") == 0
