"""The work for a body is bounded: by its size, the lengths of its lists, and the first errors."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest

from schemas.moves import MAX_MOVE_CARDS
from schemas.strict_fields import MAX_ERRORS
from tests.worlds.api_world import Person, World, problem_of

BUDGET_SECONDS = 0.05
NUMBERS = [0] * 10_000  # 30 KB
INTENT = {"v": 1, "game": "x", "seat": 0, "seen": {"seq": 0, "head": "0" * 64}, "nonce": "0" * 32}
MOVES: tuple[dict[str, Any], ...] = (
    {"type": "play", "cards": NUMBERS},
    {"type": "lay", "stacks": NUMBERS},
    {"type": "lay", "stacks": [NUMBERS]},
    {"type": "lay", "stacks": [["7c"] * 1000] * 5},
    {"type": "swap", "up": NUMBERS[:5000], "hand": NUMBERS[:5000]},
    {
        "type": "ready",
        "auth": {"intent": {**INTENT, "move": {"type": "play", "cards": NUMBERS}}, "sig": "x"},
    },
)


@pytest.fixture(scope="module")
def world(module_world: World) -> World:
    """Return one application for all tests of this module: none depends on rows of another."""
    return module_world


@pytest.mark.parametrize("move", MOVES, ids=range(len(MOVES)))
def test_the_largest_move_costs_less_than_the_budget(ada: Person, move: dict[str, Any]) -> None:
    """The caller has a seat, so that the body is validated; the second call is measured."""
    path = f"{ada.game()}/moves"
    ada.post(path, {"type": "pass"})
    began = time.thread_time()
    answer = ada.post(path, move)
    assert time.thread_time() - began < BUDGET_SECONDS
    assert problem_of(answer) in ("invalid-body", "rule-refused")


def test_the_length_of_a_list_is_checked_before_its_items(ada: Person) -> None:
    answer = ada.post(f"{ada.game()}/moves", {"type": "play", "cards": [0] * (MAX_MOVE_CARDS + 1)})
    [error] = answer.json["errors"]
    assert error == {"at": "/cards", "message": f"is not 1 to {MAX_MOVE_CARDS} long"}


def test_a_body_is_examined_until_twenty_errors_are_found(ada: Person) -> None:
    answer = ada.post(f"{ada.game()}/moves", {"type": "play", "cards": [0] * 500})
    errors = answer.json["errors"]
    assert [error["at"] for error in errors] == [f"/cards/{number}" for number in range(20)]
    assert len(errors) == MAX_ERRORS
    assert answer.json["detail"].endswith("(and at least 19 more)")


def test_a_move_in_an_invented_game_is_refused_before_its_body_is_validated(
    ada: Person, bob: Person
) -> None:
    nonsense = {"type": "no type", "cards": 7}
    assert problem_of(ada.post(f"/v1/games/{uuid4()}/moves", nonsense)) == "not-found"
    assert problem_of(ada.post(f"/v1/games/{uuid4()}/entropy", nonsense)) == "not-found"
    game = ada.game()
    assert problem_of(bob.post(f"{game}/moves", nonsense)) == "not-seated"
    assert problem_of(ada.post(f"{game}/moves", nonsense)) == "invalid-body"


def test_a_body_has_at_most_32_kib_where_its_operation_needs_no_more(ada: Person) -> None:
    game = ada.game()
    spaces = " " * (32 << 10)
    for path in ("/v1/players", "/v1/tables", "/v1/rulesets", f"{game}/moves", f"{game}/back"):
        answer = ada.call("POST", path, data="{}" + spaces, content_type="application/json")
        assert problem_of(answer) == "too-large", path
        assert "32768 bytes" in answer.json["detail"]


def test_the_longest_statement_fits_in_any_encoding(ada: Person) -> None:
    """4,000 characters outside the basic plane: as escapes they take 48 KB."""
    game = ada.game()
    accusation = {"accused": None, "seq": 0, "charge": "altered_log"}
    body = json.dumps({**accusation, "statement": "\U0001f0a1" * 4000})
    assert len(body) > 48_000
    answer = ada.call("POST", f"{game}/disputes", data=body, content_type="application/json")
    assert answer.status_code == 201, answer.text


def test_every_list_in_a_request_has_a_maximum_length(world: World) -> None:
    document = world.get("/v1/openapi.json").json
    unbounded = [
        (path, at)
        for path, methods in document["paths"].items()
        for method in methods.values()
        if isinstance(method, dict) and "requestBody" in method
        for at in _unbounded(method["requestBody"]["content"], document, "")
    ]
    assert unbounded == []


def _unbounded(value: Any, document: Any, at: str) -> Iterator[str]:
    """Yield the places of arrays without `maxItems` in a schema; references are followed."""
    if isinstance(value, list):
        for item in value:
            yield from _unbounded(item, document, at)
    elif isinstance(value, dict):
        if value.get("type") == "array" and "maxItems" not in value:
            yield at
        reference = value.get("$ref")
        if reference is not None:
            name = reference.rpartition("/")[2]
            yield from _unbounded(document["components"]["schemas"][name], document, f"{at}>{name}")
        for key, inner in value.items():
            if key not in ("example", "examples"):
                yield from _unbounded(inner, document, f"{at}/{key}")
