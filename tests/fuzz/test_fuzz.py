"""Untrusted input is read or refused, without a crash, a 5xx or an endless loop."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.fuzz.requests import Requests
from tests.fuzz.running import run_cases
from tests.fuzz.targets import TARGETS
from tests.worlds.api_world import World, make_world

FEW, MANY = 60, 20_000


@pytest.fixture
def world(database_url: str) -> Iterator[World]:
    made = make_world(database_url)
    yield made
    made.services.close()


@pytest.mark.heavy
@pytest.mark.parametrize("name", TARGETS)
def test_a_parser_accepts_or_refuses_any_input(name: str) -> None:
    assert run_cases(name, TARGETS[name], iter(range(FEW))) == FEW


@pytest.mark.heavy
def test_every_operation_answers_any_request(world: World) -> None:
    assert run_cases("requests", Requests(world), iter(range(5 * FEW))) == 5 * FEW


@pytest.mark.long
@pytest.mark.parametrize("name", TARGETS)
def test_a_parser_accepts_or_refuses_any_input_in_the_long_run(name: str) -> None:
    assert run_cases(name, TARGETS[name], iter(range(MANY))) == MANY


@pytest.mark.long
def test_every_operation_answers_any_request_in_the_long_run(world: World) -> None:
    assert run_cases("requests", Requests(world), iter(range(MANY))) == MANY
