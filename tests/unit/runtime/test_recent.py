"""The bounded cache: what it keeps, and what it removes first."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from service.runtime.recent import Recent


def test_the_least_recently_used_value_is_removed_first() -> None:
    cache = Recent[str, int](2)
    cache.keep("a", 1)
    cache.keep("b", 2)
    assert cache.get("a") == 1
    cache.keep("c", 3)
    assert cache.entries() == [("a", 1), ("c", 3)]


def test_a_value_that_the_caller_prefers_is_not_replaced() -> None:
    """A thread that is late must not put an older version in place of a newer one."""
    cache = Recent[str, int](2)
    cache.keep("a", 5)
    cache.keep("a", 4, unless=lambda known: known > 4)
    assert cache.get("a") == 5
    cache.keep("a", 6, unless=lambda known: known > 6)
    assert cache.get("a") == 6


def test_values_unused_for_some_time_are_removed() -> None:
    now = 0.0
    cache = Recent[str, int](10, unused_seconds=5, clock=lambda: now)
    cache.keep("a", 1)
    cache.keep("b", 2)
    now = 4.0
    assert cache.get("a") == 1
    now = 8.0
    cache.keep("c", 3)
    assert [key for key, _ in cache.entries()] == ["a", "c"]


@given(st.lists(st.tuples(st.sampled_from("abcde"), st.integers(1, 6)), max_size=30))
def test_the_weights_never_exceed_the_limit_but_for_a_single_value(
    kept: list[tuple[str, int]],
) -> None:
    cache = Recent[str, int](5, weigh=lambda value: value)
    for key, value in kept:
        cache.keep(key, value)
        assert cache.get(key) == value
        weights = [one for _, one in cache.entries()]
        assert sum(weights) <= 5 or len(weights) == 1
    for key, _ in cache.entries():
        cache.forget(key)
    assert cache.entries() == []


def test_several_values_are_read_and_used_at_once() -> None:
    cache = Recent[str, int](2)
    cache.keep("a", 1)
    cache.keep("b", 2)
    assert cache.several(["a", "x"]) == [1, None]
    cache.keep("c", 3)
    assert cache.several(["a", "b", "c"]) == [1, None, 3]
