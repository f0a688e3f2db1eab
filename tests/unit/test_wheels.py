"""The two distributions of `ops/wheels.py`: their files and requirements."""

from __future__ import annotations

from pathlib import Path

import pytest

from ops import wheels
from service.cli.__main__ import COMMANDS

ROOT = Path(__file__).resolve().parents[2]
SERVER_PACKAGES = {
    "flask",
    "flask_smorest",
    "psycopg",
    "redis",
    "rq",
    "granian",
    "limits",
    "a2wsgi",
}


@pytest.fixture(scope="module")
def both() -> tuple[wheels.Distribution, wheels.Distribution]:
    return wheels.distributions()


def test_each_installed_file_is_in_one_wheel(
    both: tuple[wheels.Distribution, wheels.Distribution],
) -> None:
    small, server = both
    assert small.files & server.files == set()
    assert small.files | server.files == set(wheels.installed_files())
    assert {"service/rulesets/leeds.toml", "service/words/findings/sv.json"} <= small.files
    assert {
        "sql/migrations/0001_schema.sql",
        "ops/spec/shx-1.md",
        "service/api/static/style.css",
    } <= server.files


def test_the_wheels_have_every_file_that_an_installation_of_the_checkout_has() -> None:
    """A file type that pyproject.toml does not name would be missing in all wheels."""
    project = wheels.pyproject()["tool"]["setuptools"]
    named = {pattern.removeprefix("*") for pattern in project["package-data"]["*"]}
    others = [name for name in wheels.installed_files() if not name.endswith(".py")]
    assert [name for name in others if not name.endswith(tuple(named))] == []


def test_the_client_wheel_imports_no_server_library() -> None:
    used = wheels.external_imports(wheels.client_modules())
    assert used & SERVER_PACKAGES == set()
    assert {"click", "cryptography"} <= used


def test_the_client_wheel_requires_its_imports_and_the_server_requires_it(
    both: tuple[wheels.Distribution, wheels.Distribution],
) -> None:
    small, server = both
    required = {wheels.import_name(one) for one in small.dependencies}
    assert required == wheels.external_imports(wheels.client_modules())
    assert server.dependencies[0] == f"{small.name}=={wheels.pyproject()['project']['version']}"
    assert set(server.dependencies[1:]) == set(wheels.pyproject()["project"]["dependencies"])


def test_commands_of_the_client_wheel_import_only_its_own_files() -> None:
    """All project modules imported by the client wheel are in it."""
    names = {f"service.cli.{name}" for name in wheels.COMMANDS} - {"service.cli.__main__"}
    assert names <= set(COMMANDS.values())
    modules, every = wheels.client_modules(), wheels.all_modules()
    for module in modules:
        needed = {name for name in wheels.imports_of(every[module]) if name in every}
        assert needed <= modules, module


@pytest.mark.parametrize(
    ("requirement", "name"),
    [("psycopg[binary,pool]>=3.3.9", "psycopg"), ("Jinja2>=3.1", "jinja2"), ("rq", "rq")],
)
def test_a_requirement_is_known_by_its_import_name(requirement: str, name: str) -> None:
    assert wheels.import_name(requirement) == name
