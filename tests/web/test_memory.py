"""Memory of a page that watches hand after hand, as for an hour."""

from __future__ import annotations

import random
from dataclasses import dataclass

import pytest
from playwright.sync_api import CDPSession, Page

from tests.client import Client, open_table, play_on, register
from tests.running import Running
from tests.web.browsing import Visits

pytestmark = pytest.mark.heavy

HANDS = 4
EVENTS = 1200
"""What is watched at least: an hour at one event in three seconds."""

DRAWN_AGAIN = """async () => {
    for (let i = 0; i < 300; i += 1) {
        dispatchEvent(new Event("resize"));
        if (i % 20 === 0) await new Promise(requestAnimationFrame);
    }
}"""
"""Draws the table as often as an hour of events does: a fast hand lets the page skip some."""

MOST_BYTES = 400_000
"""
Growth of the heap that is allowed from the second hand to the last: a page that stores
each view grows by 800 kB. Code is compiled late, and drawings of cards are stored on first use:
an honest page grew by 56 to 274 kB.
"""

MOST_NODES = 400


@dataclass(frozen=True, kw_only=True)
class Memory:
    """What a page holds after garbage collection: bytes of the heap, nodes, listeners."""

    heap: int
    nodes: int
    listeners: int


def memory_of(session: CDPSession) -> Memory:
    """Return what the page holds now."""
    for _ in range(3):  # what a finalizer lets go is collected by the next round
        session.send("HeapProfiler.collectGarbage")
    found = {one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]}
    return Memory(
        heap=int(found["JSHeapUsedSize"]),
        nodes=int(found["Nodes"]),
        listeners=int(found["JSEventListeners"]),
    )


def test_memory_stays_flat_while_a_page_watches_for_an_hour(
    visits: Visits, service: Running
) -> None:
    """A spectator's page follows a table from hand to hand; each hand is as large as the last."""
    players = [register(service.port, name) for name in ("Ada", "Bob", "Cy")]
    game = open_table(players, ruleset="leeds", window_seconds=0)
    page = visits.open(f"/play/{game}", reduced_motion="reduce")
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")
    events, held = 0, list[Memory]()
    while events < EVENTS or len(held) < HANDS:
        events += play_on(players, game, random.Random(len(held)))["version"]
        seen_to_the_end(page, game)
        page.evaluate(DRAWN_AGAIN)
        held.append(memory_of(session))
        game = next_hand(players[0], game)
    begin, end = held[1], held[-1]
    assert end.heap - begin.heap <= MOST_BYTES, held
    assert end.nodes - begin.nodes <= MOST_NODES, held
    assert end.listeners - begin.listeners <= MOST_NODES, held


def next_hand(host: Client, game: str) -> str:
    """Deal the next hand at the table of a game, and return its id."""
    table = host.get(f"/v1/games/{game}")["table"]
    dealt: str = host.post(f"/v1/tables/{table}/games", {})["game"]["id"]
    return dealt


def seen_to_the_end(page: Page, game: str) -> None:
    """Wait until the page shows the end of a hand, with its last event."""
    page.wait_for_url(f"**/play/{game}")
    page.locator(".result").wait_for(timeout=60_000)
    page.wait_for_load_state("load")
    page.wait_for_timeout(1500)  # milliseconds until the table has been fetched after the seal
