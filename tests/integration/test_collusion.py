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


COLLUSION = {"accused": 1, "partner": 2, "charge": "collusion", "statement": "They help."}


def accused_of_collusion(game: str, by: Person) -> dict[str, Any]:
    """Accuse seat 1 of colluding with seat 2, and return the dispute."""
    body = COLLUSION
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
    assert [(pair["seat"], pair["hands"]) for pair in found["pairs"]] == [(2, 2)]
    assert "does not prove an agreement" in found["cannot_tell"]

    world.services.dumps.write(MONTH, tmp_path / "dump")
    capsys.readouterr()
    [pair] = found["pairs"]
    options = ["--pair", bob.id, cat.id, "--leaves", *map(str, pair["leaves"])]
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
    ada, bob, cat = (world.person(name) for name in ("Ada", "Bob", "Cat"))
    game = given_up([ada, bob, cat])
    dispute = accused_of_collusion(game, ada)
    path = f"/v1/disputes/{dispute['id']}/collusion"
    for person in (ada, bob, cat):
        assert problem_of(person.get(path)) == "forbidden"
    assert problem_of(world.get(path)) == "unauthorized"
    events = ada.get(f"{game}/events").json["items"]
    seq = next(one["seq"] for one in events if one["by"] == 1)
    body = {"accused": 1, "seq": seq, "charge": "other", "statement": "Not so."}
    other = ada.post(f"{game}/disputes", body).json
    answer = ada.get(f"/v1/disputes/{other['id']}/collusion")
    assert (problem_of(answer), answer.json["code"]) == ("forbidden", "collusion.other_charge")
    assert redis.Redis.from_url(redis_url).llen(f"rq:queue:{TRIALS_QUEUE}") == 0


def test_a_long_queue_refuses_the_computation(world: World, redis_url: str) -> None:
    ada, *others = (world.person(name) for name in ("Ada", "Bob", "Cat"))
    dispute = accused_of_collusion(given_up([ada, *others]), ada)
    judge = referee(world, dispute)
    client = redis.Redis.from_url(redis_url)
    queue = Queue(TRIALS_QUEUE, connection=client, serializer=JSONSerializer)
    for _ in range(MAX_QUEUED):
        queue.enqueue("try_ruleset", {}, 1)
    answer = judge.get(f"/v1/disputes/{dispute['id']}/collusion")
    assert (problem_of(answer), answer.json["code"]) == ("unavailable", "collusion.no_worker")
    assert answer.headers["Retry-After"]


def test_collusion_is_charged_against_two_people_of_three_and_about_no_move(world: World) -> None:
    ada, bob = world.person("Ada"), world.person("Bob")

    def refused_at(game: str, **changes: object) -> tuple[str, str]:
        answer = ada.post(f"{game}/disputes", {**COLLUSION, **changes})
        assert problem_of(answer) == "invalid-body", answer.text
        [error] = answer.json["errors"]
        return error["at"], error["code"]

    few = "request.collusion_of_few"
    assert refused_at(given_up([ada, bob]), partner=0) == ("/charge", few)
    table = ada.table({"bot": "lowest"}, "open", turn_limit=100)
    game = f"/v1/games/{bob.post('/v1/tables/' + table['id'] + '/seats').json['game']}"
    assert refused_at(game) == ("/charge", few), "a bot is no person"
    game = given_up([ada, bob, world.person("Cat")])
    people = "request.collusion_people"
    assert refused_at(game, seq=1) == ("/seq", "request.collusion_no_move")
    assert refused_at(game, partner=None) == ("/partner", people)
    assert refused_at(game, partner=0) == ("/partner", people)
    assert refused_at(game, partner=1) == ("/partner", people)
    assert refused_at(game, accused=None)[0] == "/accused"
    assert refused_at(game, charge="other", seq=1)[1] == "request.partner_of_collusion"
    assert refused_at(game, charge="other", partner=None)[0] == "/seq"


def test_the_partner_answers_and_only_the_accused_can_become_a_cad(world: World) -> None:
    """The event that opens the dispute names the partner's seat and no move."""
    ada, bob, cat = (world.person(name) for name in ("Ada", "Bob", "Cat"))
    game = given_up([ada, bob, cat])
    dispute = accused_of_collusion(game, ada)
    assert (dispute["accused"], dispute["partner"], dispute["seq"]) == (1, 2, None)
    assert dispute["reason_needed"]
    stream = world.services.store.read(UUID(dispute["id"]))
    assert stream is not None
    data = json.loads(stream.events[0])["data"]
    assert (data["partner_seat"], data["partner"], data["seq"]) == (2, cat.id, None)
    again = ada.post(f"{game}/disputes", COLLUSION)
    assert (problem_of(again), again.json["id"]) == ("dispute-open", dispute["id"])
    assert (
        ada.post(f"{game}/disputes", {**COLLUSION, "accused": 2, "partner": 1}).status_code == 201
    )

    path = f"/v1/disputes/{dispute['id']}"
    assert cat.post(f"{path}/statements", {"text": "We did not."}).status_code == 201
    world.person("Early").post(f"{path}/referees")
    assert (
        cat.post(f"{path}/referees", {"refuse": 0}).json["referees"][0]["refused_by"] == "partner"
    )
    listed = cat.get("/v1/disputes?mine=true").json["items"]
    assert {one["id"]: one["you"]["side"] for one in listed}[dispute["id"]] == "partner"
    judges = [world.person(f"Judge {n}") for n in range(3)]
    seated(judges, dispute)
    bare = judges[0].post(f"{path}/votes", {"vote": "cheated"})
    assert (problem_of(bare), bare.json["errors"][0]["at"]) == ("invalid-body", "/reason")
    for judge in judges:
        voted = judge.post(f"{path}/votes", {"vote": "cheated", "reason": "Twelve times."})
        assert voted.status_code == 201, voted.text
    assert problem_of(cat.post(f"{path}/appeal")) == "forbidden"
    assert bob.post(f"{path}/appeal").status_code == 201
    others = [world.person(f"Other {n}") for n in range(3)]
    seated(others, dispute)
    for judge in others:
        final = judge.post(f"{path}/votes", {"vote": "cheated", "reason": "Thirteen."}).json
    assert (final["state"], final["ruling"]["verdict"]) == ("final", "cad")
    assert [world.get(f"/v1/players/{p.id}").json["cad"] for p in (bob, cat)] == [True, False]
