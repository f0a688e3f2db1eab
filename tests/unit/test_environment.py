"""The command `shithead` of a checkout."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from ops.environment import _install_checkout


def test_the_command_imports_nothing_from_the_folder_of_the_user(tmp_path: Path) -> None:
    """A folder of evidence from somebody else may contain a file with the name of a module."""
    (tmp_path / "lib" / "python3.11" / "site-packages").mkdir(parents=True)
    (tmp_path / "bin").mkdir()
    python = tmp_path / "bin" / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    _install_checkout(tmp_path)
    (tmp_path / "dis.py").write_text("raise SystemExit('imported')\n")
    command = [str(tmp_path / "bin" / "shithead"), "--version"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
