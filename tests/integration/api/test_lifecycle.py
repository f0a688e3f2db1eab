"""Next pages, limits at each operation, and operations that will end."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

import pytest
from flask import Response

from schemas.players import NothingSchema
from service.api.app import create_app
from service.api.conventions.lifecycle import Deprecated
from service.api.conventions.responses import json_response
from service.api.operation import Call, blueprint, operation
from service.application.quotas import LIGHT
from service.feature import Feature
from service.features import FEATURES
from service.runtime.config import Settings
from tests.worlds.api_world import Person, World, make_world

STABILITY = Path(__file__).parents[3] / "ops/spec/stability.md"


@pytest.fixture
def world(database_url: str) -> Iterator[World]:
    made = make_world(database_url)
    yield made
    made.services.close()


@pytest.fixture
def ada(world: World) -> Person:
    return world.person()


def operations(world: World) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, calls in world.get("/v1/openapi.json").json["paths"].items():
        for method, call in calls.items():
            if method != "parameters":
                yield f"{method.upper()} {path}", call


def next_page(answer: Any) -> str | None:
    link = re.fullmatch(r'<(/v1/[^>]*)>; rel="next"', answer.headers.get("Link", ""))
    return None if link is None else link[1]


def test_a_list_is_followed_by_its_links_alone(ada: Person) -> None:
    """The other parameters stay, and the last page has no link."""
    tables = [ada.table()["id"] for _ in range(5)]
    path: str | None = "/v1/tables?limit=2&mine=true&ruleset=shithead"
    found, pages = list[str](), 0
    while path is not None:
        answer = ada.get(path)
        assert answer.status_code == 200, answer.text
        found += [table["id"] for table in answer.json["items"]]
        path, before, pages = next_page(answer), answer.json["next"], pages + 1
        assert (path is None) == (before is None)
    assert (found, pages) == (tables[::-1], 3)


def test_events_and_frames_have_links_too(ada: Person) -> None:
    game = ada.game()
    ada.post(f"{game}/moves", {"type": "forfeit"})
    path: str | None = f"{game}/events?limit=3"
    seqs = list[int]()
    while path is not None:
        answer = ada.get(path)
        seqs += [event["seq"] for event in answer.json["items"]]
        path = next_page(answer)
    assert seqs == list(range(ada.get(game).json["version"]))
    assert next_page(ada.get(f"{game}/replay?as=all")) is None


def test_each_operation_names_the_limits_that_count_it(world: World) -> None:
    found = {name: call["x-limits"] for name, call in operations(world)}
    light = {"calls": 1, "grows": None}
    assert found["GET /v1/players/me"] == {"counted_by": ["address", "player"], "weight": light}
    assert found["POST /v1/players/recover"] == {
        "weight": light,
        "counted_by": ["address", "operation"],
        "requests": 60,
        "seconds": 60,
        "body_bytes": 32 << 10,
    }
    assert found["POST /v1/games/{game_id}/disputes"]["body_bytes"] == 64 << 10
    of_player = found["PUT /v1/players/me/webhook"]
    assert of_player["counted_by"] == ["address", "player", "operation", "player-operation"]
    assert (of_player["requests"], of_player["player_requests"]) == (60, 6)


def test_the_page_lists_exactly_the_operations_that_will_end(world: World) -> None:
    """None will yet."""
    ending = [name for name, call in operations(world) if call.get("deprecated")]
    page = STABILITY.read_text("utf-8")
    rows = re.findall(r"^\| `([A-Z]+ [^`]+)` \| .* \| (\S+) \| (\S+) \|$", page, re.MULTILINE)
    assert [name for name, *_ in rows] == ending
    assert ("No operation will end yet." in page) == (not ending)
    assert world.get("/docs/stability.md").text == page


def test_an_operation_that_will_end_says_so(
    world: World, ada: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A made-up one: in the document, and in each of its answers."""
    made_up = blueprint("made-up", __name__, "Operations that will end")
    since, sunset = datetime(2026, 12, 1, tzinfo=UTC), datetime(2027, 6, 30, tzinfo=UTC)

    @operation(
        made_up,
        "GET",
        "/made-up",
        answer=NothingSchema,
        weight=LIGHT,
        deprecated=Deprecated(since=since, sunset=sunset),
    )
    def ending(_call: Call) -> Response:
        """Answer with nothing."""
        return json_response({})

    features = (*FEATURES, Feature(name="made-up", operations=(made_up,)))
    settings = Settings(database_url="", keys="", rate_limits=False)
    client = create_app(features, world.services, settings).test_client()
    answer = client.get("/v1/made-up")
    assert answer.status_code == 200
    assert answer.headers["Deprecation"] == f"@{int(since.timestamp())}"
    assert parsedate_to_datetime(answer.headers["Sunset"]) == sunset
    assert answer.headers["Link"] == '</docs/stability.md>; rel="deprecation"; type="text/plain"'
    [described] = [calls["get"]["manual_doc"] for calls in made_up._docs.values()]
    assert described["deprecated"] is True
    assert {"Deprecation", "Sunset", "Link"} <= set(described["responses"][200]["headers"])
    assert "Deprecation" not in ada.get("/v1/token").headers
