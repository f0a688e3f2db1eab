"""Blocks over HTTP: a player's own list, which no other player can read."""

from __future__ import annotations

from unittest.mock import patch

import pytest

from schemas.players import BlockPageSchema, BlockSchema
from service.application.quotas import QUOTAS
from service.store.events import QuotaKind
from tests.streams import numbered
from tests.worlds.api_world import Answer, Person, World, problem_of


@pytest.fixture(scope="module")
def world(module_world: World) -> World:
    """Return one application for all tests of this module: none depends on rows of another."""
    return module_world


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
    with patch.dict(QUOTAS, [numbered(QuotaKind.BLOCKS, 1)]):
        block(ada, bob.id)
        assert problem_of(block(ada, world.person("Eve").id)) == "limit-reached"


@pytest.mark.parametrize("visibility", ["public", "private"])
def test_the_host_keeps_a_blocked_player_from_a_seat_and_from_nothing_else(
    world: World, ada: Person, bob: Person, visibility: str
) -> None:
    """Two tables that differ by the block alone: all that Bob reads is the same but his attempt."""
    eve = world.person("Eve")
    tables = [host.table("open", "open", visibility=visibility) for host in (ada, eve)]
    block(ada, bob.id)
    read = []
    for table in tables:
        path, link = f"/v1/tables/{table['id']}", {"Shithead-Invite": table.get("invite") or "-"}
        seen = bob.get(path, headers=link)
        events = [bob.get(path).status_code, bob.get("/v1/tables?mine=true").json["items"]]
        masked = seen.text
        for own in (table["id"], ada.id, eve.id, "Ada", "Eve", seen.json["seats"][0]["player"]):
            masked = masked.replace(own, "~")
        read.append((seen.status_code, masked, events, bob.get("/v1/players/me/invitations").json))
    assert read[0] == read[1]
    (path, link), (other, its_link) = (
        (f"/v1/tables/{t['id']}/seats", {"Shithead-Invite": t.get("invite") or "-"}) for t in tables
    )
    refused = bob.post(path, headers=link)
    assert (problem_of(refused), refused.json["code"]) == ("forbidden", "request.not_admitted")
    assert "block" not in refused.text
    assert bob.id not in ada.get(path.removesuffix("/seats")).text, "nothing was written"
    assert bob.post(other, headers=its_link).status_code == 201
    block(ada, bob.id, "DELETE")
    assert bob.post(path, headers=link).status_code == 201, "the block has ended"


def test_a_block_concerns_later_seats_and_the_hosts_own_tables_only(
    world: World, ada: Person, bob: Person
) -> None:
    eve = world.person("Eve")
    table = ada.table("open", "open", "open")
    path = f"/v1/tables/{table['id']}/seats"
    assert bob.post(path).status_code == 201
    block(ada, bob.id)
    seats = ada.get(f"/v1/tables/{table['id']}").json["seats"]
    assert bob.id in [seat["player"] for seat in seats], "who sits there stays"
    assert problem_of(bob.post(path)) == "seat-taken", "a reason that they know comes first"
    block(eve, ada.id)
    assert eve.post(path).status_code == 201, "their own block of the host does not bind them"
    other = eve.table("open", "open")
    assert problem_of(ada.post(f"/v1/tables/{other['id']}/seats")) == "forbidden"
    assert bob.post(f"/v1/tables/{other['id']}/seats").status_code == 201
