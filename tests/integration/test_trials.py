"""Trials of rulesets: one per player, few in all, and a result for a repeated request."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import Any
from uuid import UUID

import pytest
import redis
from rq import Queue
from rq.serializers import JSONSerializer

from service import job_queue
from service.application.ports import MAIN_QUEUE
from service.keys import Keyring
from service.local.programs import environment_of
from service.runtime.config import Settings
from tests.worlds.api_world import Answer, Person, World, make_world, problem_of
from workers.main import Worker


def body(size: int) -> dict[str, Any]:
    """Return the body of a new ruleset."""
    return {"name": f"To {size}", "base": "shithead", "changes": {"refill": {"size": size}}}


@pytest.fixture
def world(database_url: str, redis_url: str) -> Iterator[World]:
    made = make_world(database_url, redis_url=redis_url)
    yield made
    made.services.close()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the wait of requests and the trials."""
    monkeypatch.setattr(job_queue, "HANDS", 2)
    monkeypatch.setattr(job_queue, "WITHIN_SECONDS", 0.1)


@contextmanager
def at_once() -> Iterator[None]:
    """Check that the block takes much less time than a request waits for a trial."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(job_queue, "WITHIN_SECONDS", 30.0)
        began = time.monotonic()
        yield
    assert time.monotonic() - began < 10


def post(person: Person, size: int, *, address: str = "127.0.0.1") -> Answer:
    origin = {"REMOTE_ADDR": address}
    return person.post("/v1/rulesets", body(size), environ_base=origin)


def run_trials(monkeypatch: pytest.MonkeyPatch, database_url: str, redis_url: str) -> redis.Redis:
    """Run the queued trials like the trials process, and return the connection."""
    settings = Settings(
        database_url=database_url, redis_url=redis_url, keys=Keyring.generate().to_text()
    )
    for name, value in environment_of(settings).items():
        monkeypatch.setenv(name, value)
    client = redis.Redis.from_url(redis_url)
    queue = Queue(job_queue.TRIALS_QUEUE, connection=client, serializer=JSONSerializer)
    Worker([queue], connection=client, serializer=JSONSerializer).work(
        burst=True, logging_level="WARNING"
    )
    return client


@pytest.mark.usefixtures("impatient")
def test_a_request_repeated_after_a_timeout_gets_the_finished_trial(
    world: World, database_url: str, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = world.person("Ada")
    late = post(ada, 5)
    assert (problem_of(late), late.status_code) == ("unavailable", 503)
    assert late.headers["Retry-After"]
    client = redis.Redis.from_url(redis_url)
    assert client.llen(f"rq:queue:{job_queue.TRIALS_QUEUE}") == 1
    assert client.llen(f"rq:queue:{MAIN_QUEUE}") == 0, "bots wait for no trial"
    run_trials(monkeypatch, database_url, redis_url)
    assert post(ada, 5).status_code == 201
    assert client.llen(f"rq:queue:{job_queue.TRIALS_QUEUE}") == 0


@pytest.mark.attack(
    "WITHOUT_BOUND", "several trials of one player", check="a count for each player"
)
@pytest.mark.usefixtures("impatient")
def test_a_player_has_one_trial_at_a_time(
    world: World, database_url: str, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, bob = world.person("Ada"), world.person("Bob")
    assert post(ada, 5).status_code == 503
    with at_once():
        refused = post(ada, 6)
    assert (problem_of(refused), refused.status_code) == ("rate-limited", 429)
    assert refused.headers["Retry-After"]
    assert post(bob, 6).status_code == 503, "another player's trial begins"
    assert problem_of(post(ada, 5)) == "unavailable", "the same rules join the running trial"
    run_trials(monkeypatch, database_url, redis_url)
    assert post(ada, 6).status_code == 201


@pytest.mark.attack("WITHOUT_BOUND", "many trial hands at once", check="a limited queue")
@pytest.mark.usefixtures("impatient")
def test_trials_over_the_total_limit_are_refused_at_once(
    world: World, database_url: str, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    people = [world.person(f"P{n}") for n in range(job_queue.MAX_TRIALS + 1)]
    for number, person in enumerate(people[:-1]):
        late = post(person, 5 + number, address=f"192.0.2.{number // 2}")
        assert problem_of(late) == "unavailable"
    with at_once():
        refused = post(people[-1], 20)
    assert (problem_of(refused), refused.status_code) == ("unavailable", 503)
    assert "in trial is reached" in refused.json["detail"]
    run_trials(monkeypatch, database_url, redis_url)
    assert "still being played" in post(people[-1], 20).json["detail"], "a trial can begin again"


@pytest.mark.usefixtures("impatient")
def test_the_players_of_one_address_leave_trials_for_others(
    world: World, database_url: str, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An address can register any number of players: six held all five trials."""
    most = job_queue.MAX_TRIALS_OF_ADDRESS
    people = [world.person(f"P{n}") for n in range(most + 2)]
    for number, person in enumerate(people[:most]):
        assert problem_of(post(person, 5 + number)) == "unavailable"
    refused = post(people[most], 20)
    assert problem_of(refused) == "rate-limited"
    assert "from your address" in refused.json["detail"]
    other = post(people[-1], 20, address="192.0.2.7")
    assert "still being played" in other.json["detail"]
    assert problem_of(post(people[most], 5)) == "unavailable", "the same rules join a trial"
    run_trials(monkeypatch, database_url, redis_url)
    assert "still being played" in post(people[most], 21).json["detail"], "ended ones do not count"


def test_the_players_of_one_address_hold_half_of_the_waiting_requests(world: World) -> None:
    trials: Any = world.services.rulemaking.trials
    with ExitStack() as stack:
        for number in range(job_queue.MAX_WAITING // 2):
            stack.enter_context(trials._slot(UUID(int=number), "192.0.2.1"))
        refused = post(world.person(), 5, address="192.0.2.1")
        assert problem_of(refused) == "rate-limited"
        stack.enter_context(trials._slot(UUID(int=99), "192.0.2.2"))


def test_waiting_for_trials_holds_few_threads_of_a_process(world: World) -> None:
    people = [world.person(f"P{n}") for n in range(job_queue.MAX_WAITING + 4)]
    trials: Any = world.services.rulemaking.trials
    with trials._slot(people[0].id, "192.0.2.1"):
        pass
    held = [
        trials._slot(person.id, f"192.0.2.{number}")
        for number, person in enumerate(people[: job_queue.MAX_WAITING])
    ]
    for slot in held:
        slot.__enter__()
    began = time.monotonic()
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda person: post(person, 5), people[job_queue.MAX_WAITING :]))
    assert {answer.status_code for answer in answers} == {503}
    assert time.monotonic() - began < 1
    for slot in held:
        slot.__exit__(None, None, None)


@pytest.mark.attack("WITHOUT_BOUND", "so many trials that some of them expire", check="503")
@pytest.mark.usefixtures("impatient")
def test_a_lost_trial_is_answered_with_retry_later(
    world: World, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RQ raised InvalidJobOperation for a deleted job, and the answer was 500."""
    ada = world.person("Ada")
    assert post(ada, 5).status_code == 503
    client = redis.Redis.from_url(redis_url)
    for key in client.scan_iter("rq:*"):
        client.delete(key)
    assert problem_of(post(ada, 5)) == "unavailable"
    now = time.time()
    monkeypatch.setattr("time.time", lambda: now + job_queue.LOST_SECONDS + 1)
    assert problem_of(post(ada, 5)) == "unavailable"
    assert client.llen(f"rq:queue:{job_queue.TRIALS_QUEUE}") == 1
