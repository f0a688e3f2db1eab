"""The version stands in one place for people and in one for tools; both say the same."""

import tomllib
from pathlib import Path

from service.version import VERSION


def test_the_package_and_the_engine_have_one_version() -> None:
    project = Path(__file__).resolve().parents[2] / "pyproject.toml"
    assert tomllib.loads(project.read_text("utf-8"))["project"]["version"] == VERSION
