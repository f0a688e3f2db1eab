"""The list of all disputes: what each caller sees, in pages, and by state."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from tests.worlds.api_world import Person, World, problem_of


@pytest.fixture
def settings() -> dict[str, int]:
    """Return settings under which every player can be a referee at once."""
    return {"referee_hands": 0, "referee_account_seconds": 0, "referee_seated_seconds": 0}


def dispute(ada: Person, bob: Person, **table: Any) -> dict[str, Any]:
    """Return a dispute of Ada against the server about a running hand of a new table."""
    made = ada.table("open", **table)
    invite = {"Shithead-Invite": made["invite"]} if "invite" in made else {}
    sat = bob.post(f"/v1/tables/{made['id']}/seats", headers=invite)
    assert sat.status_code == 201, sat.text
    body = {"accused": None, "seq": 0, "charge": "altered_log", "statement": "A gap."}
    opened = ada.post(f"/v1/games/{sat.json['game']}/disputes", body)
    assert opened.status_code == 201, opened.text
    return {**opened.json, "invite": made.get("invite")}


def listed(caller: Any, query: str = "", **more: Any) -> list[str]:
    answer = caller.get(f"/v1/disputes{query}", **more)
    assert answer.status_code == 200, answer.text
    return [one["id"] for one in answer.json["items"]]


def test_all_disputes_are_listed_newest_first_in_pages(
    world: World, ada: Person, bob: Person
) -> None:
    made = [dispute(ada, bob)["id"] for _ in range(3)]
    assert listed(world) == made[::-1]
    first = world.get("/v1/disputes?limit=2").json
    assert [one["id"] for one in first["items"]] == [made[2], made[1]]
    second = world.get(f"/v1/disputes?limit=2&cursor={first['next']}").json
    assert ([one["id"] for one in second["items"]], second["next"]) == ([made[0]], None)
    assert first["items"][0] == world.get(f"/v1/disputes/{made[2]}").json, "as the single call"
    assert problem_of(world.get("/v1/disputes?cursor=x")) == "malformed"


def test_a_dispute_about_a_private_game_is_listed_for_viewers_of_the_game(
    world: World, ada: Person, bob: Person
) -> None:
    private = dispute(ada, bob, visibility="private")
    outsider = world.person("Cleo")
    assert listed(world) == listed(outsider) == []
    assert listed(ada) == listed(bob) == [private["id"]]
    invite = {"Shithead-Invite": private["invite"]}
    assert listed(outsider, headers=invite) == [private["id"]]
    assert problem_of(outsider.get(f"/v1/disputes/{private['id']}")) == "not-found"
    readings = ada.get(f"/v1/games/{private['game']}/audit/readings").json["items"]
    assert [(one["reader"], one["what"]) for one in readings] == [
        (outsider.id, "/v1/disputes"),
    ]


def test_disputes_are_listed_by_their_present_state(world: World, ada: Person, bob: Person) -> None:
    """The end of a hand opens the voting before any event of the dispute is stored."""
    waiting, other = dispute(ada, bob), dispute(ada, bob)
    for number in range(3):
        judge = world.person(f"Judge {number}")
        assert judge.post(f"/v1/disputes/{waiting['id']}/referees").status_code == 201
    assert listed(world, "?state=open") == [other["id"], waiting["id"]]
    ada.post(f"/v1/games/{waiting['game']}/moves", {"type": "forfeit"})
    assert listed(world, "?state=voting") == [waiting["id"]]
    assert listed(world, "?state=open") == [other["id"]]
    assert world.services.dispute_jobs.process(UUID(waiting["id"])) == "done"
    assert listed(world, "?state=voting") == [waiting["id"]]
    assert listed(world, "?state=final") == []
    assert problem_of(world.get("/v1/disputes?state=lost")) == "malformed"


def test_a_dispute_is_not_listed_under_a_state_whose_period_has_ended(
    world: World, ada: Person, bob: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = dispute(ada, bob)
    ada.post(f"/v1/games/{made['game']}/moves", {"type": "forfeit"})
    assert world.services.dispute_jobs.process(UUID(made["id"])) == "done"
    assert listed(world, "?state=open") == [made["id"]]
    clock = world.services.world
    later = clock.now() + timedelta(days=31)
    monkeypatch.setattr(type(clock), "now", lambda _self: later)
    assert listed(world, "?state=open") == []
    assert listed(world, "?state=final") == [made["id"]]
