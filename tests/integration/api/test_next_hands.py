"""A table that deals by itself, over HTTP: what it shows, and the pause of a seat."""

from __future__ import annotations

from typing import Any

from schemas.tables import TableSchema
from tests.worlds.api_world import Person, World, problem_of


def shown(person: Person, path: str) -> dict[str, Any]:
    found: dict[str, Any] = person.get(path).json
    assert TableSchema().validate(found) == {}
    return found


def test_a_pause_is_shown_and_removes_the_time_of_the_next_hand(
    world: World, ada: Person, bob: Person
) -> None:
    table = ada.table("open", deal="always")
    path = f"/v1/tables/{table['id']}"
    game = bob.post(f"{path}/seats").json["game"]
    assert (shown(ada, path)["deal"], shown(ada, path)["next_deal_at"]) == ("always", None)
    assert ada.post(f"/v1/games/{game}/moves", {"type": "forfeit"}).status_code == 201
    assert shown(ada, path)["next_deal_at"] is not None
    paused = bob.call("PATCH", f"{path}/seats/me", json={"paused": True}).json
    assert (paused["next_deal_at"], [seat["paused"] for seat in paused["seats"]]) == (
        None,
        [False, True],
    )
    assert shown(ada, path) == {**paused, "as": 0}
    bob.call("PATCH", f"{path}/seats/me", json={"paused": False})
    assert shown(bob, path)["next_deal_at"] is not None
    assert ada.post(f"{path}/games").status_code == 201, "a seat can deal before the time"
    during = bob.call("PATCH", f"{path}/seats/me", json={"paused": True})
    assert during.status_code == 200
    both = {"paused": False, "entropy": "commit"}
    refused = bob.call("PATCH", f"{path}/seats/me", json=both)
    assert problem_of(refused) == "hand-running"
    eve = world.person("Eve")
    refused = eve.call("PATCH", f"{path}/seats/me", json={"paused": True})
    assert problem_of(refused) == "not-seated"


def test_other_tables_know_no_pause_and_other_values_of_deal_are_refused(ada: Person) -> None:
    table = ada.table("open", deal=False)
    refused = ada.call("PATCH", f"/v1/tables/{table['id']}/seats/me", json={"paused": True})
    assert problem_of(refused) == "forbidden"
    for wrong in ("never", 1, None, ["always"]):
        body = {"ruleset": "shithead", "seats": ["me", "open"], "deal": wrong}
        assert problem_of(ada.post("/v1/tables", body)) == "invalid-body"
