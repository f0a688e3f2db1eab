"""Logging: lines are JSON, rotation loses none, and one that cannot be written fails no request."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from service.local.processes import rotate_log
from service.runtime.telemetry import LOG_FILE

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


FAILING = """
import sys, threading, warnings
from service.runtime.config import Settings
from service.runtime.telemetry import configure_logs

configure_logs(Settings(database_url=""))
warnings.warn("an old function")
for target in (sys.exit, lambda: 1 / 0):
    thread = threading.Thread(target=target, name="relay")
    thread.start()
    thread.join()
raise RuntimeError("two\\nlines")
"""


@pytest.mark.heavy
def test_warnings_and_uncaught_exceptions_are_json_too() -> None:
    """The thread that ends on purpose has no line, as Python prints none."""
    process = subprocess.run([sys.executable, "-c", FAILING], capture_output=True, check=False)
    warning, thread, program = map(json.loads, process.stderr.splitlines())
    assert "an old function" in warning["event"]
    assert (thread["event"], thread["thread"]) == ("a thread ended", "relay")
    assert "ZeroDivisionError" in thread["exception"]
    assert (program["event"], program["level"]) == ("the program ended", "critical")
    assert "RuntimeError: two\nlines" in program["exception"]
    assert process.returncode == 1


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


NUMBERED = """
import itertools, os, sys, time
import structlog
from service.runtime import telemetry
from service.runtime.config import Settings

telemetry.REOPEN_SECONDS = 0.005
child = os.fork()
telemetry.configure_logs(Settings(database_url=""))
log = structlog.get_logger("load")
for number in itertools.count():
    log.info("request", by="parent" if child else "child", number=number)
    if number % 100 == 0:
        time.sleep(0.002)
        if os.path.exists(sys.argv[1]):
            break
log.info("last", by="parent" if child else "child", number=number + 1)
if child:
    os.waitpid(child, 0)
os._exit(0)
"""

ROTATIONS = 20


@pytest.mark.heavy
def test_rotation_under_load_loses_no_line(tmp_path: Path) -> None:
    """
    Each line has a number of its process; after many rotations none is missing.

    The processes end without writing what is buffered, as a killed one does.
    """
    log, stop = tmp_path / "API.log", tmp_path / "stop"
    words = [sys.executable, "-c", NUMBERED, str(stop)]
    with log.open("ab") as output:
        process = subprocess.Popen(words, stderr=output, env={**os.environ, LOG_FILE: str(log)})
    rotations, end = 0, time.monotonic() + 30
    while rotations < ROTATIONS and time.monotonic() < end:
        assert process.poll() is None
        rotations += rotate_log(log, limit=20_000, kept=2 * ROTATIONS)
        time.sleep(0.005)
    stop.touch()
    process.wait(timeout=20)
    assert rotations == ROTATIONS
    lines = [json.loads(line) for file in tmp_path.glob("API.log*") for line in file.open("rb")]
    for name in ("parent", "child"):
        own = sorted((line["number"], line["event"]) for line in lines if line["by"] == name)
        assert len(own) > ROTATIONS
        assert [number for number, _ in own] == list(range(len(own)))
        assert own[-1][1] == "last"


FOLLOWING = """
import os, sys, time
from pathlib import Path
from service.runtime import telemetry

log = Path(os.environ[telemetry.LOG_FILE])
telemetry.REOPEN_SECONDS = 0.005
telemetry.follow_log_file()
before, end = len(os.listdir("/dev/fd")), time.monotonic() + 20
log.parent.rename(log.parent.with_name("away"))
time.sleep(0.2)
log.parent.mkdir()
while not (log.exists() and os.path.samestat(log.stat(), os.fstat(2))):
    if time.monotonic() > end:
        sys.exit(99)
    time.sleep(0.005)
print("output", flush=True)
print("error", file=sys.stderr, flush=True)
time.sleep(0.2)
sys.exit(len(os.listdir("/dev/fd")) - before)
"""


@pytest.mark.heavy
def test_a_log_that_cannot_be_opened_is_tried_again_and_gets_both_outputs(tmp_path: Path) -> None:
    """The rounds without success end nothing, and no file stays open."""
    log = tmp_path / "logs" / "API.log"
    log.parent.mkdir()
    with log.open("ab") as output:
        words = [sys.executable, "-c", FOLLOWING]
        environment = {**os.environ, LOG_FILE: str(log)}
        status = subprocess.call(words, stdout=output, stderr=output, env=environment)
    assert status == 0
    assert log.read_text() == "output\nerror\n"
    assert (tmp_path / "away" / "API.log").read_text() == ""


FORKING = """
import os, sys, threading, time
from service.runtime.telemetry import _WRITING

def write():
    with _WRITING:
        held.set()
        time.sleep(0.2)

held = threading.Event()
threading.Thread(target=write).start()
held.wait()
child = os.fork()
if child == 0:
    os._exit(0 if _WRITING.acquire(timeout=5) else 1)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_a_fork_waits_for_the_line_that_another_thread_writes() -> None:
    """The child has no such thread, so it would wait for ever to write its own first line."""
    assert subprocess.call([sys.executable, "-c", FORKING]) == 0
