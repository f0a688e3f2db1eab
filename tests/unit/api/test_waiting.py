"""The places for those who wait: as many as there are, and never all for one address."""

from __future__ import annotations

from service.api.waiting import Waiting


def test_there_are_as_many_places_as_were_said() -> None:
    waiting = Waiting(4)
    assert [waiting.take(f"10.0.0.{n}") for n in range(5)] == [True] * 4 + [False]
    waiting.leave("10.0.0.0")
    assert waiting.take("10.0.0.9")


def test_one_address_never_has_more_than_half_of_them() -> None:
    waiting = Waiting(4)
    assert [waiting.take("10.0.0.1") for _ in range(3)] == [True, True, False]
    assert waiting.take("10.0.0.2")
    waiting.leave("10.0.0.1")
    assert waiting.take("10.0.0.1")


def test_a_place_is_given_back_whatever_happens() -> None:
    waiting = Waiting(1)
    for _ in range(3):
        try:
            with waiting.place("10.0.0.1") as free:
                assert free
                with waiting.place("10.0.0.1") as second:
                    assert not second
                raise RuntimeError
        except RuntimeError:
            continue
