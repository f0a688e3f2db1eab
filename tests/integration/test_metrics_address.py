"""Metrics at their own address: the sum of all processes, and none at the API's address."""

from __future__ import annotations

import http.client
import re
from contextlib import closing
from pathlib import Path

import pytest

from service.local.forked_programs import can_fork
from service.local.programs import shared_metrics
from tests.running import free_port, running, wait_for

pytestmark = pytest.mark.heavy

REQUESTS = 40


def answer(port: int, path: str) -> tuple[int, str]:
    """Send a request on a new connection, which any process may accept."""
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=20)) as line:
        line.request("GET", path)
        response = line.getresponse()
        return response.status, response.read().decode()


def counted(port: int) -> int:
    """Return the number of requests for the bots, from the metrics."""
    try:
        _, result = answer(port, "/metrics")
    except OSError:
        return -1
    line = re.search(
        r'^shithead_http_requests_total{call="bots.list_bots".*} ([0-9.]+)$', result, re.MULTILINE
    )
    return int(float(line[1])) if line else 0


def test_one_address_serves_the_sum_of_all_processes_even_after_one_ended(
    database_url: str, redis_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, folder in shared_metrics(tmp_path, memory=tmp_path).items():
        monkeypatch.setenv(name, folder)
    port = free_port()
    with running(
        database_url,
        redis_url,
        tmp_path,
        workers=None,
        metrics_port=port,
        metrics_host="127.0.0.1",
    ) as service:
        status, result = answer(service.port, "/metrics")
        assert (status, "shithead_http_requests" in result) == (200, False)
        for _ in range(REQUESTS):
            assert answer(service.port, "/v1/bots")[0] == 200
        assert counted(port) == REQUESTS
        # The process that served them ends; its successor goes on.
        service.kill("API")
        service.start("API")
        wait_for(lambda: counted(port) == REQUESTS, seconds=60)
    assert can_fork({}), "the programs of later tests start as forks"
