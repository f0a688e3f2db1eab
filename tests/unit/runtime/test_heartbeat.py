"""Processes that hang are killed, and a pause of the whole machine is no hang."""

from __future__ import annotations

import contextlib
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from service.runtime.heartbeat import ROUNDS, Heartbeat, show_life_of_program
from service.runtime.telemetry import RESTARTS

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs pidfds")


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    child = subprocess.Popen(["sleep", "60"])
    yield child
    child.kill()
    child.wait()


@pytest.fixture
def heartbeat() -> Iterator[Heartbeat]:
    made = Heartbeat("test", seconds=60, start_seconds=120)
    yield made
    made.close()


def test_a_silent_process_is_killed_after_its_rounds_and_counted(
    heartbeat: Heartbeat, process: subprocess.Popen[bytes]
) -> None:
    counter = RESTARTS.labels("test")
    before = counter._value.get()
    for _ in range(3 * ROUNDS):
        heartbeat.send(process.pid)
        heartbeat.round()
    for _ in range(ROUNDS - 1):
        heartbeat.round()
    assert _runs(process)
    heartbeat.round()
    assert process.wait(timeout=10) == -signal.SIGKILL
    heartbeat.round()
    heartbeat.round()
    assert counter._value.get() == before + 1


def test_a_process_that_only_exists_is_killed_after_the_longer_time_of_a_start(
    heartbeat: Heartbeat, process: subprocess.Popen[bytes]
) -> None:
    """Until its first sign of life it imports modules, which takes long on a busy machine."""
    heartbeat.send(process.pid)  # that it was forked
    for _ in range(2 * ROUNDS):
        heartbeat.round()
    assert _runs(process)
    heartbeat.round()
    assert process.wait(timeout=10) == -signal.SIGKILL


def test_a_pause_of_all_processes_kills_none(
    heartbeat: Heartbeat, process: subprocess.Popen[bytes]
) -> None:
    """Suspended, the watch makes no rounds either; one round later the process is heard again."""
    for _ in range(2 * ROUNDS):
        for _ in range(ROUNDS - 1):  # however long a round takes by the clock
            heartbeat.round()
        heartbeat.send(process.pid)
        heartbeat.round()
    assert _runs(process)


def test_a_process_that_ended_before_its_sign_was_read_is_not_watched(
    heartbeat: Heartbeat, process: subprocess.Popen[bytes]
) -> None:
    """Another process may have its id by then."""
    heartbeat.send(process.pid)
    process.kill()
    process.wait()
    heartbeat.round()
    assert heartbeat._processes == {}


@pytest.mark.parametrize("is_abstract", [False, True])
def test_a_program_shows_its_life_to_systemd(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_abstract: bool
) -> None:
    """systemd kills a unit with a watchdog that is silent for WATCHDOG_USEC."""
    name = f"{'@' if is_abstract else ''}{tmp_path}/notify"
    monkeypatch.setenv("NOTIFY_SOCKET", name)
    monkeypatch.setenv("WATCHDOG_USEC", "30000000")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.settimeout(10)
        systemd.bind(name.replace("@", "\0"))
        show_life_of_program()
        assert systemd.recv(100).split() == [b"READY=1", b"WATCHDOG=1"]


def _runs(process: subprocess.Popen[bytes]) -> bool:
    """Return whether a process still runs; one that was killed may take a moment to end."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=0.2)
    return process.poll() is None
