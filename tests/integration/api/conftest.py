"""An application of its own for every test of the API."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.api_world import Person, World, make_world


@pytest.fixture
def world(database_url: str) -> Iterator[World]:
    """Return an application over a new database, without Redis."""
    made = make_world(database_url)
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
