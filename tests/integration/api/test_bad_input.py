"""Invalid input is always answered with a problem of the contract."""

from __future__ import annotations

import json
import time
from typing import Any
from uuid import UUID

import pytest

from tests.worlds.api_world import Person, World, problem_of

UNKNOWN = UUID("00000000-0000-4000-8000-000000000000")
JSON = "application/json"

NOT_JSON = [
    b"",
    b"{",
    b"[1,]",
    b"nothing",
    b'{"name":"a","name":"b"}',
    b'{"name":NaN}',
    b'{"name":-Infinity}',
    b'{"name":1e999}',
    b'{"name":' + b"9" * 5000 + b"}",
    b'{"name":"\xff"}',
    b'{"name":"\\ud800"}',
    b"[" * 30_000,
]


@pytest.fixture(scope="module")
def world(module_world: World) -> World:
    """Return one application for all tests of this module: none depends on rows of another."""
    return module_world


@pytest.mark.parametrize("raw", NOT_JSON, ids=lambda raw: repr(raw[:24]))
def test_a_body_that_is_not_json_is_malformed(world: World, raw: bytes) -> None:
    answer = world.client.post("/v1/players", data=raw, content_type=JSON)
    assert problem_of(answer) == "malformed"


@pytest.mark.parametrize(
    ("body", "at"),
    [
        ({}, "/name"),
        ({"name": 7}, "/name"),
        ({"name": "Ada", "more": {"a/b": ["", "\u0000"]}}, "/more/a~1b/1"),
        ({"name": "Ada", "nmae": 1}, "/nmae"),
        ({"name": "Ada", "a/b": 1}, "/a~1b"),
        ([], ""),
        (None, ""),
    ],
)
def test_an_invalid_body_is_answered_with_pointers_to_its_faults(
    world: World, body: Any, at: str
) -> None:
    answer = world.client.post("/v1/players", data=json.dumps(body), content_type=JSON)
    assert problem_of(answer) == "invalid-body"
    assert at in [error["at"] for error in answer.json["errors"]]


def test_pointers_reach_into_lists_and_objects(ada: Person) -> None:
    body = {"ruleset": "shithead", "seats": ["me", {"bot": 5}], "clock": {"turn_seconds": 0}}
    answer = ada.post("/v1/tables", body)
    assert problem_of(answer) == "invalid-body"
    places = {error["at"] for error in answer.json["errors"]}
    assert {"/seats/1/bot", "/clock/turn_seconds", "/clock/swap_seconds"} <= places


@pytest.mark.parametrize("number", [True, 1.5, "1", 2**60, -1, None])
def test_only_json_integers_are_accepted_as_whole_numbers(ada: Person, number: Any) -> None:
    body = {"ruleset": "shithead", "seats": ["me", {"bot": "lowest"}], "turn_limit": number}
    assert problem_of(ada.post("/v1/tables", body)) in ("invalid-body", "malformed")


@pytest.mark.parametrize(
    ("number", "problem"),
    [
        *((-(2**53) + 1, "invalid-body"), (2**53 - 1, "invalid-body")),
        *((-(2**53), "malformed"), (2**53, "malformed"), (10**17, "malformed")),
    ],
)
def test_a_number_is_malformed_if_json_readers_would_round_it(
    ada: Person, number: int, problem: str
) -> None:
    body = {"ruleset": "shithead", "seats": ["me", {"bot": "lowest"}], "turn_limit": number}
    assert problem_of(ada.post("/v1/tables", body)) == problem


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", ""])
def test_content_types_other_than_json_are_refused(world: World, content_type: str) -> None:
    answer = world.client.post("/v1/players", data=b'{"name":"a"}', content_type=content_type)
    assert problem_of(answer) == "unsupported-media-type"


def test_a_content_encoding_is_refused(world: World) -> None:
    headers = {"Content-Encoding": "gzip"}
    answer = world.client.post("/v1/players", json={"name": "a"}, headers=headers)
    assert problem_of(answer) == "unsupported-media-type"


def test_a_body_of_one_mebibyte_is_too_large(world: World) -> None:
    raw = b'{"name":"' + b"x" * 2**20 + b'"}'
    answer = world.client.post("/v1/players", data=raw, content_type=JSON)
    assert problem_of(answer) == "too-large"


def test_a_bundle_may_be_larger_than_other_bodies(world: World) -> None:
    answer = world.client.post("/v1/verify", data=b"x" * 2**21, content_type="application/zip")
    assert problem_of(answer) == "not-a-bundle"


def test_a_request_for_another_media_type_is_not_acceptable(world: World) -> None:
    answer = world.get("/v1/bots", headers={"Accept": "text/html"})
    assert problem_of(answer) == "not-acceptable"
    assert world.get("/v1/bots", headers={"Accept": "text/html, */*;q=0.1"}).status_code == 200


@pytest.mark.parametrize(
    "path",
    [
        "/v1/nothing",
        "/v1/games/7",
        "/v1/games/%00",
        f"/v1/games/{UNKNOWN}",
        f"/v1/tables/{UNKNOWN}",
        f"/v1/players/{UNKNOWN}",
        f"/v1/players/{UNKNOWN}/hands",
        f"/v1/disputes/{UNKNOWN}",
        "/v1/rulesets/none",
        "/v1/rulesets/%00",
        "/v1//games",
        "/v1/games/",
        "/problems/none",
    ],
)
def test_an_unknown_path_is_not_found(world: World, path: str) -> None:
    assert problem_of(world.get(path)) == "not-found"


def test_a_wrong_method_is_answered_with_the_allowed_ones(world: World) -> None:
    answer = world.client.put("/v1/tables")
    assert problem_of(answer) == "method-not-allowed"
    assert {"GET", "POST"} <= set(answer.headers["Allow"].split(", "))


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("limit=0", "limit"),
        ("limit=201", "limit"),
        ("limit=1.0", "limit"),
        ("limit=1&limit=2", "limit"),
        ("cursor=%00", "cursor"),
        ("cursor=+", "cursor"),
        ("status=none", "status"),
        ("mine=yes", "mine"),
        ("what=1", "what"),
    ],
)
def test_an_invalid_query_parameter_is_named(world: World, query: str, name: str) -> None:
    answer = world.get(f"/v1/tables?{query}")
    assert problem_of(answer) == "malformed"
    assert name in [error["at"] for error in answer.json["errors"]]


@pytest.mark.parametrize("query", ["limit=%ff", "cursor=AAAA"])
def test_an_unreadable_query_is_malformed(world: World, query: str) -> None:
    assert problem_of(world.get(f"/v1/tables?{query}")) == "malformed"


@pytest.mark.parametrize("query", ["at=0", "at=999999999999", "at=50", "as=9", "as=nobody"])
def test_an_invalid_view_parameter_is_malformed(ada: Person, query: str) -> None:
    assert problem_of(ada.get(f"{ada.game()}?{query}")) == "malformed"


@pytest.mark.parametrize(
    "value", ["", "Bearer", "Bearer x", "Basic eDp5", "bearer  ä", "Bearer " + "a" * 5000]
)
def test_an_unknown_token_is_refused_also_where_none_is_needed(world: World, value: str) -> None:
    headers = {"Authorization": value}
    for path in ("/v1/players/me", "/v1/tables"):
        answer = world.get(path, headers=headers)
        assert problem_of(answer) == "unauthorized"
        assert answer.headers["WWW-Authenticate"].startswith("Bearer")


@pytest.mark.attack("ERROR_TEXTS", "a fault of the service provoked", check="the form of faults")
@pytest.mark.parametrize(
    "error", [RuntimeError("password=hunter2"), OSError(5, "password=hunter2")], ids=str
)
def test_an_internal_error_reveals_no_details(
    world: World, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def broken(*_args: Any) -> None:
        raise error

    monkeypatch.setattr(type(world.services.players), "public", broken)
    answer = world.get(f"/v1/players/{UNKNOWN}")
    assert answer.status_code == 500
    assert answer.json["type"] == "about:blank"
    assert "hunter2" not in answer.text


@pytest.mark.attack("WITHOUT_BOUND", "a body of twenty thousand names", check="the reader")
def test_a_body_of_3000_unknown_fields_is_refused_while_it_is_read(world: World) -> None:
    """Naming each unknown field took 0.1 ms of processor time."""
    body = b"{" + b",".join(b'"%d":0' % number for number in range(3000)) + b"}"
    began = time.process_time()
    answer = world.client.post("/v1/players", data=body, content_type="application/json")
    assert problem_of(answer) == "malformed"
    assert time.process_time() - began < 0.5
