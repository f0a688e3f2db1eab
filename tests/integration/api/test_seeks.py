"""Seeks over HTTP: two players meet, hear of it in their own streams, and repeat a request."""

from __future__ import annotations

from typing import Any

import pytest

from schemas.seeks import SeekSchema, SeeksSchema
from service.application.quotas import Slice
from tests.worlds.api_world import Person, World, problem_of

WANTED = {"rulesets": ["leeds"], "seats": 2}
STREAM = "/v1/players/me/stream"


def seek(person: Person, **more: Any) -> dict[str, Any]:
    answer = person.post("/v1/seeks", {**WANTED, **more})
    assert answer.status_code == 201, answer.text
    found: dict[str, Any] = answer.json
    assert SeekSchema().validate(found) == {}
    assert answer.headers["Location"] == f"/v1/seeks/{found['id']}"
    return found


def test_two_players_meet_and_both_hear_of_it(world: World, ada: Person, bob: Person) -> None:
    first = seek(ada)
    path = f"/v1/seeks/{first['id']}"
    assert first["status"] == ada.get(path).json["status"] == "open"
    listed = world.get("/v1/seeks").json
    assert SeeksSchema().validate(listed) == {}
    assert (listed["mine"], [one["players"] for one in listed["open"]]) == ([], [1])
    second = bob.get(f"/v1/seeks/{seek(bob)['id']}").json
    assert second["status"] == "open"
    assert world.services.matchmaker.sweep(Slice(rows=20, seconds=60)) == 1
    second = bob.get(f"/v1/seeks/{second['id']}").json
    assert second["status"] == "matched"
    table = bob.get(f"/v1/tables/{second['table']}").json
    assert [seat["name"] for seat in table["seats"]] == ["Ada", "Bob"]
    assert (table["status"], table["as"], table["host"]) == ("playing", 1, ada.id)
    items = ada.get(STREAM).json["items"]
    matched, *rest = items
    assert matched == {
        "type": "seek_matched",
        "id": first["id"],
        "version": 1,
        "table": second["table"],
        "game": None,
        "ends_at": None,
    }
    assert {one["type"] for one in rest} == {"seat_taken", "hand_dealt", "your_turn"}
    assert ada.get("/v1/seeks").json == {"mine": [ada.get(path).json], "open": [], "next": None}
    assert problem_of(bob.get(path)) == "not-found"


def test_a_seek_is_renewed_and_withdrawn(ada: Person) -> None:
    first = seek(ada, fill_with_bots_after=60)
    path = f"/v1/seeks/{first['id']}"
    renewed = ada.post(f"{path}/renew")
    assert renewed.status_code == 200
    assert renewed.json["expires_at"] > first["expires_at"]
    ended = ada.call("DELETE", path)
    assert (ended.status_code, ended.json["status"]) == (200, "withdrawn")
    for again in (ada.call("DELETE", path), ada.post(f"{path}/renew")):
        assert (again.status_code, problem_of(again)) == (409, "seek-over")
        assert again.json["seek"] == ended.json


def test_who_withdraws_a_matched_seek_learns_the_table(
    world: World, ada: Person, bob: Person
) -> None:
    path = f"/v1/seeks/{seek(ada)['id']}"
    other = seek(bob)["id"]
    assert world.services.matchmaker.sweep(Slice(rows=20, seconds=60)) == 1
    table = bob.get(f"/v1/seeks/{other}").json["table"]
    for late in (ada.call("DELETE", path), ada.post(f"{path}/renew")):
        assert problem_of(late) == "seek-over"
        assert late.json["seek"] == ada.get(path).json
        assert late.json["seek"]["table"] == table is not None


@pytest.mark.parametrize(
    "change",
    [
        {"rulesets": []},
        {"rulesets": ["leeds", "leeds"]},
        {"seats": 1},
        {"fill_with_bots_after": 3601},
    ],
)
def test_a_wrong_seek_is_refused(ada: Person, change: dict[str, Any]) -> None:
    assert problem_of(ada.post("/v1/seeks", {**WANTED, **change})) == "invalid-body"


def test_strangers_play_by_a_clock_unless_all_of_them_ask_for_none(world: World) -> None:
    """Who leaves the clock out is seated with who names the usual one, and with nobody without."""
    ada, bob, cy, dan = (world.person(name) for name in ("Ada", "Bob", "Cy", "Dan"))
    body = {key: value for key, value in WANTED.items() if key != "clock"}
    usual = {"turn_seconds": 60, "swap_seconds": 120, "reserve_seconds": 180}
    made = [
        one.post("/v1/seeks", {**body, **more}).json
        for one, more in (
            (ada, {}),
            (bob, {"clock": None}),
            (cy, {"clock": usual}),
            (dan, {"clock": None}),
        )
    ]
    assert [one["clock"] for one in made] == [usual, None, usual, None]
    assert world.services.matchmaker.sweep(Slice(rows=20, seconds=60)) == 2
    tables = [
        one.get(f"/v1/seeks/{seek['id']}").json["table"]
        for one, seek in zip((ada, bob, cy, dan), made, strict=True)
    ]
    assert tables[0] == tables[2] != tables[1] == tables[3]
    assert ada.get(f"/v1/tables/{tables[0]}").json["clock"] == usual
    assert bob.get(f"/v1/tables/{tables[1]}").json["clock"] is None
