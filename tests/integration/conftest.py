"""Fixtures: a complete application over a new database for each test."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.through_asgi import through_asgi
from tests.worlds.api_world import Person, World, make_world


@pytest.fixture
def settings() -> dict[str, Any]:
    """Return settings that differ from the defaults; a test module may override them."""
    return {}


@pytest.fixture
def world(database_url: str, settings: dict[str, Any]) -> Iterator[World]:
    """Return an application over a new database, without Redis."""
    made = make_world(database_url, **settings)
    yield made
    made.services.close()


@pytest.fixture(scope="module")
def module_world(module_database_url: str) -> Iterator[World]:
    """
    Return one application for all tests of a module, which find the rows of one another.

    An application and a clean database take longer than most tests of refusals and pages. Such a
    module has a fixture `world` that returns this one.
    """
    made = make_world(module_database_url)
    yield made
    made.services.close()


@pytest.fixture
def ada(world: World) -> Person:
    """Return a player."""
    return world.person("Ada")


@pytest.fixture
def bob(world: World) -> Person:
    """Return another player."""
    return world.person("Bob")


@pytest.fixture(params=["thread", "coroutine"])
def way(request: pytest.FixtureRequest, world: World) -> Iterator[str]:
    """Let threads send the streams, as in the API, or coroutines, as in the stream process."""
    if request.param == "thread":
        yield request.param
        return
    with through_asgi(world.app) as world.served:
        yield request.param
