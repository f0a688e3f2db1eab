"""Figures about collusion: computed by a job for referees, and from a dump by anybody."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import redis
from rq import Queue
from rq.serializers import JSONSerializer

from schemas.audit import CollusionSchema
from service.cli.__main__ import run
from service.job_queue import MAX_QUEUED, TRIALS_QUEUE
from tests.integration.api.test_disputes import AT_ONCE, seated
from tests.worlds.api_world import Person, World, make_world, problem_of
from workers import jobs
from workers.main import Worker

ORDER = ("ready", "play", "play_blind", "pick_up", "pass", "swap", "forfeit")
DAY = timedelta(days=1)
MONTH = f"{datetime.now(UTC):%Y-%m}"


@pytest.fixture
def world(database_url: str, redis_url: str) -> Iterator[World]:
    made = make_world(database_url, redis_url=redis_url, **AT_ONCE)
    yield made
    made.services.close()


def dealt(people: list[Person], **more: str) -> str:
    """Deal a hand and return its path."""
    first, *others = people
    table = first.table(*("open" for _ in others), turn_limit=100, **more)
    invite = {"invite": table["invite"]} if "invite" in table else {}
    for person in others:
        assert person.post(f"/v1/tables/{table['id']}/seats", invite).status_code == 201
    return f"/v1/games/{first.get('/v1/tables/' + table['id']).json['game']}"


def given_up(people: list[Person], **more: str) -> str:
    """Deal a hand in which every seat is ready and one gives up; return its path."""
    game = dealt(people, **more)
    for person in people:
        assert person.post(f"{game}/moves", {"type": "ready"}).status_code == 201
    assert people[0].post(f"{game}/moves", {"type": "forfeit"}).status_code == 201
    return game


def played(people: list[Person]) -> str:
    """Play a hand to its end, a listed move that lays cards if there is one; return its path."""
    game = dealt(people)
    for _ in range(2000):
        for person in people:
            view = person.get(game).json
            if view["status"] == "ended":
                return game
            if view["moves"] and view["turn"] in (None, view["as"]):
                move = min(view["moves"], key=lambda one: ORDER.index(one["type"]))
                person.post(f"{game}/moves", move)
    raise AssertionError("the hand does not end")


def accused_of_collusion(game: str, by: Person) -> dict[str, Any]:
    """Open a dispute about the first move of seat 1 and return it."""
    events = by.get(f"{game}/events").json["items"]
    seq = next(one["seq"] for one in events if one["by"] == 1)
    body = {"accused": 1, "seq": seq, "charge": "collusion", "statement": "They help each other."}
    answer = by.post(f"{game}/disputes", body)
    assert answer.status_code == 201, answer.text
    dispute: dict[str, Any] = answer.json
    return dispute


def referee(world: World, dispute: dict[str, Any]) -> Person:
    """Seat a panel and return one of its referees."""
    judges = [world.person(f"Judge {n}") for n in range(3)]
    seated(judges, dispute)
    return judges[0]


def compute(world: World, redis_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the queued jobs as the process of trials does."""
    client = redis.Redis.from_url(redis_url)
    monkeypatch.setattr(jobs, "services", lambda: world.services)
    queue = Queue(TRIALS_QUEUE, connection=client, serializer=JSONSerializer)
    Worker([queue], connection=client, serializer=JSONSerializer).work(
        burst=True, logging_level="WARNING"
    )


@pytest.mark.heavy
def test_a_referee_gets_the_numbers_that_anybody_computes_from_a_dump(
    world: World,
    redis_url: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    ada, bob, cat = (world.person(name) for name in ("Ada", "Bob", "Cat"))
    game = played([ada, bob, cat])
    played([bob, ada, cat])
    given_up([ada, bob, cat], visibility="private")  # not in the dump, and nothing of it is shown
    world.services.sequencer.run_once()
    dispute = accused_of_collusion(game, ada)
    given_up([ada, bob, cat])  # later than the dispute
    world.services.sequencer.run_once()
    path = f"/v1/disputes/{dispute['id']}/collusion"
    judge = referee(world, dispute)
    begun = judge.get(path).json
    assert (begun["state"], begun["pairs"]) == ("computing", [])
    assert judge.get(path).json["state"] == "computing", "one job, and not one for each request"
    assert redis.Redis.from_url(redis_url).llen(f"rq:queue:{TRIALS_QUEUE}") == 1
    compute(world, redis_url, monkeypatch)
    found = judge.get(path).json
    assert not CollusionSchema().validate(found)
    assert [(pair["seat"], pair["hands"]) for pair in found["pairs"]] == [(0, 2), (2, 2)]
    assert "does not prove an agreement" in found["cannot_tell"]

    world.services.dumps.write(MONTH, tmp_path / "dump")
    capsys.readouterr()
    for pair, other in zip(found["pairs"], (ada, cat), strict=True):
        options = ["--pair", bob.id, other.id, "--leaves", *map(str, pair["leaves"])]
        assert run(["collusion", str(tmp_path / "dump"), *options, "--json"]) == 0
        computed = json.loads(capsys.readouterr().out)
        for name in ("hands", "directions", "joint", "e_value"):
            assert computed[name] == pair[name]
    assert run(["collusion", str(tmp_path / "dump"), "--pair", bob.id, ada.id]) == 0
    out = capsys.readouterr().out
    assert "They sat together in 3 hands." in out
    assert "the testimony of the operator" in out


def test_the_newest_hands_count_and_erased_players_are_nobody_in_them(world: World) -> None:
    ada, bob, cat = (world.person(name) for name in ("Ada", "Bob", "Cat"))
    for _ in range(2):
        last = given_up([ada, bob, cat])
        world.services.sequencer.run_once()
    assert cat.call("DELETE", "/v1/players/me").status_code == 204
    ids, now = (UUID(ada.id), UUID(bob.id)), world.services.world.now()
    [hand] = world.services.directory.hands_of_pair(*ids, until=now, limit=1)
    assert last.endswith(str(hand.game))
    assert list(hand.players) == [*ids, None]
    assert not world.services.directory.hands_of_pair(*ids, until=now - DAY, limit=9)


def test_only_referees_of_a_dispute_about_collusion_get_figures(
    world: World, redis_url: str
) -> None:
    ada, bob = world.person("Ada"), world.person("Bob")
    game = given_up([ada, bob])
    dispute = accused_of_collusion(game, ada)
    path = f"/v1/disputes/{dispute['id']}/collusion"
    for person in (ada, bob):
        assert problem_of(person.get(path)) == "forbidden"
    assert problem_of(world.get(path)) == "unauthorized"
    body = {"accused": 1, "seq": dispute["seq"], "charge": "other", "statement": "Not so."}
    other = ada.post(f"{game}/disputes", body).json
    answer = ada.get(f"/v1/disputes/{other['id']}/collusion")
    assert (problem_of(answer), answer.json["code"]) == ("forbidden", "collusion.other_charge")
    assert redis.Redis.from_url(redis_url).llen(f"rq:queue:{TRIALS_QUEUE}") == 0


def test_a_long_queue_refuses_the_computation(world: World, redis_url: str) -> None:
    ada, bob = world.person("Ada"), world.person("Bob")
    dispute = accused_of_collusion(given_up([ada, bob]), ada)
    judge = referee(world, dispute)
    client = redis.Redis.from_url(redis_url)
    queue = Queue(TRIALS_QUEUE, connection=client, serializer=JSONSerializer)
    for _ in range(MAX_QUEUED):
        queue.enqueue("try_ruleset", {}, 1)
    answer = judge.get(f"/v1/disputes/{dispute['id']}/collusion")
    assert (problem_of(answer), answer.json["code"]) == ("unavailable", "collusion.no_worker")
    assert answer.headers["Retry-After"]
