"""An idle worker waits in Redis for its next job; it does not poll."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest
import redis

from service.keys import Keyring
from service.local.programs import environment_of
from service.runtime.config import Settings
from tests.running import wait_for

ROOT = Path(__file__).resolve().parents[2]
IDLE_SECONDS = 4.0
FEW = 4  # commands: the two calls that read the count, and a heartbeat in that time


def commands(client: redis.Redis) -> int:
    """Return the number of commands that Redis has processed."""
    return int(client.info("stats")["total_commands_processed"])


def is_idle(client: redis.Redis) -> bool:
    """Return whether a client waits for a job to come."""
    return any(one["cmd"] in ("blmove", "brpoplpush", "blpop") for one in client.client_list())


@pytest.mark.heavy
def test_an_idle_worker_does_not_poll_and_stops_within_seconds(
    database_url: str, redis_url: str
) -> None:
    settings = Settings(
        database_url=database_url, redis_url=redis_url, keys=Keyring.generate().to_text()
    )
    client = redis.Redis.from_url(redis_url)
    worker = subprocess.Popen(
        [sys.executable, "-m", "workers.main", "worker"], cwd=ROOT, env=environment_of(settings)
    )
    try:
        wait_for(lambda: is_idle(client), seconds=60)
        before = commands(client)
        time.sleep(IDLE_SECONDS)
        assert commands(client) - before <= FEW
        began = time.monotonic()
        worker.terminate()
        assert worker.wait(timeout=30) == 0
        assert time.monotonic() - began < 5
    finally:
        worker.kill()
        worker.wait()
        client.close()
