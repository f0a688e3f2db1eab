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
TURNS = 30
"""A limit that ends each hand, so that all are of the same length: some 65 events."""

HOUR = 1200
"""Events of an hour, at one event in three seconds."""

DRAW_ALL_CARDS = """async () => {
    const script = document.querySelector("script[type=module]").src;
    const { picture } = await import(script.replace("table.js", "pictures.js"));
    const codes = [..."23456789TJQKA"].flatMap((rank) => [..."cdhs"].map((suit) => rank + suit));
    for (const card of [null, "X1", ...codes]) picture(card);
}"""
"""Makes the drawings of all cards, of which the page keeps one each outside the document."""

DRAW_AGAIN = """async () => {
    for (let i = 0; i < 60; i += 1) {
        dispatchEvent(new Event("resize"));
        if (i % 20 === 0) await new Promise(requestAnimationFrame);
    }
}"""
"""Draws the table as often as a hand of events does: a fast hand lets the page skip some."""

MAX_OBJECTS = 60
"""
The allowed growth of the number of objects besides nodes, from the end of the first hand to that
of the last. A page without leaks grew by up to 10; one that stores each event by 500, and one that
stores each view by 199 and more.
"""

MAX_BYTES = 270_000
"""
The allowed growth of the heap in these two hands: 2 kB an event. Code is compiled late: a page
without leaks grew by 70 to 106 kB.
"""

MAX_NODES = 20
"""
The allowed growth outside the document: from hand to hand, and while the table is drawn 60 times. A
page without leaks grew by none; one that stores a node of each drawing by 60 and more.
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
        objects=min(objects_of(session) for _ in range(2)),  # the first leaves some for the second
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
    """Return the number of objects besides nodes; unlike bytes, without compiled code."""
    prototype = session.send("Runtime.evaluate", {"expression": "Object.prototype"})
    parameters = {"prototypeObjectId": prototype["result"]["objectId"], "objectGroup": "counted"}
    found = session.send("Runtime.queryObjects", parameters)["objects"]["objectId"]
    counts = "function () { return this.filter((one) => !(one instanceof Node)).length; }"
    count = {"objectId": found, "functionDeclaration": counts, "returnByValue": True}
    number = session.send("Runtime.callFunctionOn", count)
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

    The first hand compiles the code; all cards are drawn before it ends.
    """
    players = [register(service.port, name) for name in ("Ada", "Bob")]
    game = open_table(players, ruleset="leeds", window_seconds=0, turn_limit=TURNS)
    page = visits.visitor(reduced_motion="reduce").new_page()  # without garbage of other tests
    traffic = Traffic(page)
    page.goto(f"/play/{game}")
    page.locator(".seat").first.wait_for()
    page.evaluate(DRAW_ALL_CARDS)
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")
    events, held = 0, list[Memory]()
    while events < least or len(held) < HANDS:
        game = next_hand(players[0], game) if held else game
        events += play_on(players, game, random.Random(len(held)))["version"]
        seen_to_the_end(page, traffic, game)
        held.append(memory_of(session))
    begin, end = held[0], held[-1]
    page.evaluate(DRAW_AGAIN)
    drawn = memory_of(session)
    assert end.objects - begin.objects <= MAX_OBJECTS, held
    assert end.heap - begin.heap <= MAX_BYTES, held
    for later, earlier in ((end, begin), (drawn, end)):
        assert later.nodes - earlier.nodes <= MAX_NODES, (held, drawn)
        assert later.listeners - earlier.listeners <= MAX_NODES, (held, drawn)


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
    traffic.settle()  # the page fetches its table after the seal
