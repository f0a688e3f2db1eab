"""The commands in the README do what it states."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from service.runtime.config import variable

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text("utf-8")
ADDRESS = "http://127.0.0.1:8080"
PATIENCE = 60.0  # seconds


def environment() -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(variable(""))}
    return kept | {"PYTHONPATH": str(ROOT)}


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """Return the address of a service started like `ops/up`."""
    output = tmp_path / "output"
    with output.open("w") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "service.cli", "up", "--port", "0", "--workers", "1"],
            stdout=out,
            stderr=subprocess.STDOUT,
            cwd=tmp_path,
            env=environment(),
        )
    try:
        end = time.monotonic() + PATIENCE
        while not (ready := re.search(r"^ready +(\S+)$", output.read_text(), re.MULTILINE)):
            assert process.poll() is None, output.read_text()
            assert time.monotonic() < end, output.read_text()
            time.sleep(0.05)
        yield ready[1]
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(timeout=30)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with the command `shithead` where setting up leaves it."""
    script = tmp_path / "checkout" / ".venv" / "bin" / "shithead"
    script.parent.mkdir(parents=True)
    call = "import sys; sys.argv[0] = 'shithead'; from service.cli.__main__ import main; main()"
    script.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{call}" "$@"\n')
    script.chmod(0o755)
    return tmp_path / "checkout"


@pytest.mark.heavy
def test_the_session_in_the_readme_ends_as_shown(address: str, folder: Path) -> None:
    """From a new player to verified evidence, by copy and paste."""
    assert shutil.which("curl"), "the session needs curl"
    (block,) = re.findall(r"```sh\n(.*?)```", README, re.DOTALL)
    assert ADDRESS in block
    answer = subprocess.run(
        ["sh", "-e"],
        input=block.replace(ADDRESS, address),
        capture_output=True,
        text=True,
        cwd=folder,
        env=environment(),
        timeout=300,
        check=False,
    )
    assert answer.stderr == ""
    assert answer.returncode == 0
    lines = answer.stdout.splitlines()
    (promised,) = re.findall(r"^It ends with `(.*)`", README, re.MULTILINE)
    assert lines[-1] == promised
    assert re.fullmatch(r'\["\w\w", "\w\w", "\w\w"\]', lines[0]), "her hand"
    assert lines[1] == "play begins when every seat is ready"
    assert re.match(r" +\d+  (Seat \d .*is the shithead|Stalemate)", lines[2])
    assert [path.name for path in folder.iterdir()] == [".venv"], "it leaves no file behind"


def test_the_ruleset_in_the_readme_is_the_file() -> None:
    (block,) = re.findall(r"```toml\n(.*?)```", README, re.DOTALL)
    name = "shithead-ten-in-rank.toml"
    assert tomllib.loads(block) == tomllib.loads((ROOT / "service/rulesets" / name).read_text())
