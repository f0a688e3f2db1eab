"""Answers for frames of other sites: which have CORS headers, and the policy of the page."""

from __future__ import annotations

import pytest

from service.api.conventions.cors import EMBEDDED
from service.api.pages import loaded_assets
from tests.worlds.api_world import Person, World

ORIGIN = "Access-Control-Allow-Origin"


@pytest.fixture(scope="module")
def world(module_world: World) -> World:
    """Return one application for all tests of this module: none depends on rows of another."""
    return module_world


def test_an_embedded_page_has_a_policy_of_its_own(world: World, ada: Person) -> None:
    game = ada.game()
    answer = world.get(game.replace("/v1/games", "/embed"))
    policy = answer.headers["Content-Security-Policy"].split("; ")
    assert policy[0] == "sandbox allow-scripts" and policy[-1] == "frame-ancestors *"
    assert "default-src 'none'" in policy and "form-action 'none'" in policy
    assert answer.headers["Cross-Origin-Opener-Policy"] == "unsafe-none"
    assert answer.headers["Cross-Origin-Embedder-Policy"] == "require-corp"
    for path in (game.replace("/v1/games", "/embed"), loaded_assets().address("app/table.css")):
        assert world.get(path).headers["Cross-Origin-Resource-Policy"] == "cross-origin"
    assert "data-game" in answer.text and "Set-Cookie" not in answer.headers


def test_the_pages_of_a_hand_name_its_players_by_id_alone(world: World, ada: Person) -> None:
    """The faces are made from the ids, so they are those of the table; a bot has none."""
    game = ada.game()
    shown = f'data-players="{ada.get("/v1/players/me").json["id"]} -"'
    for page in ("/embed", "/replay"):
        assert shown in world.get(game.replace("/v1/games", page)).text
    private = ada.game(visibility="private").replace("/v1/games", "/replay")
    assert "data-players" not in world.get(private).text


def test_a_private_or_unknown_game_is_not_embedded(world: World, ada: Person) -> None:
    private = ada.game(visibility="private").replace("/v1/games", "/embed")
    unknown = "/embed/00000000-0000-4000-8000-000000000000"
    answers = [world.get(path) for path in (private, unknown)]
    assert [answer.status_code for answer in answers] == [404, 404]
    assert answers[0].text == answers[1].text
    assert "data-game" not in answers[0].text and "<script" not in answers[0].text
    assert answers[0].headers["Content-Security-Policy"].endswith("frame-ancestors *")


def test_every_origin_may_read_what_an_embedded_page_needs(world: World, ada: Person) -> None:
    game = ada.game()
    headers = {"Origin": "null"}
    reads = (game, f"{game}/replay?as=public", f"{game}/events", f"{game}/stream?after=1")
    paths = (*reads, game.replace("/v1/games", "/embed"))
    for path in (*paths, loaded_assets().address("app/embed.js"), "/v1/games/nothing"):
        answer = world.get(path, headers=headers)
        assert answer.headers.get(ORIGIN) == "*", path
        assert "Access-Control-Allow-Credentials" not in answer.headers
    missing = world.get("/v1/games/00000000-0000-4000-8000-000000000000", headers=headers)
    assert (missing.status_code, missing.headers[ORIGIN]) == (404, "*")


def test_an_answer_to_a_token_or_an_invite_is_closed_to_other_origins(
    world: World, ada: Person
) -> None:
    table = ada.table({"bot": "lowest"}, visibility="private")
    game = f"/v1/games/{table['game']}"
    assert ORIGIN not in ada.get(game).headers
    assert ORIGIN not in world.get(game, headers={"Shithead-Invite": table["invite"]}).headers
    public = ada.game()
    assert ORIGIN not in ada.get(public).headers
    ada.post(f"{public}/moves", {"type": "forfeit"})
    # A cache may answer everybody with it.
    shared = ada.get(f"{public}/replay?as=all")
    assert shared.headers["Cache-Control"].startswith("public")
    assert shared.headers[ORIGIN] == "*"


def test_every_public_read_is_open_but_no_page_no_change_and_no_preflight(
    world: World, ada: Person
) -> None:
    game = ada.game()
    asked = {"Origin": "null", "Access-Control-Request-Method": "POST"}
    for path in (game, f"{game}/replay", f"{game}/moves", "/v1/players"):
        assert ORIGIN not in world.client.options(path, headers=asked).headers, path
    for path in (f"{game}/openings", f"{game}/evidence", "/v1/tables", "/v1/ratings?ruleset=leeds"):
        headers = world.get(path, headers={"Origin": "null"}).headers
        assert (headers[ORIGIN], headers["Access-Control-Expose-Headers"]) == ("*", "*"), path
        assert ORIGIN not in ada.get(path).headers or path.startswith("/v1/ratings"), path
    for path in ("/", "/docs", "/healthz"):
        assert ORIGIN not in world.get(path, headers={"Origin": "null"}).headers, path
    refused = world.client.post(f"{game}/moves", json={}, headers={"Origin": "null"})
    assert ORIGIN not in refused.headers


@pytest.mark.parametrize("endpoint", sorted(EMBEDDED))
def test_every_embedded_endpoint_is_one_of_the_server(world: World, endpoint: str) -> None:
    rules = [rule for rule in world.app.url_map.iter_rules() if rule.endpoint == endpoint]
    assert rules and all(rule.methods and not {"POST", "PUT"} & rule.methods for rule in rules)
