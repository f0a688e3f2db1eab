"""Fixtures: the command line, in this process or in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from service.cli.__main__ import run

ROOT = Path(__file__).resolve().parents[3]
SAMPLES = ROOT / "tests" / "golden" / "samples"

CommandOutput = tuple[int, str, str]
"""Exit status, standard output, standard error."""


@pytest.fixture
def shithead(capsys: pytest.CaptureFixture[str]) -> Callable[..., CommandOutput]:
    """Return a function that runs a command line in this process."""

    def call(*words: str | Path) -> CommandOutput:
        status = run([str(word) for word in words])
        output = capsys.readouterr()
        return status, output.out, output.err

    return call


@pytest.fixture
def program() -> Callable[..., CommandOutput]:
    """Return a function that runs a command line in a new process, like an installed script."""

    def call(*words: str | Path, **variables: str) -> CommandOutput:
        code = "import sys; sys.argv[0] = 'shithead'; from service.cli.__main__ import main; main()"
        answer = subprocess.run(
            [sys.executable, "-c", code, *map(str, words)],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PYTHONPATH": str(ROOT), **variables},
        )
        return answer.returncode, answer.stdout, answer.stderr

    return call
