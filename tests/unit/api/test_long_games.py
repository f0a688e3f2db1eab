"""Very long games: the limits on events a minute and on concurrent work."""

from __future__ import annotations

from contextlib import ExitStack
from uuid import uuid4

import pytest

from service.api.limits import (
    EVENTS_A_MINUTE,
    LONG_GAME_EVENTS,
    LONG_GAME_SLOTS,
    LongGames,
    RateLimits,
)
from service.application.errors import Refusal
from service.runtime.config import Settings


class Address:
    """The source address of calls, which a test can change."""

    def __init__(self) -> None:
        self.now = "10.0.0.1"

    def __call__(self) -> str:
        return self.now


def limits(*, enabled: bool) -> RateLimits:
    """Return the rate limits of a process without Redis."""
    return RateLimits(Settings(database_url="postgresql://none", rate_limits=enabled))


def test_ordinary_games_are_neither_counted_nor_given_slots() -> None:
    games = LongGames(Address(), limits(enabled=True))
    with ExitStack() as stack:
        for _ in range(2 * EVENTS_A_MINUTE // LONG_GAME_EVENTS):
            stack.enter_context(games.request(None)(LONG_GAME_EVENTS - 1))


@pytest.mark.attack("WITHOUT_BOUND", "reads of the longest hand", check="slots and a count")
def test_events_folded_a_minute_are_limited_by_address_and_player() -> None:
    address, player = Address(), uuid4()
    games = LongGames(address, limits(enabled=True))
    with games.request(player)(EVENTS_A_MINUTE):
        pass
    with pytest.raises(Refusal) as refused, games.request(None)(LONG_GAME_EVENTS):
        pass
    assert (refused.value.code, refused.value.extra["retry_after"] > 0) == ("rate-limited", True)
    address.now = "10.0.0.2"
    with pytest.raises(Refusal, match="too many"), games.request(player)(LONG_GAME_EVENTS):
        pass
    with games.request(uuid4())(LONG_GAME_EVENTS):
        pass


def test_concurrent_folds_are_limited_and_one_address_gets_half_of_the_slots() -> None:
    address = Address()
    games = LongGames(address, limits(enabled=False))
    with ExitStack() as stack:
        for number in range(LONG_GAME_SLOTS):
            address.now = f"10.0.0.{number // 2}"
            stack.enter_context(games.request(None)(LONG_GAME_EVENTS))
        with pytest.raises(Refusal) as refused, games.request(None)(LONG_GAME_EVENTS):
            pass
        assert refused.value.code == "unavailable"
    with ExitStack() as stack:
        for _ in range(LONG_GAME_SLOTS // 2):
            stack.enter_context(games.request(None)(LONG_GAME_EVENTS))
        with pytest.raises(Refusal), games.request(None)(LONG_GAME_EVENTS):
            pass
        address.now = "10.0.1.1"
        stack.enter_context(games.request(None)(LONG_GAME_EVENTS))


@pytest.mark.attack("WITHOUT_BOUND", "a list of many running hands", check="slots and a count")
def test_a_request_that_folds_many_short_games_needs_a_slot_as_well() -> None:
    games = LongGames(Address(), limits(enabled=False))
    request, others = games.request(None), ExitStack()
    for _ in range(LONG_GAME_SLOTS // 2):
        others.enter_context(games.request(None)(LONG_GAME_EVENTS))
    with others:
        for _ in range(10):
            with request(LONG_GAME_EVENTS // 10 - 1):
                pass
        with pytest.raises(Refusal) as refused, request(LONG_GAME_EVENTS // 10):
            pass
        assert refused.value.code == "unavailable"
    with request(LONG_GAME_EVENTS // 10):
        pass


def test_nested_work_shares_one_slot() -> None:
    games = LongGames(Address(), limits(enabled=False))
    requests = [games.request(None) for _ in range(LONG_GAME_SLOTS // 2)]
    with ExitStack() as stack:
        for request in requests:
            stack.enter_context(request(LONG_GAME_EVENTS))
            stack.enter_context(request(LONG_GAME_EVENTS))
        with pytest.raises(Refusal), games.request(None)(LONG_GAME_EVENTS):
            pass
    with games.request(None)(LONG_GAME_EVENTS), games.request(None)(LONG_GAME_EVENTS):
        pass


def test_a_single_call_may_exceed_the_limit_of_a_minute_once() -> None:
    games, player = LongGames(Address(), limits(enabled=True)), uuid4()
    with games.request(player)(10 * EVENTS_A_MINUTE):
        pass
    with pytest.raises(Refusal) as refused, games.request(player)(LONG_GAME_EVENTS):
        pass
    assert refused.value.code == "rate-limited"
