"""Which players are away: calls and streams are noted in Redis, with bounds."""

from __future__ import annotations

from uuid import uuid4

import pytest
import redis

from service.application.games.absences import HEARD_SECONDS
from service.stream_counts import NOTE_SECONDS, Presence
from tests.integration.test_stream_slots import HERE, process


class Time:
    """Seconds, put forward by tests."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def client(redis_url: str) -> redis.Redis:
    return redis.Redis.from_url(redis_url)


def test_an_absence_begins_with_the_last_call(client: redis.Redis) -> None:
    time = Time()
    presence, ada, bob = Presence(client, now=time), uuid4(), uuid4()
    presence.note(ada)
    time.now += 200
    presence.note(bob)
    assert presence.away([ada, bob]) == {ada: 200.0, bob: 0.0}
    presence.note(ada)
    assert presence.away([ada]) == {ada: 0.0}


def test_a_process_notes_a_player_once_in_a_while_and_redis_forgets(client: redis.Redis) -> None:
    """So calls cost nothing, and the keys are those of an hour."""
    time, ada = Time(), uuid4()
    presence, key = Presence(client, now=time), f"shithead.heard.{ada}"
    presence.note(ada)
    first = client.get(key)
    time.now += NOTE_SECONDS - 1
    presence.note(ada)
    assert client.get(key) == first
    assert 0 < int(str(client.ttl(key))) <= HEARD_SECONDS
    time.now += 2
    presence.note(uuid4())
    assert list(presence._noted) == [next(reversed(presence._noted))], "only the newest is kept"


def test_nobody_is_away_before_redis_can_know_it(client: redis.Redis) -> None:
    """After a loss of its data the absences begin anew; without Redis there are none."""
    time, ada, bob = Time(), uuid4(), uuid4()
    presence = Presence(client, now=time)
    assert presence.away([ada]) == {ada: 0.0}
    presence.note(bob)
    time.now += 100
    assert presence.away([ada]) == {ada: 100.0}
    client.flushall()
    assert presence.away([ada]) == {ada: 0.0}
    assert Presence(None).away([ada]) == {ada: 0.0}


def test_a_redis_that_does_not_answer_delays_no_call() -> None:
    time = Time()
    dead = redis.Redis.from_url("redis://127.0.0.1:1", socket_timeout=0.1)
    presence, ada = Presence(dead, now=time), uuid4()
    presence.note(ada)
    assert presence.away([ada]) == {ada: 0.0}
    assert not presence._is_due(uuid4().int, time.now + 1)


def test_who_has_a_stream_is_there_and_a_killed_process_leaves_when_that_was(
    redis_url: str, client: redis.Redis
) -> None:
    """The renewal of a stream notes its player, so that no call has to."""
    time, ada = Time(), uuid4()
    Presence(client, now=time).note(ada)
    slots = process(redis_url)
    slots.acquire(HERE, ada)
    assert Presence(client).away([ada]) == {ada: 0.0}
    slots.renew()
    client.delete(f"shithead.streams.{ada}")  # as after a kill, once the lease has ended
    assert Presence(client).away([ada])[ada] < 5
