"""`shithead run`: one process in the foreground, as a container runs it, and its health check."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from service.cli.__main__ import run as run_here
from tests.contract.conftest import address_of_service
from tests.forked_command import run_command
from tests.running import READY_SECONDS, free_port, wait_for

REQUESTS = 20
RUN = (sys.executable, "-m", "service.cli", "run")
ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def environment(database_url: str, redis_url: str, tmp_path: Path) -> dict[str, str]:
    """Return the environment of one container."""
    return {
        **os.environ,
        "SHITHEAD_DATABASE_URL": address_of_service(database_url),
        "SHITHEAD_REDIS_URL": redis_url,
        "SHITHEAD_KEY_FILE": str(tmp_path / "keys.json"),
        "SHITHEAD_PORT": str(free_port()),
        "SHITHEAD_METRICS_PORT": str(free_port()),
        "SHITHEAD_API_PROCESSES": "1",
        "TMPDIR": str(tmp_path),
    }


@contextmanager
def running(role: str, environment: dict[str, str]) -> Iterator[None]:
    """Run a process while the block lasts; it ends on SIGTERM with status 0."""
    child = subprocess.Popen([*RUN, role], env=environment, cwd=ROOT)
    try:
        yield
    finally:
        child.terminate()
        status = child.wait(timeout=READY_SECONDS)
    assert status == 0


def check(role: str, environment: dict[str, str]) -> tuple[int, str]:
    """Return status and output of the health check."""
    done = run_command(["run", role, "--check"], environment=environment, folder=ROOT)
    return done.returncode, done.stdout + done.stderr


def wait_healthy(role: str, environment: dict[str, str]) -> None:
    """Wait until the health check of a process succeeds."""
    end = time.monotonic() + READY_SECONDS
    while (answer := check(role, environment))[0] != 0:
        assert time.monotonic() < end, answer
        time.sleep(0.2)


@pytest.mark.heavy
def test_a_running_api_is_healthy_and_serves_metrics_at_their_own_address(
    environment: dict[str, str],
) -> None:
    """The metrics are the sum of its processes; the public address has no counter."""
    environment["SHITHEAD_API_PROCESSES"] = "2"
    port, metrics = (int(environment[f"SHITHEAD_{name}"]) for name in ("PORT", "METRICS_PORT"))
    with running("api", environment):
        wait_healthy("api", environment)
        for _ in range(REQUESTS):  # each on a new connection, which either process may accept
            assert get(port, "/v1/bots")
        counted = re.search(r'_requests_total{call="bots.list_bots".*} (\S+)', get(metrics))
        assert counted is not None
        assert float(counted[1]) == REQUESTS
        assert "shithead_http_requests" not in get(port)
    assert check("api", environment)[0] == 1


@pytest.mark.heavy
def test_a_running_sweeper_is_healthy(environment: dict[str, str]) -> None:
    with running("sweeper", environment):
        wait_healthy("sweeper", environment)
        assert "shithead_queued_jobs 0.0" in get(int(environment["SHITHEAD_METRICS_PORT"]))
    assert check("sweeper", environment)[0] == 1


def get(port: int, path: str = "/metrics") -> str:
    """Return the text at a path of this machine."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=READY_SECONDS) as answer:
        text: str = answer.read().decode()
    return text


class _Metrics(BaseHTTPRequestHandler):
    """Serves the metrics of a relay whose last round succeeded `age` seconds ago."""

    age: float | None

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        at = 0.0 if self.age is None else time.time() - self.age
        text = f'shithead_last_round_timestamp_seconds{{process="relay"}} {at}\n'
        self.wfile.write(text.encode())

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - named so by http
        pass


@pytest.mark.parametrize(
    ("age", "status", "text"),
    [
        (None, 1, "no round has succeeded yet"),
        (90.0, 1, "the last round was 9"),
        (5.0, 0, "healthy"),
    ],
)
def test_a_relay_without_a_recent_successful_round_is_not_healthy(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    age: float | None,
    status: int,
    text: str,
) -> None:
    """A process runs and answers also if its database does not."""
    monkeypatch.setattr(_Metrics, "age", age, raising=False)
    with HTTPServer(("127.0.0.1", 0), _Metrics) as server:
        for name, value in {
            "DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none",
            "KEY_FILE": str(tmp_path / "keys.json"),
            "METRICS_PORT": str(server.server_port),
        }.items():
            monkeypatch.setenv(f"SHITHEAD_{name}", value)
        Thread(target=server.handle_request, daemon=True).start()
        assert run_here(["run", "relay", "--check"]) == status
    assert capsys.readouterr().out.startswith(text)


@pytest.mark.heavy
def test_a_process_ends_cleanly_on_a_signal_as_soon_as_its_port_answers(
    environment: dict[str, str],
) -> None:
    """Else a supervisor that replaces it at once would count a crash."""
    place = ("127.0.0.1", int(environment["SHITHEAD_METRICS_PORT"]))

    def answers() -> bool:
        with socket.socket() as client:
            return client.connect_ex(place) == 0

    with running("relay", environment):
        wait_for(answers, seconds=READY_SECONDS)


def test_streams_without_a_port_are_refused(environment: dict[str, str]) -> None:
    status, text = check("streams", environment)
    assert status == 1
    assert "the port of this process is not set" in text


@pytest.mark.heavy
def test_the_parent_of_the_api_names_an_invalid_setting(environment: dict[str, str]) -> None:
    words = [sys.executable, "-m", "service.api.server", "API", "5", "300"]
    environment["SHITHEAD_PORT"] = "none"
    done = subprocess.run(
        words, env=environment, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, "SHITHEAD_PORT" in done.stderr) == (1, True), done.stderr
