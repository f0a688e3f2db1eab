"""The document: complete, readable, and true of the answers that are composed without it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import jsonschema_rs
import pytest

from service.api.problems import PROBLEMS
from tests.worlds.api_world import Person, World, make_world


@pytest.fixture
def world(database_url: str) -> Iterator[World]:
    made = make_world(database_url)
    yield made
    made.services.close()


def check(world: World, template: str, answer: Any, *, method: str = "get") -> None:
    """Check an answer against what the document says of its call, formats included."""
    document = world.get("/v1/openapi.json").json
    documented = document["paths"][template][method]["responses"][str(answer.status_code)]
    schema = documented["content"][answer.mimetype]["schema"]
    whole = {**schema, "components": document["components"]}
    jsonschema_rs.validator_for(whole, validate_formats=True).validate(answer.json)


def test_every_call_under_v1_is_in_the_document(world: World) -> None:
    document = world.get("/v1/openapi.json").json
    assert document["openapi"] == "3.1.0"
    answer = {
        (path, method.upper())
        for path, calls in document["paths"].items()
        for method in calls
        if method != "parameters"
    }
    routed = {
        (_template(rule.rule), method)
        for rule in world.app.url_map.iter_rules()
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
        if rule.rule.startswith("/v1/") and rule.rule != "/v1/openapi.json"
    }
    assert answer == routed


def test_calls_have_names_of_their_own_and_words(world: World) -> None:
    document = world.get("/v1/openapi.json").json
    calls = [
        call
        for path in document["paths"].values()
        for method, call in path.items()
        if method != "parameters"
    ]
    names = [call["operationId"] for call in calls]
    assert len(set(names)) == len(names)
    assert all(call["summary"] for call in calls)


def test_every_problem_has_a_page_at_its_address(world: World) -> None:
    for code, kind in PROBLEMS.items():
        page = world.get(f"/problems/{code}")
        assert page.status_code == 200
        assert kind.title in page.text
        assert code in world.get("/docs").text


def test_the_page_is_made_from_the_document_and_loads_nothing(world: World) -> None:
    page = world.get("/docs")
    assert page.mimetype == "text/html"
    for path in world.get("/v1/openapi.json").json["paths"]:
        assert path in page.text
    assert "<script" not in page.text
    assert "http://" not in page.text
    assert "https://" not in page.text


def test_real_answers_fit_the_document(world: World) -> None:
    ada = world.person()
    table = _opened(world, ada)
    game = f"/v1/games/{table['game']}"
    _check_game(world, ada, game)
    for path in ("/v1/tables", "/v1/games", "/v1/players/me", "/v1/rulesets", "/v1/bots"):
        check(world, path, ada.get(path))
    check(world, "/v1/keys", ada.get("/v1/keys"))
    check(world, "/v1/tables/{table_id}", ada.get(f"/v1/tables/{table['id']}"))
    check(world, "/v1/players/{player_id}", ada.get(f"/v1/players/{ada.id}"))
    check(world, "/v1/rulesets/{ruleset_id}", ada.get("/v1/rulesets/mukava"))
    both = ada.get("/v1/rulesets/leeds/differences?from=threes")
    check(world, "/v1/rulesets/{ruleset_id}/differences", both)


def _opened(world: World, ada: Person) -> dict[str, Any]:
    body = {
        "ruleset": "shithead",
        "seats": ["me", {"bot": "greedy"}, {"bot": "lowest"}],
        "clock": {"turn_seconds": 60, "swap_seconds": 60},
        "visibility": "private",
    }
    answer = ada.post("/v1/tables", body)
    check(world, "/v1/tables", answer, method="post")
    assert answer.json["invite"]
    result: dict[str, Any] = answer.json
    return result


def _check_game(world: World, ada: Person, game: str) -> None:
    template, turns = "/v1/games/{game_id}", world.services.turns
    moves = f"{template}/moves"
    identity = game.removeprefix("/v1/games/")
    for _ in range(40):
        view = ada.get(game)
        check(world, template, view)
        if view.json["status"] == "ended":
            break
        if view.json["moves"]:
            chosen = next((m for m in view.json["moves"] if m["type"] == "ready"), None)
            answer = ada.post(f"{game}/moves", chosen or view.json["moves"][0])
            check(world, moves, answer, method="post")
        else:
            turns.take(UUID(identity), view.json["version"])
    refused = ada.post(f"{game}/moves", {"type": "pick_up", "with": ["2c"]})
    check(world, moves, refused, method="post")
    if ada.get(game).json["status"] != "ended":
        check(world, moves, ada.post(f"{game}/moves", {"type": "forfeit"}), method="post")
    for part in ("events", "openings", "audit", "replay?as=all"):
        check(world, f"{template}/{part.partition('?')[0]}", ada.get(f"{game}/{part}"))
    check(world, template, ada.get(f"{game}?as=all"))


def _template(rule: str) -> str:
    return re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", rule)
