"""Fixtures: an operator with a database, and the operated service."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from service.cli.__main__ import run
from service.keys import load_or_create
from tests.worlds.api_world import Person, World
from tests.worlds.operator_world import CommandOutput, Operator


@pytest.fixture
def operator(
    database_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Iterator[Operator]:
    """Return the operator of a server."""

    load_or_create(tmp_path / "keys.json")

    def call(*words: object) -> CommandOutput:
        capsys.readouterr()  # the log of the service, which runs in this process
        status = run([str(word) for word in words])
        output = capsys.readouterr()
        return status, output.out, output.err

    made = Operator(database_url=database_url, folder=tmp_path, run=call)
    yield made
    for world in made.worlds:
        world.services.close()


@pytest.fixture
def world(operator: Operator) -> World:
    """Return the operated service."""
    return operator.world()


@pytest.fixture
def ada(world: World) -> Person:
    """Return a player."""
    return world.person("Ada Unmistakable")


@pytest.fixture
def bob(world: World) -> Person:
    """Return another player."""
    return world.person("Bob Unmistakable")
