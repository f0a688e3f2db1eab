"""Tables over HTTP: refusals to holders of an invite, hands in answers, and `Location`."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest

from tests.worlds.api_world import Person, World, problem_of


@pytest.fixture(scope="module")
def world(module_world: World) -> World:
    """Return one application for all tests of this module: none depends on rows of another."""
    return module_world


@pytest.mark.parametrize(
    ("method", "below", "refusal"),
    [
        ("PATCH", "/seats/me", "not-seated"),
        ("DELETE", "/seats/me", "not-seated"),
        ("DELETE", "", "forbidden"),
        ("POST", "/games", "not-seated"),
    ],
)
def test_a_holder_of_the_invite_gets_the_reason_of_a_refusal(
    ada: Person, bob: Person, method: str, below: str, refusal: str
) -> None:
    """A private table is answered with 404, but a holder of its invite gets the real reason."""
    table = ada.table("open", visibility="private")
    path = f"/v1/tables/{table['id']}{below}"
    invite = {"Shithead-Invite": table["invite"]}
    assert problem_of(bob.call(method, path, json={})) == "not-found"
    answer = bob.call(method, path, json={}, headers=invite)
    assert (problem_of(answer), answer.status_code) == (refusal, 403)


def test_a_hand_dealt_at_once_is_in_the_answer(ada: Person) -> None:
    table = ada.table({"bot": "lowest"})
    assert [game["id"] for game in table["games"]] == [table["game"]]
    assert table["games"] == ada.get(f"/v1/tables/{table['id']}").json["games"]


def test_a_hand_dealt_to_the_last_to_sit_down_is_in_the_answer(ada: Person, bob: Person) -> None:
    table = ada.table("open")
    assert table["games"] == []
    seated = bob.post(f"/v1/tables/{table['id']}/seats").json
    assert [game["id"] for game in seated["games"]] == [seated["game"]]
    assert seated["games"] == ada.get(f"/v1/tables/{table['id']}").json["games"]


def test_the_host_fills_the_open_seats_with_bots_and_deals(ada: Person, bob: Person) -> None:
    """Who sits there keeps the seat, and the answer is the hand."""
    table = ada.table("open", "open", {"bot": "lowest"})
    assert bob.post(f"/v1/tables/{table['id']}/seats").status_code == 201
    dealt = ada.post(f"/v1/tables/{table['id']}/games", {"fill_with": "greedy"})
    assert dealt.status_code == 201
    found = ada.get(f"/v1/tables/{table['id']}").json
    assert [seat["kind"] for seat in found["seats"]] == ["human", "human", "bot", "bot"]
    assert [seat["bot"] for seat in found["seats"]] == [None, None, "greedy", "lowest"]
    assert found["status"] == "playing" and found["game"] == dealt.json["game"]["id"]
    assert [seat["kind"] for seat in dealt.json["game"]["seats"]][2:] == ["bot", "bot"]


def test_filling_a_table_with_bots_is_for_its_host_and_for_known_bots(
    ada: Person, bob: Person
) -> None:
    table = ada.table("open", "open")
    path = f"/v1/tables/{table['id']}/games"
    assert bob.post(f"/v1/tables/{table['id']}/seats").status_code == 201
    refused = bob.post(path, {"fill_with": "greedy"})
    assert (problem_of(refused), refused.status_code) == ("forbidden", 403)
    unknown = ada.post(path, {"fill_with": "nobody"})
    assert unknown.json["errors"][0]["at"] == "/fill_with"
    assert problem_of(ada.post(path)) == "table-not-full"
    assert ada.get(f"/v1/tables/{table['id']}").json["version"] == table["version"] + 1
    assert ada.call("DELETE", f"/v1/tables/{table['id']}").status_code == 204
    assert problem_of(ada.post(path, {"fill_with": "greedy"})) == "forbidden"


def test_a_created_resource_is_answered_with_its_location(world: World, ada: Person) -> None:
    player = world.client.post("/v1/players", json={"name": "Eve"})
    assert player.headers["Location"] == f"/v1/players/{player.json['id']}"
    body = {"ruleset": "shithead", "seats": ["me", {"bot": "lowest"}], "deal": False}
    key = {"Idempotency-Key": "once"}
    first, again = (ada.post("/v1/tables", body, headers=key) for _ in range(2))
    assert first.headers["Location"] == f"/v1/tables/{first.json['id']}"
    assert again.headers["Idempotency-Replayed"] == "true"
    assert again.headers["Location"] == first.headers["Location"]
    dealt = ada.post(f"/v1/tables/{first.json['id']}/games")
    assert dealt.headers["Location"] == f"/v1/games/{dealt.json['game']['id']}"
    for made in (player, first, dealt):
        assert PurePosixPath(made.headers["Location"]).is_absolute()
        assert ada.get(made.headers["Location"]).status_code == 200
    moved = ada.post(f"{dealt.headers['Location']}/moves", {"type": "ready"})
    assert ada.get(moved.headers["Location"]).json["items"][0] == moved.json["events"][0]
    token = ada.post("/v1/players/me/tokens", {"name": "second"})
    assert ada.call("DELETE", token.headers["Location"]).status_code == 204


def test_a_seat_is_answered_with_the_location_of_its_table(ada: Person, bob: Person) -> None:
    table = ada.table("open", deal=False)
    seated = bob.post(f"/v1/tables/{table['id']}/seats")
    assert seated.headers["Location"] == f"/v1/tables/{table['id']}"


def test_an_answer_without_a_body_has_no_content_type(ada: Person) -> None:
    table = ada.table("open")
    for path in (f"/v1/tables/{table['id']}/seats/me", f"/v1/tables/{table['id']}"):
        answer = ada.call("DELETE", path)
        assert (answer.status_code, answer.data) == (204, b"")
        assert "Content-Type" not in answer.headers
