"""A hand is followed in hidden tabs, behind a buffering proxy, and by the clock of the server."""

from __future__ import annotations

import json
import re
import time
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Page, Request, expect

from tests.client import Client, open_table
from tests.examples import is_long
from tests.web.browsing import Visits, faults_of

pytestmark = pytest.mark.heavy

STREAM = "**/games/*/stream"
POLL = "**/events?after=*"
SET_HIDDEN = """(hidden) => {
    Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
}"""


def is_game_stream(request: Request) -> bool:
    """Return whether a request is for the stream of a game, not for the player's own."""
    return "/games/" in request.url and request.url.endswith("/stream")


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
    with page.expect_event("requestfailed", is_game_stream):
        page.clock.fast_forward(6000)
    streams: list[str] = []
    page.on("request", lambda one: streams.append(one.url) if is_game_stream(one) else None)
    make_ready(page, host)
    wait_for_turn(page)
    assert streams == []
    expect(page.locator(".notice")).to_have_count(0)  # it is not called a lost connection
    with page.expect_request(STREAM):
        page.evaluate(SET_HIDDEN, False)


def test_visible_windows_share_the_connections_and_each_sees_moves_at_once(
    visits: Visits,
) -> None:
    """
    Three have a stream. The others poll, as soon as the player's own stream tells of a move.

    A browser has six connections: in a long run seven windows are more than these.
    """
    others = 4 if is_long() else 2
    context = visits.visitor()
    open_streams: set[Request] = set()

    def note(request: Request) -> None:
        if re.search("/stream|wait=[^0]", request.url):
            open_streams.add(request)

    context.on("request", note)
    context.on("requestfinished", lambda one: open_streams.discard(one))
    context.on("requestfailed", lambda one: open_streams.discard(one))
    host = Client(port=int(visits.address.rpartition(":")[2]))
    player = host.call("POST", "/v1/players", {"name": "Guest"}).json
    host.token = player["token"]
    windows: list[Page] = []

    def show_another() -> None:
        game = open_table([host], ruleset="leeds", bots=("lowest",) * 2, window_seconds=0)
        windows.append(context.new_page())
        visits.open_as(player, f"/play/{game}", page=windows[-1])
        windows[-1].get_by_role("button", name="Ready").wait_for()

    for _ in range(3 + others - 1):
        show_another()
    with context.expect_event("request", lambda one: one.url.count("-") >= 4 * others):
        show_another()  # the last that is watched; an id has four hyphens
    assert sum("/games/" in one.url for one in open_streams) == 3
    context.clock.install()
    context.clock.pause_at(datetime.now() + timedelta(seconds=4))  # noqa: DTZ005 - of the pages
    windows[-1].wait_for_timeout(500)  # from here on no window polls by its clock
    with windows[-1].expect_request(POLL):
        make_ready(windows[-1], host)
    context.clock.resume()
    expect(windows[-1].get_by_role("button", name="Ready")).to_have_count(0)
    for window in windows[:-1]:
        with window.expect_response("**/moves") as made:
            window.get_by_role("button", name="Ready").click()
        assert made.value.status == 201
    with context.expect_event("request", is_game_stream):  # of one of those that polled
        windows.pop(0).close()
    for window in windows:  # they wait for the next hand, three of them with a long poll
        game = window.url.rpartition("/")[2]
        assert host.call("POST", f"/v1/games/{game}/moves", {"type": "forfeit"}).status == 201
    for window in windows:
        window.locator(".result").wait_for()
    with context.expect_event("request", lambda one: one.url.endswith("wait=0")):
        pass
    for _ in range(100):  # until each that may has begun
        if (waiting := sum("/tables/" in one.url for one in open_streams)) == 3:
            break
        windows[0].wait_for_timeout(50)
    assert waiting == 3


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


def test_a_page_that_misses_two_heartbeats_says_so_until_the_next_one(visits: Visits) -> None:
    """A service that hangs ends no connection. The clock of the page is ahead of the heartbeats."""
    page = visits.visitor().new_page()
    page.clock.install()
    player_at_table(visits, page)
    expect(page.locator("#log li").first).to_be_attached()
    pill = page.locator("#connection")
    page.clock.fast_forward(9000)
    page.wait_for_timeout(100)
    expect(pill).to_be_hidden()
    page.clock.fast_forward(12_000)
    expect(pill).to_have_text("Offline, trying again …")
    expect(pill).to_be_hidden(timeout=15_000)


KEPT = """() => [...document.querySelectorAll("*")]
    .filter((one) => one.closest("[translate=no]") && !one.parentElement.closest("[translate=no]"))
    .map((one) => one.textContent)"""
"""The texts that a browser's translator leaves as they are."""


def test_a_translator_leaves_names_and_cards_as_they_are(visits: Visits) -> None:
    page = visits.page()
    port = int(visits.address.rpartition(":")[2])
    host = Client(port=port)
    player = host.call("POST", "/v1/players", {"name": "Mark (the [first])"}).json
    host.token = player["token"]
    game = open_table([host], ruleset="leeds", bots=("lowest",) * 2, window_seconds=0)
    host.call("POST", f"/v1/games/{game}/moves", {"type": "ready"})
    visits.open_as(player, f"/play/{game}", page=page)
    page.locator("#own.turn").wait_for()
    kept = set(page.evaluate(KEPT))
    assert {"Mark (the [first])", "Mark (the [first]) · ", "Lotta", "Lars"} <= kept
    cards = page.locator("#felt .card, #felt .chip, #log li")
    plain = cards.evaluate_all(
        "(all) => all.map((one) => { const copy = one.cloneNode(true); "
        "if (copy.closest('[translate=no]')) return ''; "
        "copy.querySelectorAll('[translate=no]').forEach((part) => part.remove()); "
        "return copy.textContent; })"
    )
    assert len(plain) > 20
    assert [text for text in plain if re.search(r"[♣♦♥♠]|Mark|Lotta|Lars", text)] == []


def test_the_page_asks_once_to_save_the_recovery_code(visits: Visits) -> None:
    """After the first hand with another person; a hand against bots alone is no reason."""
    clients = [Client(port=int(visits.address.rpartition(":")[2])) for _ in range(2)]
    players = [
        one.call("POST", "/v1/players", {"name": f"Guest {at}"}).json
        for at, one in enumerate(clients)
    ]
    for client, player in zip(clients, players, strict=True):
        client.token = player["token"]
    page = visits.page()
    alone = open_table(clients[:1], ruleset="leeds", bots=("lowest",), window_seconds=0)
    clients[0].call("POST", f"/v1/games/{alone}/moves", {"type": "forfeit"})
    visits.open_as(players[0], f"/play/{alone}", page=page)
    page.locator(".result").wait_for()
    page.wait_for_function("(key) => localStorage.getItem(key)", arg=f"shithead.receipts.{alone}")
    expect(page.locator("#keep")).to_have_count(0)
    game = open_table(clients, ruleset="leeds", window_seconds=0)
    clients[1].call("POST", f"/v1/games/{game}/moves", {"type": "forfeit"})
    page.goto(f"/play/{game}")
    keep = page.locator("#keep")
    expect(keep).to_contain_text(players[0]["recovery"])
    assert faults_of(page) == []
    with page.expect_download() as saved:
        keep.get_by_role("button", name="Save as a file").click()
    assert players[0]["recovery"] in saved.value.path().read_text()
    page.reload()
    page.locator(".result").wait_for()
    page.wait_for_timeout(200)
    expect(keep).to_have_count(0)
