"""Pages of lists that rarely change."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import orjson
import pytest

from service.rulesets.catalogue import catalogue, known_by_name
from service.rulesets.custom import custom_definition
from service.store.directory import CustomRuleset
from tests.worlds.api_world import Person, World, problem_of


@pytest.fixture(scope="module")
def world(module_world: World) -> World:
    """Return one application for all tests of this module: none depends on rows of another."""
    return module_world


def store_ruleset(world: World, owner: Person, hand: int) -> str:
    """Store a ruleset like an accepted one; return its id."""
    base = catalogue()["shithead"]
    made = custom_definition(base, f"Hands of {hand}", {"refill": {"size": hand}})
    document = orjson.dumps({"base": base.id, "settings": made.tree}).decode()
    world.services.directory.save_ruleset(
        CustomRuleset(
            id=made.id,
            name=made.name,
            owner=UUID(owner.id),
            document=document,
            created_at=datetime(2026, 1, hand, tzinfo=UTC),
        )
    )
    return made.id


def listed(world: World, path: str, limit: int) -> list[dict[str, Any]]:
    """Return all items of a list, read page by page."""
    found: list[dict[str, Any]] = []
    cursor = ""
    while True:
        page = world.get(f"{path}?limit={limit}{cursor}").json
        assert 0 < len(page["items"]) <= limit
        found += page["items"]
        assert len(found) < 500, "the list does not end"
        if page["next"] is None:
            return found
        cursor = f"&cursor={page['next']}"


@pytest.mark.parametrize("limit", [1, 2, 3, 200])
def test_bots_are_listed_in_pages(world: World, limit: int) -> None:
    names = [bot["name"] for bot in listed(world, "/v1/bots", limit)]
    assert names == [bot["name"] for bot in world.get("/v1/bots").json["items"]]
    assert len(set(names)) == len(names) >= 3


def test_rulesets_are_listed_with_the_players_own_last_newest_first(
    world: World, ada: Person, bob: Person
) -> None:
    own = [store_ruleset(world, person, hand) for hand, person in ((4, ada), (5, bob), (6, ada))]
    expected = [*catalogue(), *known_by_name(), *reversed(own)]
    fixed = len(expected) - len(own)
    for limit in (1, 2, 7, fixed - 1, fixed, fixed + 1, len(expected), 200):
        found = [ruleset["id"] for ruleset in listed(world, "/v1/rulesets", limit)]
        assert found == expected, limit
    last = listed(world, "/v1/rulesets", 200)[-1]
    whole = world.get(f"/v1/rulesets/{own[0]}").json
    details = whole.keys() - last.keys()
    assert details == {"settings", "in_short", "statements", "differs"}, "a list has short items"
    assert last == {name: value for name, value in whole.items() if name not in details}
    assert len(world.get("/v1/rulesets").data) < 16_000, "330 KB with settings and statements"


def test_a_cursor_of_another_list_is_malformed(world: World, ada: Person) -> None:
    for _ in range(2):
        ada.post("/v1/tables", {"ruleset": "shithead", "seats": ["me", {"bot": "lowest"}]})
    cursors = {
        path: world.get(f"{path}?limit=1").json["next"] for path in ("/v1/games", "/v1/tables")
    }
    for path, cursor in cursors.items():
        for other in ("/v1/games", "/v1/tables", "/v1/disputes"):
            answer = world.get(f"{other}?cursor={cursor}")
            if other == path:
                assert len(answer.json["items"]) == 1
            else:
                assert problem_of(answer) == "malformed"


@pytest.mark.parametrize("path", ["/v1/bots", "/v1/rulesets"])
@pytest.mark.parametrize("query", ["limit=0", "limit=201", "cursor=nobody", "cursor=%00", "x=1"])
def test_an_invalid_page_is_malformed(world: World, path: str, query: str) -> None:
    answer = world.get(f"{path}?{query}")
    assert problem_of(answer) == "malformed"
    assert [error["at"] for error in answer.json["errors"]] == [query.partition("=")[0]]
