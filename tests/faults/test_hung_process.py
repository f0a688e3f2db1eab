"""A process of the API that hangs is replaced by its own parent, in every kind of deployment."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from service.keys import Keyring
from service.local import programs
from service.local.predecessors import children_of
from service.local.programs import environment_of, program_of, shared_metrics
from service.local.programs import programs as all_programs
from service.runtime.config import Settings
from service.runtime.heartbeat import ROUNDS
from tests.running import free_port, running, wait_for

pytestmark = [
    pytest.mark.heavy,
    # The parent notices the end of a child by a pidfd, which only Linux has.
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs pidfds"),
]

SECONDS = 5.0


def answer(port: int, path: str) -> tuple[int, str]:
    """Send a request on a new connection, which any process may accept."""
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=20)) as line:
        line.request("GET", path)
        response = line.getresponse()
        return response.status, response.read().decode()


def test_a_hung_api_process_is_replaced_and_counted(
    database_url: str, redis_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(programs, "HUNG_SECONDS", SECONDS)
    for name, folder in shared_metrics(tmp_path, memory=tmp_path).items():
        monkeypatch.setenv(name, folder)
    port = free_port()
    with running(
        *(database_url, redis_url, tmp_path),
        workers=None,
        metrics_port=port,
        metrics_host="127.0.0.1",
    ) as service:
        processes = children_of(service.children["API"].pid)
        assert len(processes) == 2
        hung, other = processes
        # One of them may still start: it has no thread yet that shows signs of life.
        threads = [Path(f"/proc/{pid}/task") for pid in processes]
        wait_for(lambda: all(len([*folder.iterdir()]) > 2 for folder in threads), seconds=30)
        time.sleep(SECONDS / ROUNDS)
        os.kill(hung, signal.SIGSTOP)
        wait_for(lambda: hung not in children_of(service.children["API"].pid), seconds=60)
        wait_for(lambda: len(children_of(service.children["API"].pid)) == 2, seconds=60)
        wait_for(lambda: _restarts(port) == 1, seconds=60)
        assert other in children_of(service.children["API"].pid)
        [line] = [one for one in service.written().splitlines() if "hangs and is killed" in one]
        assert json.loads(line)["pid"] == hung
        for _ in range(8):
            assert answer(service.port, "/v1/bots")[0] == 200


HANGS_FIRST = """
import pathlib, time
from service.runtime.heartbeat import show_life

def calls():
    try:
        pathlib.Path("hung").touch(exist_ok=False)
        time.sleep(600)
    except FileExistsError:
        show_life()
    return lambda environ, start: (start("200 OK", []), [b"alive"])[1]
"""


def test_an_api_process_that_hangs_before_its_first_sign_of_life_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "hangs_first.py").write_text(HANGS_FIRST)
    monkeypatch.setattr(programs, "START_SECONDS", 6.0)
    keys = Keyring.generate().to_text()
    settings = Settings(database_url="postgresql://", port=free_port(), api_processes=1, keys=keys)
    program = program_of(settings, "api")
    environment = environment_of(settings)
    environment["PYTHONPATH"] += f"{os.pathsep}{tmp_path}"
    command = [*program.command[:-1], "hangs_first:calls"]
    server = subprocess.Popen(command, cwd=tmp_path, env=environment)
    try:
        wait_for(lambda: _is_alive(settings.port), seconds=60)
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(timeout=30)


ALIVE = """
from service.runtime.heartbeat import show_life

def calls():
    show_life()
    return lambda environ, start: (start("200 OK", []), [b"alive"])[1]
"""


@pytest.mark.smoke
def test_processes_of_a_killed_parent_end_and_free_the_port(tmp_path: Path) -> None:
    """A service that is started in another folder, as after a recovery, needs the port."""
    (tmp_path / "alive.py").write_text(ALIVE)
    keys = Keyring.generate().to_text()
    settings = Settings(database_url="postgresql://", port=free_port(), api_processes=1, keys=keys)
    program = program_of(settings, "api")
    environment = environment_of(settings)
    environment["PYTHONPATH"] += f"{os.pathsep}{tmp_path}"
    server = subprocess.Popen([*program.command[:-1], "alive:calls"], cwd=tmp_path, env=environment)
    wait_for(lambda: _is_alive(settings.port), seconds=60)
    server.kill()
    server.wait()
    wait_for(lambda: not _is_alive(settings.port), seconds=30)
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(("127.0.0.1", settings.port))


def test_containers_and_supervisors_run_the_same_parent() -> None:
    """`shithead run api` becomes the program that `shithead up` starts; 5 s leave 10 s to start."""
    settings = Settings(database_url="postgresql://", stream_port=1)
    for role in ("api", "streams"):
        program = program_of(settings, role)
        assert program.module == "service.api.server"
        assert program.arguments[:3] == [program.name, "5.0", "300.0"]


def test_the_other_programs_show_their_life_to_a_supervisor() -> None:
    settings = Settings(database_url="postgresql://", stream_port=1)
    assert {program.name for program in all_programs(settings) if not program.shows_life} == {
        "API",
        "streams",
    }


def _is_alive(port: int) -> bool:
    try:
        return answer(port, "/")[1] == "alive"
    except OSError:
        return False


def _restarts(port: int) -> float:
    try:
        _, text = answer(port, "/metrics")
    except OSError:
        return -1
    found = re.search(r'^shithead_restarts_total\{program="API"\} (\S+)$', text, re.MULTILINE)
    return float(found[1]) if found else 0.0
