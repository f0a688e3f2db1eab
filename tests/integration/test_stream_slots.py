"""Streams of an address are counted over all processes."""

from __future__ import annotations

import time
from typing import Any
from uuid import UUID, uuid4

import pytest
import redis

from service.api import stream_slots
from service.api.stream_slots import StreamSlots
from service.application.errors import Refusal
from service.application.quotas import MAX_STREAMS_OF_ADDRESS, MAX_STREAMS_OF_PLAYER, Slots
from service.stream_counts import StreamCounts
from tests.running import wait_for

HERE, OTHER = "192.0.2.1", "192.0.2.2"


def process(redis_url: str | None, slots: int = 248) -> StreamSlots:
    """Return the slots of one process."""
    client = None if redis_url is None else redis.Redis.from_url(redis_url, socket_timeout=0.2)
    return StreamSlots(Slots("waiting", slots), client)


def taken(slots: StreamSlots, address: str, player: UUID | None = None) -> str | None:
    """Return the id of a new stream, None if it is refused."""
    try:
        return slots.acquire(address, player)
    except Refusal:
        return None


def refused(slots: StreamSlots, address: str, player: UUID | None = None) -> tuple[str, str]:
    """Return the problem and the limit of a refused stream."""
    with pytest.raises(Refusal) as refusal:
        slots.acquire(address, player)
    return refusal.value.code, refusal.value.extra.get("limit", "")


@pytest.mark.parametrize("with_redis", [True, False])
def test_a_player_has_fewer_streams_than_an_address(redis_url: str, *, with_redis: bool) -> None:
    """One player does not shut out the others behind an address, and has one share everywhere."""
    one = process(redis_url if with_redis else None)
    two = process(redis_url) if with_redis else one
    ada, bob = uuid4(), uuid4()
    held = [one.acquire(HERE, ada) for _ in range(MAX_STREAMS_OF_PLAYER)]
    assert refused(two, OTHER, ada) == ("rate-limited", "streams_of_player")
    assert two.acquire(HERE, bob)
    for _ in range(MAX_STREAMS_OF_ADDRESS - MAX_STREAMS_OF_PLAYER - 1):
        two.acquire(HERE)
    assert refused(two, HERE, bob) == ("rate-limited", "streams_of_address")
    one.release(held[0])
    wait_for(lambda: taken(two, OTHER, ada) is not None, seconds=2)
    assert refused(two, OTHER, ada) == ("rate-limited", "streams_of_player")


def test_only_a_full_process_is_unavailable() -> None:
    slots = process(None, slots=4)
    assert slots.acquire(HERE)
    assert slots.acquire(HERE)
    assert refused(slots, HERE) == ("rate-limited", "streams_of_address"), "half of the process"
    assert slots.acquire(OTHER)
    assert slots.acquire(OTHER)
    assert refused(slots, "192.0.2.3") == ("unavailable", "")


def test_an_address_has_32_streams_over_all_processes(redis_url: str) -> None:
    """One address held 124 streams of the stream process, and two filled it."""
    one, two = process(redis_url), process(redis_url)
    held = [taken(one, HERE) for _ in range(MAX_STREAMS_OF_ADDRESS // 2)]
    more = [taken(two, HERE) for _ in range(MAX_STREAMS_OF_ADDRESS)]
    assert None not in held
    assert [stream is not None for stream in more] == [True] * 16 + [False] * 16
    assert taken(one, HERE) is None
    assert taken(one, OTHER) is not None
    one.release(held[0] or "")
    one.release(held[0] or "")  # again: no effect
    wait_for(lambda: taken(two, HERE) is not None, seconds=2)
    assert taken(one, HERE) is None


def test_without_redis_an_address_has_32_streams_of_a_process() -> None:
    slots = process(None)
    held = [taken(slots, HERE) for _ in range(MAX_STREAMS_OF_ADDRESS + 1)]
    assert [stream is not None for stream in held] == [True] * MAX_STREAMS_OF_ADDRESS + [False]
    unreachable = process("redis://127.0.0.1:1")
    began = time.monotonic()
    assert len([s for s in range(40) if taken(unreachable, HERE)]) == MAX_STREAMS_OF_ADDRESS
    assert time.monotonic() - began < 1, "Redis is asked once in five seconds"


def test_the_streams_of_a_killed_process_are_forgotten_and_those_of_others_renewed(
    redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream_slots, "LEASE_SECONDS", 2)
    killed, alive = process(redis_url), process(redis_url)
    for _ in range(MAX_STREAMS_OF_ADDRESS - 1):
        taken(killed, HERE)
    killed._held.clear()  # as after a kill: nobody renews them
    assert taken(alive, HERE) is not None
    assert taken(alive, HERE) is None
    client = redis.Redis.from_url(redis_url)
    key = f"shithead.streams.{HERE}"

    def longest_lease() -> float:
        found: Any = client.zrange(key, -1, -1, withscores=True)
        return float(found[0][1])

    first = longest_lease()
    wait_for(lambda: longest_lease() > first, seconds=3)
    wait_for(lambda: taken(alive, HERE) is not None, seconds=4)


def test_a_process_that_stops_leaves_no_stream_counted(redis_url: str) -> None:
    """A restart does not shut its players out of their own streams until leases end."""
    one, two, ada = process(redis_url), process(redis_url), uuid4()
    held = [one.acquire(HERE, ada) for _ in range(MAX_STREAMS_OF_PLAYER)]
    assert taken(two, HERE, ada) is None
    one.end()
    one.renew()
    assert [two.acquire(OTHER, ada) for _ in range(MAX_STREAMS_OF_PLAYER)]
    one.release(held[0])
    assert taken(two, HERE, ada) is None, "nothing is taken off twice"


def test_a_player_with_an_open_stream_is_found(redis_url: str) -> None:
    """Until it ends; and nobody without Redis."""
    ada, bob, slots = uuid4(), uuid4(), process(redis_url)
    stream = slots.acquire(HERE, ada)
    counts = StreamCounts(redis.Redis.from_url(redis_url))
    assert counts.following([ada, bob]) == {ada}
    slots.release(stream)
    wait_for(lambda: counts.following([ada]) == set(), seconds=10)
    assert StreamCounts(None).following([ada]) == ()
