#!/usr/bin/env python3
"""
Time until pages can be used over a slow connection: python -m ops.bench.usable [--write].

Chromium opens each page with an empty cache, then once more with what it stored, while its
development tools limit the connection to 1.6 Mbit/s and add 40 ms to each request. A page is
usable when the element that its reader needs first is visible and enabled. On an idle machine
this takes a minute.
"""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, Final

from playwright.sync_api import Browser, BrowserContext, Error, Page, ViewportSize, sync_playwright

from ops.bench.page import print_or_write
from ops.bench.services import durable_postgres, unlimited_service
from service.local.servers import EmbeddedValkey
from tests.client import Client, open_table, play_on, register
from tests.web.browsing import FLAGS, OF_THE_MACHINE, chromium_program

PAGE = Path(__file__).parent / "results" / "usable.md"
RUNS: Final = 3
LIMIT: Final = 1.5
"""Seconds within which a page is to be usable."""

SETTLING: Final = 1000
"""Milliseconds for which shifts of the layout are recorded after the first visit became usable."""

PATIENCE: Final = 10_000
"""Milliseconds after which a page that is not usable ends the measurement with its name."""

ATTEMPTS: Final = 3
"""How often a visit is repeated if the browser gave up its requests; see `OF_THE_MACHINE`."""

CONNECTION: Final = {
    "offline": False,
    "latency": 40,  # milliseconds, added to each request
    "downloadThroughput": 1.6e6 / 8,  # bytes a second
    "uploadThroughput": 1.6e6 / 8,
}
SIZE: Final[ViewportSize] = {"width": 390, "height": 844}

WATCH: Final = """(selector) => {
    globalThis.shift = 0;
    new PerformanceObserver((list) => {
        for (const one of list.getEntries()) if (!one.hadRecentInput) shift += one.value;
    }).observe({ type: "layout-shift", buffered: true });
    const look = () => {
        const shown = [...document.querySelectorAll(selector)].some((one) =>
            one.getClientRects().length && getComputedStyle(one).visibility === "visible");
        if (shown) globalThis.usable = performance.now();
        else requestAnimationFrame(look);
    };
    look();
}"""
"""Record the time at which an element is visible, since the navigation, and all layout shifts."""

COMPLETE: Final = """() => globalThis.usable !== undefined
    && performance.getEntriesByName("first-contentful-paint").length"""
"""True if the page is usable and drawn: a text is in the document before it is drawn."""

FIGURES: Final = """() => ({
    usable, shift,
    painted: performance.getEntriesByName("first-contentful-paint")[0].startTime,
})"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """A page to open: its address, the element that makes it usable, and the reader."""

    name: str
    path: str
    ready: str  # a selector
    player: Client | None = None


@dataclass(slots=True, kw_only=True)
class Figures:
    """The cost of visits to one page: seconds, layout shift, requests and bytes."""

    usable: list[float] = field(default_factory=list)
    painted: list[float] = field(default_factory=list)
    shift: float = 0.0
    requests: int = 0
    received: int = 0


def visits_of(port: int) -> list[Visit]:
    """Play hands through the API, and return the pages to open."""
    ada, bob = register(port, "Ada"), register(port, "Bob")
    over = open_table([ada, bob], ruleset="leeds", bots=("greedy", "lowest"))
    play_on([ada, bob], over, random.Random(1))
    running = open_table([ada], ruleset="leeds", bots=("greedy", "lowest", "greedy"))
    log = ada.get(f"/v1/games/{over}/events")["items"]
    seq = next(one["seq"] for one in log if one["by"] == 1 and one["type"] == "cards_played")
    accusation = {"accused": 1, "charge": "illegal_move", "seq": seq, "statement": "It must not."}
    dispute = ada.post(f"/v1/games/{over}/disputes", accusation)["id"]
    return [
        Visit(name="lobby", path="/", ready="#now:enabled"),
        Visit(name="table", path=f"/play/{running}", ready="#own button:enabled", player=ada),
        Visit(name="replay", path=f"/replay/{over}", ready="#rows [aria-current]"),
        Visit(name="verify", path="/verify", ready="#app #file:enabled, #app label.button"),
        Visit(name="rules", path="/rules/leeds", ready="footer"),
        Visit(name="docs", path="/docs", ready="footer"),
        Visit(name="a page of the docs", path="/docs/calls/games", ready="footer"),
        Visit(name="dispute", path=f"/disputes/{dispute}", ready="#court .now", player=ada),
        Visit(name="statistics", path="/statistics", ready="#shuffles svg"),
        Visit(name="a frame", path=f"/embed/{over}", ready="#position"),
    ]


def context_of(browser: Browser, address: str, visit: Visit) -> BrowserContext:
    """Return a browser with an empty cache, in which the reader of a visit is known."""
    context = browser.new_context(base_url=address, viewport=SIZE, locale="en-GB")
    context.add_init_script(f"({WATCH})({json.dumps(visit.ready)})")
    if visit.player is not None:
        me = visit.player.get("/v1/players/me")
        known = {"id": me["id"], "name": me["name"], "token": visit.player.token}
        stored = json.dumps(json.dumps(known))
        context.add_init_script(f"localStorage.setItem('shithead.player', {stored})")
    return context


def opened(page: Page, visit: Visit, found: Figures) -> bool:
    """
    Open a page over the slow connection, and add its figures.

    Returns False, and adds nothing, if the browser gave up requests because an interface of the
    machine came or went.
    """
    session = page.context.new_cdp_session(page)
    received: list[float] = []
    given_up: list[str] = []
    session.on("Network.loadingFinished", lambda one: received.append(one["encodedDataLength"]))
    session.on("Network.loadingFailed", lambda one: given_up.append(one["errorText"]))
    session.send("Network.enable")
    session.send("Network.emulateNetworkConditions", CONNECTION)
    try:
        page.goto(visit.path, wait_until="commit")
        page.wait_for_function(COMPLETE, timeout=PATIENCE)
    except Error as error:
        if OF_THE_MACHINE in (*given_up, error.message):
            return False
        raise SystemExit(f"{visit.name} does not become usable: {error.message}") from error
    if not found.usable:
        page.wait_for_timeout(SETTLING)  # what comes after it can still move the page
    measured: dict[str, Any] = page.evaluate(FIGURES)
    session.detach()
    if OF_THE_MACHINE in given_up:
        return False
    found.usable.append(measured["usable"] / 1000)
    found.painted.append(measured["painted"] / 1000)
    found.shift = max(found.shift, measured["shift"])
    found.requests = max(found.requests, len(received))
    found.received = max(found.received, int(sum(received)))
    return True


def measured(browser: Browser, address: str, visit: Visit) -> tuple[Figures, Figures]:
    """Return the figures of a page for first visits, and for second ones with a filled cache."""
    first, again = Figures(), Figures()
    for _ in range(RUNS):
        for _ in range(ATTEMPTS):
            context = context_of(browser, address, visit)
            page = context.new_page()
            complete = opened(page, visit, first)
            if complete:
                page.goto("/healthz")
                complete = opened(page, visit, again)
            context.close()
            if complete:
                break
        else:
            raise SystemExit(f"{visit.name}: interfaces of this machine come and go")
    return first, again


def rows(browser: Browser, port: int) -> Iterator[str]:
    """Yield the lines of the table."""
    yield "| page | usable | longest | first paint | requests | received | again | layout shift |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
    for visit in visits_of(port):
        first, again = measured(browser, f"http://127.0.0.1:{port}", visit)
        usable = median(first.usable)
        yield (
            f"| {visit.name} | {usable:.2f} s{'' if usable <= LIMIT else ', missed'} "
            f"| {max(first.usable):.2f} s | {median(first.painted):.2f} s | {first.requests} "
            f"| {first.received / 1000:.0f} kB | {median(again.usable):.2f} s "
            f"| {max(first.shift, again.shift):.3f} |"
        )


def lines(folder: Path) -> Iterator[str]:
    """Start a service and a browser, and yield the lines of the table."""
    with ExitStack() as stack:
        postgres = stack.enter_context(durable_postgres(folder))
        valkey = EmbeddedValkey(folder / "valkey")
        stack.callback(valkey.stop)
        service = stack.enter_context(unlimited_service(postgres.url, valkey.start(), folder))
        playwright = stack.enter_context(sync_playwright())
        program = chromium_program()
        browser = playwright.chromium.launch(executable_path=program, args=list(FLAGS))
        stack.callback(browser.close)
        yield from rows(browser, service.port)


def main() -> None:
    """Print the table, or write it to the page."""
    if shutil.which("chromium-headless-shell") is None and chromium_program() is None:
        raise SystemExit("no Chromium on the path (apt-get install chromium-headless-shell)")
    print_or_write(
        PAGE,
        description=__doc__,
        measure=lines,
        heading=lambda load: (
            "# Time until pages can be used\n\n"
            "Made by `python -m ops.bench.usable --write`: Chromium with a window of "
            f"{SIZE['width']} × {SIZE['height']} px over 1.6 Mbit/s and 40 ms,\n"
            f"median of {RUNS} visits with an empty cache, load {load:.1f} before the start. "
            "*Again* is the second visit, with what the browser\nstored. Usable: the button that "
            "deals a hand, a button of the own cards, the list of events, the choice of a\nfile, "
            f"the end of a text, the findings, a plot. The limit is {LIMIT:g} s."
        ),
    )


if __name__ == "__main__":
    main()
