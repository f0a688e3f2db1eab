"""A hand is followed in hidden tabs, behind a proxy that holds streams back, and by the server's clock."""

from __future__ import annotations

import json
import re
import time
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Page, expect

from tests.client import Client, open_table
from tests.web.browsing import Visits

pytestmark = pytest.mark.heavy

STREAM = "**/stream"
POLL = "**/events?after=*"
SET_HIDDEN = """(hidden) => {
    Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
}"""


def player_at_table(visits: Visits, page: Page, **more: object) -> Client:
    """Open the table of a new player against two bots in a page, and return the player."""
    host = Client(port=int(visits.address.rpartition(":")[2]))
    player = host.call("POST", "/v1/players", {"name": "Guest"}).json
    host.token = player["token"]
    game = open_table([host], ruleset="leeds", bots=("lowest",) * 2, window_seconds=0, **more)
    visits.open_as(player, f"/play/{game}", page=page)
    page.get_by_role("button", name="Ready").wait_for()
    return host


def make_ready(page: Page, host: Client) -> None:
    """Make the player ready from another browser; the turn comes to the player soon."""
    game = page.url.rpartition("/")[2]
    assert host.call("POST", f"/v1/games/{game}/moves", {"type": "ready"}).status == 201


def wait_for_turn(page: Page) -> None:
    """Wait until the title announces the turn, while each second of the page is a moment."""
    for _ in range(40):
        if page.title().startswith("● "):
            return
        page.clock.fast_forward(11_000)
        page.wait_for_timeout(100)
    raise AssertionError(page.title())


def test_a_hidden_page_ends_its_stream_and_its_title_still_announces_the_turn(
    visits: Visits,
) -> None:
    """A browser opens six connections over HTTP/1.1: seven streams would leave none for a move."""
    page = visits.visitor().new_page()
    page.clock.install()
    with page.expect_request(STREAM):
        host = player_at_table(visits, page)
    expect(page.locator("#log li").first).to_be_attached()
    page.evaluate(SET_HIDDEN, True)
    with page.expect_event("requestfailed", lambda one: one.url.endswith("/stream")):
        page.clock.fast_forward(6000)
    streams: list[str] = []
    page.on("request", lambda one: streams.append(one.url) if "/stream" in one.url else None)
    make_ready(page, host)
    wait_for_turn(page)
    assert streams == []
    expect(page.locator(".notice")).to_have_count(0)  # it is not called a lost connection
    with page.expect_request(STREAM):
        page.evaluate(SET_HIDDEN, False)


def test_a_glance_at_another_tab_does_not_end_the_stream(visits: Visits) -> None:
    page = visits.visitor().new_page()
    page.clock.install()
    with page.expect_request(STREAM):
        player_at_table(visits, page)
    expect(page.locator("#log li").first).to_be_attached()
    ended: list[str] = []
    page.on("requestfailed", lambda one: ended.append(one.url))
    page.evaluate(SET_HIDDEN, True)
    page.clock.fast_forward(3000)
    page.evaluate(SET_HIDDEN, False)
    page.clock.fast_forward(4000)
    page.wait_for_timeout(100)
    assert ended == []


def test_a_page_whose_proxy_holds_streams_back_polls_after_two_openings(visits: Visits) -> None:
    page = visits.visitor().new_page()
    page.clock.install()
    held: list[str] = []
    page.route(STREAM, lambda route: held.append(route.request.url))  # never answered
    host = player_at_table(visits, page)
    for _ in range(2):
        with page.expect_request(POLL):
            page.clock.fast_forward(10_000)
        page.wait_for_timeout(50)
        page.clock.fast_forward(2000)
    expect(page.locator("#log li").first).to_be_attached()
    make_ready(page, host)
    wait_for_turn(page)
    assert len(held) == 2
    expect(page.locator(".notice")).to_have_count(0)


@pytest.mark.parametrize("error", [90, -90])
def test_the_time_left_is_counted_by_the_clock_of_the_server(visits: Visits, error: int) -> None:
    page = visits.visitor().new_page()
    page.clock.install(time=datetime.now(UTC) + timedelta(seconds=error))
    host = player_at_table(visits, page, clock={"turn_seconds": 60, "swap_seconds": 60})
    make_ready(page, host)
    clock = page.locator("#own [data-clock]")
    expect(clock).to_have_text(re.compile(r"^(0:5\d|1:00)$"))
    game = host.call("GET", f"/v1/games/{page.url.rpartition('/')[2]}").json
    minutes, seconds = (clock.text_content() or "").split(":")
    left = datetime.fromisoformat(game["deadline"]).timestamp() - time.time()
    assert abs(int(minutes) * 60 + int(seconds) - left) <= 3, json.dumps(game["deadline"])
