"""The verification of an upload is stopped at the configured time limit."""

from __future__ import annotations

import http.client
import json
import os
import signal
import time
from functools import cache
from pathlib import Path

import pytest

from ops.bench.costly_uploads import costly_log
from tests.running import Running, running, wait_for
from tests.tamper import sample_lines

pytestmark = pytest.mark.heavy

NDJSON = {"Content-Type": "application/x-ndjson"}


@cache
def costly() -> bytes:
    """Return a log of 7.6 MB whose verification takes well over a second."""
    return costly_log(30_000)


def children_of(service: Running) -> list[int]:
    """Return the processes that verify uploads for the API, fork servers left out."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = stat.read_text("utf-8").rpartition(")")[2].split()[:2]
            command = Path(f"/proc/{parent}/cmdline").read_bytes()
            started_by = Path(f"/proc/{parent}/environ").read_bytes()
        except OSError:
            continue
        if state != "Z" and b"service.runtime.fork_server" in command:
            assert b"SHITHEAD" not in started_by
            if os.getsid(int(parent)) == service.children["API"].pid:
                found.append(int(stat.parent.name))
    return found


def parent_of(pid: int) -> int:
    """Return the process that started another."""
    return int(Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[1])


def send(service: Running, log: bytes) -> http.client.HTTPConnection:
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=60)
    connection.request("POST", "/v1/verify", body=log, headers=NDJSON)
    return connection


def checked(service: Running, log: bytes) -> dict[str, str]:
    """Return the result of each check of a log; none if the service stopped the verification."""
    answer = send(service, log).getresponse()
    result = json.loads(answer.read())
    assert answer.status in (200, 503)
    return {check["check"]: check["result"] for check in result.get("checks", ())}


@pytest.mark.attack("WITHOUT_BOUND", "an upload that takes minutes to verify", check="a time limit")
def test_a_verification_is_stopped_at_the_configured_time_limit(
    database_url: str, redis_url: str, tmp_path: Path
) -> None:
    with running(database_url, redis_url, tmp_path, workers=None, verify_seconds=1) as service:
        log = costly()  # it takes seconds to make
        began = time.monotonic()
        answer = send(service, log).getresponse()
        result = json.loads(answer.read())
        assert time.monotonic() - began < 15
        assert (answer.status, result["type"]) == (503, "/problems/unavailable")
        assert answer.headers["Retry-After"]
        assert "1 second" in result["detail"]
        wait_for(lambda: not children_of(service), seconds=10)
        # On a busy machine even a short log may take longer than its second.
        short = b"\n".join(sample_lines("leeds"))
        wait_for(lambda: checked(service, short).get("legality") == "pass", seconds=60)


@pytest.mark.attack("WITHOUT_BOUND", "an upload whose caller has hung up", check="a killed process")
def test_a_verification_is_stopped_if_the_caller_or_the_server_is_gone(
    database_url: str, redis_url: str, tmp_path: Path
) -> None:
    with running(database_url, redis_url, tmp_path, workers=None, verify_seconds=600) as service:
        connection = send(service, costly() + costly())
        wait_for(lambda: children_of(service), seconds=30)
        connection.close()
        wait_for(lambda: not children_of(service), seconds=3)
        connection = send(service, costly())
        wait_for(lambda: children_of(service), seconds=30)
        [child] = children_of(service)
        os.kill(
            parent_of(parent_of(child)), signal.SIGKILL
        )  # the API process for which it verifies
        wait_for(lambda: not Path(f"/proc/{child}").exists(), seconds=20)
        connection.close()
