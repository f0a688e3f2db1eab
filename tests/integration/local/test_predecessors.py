"""Programs that outlive the `up` that started them, and the next `up`."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from service.local import up
from service.local.predecessors import working_in
from service.local.programs import WEB_SERVER

HANGS = """
import setproctitle, signal, socket, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
setproctitle.setproctitle(sys.argv[1])
held = socket.create_server(("127.0.0.1", 0))
print(held.getsockname()[1], flush=True)
time.sleep(60)
"""


@pytest.mark.heavy
def test_a_web_server_that_a_killed_program_left_behind_frees_its_port(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(up, "_STOP_SECONDS", 0.1)
    (other := tmp_path / "other").mkdir()
    command = [sys.executable, "-c", HANGS, f"{WEB_SERVER} service.wsgi:calls"]
    left = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    try:
        assert left.stdout is not None
        port = int(left.stdout.readline())
        up.end_web_servers(other)
        assert working_in(tmp_path, WEB_SERVER) == [left.pid], "those of another folder stay"
        up.end_web_servers(tmp_path)
        socket.create_server(("127.0.0.1", port)).close()
    finally:
        left.kill()
        left.communicate()
