"""The loop of `ops.bench.appends`, which also runs in the environment of the other libraries."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

Append = Callable[[], None]


def measured(stream: Callable[[], Append], clients: int, seconds: float) -> list[float]:
    """Return the seconds of each append; each client calls `stream` once, then what it returns."""
    times: list[list[float]] = [[] for _ in range(clients)]
    end = time.monotonic() + seconds

    def run(number: int) -> None:
        append = stream()
        while time.monotonic() < end:
            began = time.perf_counter()
            append()
            times[number].append(time.perf_counter() - began)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [one for some in times for one in some]
