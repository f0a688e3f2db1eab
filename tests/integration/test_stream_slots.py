"""Streams of an address are counted over all processes."""

from __future__ import annotations

import time
from typing import Any

import pytest
import redis

from service.api import stream_slots
from service.api.stream_slots import MAX_OF_ADDRESS, StreamSlots
from service.application.quotas import Slots
from tests.running import wait_for

HERE, OTHER = "192.0.2.1", "192.0.2.2"


def process(redis_url: str | None, slots: int = 248) -> StreamSlots:
    """Return the slots of one process."""
    client = None if redis_url is None else redis.Redis.from_url(redis_url, socket_timeout=0.2)
    return StreamSlots(Slots("waiting", slots), client)


def test_an_address_has_32_streams_over_all_processes(redis_url: str) -> None:
    """One address held 124 streams of the stream process, and two filled it."""
    one, two = process(redis_url), process(redis_url)
    held = [one.acquire(HERE) for _ in range(MAX_OF_ADDRESS // 2)]
    more = [two.acquire(HERE) for _ in range(MAX_OF_ADDRESS)]
    assert None not in held
    assert [stream is not None for stream in more] == [True] * 16 + [False] * 16
    assert one.acquire(HERE) is None
    assert one.acquire(OTHER) is not None
    one.release(held[0] or "")
    one.release(held[0] or "")  # again: no effect
    wait_for(lambda: two.acquire(HERE) is not None, seconds=2)
    assert one.acquire(HERE) is None


def test_without_redis_an_address_has_32_streams_of_a_process() -> None:
    slots = process(None)
    held = [slots.acquire(HERE) for _ in range(MAX_OF_ADDRESS + 1)]
    assert [stream is not None for stream in held] == [True] * MAX_OF_ADDRESS + [False]
    unreachable = process("redis://127.0.0.1:1")
    began = time.monotonic()
    assert len([s for s in range(40) if unreachable.acquire(HERE)]) == MAX_OF_ADDRESS
    assert time.monotonic() - began < 1, "Redis is asked once in five seconds"


def test_the_streams_of_a_killed_process_are_forgotten_and_those_of_others_renewed(
    redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream_slots, "LEASE_SECONDS", 2)
    killed, alive = process(redis_url), process(redis_url)
    for _ in range(MAX_OF_ADDRESS - 1):
        killed.acquire(HERE)
    killed._held.clear()  # as after a kill: nobody renews them
    assert alive.acquire(HERE) is not None
    assert alive.acquire(HERE) is None
    client = redis.Redis.from_url(redis_url)
    key = f"shithead.streams.{HERE}"

    def longest_lease() -> float:
        found: Any = client.zrange(key, -1, -1, withscores=True)
        return float(found[0][1])

    first = longest_lease()
    wait_for(lambda: longest_lease() > first, seconds=3)
    wait_for(lambda: alive.acquire(HERE) is not None, seconds=4)
