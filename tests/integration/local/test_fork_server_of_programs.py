"""The fork server of the programs: it does not outlive the process that started it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from service.local import forked_programs
from service.local.forked_programs import PARENT, ForkedProgram, can_fork


def _imported(parent: int) -> int:
    """Return the exit status of a process that prepares itself as the fork server of `parent`."""
    command = [sys.executable, "-c", "import service.local.preload"]
    return subprocess.run(command, env={**os.environ, PARENT: str(parent)}, check=False).returncode


def test_a_fork_server_ends_if_its_parent_ended_while_it_imported_modules() -> None:
    assert _imported(os.getpid()) == 0
    assert _imported(os.getppid()) == -signal.SIGTERM


@pytest.mark.heavy
@pytest.mark.skipif(not can_fork({}), reason="programs are forked on Linux only")
def test_a_fork_server_that_hangs_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the supervisor would wait for it for ever, and restart nothing."""

    def started() -> ForkedProgram:
        """Start a program that prints a calendar and ends."""
        log = tmp_path / "log"
        return ForkedProgram("calendar", [], log=log, environment={}, folder=tmp_path)

    def kill() -> None:
        killed.append(forked_programs.fork_server())
        monkeypatch.setattr(forked_programs, "HUNG_SECONDS", 60.0)  # the next one may import slowly
        end()

    assert started().wait(timeout=60) == 0
    hung, killed = forked_programs.fork_server(), list[int | None]()
    end = forked_programs._kill_fork_server
    monkeypatch.setattr(forked_programs, "_kill_fork_server", kill)
    monkeypatch.setattr(forked_programs, "HUNG_SECONDS", 1.0)
    assert hung is not None
    os.kill(hung, signal.SIGSTOP)
    assert started().wait(timeout=60) == 0
    assert killed == [hung]
