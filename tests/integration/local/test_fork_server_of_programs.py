"""The fork server of the programs: it does not outlive the process that started it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

from service.local.forked_programs import PARENT


def _imported(parent: int) -> int:
    """Return the exit status of a process that prepares itself as the fork server of `parent`."""
    command = [sys.executable, "-c", "import service.local.preload"]
    return subprocess.run(command, env={**os.environ, PARENT: str(parent)}, check=False).returncode


def test_a_fork_server_ends_if_its_parent_ended_while_it_imported_modules() -> None:
    assert _imported(os.getpid()) == 0
    assert _imported(os.getppid()) == -signal.SIGTERM
