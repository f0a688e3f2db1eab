"""Memory of a page that watches many hands."""

from __future__ import annotations

import random
from dataclasses import dataclass

import pytest
from playwright.sync_api import CDPSession, Page

from tests.client import Client, open_table, play_on, register
from tests.running import Running
from tests.web.browsing import Traffic, Visits

pytestmark = pytest.mark.heavy

HANDS = 3
TURNS = 60
"""A limit that ends each hand, so that all are of the same length."""

HOUR = 1200
"""Events of an hour, at one event in three seconds."""

DRAWN_AGAIN = """async () => {
    for (let i = 0; i < 200; i += 1) {
        dispatchEvent(new Event("resize"));
        if (i % 20 === 0) await new Promise(requestAnimationFrame);
    }
}"""
"""Draws the table as often as a hand of events does: a fast hand lets the page skip some."""

MAX_OBJECTS = 150
"""
The allowed growth of the number of objects from the larger of the first two hands to the last.
From one hand to the next a page without leaks grew by up to 92, or by 170 after it had shrunk by
149; one that stores each event grew by 320, and one that stores each view by 199.
"""

MAX_BYTES = 400_000
"""
The allowed growth of the heap from the second hand to the last. Code is compiled late, and
drawings of cards are stored on first use: a page without leaks grew by 56 to 274 kB in two hands.
"""

MAX_NODES = 200
"""
A page without leaks grew by 0 to 123 nodes outside the document in one hand; one that stores a node
of each drawing by 226 and more.
"""


@dataclass(frozen=True, kw_only=True)
class Memory:
    """Heap bytes, objects, detached nodes and listeners of a page after garbage collection."""

    heap: int
    objects: int
    nodes: int
    listeners: int


def memory_of(session: CDPSession) -> Memory:
    """Return the memory of the page."""
    for _ in range(3):  # what a finalizer lets go is collected by the next round
        session.send("HeapProfiler.collectGarbage")
    found = {one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]}
    return Memory(
        heap=int(found["JSHeapUsedSize"]),
        objects=objects_of(session),
        nodes=int(found["Nodes"]) - attached_of(session),
        listeners=int(found["JSEventListeners"]),
    )


def attached_of(session: CDPSession) -> int:
    """Return the number of nodes in the document, which depends on the cards that lie there."""
    walk = """(() => {
        const nodes = document.createNodeIterator(document, NodeFilter.SHOW_ALL);
        let count = 0;
        while (nodes.nextNode()) count += 1;
        return count;
    })()"""
    found = session.send("Runtime.evaluate", {"expression": walk, "returnByValue": True})
    return int(found["result"]["value"])


def objects_of(session: CDPSession) -> int:
    """Return the number of objects that a page holds; unlike bytes, without compiled code."""
    prototype = session.send("Runtime.evaluate", {"expression": "Object.prototype"})
    parameters = {"prototypeObjectId": prototype["result"]["objectId"], "objectGroup": "counted"}
    found = session.send("Runtime.queryObjects", parameters)["objects"]["objectId"]
    count = {"objectId": found, "functionDeclaration": "function () { return this.length; }"}
    number = session.send("Runtime.callFunctionOn", {**count, "returnByValue": True})
    session.send("Runtime.releaseObjectGroup", {"objectGroup": "counted"})
    return int(number["result"]["value"])


@pytest.mark.parametrize(
    "least", [0, pytest.param(HOUR, marks=pytest.mark.long)], ids=["three hands", "an hour"]
)
def test_memory_stays_flat_while_a_page_watches_hand_after_hand(
    visits: Visits, service: Running, least: int
) -> None:
    """
    A spectator's page follows a table; each hand is as large as the last.

    The first hand compiles the code and draws each card once; it is not compared.
    """
    players = [register(service.port, name) for name in ("Ada", "Bob")]
    game = open_table(players, ruleset="leeds", window_seconds=0, turn_limit=TURNS)
    page = visits.visitor(reduced_motion="reduce").new_page()  # without garbage of other tests
    traffic = Traffic(page)
    page.goto(f"/play/{game}")
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")
    events, held = 0, list[Memory]()
    while events < least or len(held) < HANDS:
        events += play_on(players, game, random.Random(len(held)))["version"]
        seen_to_the_end(page, traffic, game)
        page.evaluate(DRAWN_AGAIN)
        held.append(memory_of(session))
        game = next_hand(players[0], game)
    begin, end = held[1], held[-1]
    assert end.objects - max(held[0].objects, begin.objects) <= MAX_OBJECTS, held
    assert end.heap - begin.heap <= MAX_BYTES, held
    assert end.nodes - begin.nodes <= MAX_NODES, held
    assert end.listeners - begin.listeners <= MAX_NODES, held


def next_hand(host: Client, game: str) -> str:
    """Deal the next hand at the table of a game, and return its id."""
    table = host.get(f"/v1/games/{game}")["table"]
    dealt: str = host.post(f"/v1/tables/{table}/games", {})["game"]["id"]
    return dealt


def seen_to_the_end(page: Page, traffic: Traffic, game: str) -> None:
    """Wait until the page shows the end of a hand, with its last event."""
    page.wait_for_url(f"**/play/{game}")
    page.locator(".result").wait_for(timeout=60_000)
    page.wait_for_load_state("load")
    traffic.settle(1500)  # the page fetches its table and receipt after the seal
