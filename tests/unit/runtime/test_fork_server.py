"""The fork server kills a child at its time limit, or when its caller or parent is gone."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from service.runtime.fork_server import ChildEnded, ForkServer, HungUp, OutOfTime
from tests.running import wait_for

pytestmark = pytest.mark.heavy

WORK = f"{__name__}:work"
ROOT = Path(__file__).resolve().parents[3]


def work(request: bytes) -> bytes:
    """Run the command in the request, in the child; return the request reversed by default."""
    verb, _, rest = request.partition(b" ")
    match verb:
        case b"environment":
            return repr(sorted(os.environ)).encode()
        case b"descriptors":
            return b" ".join(path.name.encode() for path in Path("/dev/fd").iterdir())
        case b"pid":
            return str(os.getpid()).encode()
        case b"burn":
            Path(rest.decode()).write_text(f"{os.getpid()} {os.getppid()} .", "ascii")
            while True:
                sum(range(1000))
        case b"die":
            os.kill(os.getpid(), signal.SIGKILL)
    return request[::-1]


@pytest.fixture(scope="module")
def fork_server() -> Iterator[ForkServer]:
    """Return a fork server, started by a process with a secret setting and an open connection."""
    made = ForkServer(WORK)
    with pytest.MonkeyPatch.context() as patch, socket.create_server(("127.0.0.1", 0)):
        patch.setenv("SHITHEAD_KEYS", "secret")
        yield made
        made.close()


def alive(pid: int) -> bool:
    """Return whether a process exists and is not a zombie."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    try:
        stat = Path(f"/proc/{pid}/stat").read_text("utf-8")
    except OSError:  # it has ended since, or this system has no such files
        return not Path("/proc/self/stat").exists()
    return stat.rpartition(")")[2].split()[0] != "Z"


def busy_child(path: Path) -> tuple[int, int]:
    """Wait for the busy child; return its process id and that of its parent."""
    wait_for(lambda: path.exists() and path.read_text("ascii").endswith("."), seconds=20)
    pid, parent, _ = path.read_text("ascii").split()
    return int(pid), int(parent)


def test_small_and_large_requests_are_answered_by_a_new_child_each(fork_server: ForkServer) -> None:
    assert fork_server.run(b"abc", seconds=20) == b"cba"
    large = b"x" * 5_000_000 + b"y"
    assert fork_server.run(large, seconds=20) == large[::-1]
    first, second = (fork_server.run(b"pid ", seconds=20) for _ in range(2))
    assert first != second


def test_a_child_is_killed_at_its_time_limit(fork_server: ForkServer, tmp_path: Path) -> None:
    began = time.monotonic()
    with pytest.raises(OutOfTime):
        fork_server.run(b"burn %b" % bytes(tmp_path / "pid"), seconds=0.5)
    assert time.monotonic() - began < 5
    pid, _ = busy_child(tmp_path / "pid")
    wait_for(lambda: not alive(pid), seconds=10)
    assert fork_server.run(b"abc", seconds=20) == b"cba"


def test_a_child_is_killed_when_its_caller_hangs_up(
    fork_server: ForkServer, tmp_path: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        client = socket.create_connection(server.getsockname())
        caller, _ = server.accept()
        request = b"burn %b" % bytes(tmp_path / "pid")
        with caller, ThreadPoolExecutor(1) as other:
            run = other.submit(fork_server.run, request, seconds=60, callers=[caller])
            pid, _ = busy_child(tmp_path / "pid")
            client.close()
            with pytest.raises(HungUp):
                run.result(20)
    wait_for(lambda: not alive(pid), seconds=10)


def test_a_child_runs_on_while_one_of_its_callers_is_connected(fork_server: ForkServer) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        connected, closed = (socket.create_connection(server.getsockname()) for _ in range(2))
        callers = [server.accept()[0] for _ in range(2)]
        closed.close()
        assert fork_server.run(b"abc", seconds=20, callers=callers) == b"cba"
        for connection in (*callers, connected):
            connection.close()


def test_a_child_that_dies_raises_child_ended(fork_server: ForkServer) -> None:
    with pytest.raises(ChildEnded):
        fork_server.run(b"die ", seconds=20)
    assert fork_server.run(b"abc", seconds=20) == b"cba"


def test_a_fork_server_that_was_killed_is_started_again(fork_server: ForkServer) -> None:
    assert fork_server.run(b"abc", seconds=20) == b"cba"
    assert fork_server._server is not None
    fork_server._server[0].kill()
    fork_server._server[0].wait()
    assert fork_server.run(b"abc", seconds=20) == b"cba"


def test_a_child_inherits_no_setting_and_no_connection(fork_server: ForkServer) -> None:
    output = fork_server.run(b"environment ", seconds=20).decode()
    descriptors = fork_server.run(b"descriptors ", seconds=20).split()
    assert "SHITHEAD" not in output
    # The standard streams, the connection of the child, and the directory that it lists.
    assert len(descriptors) <= 6, descriptors


CALLER = """
import sys
from service.runtime.fork_server import ForkServer
server = ForkServer("tests.unit.runtime.test_fork_server:work")
server.run(b"burn " + sys.argv[1].encode(), seconds=300)
"""


def test_no_process_is_left_when_the_requesting_process_is_killed(tmp_path: Path) -> None:
    requester = subprocess.Popen([sys.executable, "-c", CALLER, str(tmp_path / "pid")], cwd=ROOT)
    child, server = busy_child(tmp_path / "pid")
    assert server != requester.pid
    requester.kill()
    requester.wait()
    wait_for(lambda: not alive(child) and not alive(server), seconds=10)
