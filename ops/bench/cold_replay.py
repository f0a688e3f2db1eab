#!/usr/bin/env python3
"""
Cold loads of a replay of 300 events: python -m ops.bench.cold_replay [--write].

The whole service runs on this machine, and Chromium opens the replay room of a finished hand, each
time with an empty cache. A load ends with the first version drawn; from then on no step asks the
server. Times count from the start of the navigation.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from ops.bench.page import print_or_write
from ops.bench.reading import EVENTS, finished_hand
from ops.bench.services import durable_postgres
from service.bootstrap import services_from
from tests import servers
from tests.running import running
from tests.web.browsing import FLAGS, chromium_program

PAGE = Path(__file__).parent / "results" / "cold-replay.md"
LOADS = 15
TARGET = 1.0  # seconds


def loads(browser: Browser, address: str) -> Iterator[float]:
    """Yield the seconds of each load with an empty cache, until the first version is drawn."""
    for _ in range(LOADS):
        context = browser.new_context()
        page = context.new_page()
        page.goto(address, wait_until="commit")
        page.locator("#position:not(:empty)").wait_for()
        yield page.evaluate("performance.now()") / 1000
        context.close()


def measured(folder: Path) -> Iterator[str]:
    """Yield the lines of the table; raises ValueError if there is no Chromium."""
    program = chromium_program()
    if program is None:
        raise ValueError("no Chromium: apt-get install chromium")
    with ExitStack() as stack:
        url = stack.enter_context(durable_postgres(folder)).url
        redis_url = stack.enter_context(servers.valkey(folder / "valkey"))
        service = stack.enter_context(running(url, redis_url, folder, rate_limits=False))
        game, _, _ = finished_hand(services_from(service.settings))
        playwright = stack.enter_context(sync_playwright())
        browser = playwright.chromium.launch(executable_path=program, args=list(FLAGS))
        stack.callback(browser.close)
        first, *others = loads(browser, f"http://127.0.0.1:{service.port}/replay/{game}")
    median = statistics.median(others)
    yield "| first load | median of the others | their slowest | target of the median | reached |"
    yield "| --- | --- | --- | --- | --- |"
    reached = "yes" if median <= TARGET else "no"
    yield f"| {first:.2f} s | {median:.2f} s | {max(others):.2f} s | {TARGET:g} s | {reached} |"


def heading(load: float) -> str:
    """Return the text above the table."""
    return (
        "# Cold loads of the replay room\n\n"
        "Made by `python -m ops.bench.cold_replay --write` on a machine with two cores, load "
        f"{load:.1f} at the start.\nOne finished hand of {EVENTS} events (±10); {LOADS} loads, "
        "each with an empty cache, the first of them in a service\nthat had answered nothing "
        "before. A load ends when the first version is drawn. Server and browser "
        f"({Path(chromium_program() or '').name})\nshare the machine."
    )


if __name__ == "__main__":
    print_or_write(PAGE, description=__doc__, measure=measured, heading=heading)
