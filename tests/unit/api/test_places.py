"""Places: as many as there are, and never all for one address."""

from __future__ import annotations

from service.api.places import Places


def test_there_are_as_many_places_as_were_said() -> None:
    places = Places(4)
    assert [places.take(f"10.0.0.{n}") for n in range(5)] == [True] * 4 + [False]
    places.leave("10.0.0.0")
    assert places.take("10.0.0.9")


def test_one_address_never_has_more_than_half_of_them() -> None:
    places = Places(4)
    assert [places.take("10.0.0.1") for _ in range(3)] == [True, True, False]
    assert places.take("10.0.0.2")
    places.leave("10.0.0.1")
    assert places.take("10.0.0.1")


def test_a_place_is_given_back_whatever_happens() -> None:
    places = Places(1)
    for _ in range(3):
        try:
            with places.place("10.0.0.1") as free:
                assert free
                with places.place("10.0.0.1") as second:
                    assert not second
                raise RuntimeError
        except RuntimeError:
            continue
