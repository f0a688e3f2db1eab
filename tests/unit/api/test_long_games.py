"""Very long games: the limits on events a minute and on concurrent work."""

from __future__ import annotations

from contextlib import ExitStack
from uuid import uuid4

import pytest

from service.api.limits import RateLimits
from service.api.long_games import EVENTS_A_MINUTE, LONG, SLOTS, LongGames
from service.application.errors import Refusal
from service.config import Settings


class Address:
    """The address that calls come from."""

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
        for _ in range(2 * EVENTS_A_MINUTE // LONG):
            stack.enter_context(games.work(None, LONG - 1))


def test_an_address_and_a_player_may_have_so_much_a_minute() -> None:
    address, player = Address(), uuid4()
    games = LongGames(address, limits(enabled=True))
    with games.work(player, EVENTS_A_MINUTE):
        pass
    with pytest.raises(Refusal) as refused, games.work(None, LONG):
        pass
    assert (refused.value.code, refused.value.extra["retry_after"] > 0) == ("rate-limited", True)
    address.now = "10.0.0.2"
    with pytest.raises(Refusal, match="too many"), games.work(player, LONG):
        pass
    with games.work(uuid4(), LONG):
        pass


def test_only_so_many_are_gone_through_at_a_time_and_half_for_one_address() -> None:
    address = Address()
    games = LongGames(address, limits(enabled=False))
    with ExitStack() as stack:
        for number in range(SLOTS):
            address.now = f"10.0.0.{number // 2}"
            stack.enter_context(games.work(None, LONG))
        with pytest.raises(Refusal) as refused, games.work(None, LONG):
            pass
        assert refused.value.code == "unavailable"
    with games.work(None, LONG):
        pass
