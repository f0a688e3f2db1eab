"""The health of a program that polls a log."""

from __future__ import annotations

import json
import threading
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from service.public_log.log_client import MIN_HEALTHY_SECONDS, Poller, health_server


def fail() -> None:
    raise RecursionError("too deep")


def test_failures_are_counted_and_a_poller_that_stopped_is_unhealthy() -> None:
    time, messages = [0.0], list[str]()
    poller = Poller(every=1, report=messages.append, clock=lambda: time[0])
    assert poller.run(lambda: None)
    assert [poller.run(fail) for _ in range(3)] == [False] * 3
    assert messages[-1] == "the log cannot be read: too deep (3 in a row)"
    healthy, facts = poller.health()
    assert (healthy, facts["looks"], facts["failed"], facts["failed_in_a_row"]) == (True, 4, 3, 3)
    time[0] = MIN_HEALTHY_SECONDS + 1
    assert not poller.health()[0], "even if the polling thread has ended"
    assert poller.run(lambda: None)
    assert poller.health()[0]


def test_the_health_of_a_poller_that_stopped_is_503() -> None:
    time = [0.0]
    poller = Poller(every=1, report=lambda _message: None, clock=lambda: time[0])
    with health_server(poller, "127.0.0.1", 0) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        url = f"http://127.0.0.1:{server.server_address[1]}/healthz"
        with urlopen(url, timeout=5) as answer:
            assert json.loads(answer.read())["status"] == "ok"
        time[0] = MIN_HEALTHY_SECONDS + 1
        with pytest.raises(HTTPError, match="503"):
            urlopen(url, timeout=5)
        server.shutdown()
