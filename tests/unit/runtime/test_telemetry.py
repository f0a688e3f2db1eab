"""Logging: a line that cannot be written fails no request."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import structlog
from service.runtime.config import Settings
from service.runtime.telemetry import configure_logs

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


WEB_SERVER = """
import json, sys
from granian.log import LogLevels, configure_logging, logger

configure_logging(LogLevels.info, json.load(open(sys.argv[1])))
logger.info("Starting granian (main PID: %d)", 7)
"""


def test_the_lines_of_the_web_server_are_json() -> None:
    words = [sys.executable, "-c", WEB_SERVER, "service/api/granian_log.json"]
    line = json.loads(subprocess.run(words, capture_output=True, check=True).stdout)
    assert line["event"] == "Starting granian (main PID: 7)"
    assert (line["level"], line["logger"]) == ("info", "_granian")
