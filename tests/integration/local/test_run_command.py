"""`shithead run`: one process in the foreground, as a container runs it, and its health check."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from service.keys import load_or_create
from tests.contract.conftest import address_of_service
from tests.forked_command import run_command
from tests.running import READY_SECONDS, free_port, wait_for

pytestmark = pytest.mark.heavy

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


@pytest.mark.parametrize("role", ["api", "sweeper"])
def test_a_running_process_is_healthy(role: str, environment: dict[str, str]) -> None:
    assert check(role, environment)[0] == 1
    with running(role, environment):
        wait_healthy(role, environment)
        metrics = f"http://127.0.0.1:{environment['SHITHEAD_METRICS_PORT']}/metrics"
        with urllib.request.urlopen(metrics, timeout=READY_SECONDS) as answer:
            text = answer.read().decode()
        assert "python_info" in text
        if role == "sweeper":
            assert "shithead_queued_jobs 0.0" in text
    assert check(role, environment)[0] == 1


def test_a_relay_without_a_successful_round_is_not_healthy(environment: dict[str, str]) -> None:
    """The process runs, but its database does not answer."""
    environment["SHITHEAD_DATABASE_URL"] = "postgresql://nobody@127.0.0.1:1/none"
    # The service creates no keys without a database, so the test creates them.
    load_or_create(Path(environment["SHITHEAD_KEY_FILE"]))
    with running("relay", environment):
        end = time.monotonic() + READY_SECONDS
        while "no round has succeeded yet" not in (text := check("relay", environment)[1]):
            assert time.monotonic() < end, text
            time.sleep(0.2)
        assert check("relay", environment)[0] == 1


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


def test_the_parent_of_the_api_names_an_invalid_setting(environment: dict[str, str]) -> None:
    words = [sys.executable, "-m", "service.api.server", "API", "5", "300"]
    environment["SHITHEAD_PORT"] = "none"
    done = subprocess.run(
        words, env=environment, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, "SHITHEAD_PORT" in done.stderr) == (1, True), done.stderr
