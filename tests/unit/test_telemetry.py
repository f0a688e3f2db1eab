"""Logging: a line that cannot be written fails no request."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import structlog
from service.config import Settings
from service.telemetry import configure_logs

configure_logs(Settings(database_url=""))
for _ in range(3):
    structlog.get_logger().info("request", text="x" * 10_000)
print("served")
"""


def test_a_full_disk_under_the_log_raises_nothing() -> None:
    with Path("/dev/full").open("wb") as full:
        process = subprocess.run(
            [sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, stderr=full, check=False
        )
    assert process.stdout == b"served\n"
