"""Integers in signed moves are written as the record states them."""

from __future__ import annotations

import json

import pytest

from tests.worlds.api_world import Person, World, problem_of

INTENT = {
    "v": 1,
    "game": "00000000-0000-4000-8000-000000000000",
    "seat": 7,
    "seen": {"seq": 8, "head": "0" * 64},
    "move": {"type": "play_blind", "slot": 9},
    "nonce": "0" * 32,
}
AUTH = {"intent": INTENT, "sig": "A" * 86 + "=="}


@pytest.fixture(scope="module")
def world(module_world: World) -> World:
    """Return one application for all tests of this module: none depends on rows of another."""
    return module_world


@pytest.mark.parametrize("written", ['"v": 1', '"seat": 7', '"seq": 8', '"slot": 9'])
@pytest.mark.parametrize("form", ["{}.0", "{}e0"])
def test_a_fraction_for_an_integer_of_a_signed_move_is_refused(
    ada: Person, written: str, form: str
) -> None:
    """The signature covers `0`, so a body with `0.0` is not the signed one."""
    whole = json.dumps({"type": "ready", "auth": AUTH})
    assert written in whole
    path, kind = f"{ada.game()}/moves", "application/json"
    assert problem_of(ada.call("POST", path, data=whole, content_type=kind)) == "bad-signature"
    altered = whole.replace(written, form.format(written))
    answer = ada.call("POST", path, data=altered, content_type=kind)
    assert problem_of(answer) == "invalid-body"
    [error] = answer.json["errors"]
    assert error["at"] == "/auth/intent"


def test_elsewhere_a_number_without_fraction_is_an_integer(ada: Person) -> None:
    """As in JSON Schema."""
    body = '{"ruleset": "leeds", "seats": ["me", "open"], "window_seconds": 2.0, "turn_limit": 9e1}'
    answer = ada.call("POST", "/v1/tables", data=body, content_type="application/json")
    assert answer.status_code == 201, answer.text
    slot = ada.call(
        "POST",
        f"{ada.game()}/moves",
        data='{"type": "play_blind", "slot": 0.0}',
        content_type="application/json",
    )
    assert problem_of(slot) == "rule-refused"
    body = '{"name": "A", "base": "leeds", "changes": {"refill": {"size": 3.0}, "turn": {"x": 1}}}'
    answer = ada.call("POST", "/v1/rulesets", data=body, content_type="application/json")
    assert [error["at"] for error in answer.json["errors"]] == ["/changes/turn/x"]
