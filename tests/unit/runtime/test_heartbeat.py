"""Processes that hang are killed, and a pause of the whole machine is no hang."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from prometheus_client import REGISTRY

from service.runtime import heartbeat as heartbeats
from service.runtime.heartbeat import ROUNDS, Heartbeat, NamedPipe, show_life_of_program
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
    handle = heartbeat._processes[process.pid].handle
    heartbeat.round()
    assert process.wait(timeout=10) == -signal.SIGKILL
    heartbeat.round()
    heartbeat.round()
    assert counter._value.get() == before + 1
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(handle)  # it is closed with the end of its process


def test_a_process_that_does_not_end_is_killed_once(
    heartbeat: Heartbeat, process: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each time would be one more line of an error."""
    sent = list[int]()
    monkeypatch.setattr(signal, "pidfd_send_signal", lambda _handle, number: sent.append(number))
    heartbeat.send(process.pid)
    for _ in range(5 * ROUNDS):
        heartbeat.round()
    assert sent == [signal.SIGKILL]


def test_a_process_that_ends_by_itself_is_counted_in_the_next_round(
    heartbeat: Heartbeat, process: subprocess.Popen[bytes]
) -> None:
    heartbeat.send(process.pid)
    heartbeat.round()
    process.kill()
    process.wait()
    before = RESTARTS.labels("test")._value.get()
    heartbeat.round()
    assert RESTARTS.labels("test")._value.get() == before + 1
    assert heartbeat._processes == {}


def test_a_program_without_restarts_has_a_count_of_0() -> None:
    """Otherwise the first restart would be no increase, and no alert."""
    Heartbeat("new", seconds=60, start_seconds=60).close()
    assert REGISTRY.get_sample_value("shithead_restarts_total", {"program": "new"}) == 0


def test_signs_beside_a_watch_that_hangs_are_lost_and_delay_nothing(
    heartbeat: Heartbeat, process: subprocess.Popen[bytes]
) -> None:
    for _ in range(2):
        for _ in range(20_000):  # more than a pipe holds
            heartbeat.send(process.pid)
        heartbeat.round()
    assert heartbeat._processes[process.pid].silent == 0


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


def test_systemd_gets_a_sign_in_each_round(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
    monkeypatch.setenv("WATCHDOG_USEC", "7000000")
    intervals = list[float]()
    monkeypatch.setattr(heartbeats, "_repeat", lambda _act, *, seconds: intervals.append(seconds))
    show_life_of_program()
    assert intervals == [7 / ROUNDS]


def test_a_program_goes_on_while_its_supervisor_takes_no_signs() -> None:
    attempts, done = count(), threading.Event()

    def act() -> None:
        if next(attempts) < 3:
            raise BlockingIOError
        done.set()

    heartbeats._repeat(act, seconds=0.001)
    assert done.wait(10)


def test_the_pipe_of_an_earlier_run_is_replaced_and_private(tmp_path: Path) -> None:
    path = tmp_path / "life"
    path.write_text("no pipe")
    for _ in range(2):
        pipe = NamedPipe(path)
    assert stat.filemode(path.stat().st_mode) == "prw-------"
    assert pipe.heard() == set()


def _runs(process: subprocess.Popen[bytes]) -> bool:
    """Return whether a process still runs; one that was killed may take a moment to end."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=0.2)
    return process.poll() is None
