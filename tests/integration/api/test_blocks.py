"""Blocks over HTTP: a player's own list, which no other player can read."""

from __future__ import annotations

from unittest.mock import patch

import pytest

from schemas.players import BlockPageSchema, BlockSchema
from tests.worlds.api_world import Answer, Person, World, problem_of


def block(person: Person, other: str, method: str = "PUT") -> Answer:
    return person.call(method, f"/v1/players/me/blocks/{other}")


def blocked(person: Person) -> list[str]:
    found = person.get("/v1/players/me/blocks").json
    assert BlockPageSchema().validate(found) == {}
    return [item["name"] for item in found["items"]]


def test_a_player_blocks_another_and_ends_it(ada: Person, bob: Person) -> None:
    first = block(ada, bob.id)
    assert first.status_code == 200
    assert BlockSchema().validate(first.json) == {}
    assert block(ada, bob.id).json == first.json
    assert blocked(ada) == ["Bob"]
    assert blocked(bob) == []
    assert block(ada, bob.id, "DELETE").status_code == 204
    assert problem_of(block(ada, bob.id, "DELETE")) == "not-found"
    assert blocked(ada) == []


def test_nobody_blocks_themselves_or_an_unknown_player(world: World, ada: Person) -> None:
    assert problem_of(block(ada, ada.id)) == "forbidden"
    unknown = "00000000-0000-4000-8000-000000000000"
    assert problem_of(block(ada, unknown)) == "not-found"
    gone = world.person("Gone")
    assert gone.call("DELETE", "/v1/players/me").status_code == 204
    assert problem_of(block(ada, gone.id)) == "not-found"


def test_an_erased_player_is_in_no_list(ada: Person, bob: Person) -> None:
    block(ada, bob.id)
    assert bob.call("DELETE", "/v1/players/me").status_code == 204
    assert blocked(ada) == []


def test_the_blocks_of_a_player_are_limited(world: World, ada: Person, bob: Person) -> None:
    with patch("service.application.players.MAX_BLOCKS", 1):
        block(ada, bob.id)
        assert problem_of(block(ada, world.person("Eve").id)) == "limit-reached"


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_a_block_needs_a_token(world: World, bob: Person, method: str) -> None:
    path = "/v1/players/me/blocks" + ("" if method == "GET" else f"/{bob.id}")
    assert problem_of(world.client.open(path, method=method)) == "unauthorized"
