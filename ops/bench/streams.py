#!/usr/bin/env python3
"""
Effect of live readers on the other calls: python -m ops.bench.streams [--rounds N].

Each round requests views in a closed loop, without readers and then with a hundred, once
with the readers in the API processes and once in a process of their own. The figures are
ratios to the same arrangement without readers, in the same round on the same machine.
"""

from __future__ import annotations

import argparse
import http.client
import statistics
import tempfile
import threading
import time
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

from service.store.migrate import migrate
from tests import servers
from tests.client import register
from tests.running import free_port, running

READERS = 100
CLIENTS = 4
SECONDS = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Answers a second, and the 99th percentile of their times in milliseconds."""

    rate: float
    p99: float


def main() -> None:
    """Measure both arrangements in turn and print their ratios as a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    arrangements = {
        "in the API processes, 2 × 256 threads": {"api_threads": 256},
        "in a process of their own, 2 × 16 and 256 threads": {
            "api_threads": 16,
            "stream_port": free_port(),
        },
    }
    print("| readers | answers/s with / without | p99 with / without |\n| --- | --- | --- |")
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        database = stack.enter_context(servers.postgres(Path(folder) / "postgres"))
        redis_url = stack.enter_context(servers.valkey(Path(folder) / "valkey"))
        measured: dict[str, list[tuple[Figures, Figures]]] = {name: [] for name in arrangements}
        for _ in range(options.rounds):
            for name, settings in arrangements.items():
                url = database.create()
                migrate(url)
                logs = Path(tempfile.mkdtemp(dir=folder))
                measured[name].append(_round(url, redis_url, logs, settings))
    for name, rounds in measured.items():
        rate = statistics.median(beside.rate / alone.rate for alone, beside in rounds)
        p99 = statistics.median(beside.p99 / alone.p99 for alone, beside in rounds)
        print(f"| {name} | {rate:.2f} | {p99:.2f} |")


def _round(
    url: str, redis_url: str, logs: Path, settings: dict[str, int]
) -> tuple[Figures, Figures]:
    """Return the figures without readers and with them."""
    more = {"rate_limits": False, **settings}
    with running(url, redis_url, logs, workers=1, **more) as service, ExitStack() as open_readers:
        ada = register(service.port, "Ada")
        wanted = {"ruleset": "shithead", "seats": ["me", {"bot": "lowest"}]}
        path = f"/v1/games/{ada.post('/v1/tables', wanted)['game']}"
        alone = _measured(service.port, path)
        for _ in range(READERS):
            connection = http.client.HTTPConnection(
                "127.0.0.1", service.settings.stream_port or service.port
            )
            open_readers.enter_context(closing(connection))
            connection.request("GET", f"{path}/stream")
            assert connection.getresponse().status == 200
        return alone, _measured(service.port, path)


def _measured(port: int, path: str) -> Figures:
    """Request a view from CLIENTS threads for SECONDS."""
    times: list[float] = []
    end = time.monotonic() + SECONDS

    def request_views() -> None:
        with closing(http.client.HTTPConnection("127.0.0.1", port)) as connection:
            while (began := time.monotonic()) < end:
                connection.request("GET", path)
                connection.getresponse().read()
                times.append(time.monotonic() - began)

    threads = [threading.Thread(target=request_views) for _ in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return Figures(rate=len(times) / SECONDS, p99=statistics.quantiles(times, n=100)[98] * 1e3)


if __name__ == "__main__":
    main()
