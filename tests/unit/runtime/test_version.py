"""The package metadata and the code state the same version."""

import tomllib
from pathlib import Path

from service.runtime.version import VERSION


def test_the_package_and_the_engine_have_one_version() -> None:
    project = Path(__file__).resolve().parents[3] / "pyproject.toml"
    assert tomllib.loads(project.read_text("utf-8"))["project"]["version"] == VERSION
