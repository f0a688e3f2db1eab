"""A worker process: waiting for Redis, and stopping on SIGTERM."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from service.keys import Keyring
from service.local.programs import environment_of
from service.runtime.config import Settings
from workers import main as worker_main

ROOT = Path(__file__).resolve().parents[2]
DEAD = "redis://127.0.0.1:1/0"


def test_a_worker_pauses_two_seconds_at_most_between_attempts_to_reach_redis() -> None:
    """RQ's own pauses grow to a minute, which would delay bots after Redis is back."""
    assert worker_main.Worker.max_connection_wait_time <= 2


@pytest.mark.heavy
def test_a_worker_without_redis_waits_and_stops_on_sigterm(database_url: str) -> None:
    settings = Settings(
        database_url=database_url, redis_url=DEAD, keys=Keyring.generate().to_text()
    )
    worker = subprocess.Popen(
        [sys.executable, "-m", "workers.main", "worker"],
        cwd=ROOT,
        env=environment_of(settings),
        stderr=subprocess.PIPE,
    )
    try:
        assert worker.stderr is not None
        message = next((line for line in worker.stderr if b"redis does not answer" in line), None)
        assert message is not None, "the worker must not end while Redis is away"
        worker.terminate()
        worker.communicate(timeout=30)
        assert worker.returncode == 0
    finally:
        worker.kill()


@pytest.mark.parametrize("words", [[], ["bot"], ["worker", "relay"]])
def test_a_wrong_argument_prints_one_line_of_usage(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert worker_main.main(words) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("usage: ")
