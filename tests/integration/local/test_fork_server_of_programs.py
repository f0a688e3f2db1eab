"""The fork server of the programs: it does not outlive the process that started it."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from service.local import forked_programs, programs
from service.local.forked_programs import PARENT, ForkedProgram, can_fork
from service.local.processes import make_folder
from service.local.programs import Program, Supervisor
from tests.running import wait_for


def _imported(parent: int) -> int:
    """Return the exit status of a process that prepares itself as the fork server of `parent`."""
    command = [sys.executable, "-c", "import service.local.preload"]
    return subprocess.run(command, env={**os.environ, PARENT: str(parent)}, check=False).returncode


@pytest.mark.heavy
def test_a_fork_server_ends_if_its_parent_ended_while_it_imported_modules() -> None:
    assert _imported(os.getpid()) == 0
    assert _imported(os.getppid()) == -signal.SIGKILL


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
    timers = (one for one in threading.enumerate() if isinstance(one, threading.Timer))
    for timer in timers:
        timer.join(5)  # cancelled; its thread ends a moment later
        assert not timer.is_alive()
    hung, killed = forked_programs.fork_server(), list[int | None]()
    end = forked_programs.kill_fork_server
    monkeypatch.setattr(forked_programs, "kill_fork_server", kill)
    monkeypatch.setattr(forked_programs, "HUNG_SECONDS", 1.0)
    assert hung is not None
    os.kill(hung, signal.SIGSTOP)
    assert started().wait(timeout=60) == 0
    assert killed == [hung]


@pytest.mark.heavy
@pytest.mark.skipif(not can_fork({}), reason="programs are forked on Linux only")
def test_the_kernel_ends_a_program_before_the_fork_server(tmp_path: Path) -> None:
    """If memory runs out: with the fork server all programs would end."""

    def score(pid: int | None) -> int:
        return int(Path(f"/proc/{pid}/oom_score_adj").read_text())

    log = tmp_path / "log"
    one = ForkedProgram("http.server", ["0"], log=log, environment={}, folder=tmp_path)
    try:
        server = forked_programs.fork_server()
        wait_for(lambda: score(one.pid) == min(1000, score(server) + 200), seconds=30)
    finally:
        one.terminate()
        one.wait(timeout=30)


@pytest.fixture
def supervisor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Supervisor]:
    """Return a supervisor of one program, whose fork server hangs."""
    monkeypatch.setattr(programs, "HUNG_SECONDS", 0.5)
    logs = make_folder(tmp_path / "logs")
    made = Supervisor(logs=logs, environment={}, folder=tmp_path, pipe=tmp_path / "life")
    made.start(Program(name="server", module="http.server", arguments=["0"]))
    hung = forked_programs.fork_server()
    assert hung is not None
    os.kill(hung, signal.SIGSTOP)
    yield made
    forked_programs.kill_fork_server()
    made.stop(seconds=1)


@pytest.mark.heavy
@pytest.mark.skipif(not can_fork({}), reason="programs are forked on Linux only")
def test_a_program_that_ends_while_the_fork_server_hangs_is_restarted(
    supervisor: Supervisor, capfd: pytest.CaptureFixture[str]
) -> None:
    """The fork server alone reports ends, so they are looked for beside it."""
    killed = supervisor.processes()["server"]
    os.kill(killed, signal.SIGKILL)

    def is_replaced() -> bool:
        supervisor.supervise()
        return supervisor.processes().get("server", killed) != killed

    wait_for(is_replaced, seconds=60)
    assert "the fork server hangs and is killed" in capfd.readouterr().err


@pytest.mark.heavy
@pytest.mark.skipif(not can_fork({}), reason="programs are forked on Linux only")
def test_a_fork_server_that_hangs_does_not_hold_up_the_end(supervisor: Supervisor) -> None:
    """Python would wait for its report when `shithead up` has stopped everything."""
    supervisor.stop(seconds=1)
    for child in multiprocessing.active_children():
        child.join(5)
    assert multiprocessing.active_children() == []
