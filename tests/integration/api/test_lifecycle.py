"""Next pages, limits at each operation, and operations that will end."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

import pytest

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


def test_an_operation_that_will_end_says_so_and_is_on_the_page(world: World, ada: Person) -> None:
    ending = [name for name, call in operations(world) if call.get("deprecated")]
    page = STABILITY.read_text("utf-8")
    rows = re.findall(r"^\| `([A-Z]+ [^`]+)` \| .* \| (\S+) \| (\S+) \|$", page, re.MULTILINE)
    assert [name for name, *_ in rows] == ending
    [(name, since, until)] = rows
    method, path = name.split(" ")
    answer = ada.call(method, path, json={})
    assert answer.status_code == 201
    began = datetime.fromtimestamp(int(answer.headers["Deprecation"].removeprefix("@")), UTC)
    ends = parsedate_to_datetime(answer.headers["Sunset"])
    assert (began.date().isoformat(), ends.date().isoformat()) == (since, until)
    assert (ends - began).days >= 180
    assert answer.headers["Link"] == '</docs/stability.md>; rel="deprecation"; type="text/plain"'
    assert world.get("/docs/stability.md").text == page
    assert "Deprecation" not in ada.get("/v1/token").headers
