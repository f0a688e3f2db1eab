"""The room of a dispute's referees: one leads, others follow, in two processes over one Redis."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import pytest
import redis

from service.api import disputes
from service.application.disputes.room import LEAD_SECONDS
from tests.worlds.api_world import Person, World, make_world, problem_of

EMPTY = {"number": 0, "leader": None, "position": None}


@pytest.fixture
def settings(redis_url: str) -> dict[str, Any]:
    """Return settings with Redis, without required hands or waiting times of referees."""
    periods = {"referee_hands": 0, "referee_account_seconds": 0, "referee_seated_seconds": 0}
    return {"redis_url": redis_url, **periods}


@pytest.fixture
def second(world: World, database_url: str, settings: dict[str, Any]) -> Iterator[World]:
    """Return a second process of the service."""
    keys = world.services.keyring.present.to_text()
    made = make_world(database_url, keys=keys, **settings)
    yield made
    made.services.close()


@pytest.fixture
def dispute(ada: Person, bob: Person) -> dict[str, Any]:
    """Return a dispute about a running hand, with the address of its room."""
    table = ada.table("open", visibility="private")
    invite = {"Shithead-Invite": table["invite"]}
    sat = bob.post(f"/v1/tables/{table['id']}/seats", headers=invite)
    body = {"accused": None, "seq": 0, "charge": "altered_log", "statement": "A gap."}
    opened = ada.post(f"/v1/games/{sat.json['game']}/disputes", body)
    assert opened.status_code == 201, opened.text
    room = f"/v1/disputes/{opened.json['id']}/room"
    return {**opened.json, "room": room, "invite": invite}


@pytest.fixture
def judges(world: World, dispute: dict[str, Any]) -> list[Person]:
    """Return the referees of the dispute, in order of their numbers."""
    people = [world.person(f"Judge {number}") for number in range(3)]
    for one in people:
        path = f"/v1/disputes/{dispute['id']}/referees"
        assert one.post(path, headers=dispute["invite"]).status_code == 201
    return people


def lead(judge: Person, dispute: dict[str, Any], version: int = 1, **more: Any) -> dict[str, Any]:
    answer = judge.call("PUT", dispute["room"], json={"version": version, "as": "public", **more})
    assert answer.status_code == 200, answer.text
    return dict(answer.json)


def elsewhere(person: Person, world: World) -> Person:
    """Return the same person as a client of another process."""
    return Person(id=person.id, token=person.token, recovery=person.recovery, world=world)


def test_followers_get_the_position_in_another_process(
    second: World, dispute: dict[str, Any], judges: list[Person]
) -> None:
    follower = elsewhere(judges[1], second)
    assert follower.get(dispute["room"]).json == EMPTY
    room = lead(judges[0], dispute, 3, selected=2)
    assert room["leader"] == 0
    assert room["position"] == {"version": 3, "as": "public", "selected": 2}
    assert follower.get(dispute["room"]).json == room
    assert lead(judges[0], dispute, 3, selected=2) == room, (
        "the same position, sent again, must change nothing"
    )


def test_a_waiting_follower_is_answered_when_the_position_changes(
    second: World, dispute: dict[str, Any], judges: list[Person]
) -> None:
    follower, begun = elsewhere(judges[1], second), threading.Event()

    def wait(number: int) -> Any:
        begun.set()
        return follower.get(f"{dispute['room']}?number={number}&wait=30").json

    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(wait, 0)
        assert begun.wait(10)
        room = lead(judges[0], dispute, 2)
        assert first.result(timeout=20) == room
        begun.clear()
        next_ = pool.submit(wait, room["number"])
        assert begun.wait(10)
        assert judges[0].call("DELETE", dispute["room"]).status_code == 204
        assert next_.result(timeout=20) == EMPTY


def test_another_referee_takes_the_lead_only_on_request(
    dispute: dict[str, Any], judges: list[Person]
) -> None:
    first, other, _ = judges
    room = lead(first, dispute, 3)
    assert lead(other, dispute, 1) == room, "the answer is the unchanged room"
    assert judges[1].call("DELETE", dispute["room"]).status_code == 204
    assert first.get(dispute["room"]).json == room, "only the leader ends the lead"
    taken = lead(other, dispute, 1, take=True)
    assert (taken["leader"], taken["position"]["version"]) == (1, 1)
    assert taken["number"] > room["number"]
    assert lead(first, dispute, 2) == taken, "a former leader leads again only with `take`"


def test_a_lead_expires(dispute: dict[str, Any], judges: list[Person], redis_url: str) -> None:
    lead(judges[0], dispute)
    key = f"shithead.room.{dispute['id']}"
    with redis.Redis.from_url(redis_url) as client:
        assert 0 < client.ttl(key) <= LEAD_SECONDS
        client.expire(key, 5)
        lead(judges[0], dispute)
        assert client.ttl(key) > 5, "the same position again extends the lead"
        client.pexpire(key, 1)
        while client.exists(key):
            pass
    assert judges[1].get(dispute["room"]).json == EMPTY
    assert lead(judges[1], dispute)["leader"] == 1


def test_only_the_panel_may_enter_the_room(
    world: World, ada: Person, bob: Person, dispute: dict[str, Any], judges: list[Person]
) -> None:
    body = {"version": 1, "as": "public"}
    guest = world.person("Cleo")
    for person, headers in ((ada, {}), (bob, {}), (guest, dispute["invite"])):
        for method, sent in (("GET", None), ("PUT", body), ("DELETE", None)):
            answer = person.call(method, dispute["room"], json=sent, headers=headers)
            assert problem_of(answer) == "forbidden", method
    assert problem_of(guest.get(dispute["room"])) == "not-found", "without the invite"
    lead(judges[0], dispute)
    out = ada.post(f"/v1/disputes/{dispute['id']}/referees", {"refuse": 0})
    assert out.status_code == 201
    late = judges[0].call("PUT", dispute["room"], json=body, headers=dispute["invite"])
    assert problem_of(late) == "forbidden"


def test_a_position_is_limited_to_what_its_leader_may_see(
    ada: Person, dispute: dict[str, Any], judges: list[Person]
) -> None:
    """Before the seal a referee is shown what the public saw, also as a leader."""
    judge, path = judges[0], dispute["room"]

    def put(**body: Any) -> Any:
        return judge.call("PUT", path, json={"version": 1, "as": "public", **body})

    for viewer in ("all", "0", "1"):
        assert problem_of(put(**{"as": viewer})) == "sealed"
    version = judge.get(f"/v1/games/{dispute['game']}").json["version"]
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"version": version + 1}, "/version"),
        ({"version": 0}, "/version"),
        ({"as": "7"}, "/as"),
        ({"as": "me"}, "/as"),
        ({"selected": version}, "/selected"),
        ({"card": "Th"}, "/card"),
    ]
    for body, at in wrong:
        answer = put(**body)
        assert problem_of(answer) == "invalid-body", body
        assert [error["at"] for error in answer.json["errors"]] == [at]
    assert judge.get(path).json == EMPTY
    ada.post(f"/v1/games/{dispute['game']}/moves", {"type": "forfeit"})
    assert put(**{"as": "all", "selected": version}).json["position"]["as"] == "all"


def test_positions_are_limited(
    world: World, dispute: dict[str, Any], judges: list[Person], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disputes, "POSITIONS_A_MINUTE", 3)
    limits = world.app.extensions["shithead"].rate_limits
    monkeypatch.setattr(limits, "_enabled", True)
    for version in (1, 2, 3):
        lead(judges[0], dispute, version)
    answer = judges[0].call("PUT", dispute["room"], json={"version": 1, "as": "public"})
    assert problem_of(answer) == "rate-limited"
    assert int(answer.headers["Retry-After"]) > 0
    lead(judges[1], dispute, 1)


def test_a_room_is_in_no_log(
    world: World, ada: Person, dispute: dict[str, Any], judges: list[Person]
) -> None:
    """Neither the dispute's stream nor the access log mentions it: it has no data of the game."""
    before = world.services.store.read(UUID(dispute["id"]))
    readings = ada.get(f"/v1/games/{dispute['game']}/audit/readings").json
    lead(judges[0], dispute)
    assert judges[1].get(dispute["room"]).json["leader"] == 0
    assert before is not None
    assert world.services.store.read(UUID(dispute["id"])) == before
    assert ada.get(f"/v1/games/{dispute['game']}/audit/readings").json == readings


def test_without_redis_there_is_no_room(
    world: World, database_url: str, dispute: dict[str, Any], judges: list[Person]
) -> None:
    for address in (None, "redis://127.0.0.1:1/0"):
        keys = world.services.keyring.present.to_text()
        other = make_world(database_url, keys=keys, redis_url=address)
        judge = elsewhere(judges[0], other)
        for method, sent in (("GET", None), ("PUT", {"version": 1, "as": "public"})):
            answer = judge.call(method, dispute["room"], json=sent)
            assert problem_of(answer) == "unavailable", method
        other.services.close()
