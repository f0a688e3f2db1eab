"""A replay in a frame of another site: it works there, without a token and without moves."""

from __future__ import annotations

import random
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import Frame, Page, expect

from tests.client import open_table, play_on, register
from tests.running import Running
from tests.web.browsing import Visits, faults_in_both_schemes

pytestmark = pytest.mark.heavy

FORBIDDEN = """(path) => fetch(path, {
    method: "POST", headers: {"Content-Type": "application/json"}, body: "{}",
}).then((answer) => answer.status, () => "refused")"""


@contextmanager
def other_site(html: str, **headers: str) -> Iterator[str]:
    """Serve one page at another origin; yield its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            for name, value in headers.items():
                self.send_header(name.replace("_", "-"), value)
            self.end_headers()
            self.wfile.write(html.encode())

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://localhost:{server.server_address[1]}/"  # the service is at 127.0.0.1
    finally:
        server.shutdown()
        server.server_close()


def framed(page: Page, address: str) -> Frame:
    """Open a page with a frame; return the frame."""
    page.goto(address)
    frame = page.frames[1]
    frame.wait_for_load_state()
    return frame


def hand(service: Running, **more: str) -> tuple[str, str]:
    """Return a finished hand of Ada, and her token."""
    ada = register(service.port, "Ada")
    body = {"ruleset": "leeds", "seats": ["me", {"bot": "lowest"}], **more}
    game = ada.post("/v1/tables", body)["game"]
    ada.post(f"/v1/games/{game}/moves", {"type": "ready"})
    ada.post(f"/v1/games/{game}/moves", {"type": "forfeit"})
    return str(game), str(ada.token)


def test_a_public_hand_is_replayed_in_a_frame_of_another_site(
    visits: Visits, service: Running
) -> None:
    game, token = hand(service)
    player = f'{{"id":"","name":"Ada","token":"{token}"}}'
    address = f"{visits.address}/embed/{game}?event=3"
    # The name of a frame belongs to the page around it, which must not bring a player in.
    name = f'shithead:{{"shithead.player":{player!r}}}'.replace('"', "&quot;")
    site = f'<iframe name="{name}" src="{address}" width="640" height="480"></iframe>'
    page = visits.visitor().new_page()
    with other_site(site) as other:
        frame = framed(page, other)
        expect(frame.locator("#position")).to_contain_text("3 / ")
        assert frame.evaluate("self.origin") == "null"
        storage = "(() => { try { return localStorage.length } catch (e) { return e.name } })()"
        assert frame.evaluate(storage) == "SecurityError"
        frame.get_by_role("button", name="One event forward").click()
        expect(frame.locator("#position")).to_contain_text("4 / ")
        assert frame.locator('#felt [data-card]:not([data-card=""])').count() > 3
        expect(frame.locator("#source")).to_contain_text(f"/replay/{game}")
        assert frame.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
        visits.expect("CORS policy|Failed to load|no answer|Failed to fetch")
        for path in (f"/v1/games/{game}/moves", "/v1/players", "/v1/tables"):
            assert frame.evaluate(FORBIDDEN, visits.address + path) == "refused"
        visits.expect("status of 40[14]")
        # What is public can be read from everywhere; the frame has no token, so nothing else.
        public = {"/v1/games": 200, "/v1/players/me": 401}
        for path, status in public.items():
            reads = "(path) => fetch(path).then((answer) => answer.status, () => 'refused')"
            assert frame.evaluate(reads, visits.address + path) == status


def test_a_small_frame_shows_pile_demand_and_a_line_for_each_seat(
    visits: Visits, service: Running
) -> None:
    """At 360 x 400, in a page that admits only what permits it (COEP)."""
    ada = register(service.port, "Ada")
    seats = ["me", {"bot": "lowest"}, {"bot": "lowest"}, {"bot": "greedy"}]
    game = ada.post("/v1/tables", {"ruleset": "leeds", "seats": seats, "window_seconds": 0})["game"]
    ada.post(f"/v1/games/{game}/moves", {"type": "ready"})
    site = f'<iframe src="{visits.address}/embed/{game}" width="360" height="400"></iframe>'
    page = visits.visitor().new_page()
    policy = {"Cross_Origin_Embedder_Policy": "require-corp"}
    with other_site(site, **policy) as other:
        frame = framed(page, other)
        frame.locator("#felt .seat").nth(3).wait_for()
        inside = """all => all.map((one) => one.getBoundingClientRect())
            .filter(({ top, bottom }) => top < 0 || bottom > innerHeight).length"""
        shown = frame.locator("#felt .seat, #middle .stacks, #middle .demand, #controls, #source")
        assert shown.count() >= 7
        assert shown.evaluate_all(inside) == 0
        heights = "all => Math.max(...all.map((one) => one.offsetHeight))"
        assert frame.locator("#felt .seat").evaluate_all(heights) < 36, "one line"
        assert frame.evaluate("document.querySelector('#felt').scrollHeight") <= frame.evaluate(
            "document.querySelector('#felt').clientHeight"
        )


def test_a_frame_follows_a_hand_until_its_end(visits: Visits, service: Running) -> None:
    """It shows the newest event, and after the seal what everybody held."""
    ada, bob = register(service.port, "Ada"), register(service.port, "Bob")
    game = open_table([ada, bob], ruleset="leeds")
    page = visits.visitor().new_page()
    with other_site(f'<iframe src="{visits.address}/embed/{game}" width="640"></iframe>') as other:
        frame = framed(page, other)
        expect(frame.locator("#source")).to_contain_text("still being played")
        for player in (ada, bob):
            player.post(f"/v1/games/{game}/moves", {"type": "ready"})
        events = len(ada.get(f"/v1/games/{game}/events")["items"])
        expect(frame.locator("#position")).to_have_text(f"{events - 1} / {events - 1}")
        assert frame.locator("#felt .shown [data-card]").count() == 0
        frame.get_by_role("button", name="One event back").click()
        ada.post(f"/v1/games/{game}/moves", {"type": "forfeit"})
        expect(frame.locator("#still")).to_be_empty()
        expect(frame.locator("#position")).to_contain_text(f"{events - 2} / ")
        assert frame.locator("#felt .shown [data-card]").count() > 3


def test_a_frame_says_the_demand_of_the_pile_as_the_replay_does(
    visits: Visits, service: Running
) -> None:
    """Also the ranks that the demand itself does not name: "9 or higher, or a 2 or a 5"."""
    players = [register(service.port, name) for name in ("Ada", "Bob")]
    game = open_table(players, ruleset="leeds")
    play_on(players, game, random.Random(7))
    frames = players[0].get(f"/v1/games/{game}/replay?as=all")["items"]
    shown = next(
        one
        for one in frames
        if one["view"]["status"] == "playing" and one["view"]["demand"]["besides"]
    )
    seq, ranks = shown["version"] - 1, shown["view"]["demand"]["ranks"]
    said = []
    visits.expect("Applying inline style violates")
    for path in ("embed", "replay"):
        page = visits.open(f"/{path}/{game}?event={seq}")
        said.append(page.locator(".demand strong").text_content())
    assert said[0] == said[1]
    expect(page.locator(".demand .ranks")).to_have_text(" ".join(ranks).replace("T", "10"))
    assert re.search(r" or (higher|lower), or an? ", said[0] or "")


def test_a_private_hand_is_not_shown_in_a_frame(visits: Visits, service: Running) -> None:
    game, _ = hand(service, visibility="private")
    visits.expect("404")
    page = visits.visitor().new_page()
    with other_site(f'<iframe src="{visits.address}/embed/{game}"></iframe>') as other:
        frame = framed(page, other)
        expect(frame.locator(".state")).to_contain_text("Only hands of public tables")


@pytest.mark.parametrize("path", ["/", "/replay/{game}", "/play/{game}"])
def test_no_other_page_is_shown_in_a_frame(visits: Visits, service: Running, path: str) -> None:
    game, _ = hand(service)
    visits.expect("frame-ancestors|no answer|Refused to frame")
    page = visits.visitor().new_page()
    with other_site(f'<iframe src="{visits.address}{path.format(game=game)}"></iframe>') as other:
        frame = framed(page, other)
        assert frame.locator("main").count() == 0


def test_axe_finds_nothing_in_any_size_of_a_frame(visits: Visits, service: Running) -> None:
    game, _ = hand(service)
    # In a sandbox every style sheet is of another origin, and axe tries to copy it into the page.
    visits.expect("Applying inline style violates")
    page = visits.open(f"/embed/{game}")
    for width, height in ((320, 420), (640, 480), (1200, 700)):
        page.set_viewport_size({"width": width, "height": height})
        page.locator("#now").wait_for()
        size = page.evaluate("(({ scrollWidth: x, scrollHeight: y }) => [x, y])(document.body)")
        assert size == [width, height]
        assert faults_in_both_schemes(page) == []
