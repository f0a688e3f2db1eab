"""One tab of a browser reads the player's own stream for all of them."""

from __future__ import annotations

import re
from functools import partial

import pytest
from playwright.sync_api import Page, Request, expect

from tests.client import Client, open_table
from tests.running import wait_for
from tests.web.browsing import Visits

pytestmark = pytest.mark.heavy

OWN = "/v1/players/me/stream"
FOLLOWING = """async (tabs) => {
    const { held, pending } = await navigator.locks.query();
    return [...held, ...pending].filter(({ name }) => name === 'shithead.notices').length === tabs;
}"""
"""Whether so many tabs read the stream or wait to do so; a later tab hears what follows."""

REGISTER = """async () => {
    const { src } = document.querySelector("script[type=module][src*='lobby.js']");
    await (await import(src.replace('lobby.js', 'player.js'))).ensurePlayer();
}"""

WATCH = """async (game) => {
    const { src } = document.querySelector("script[type=module][src*='lobby.js']");
    await (await import(src.replace('lobby.js', 'notices.js'))).watch(game);
}"""

COUNT = "addEventListener('notice', ({ detail }) => (window.told ??= []).push(detail.type))"


def lobby(visits: Visits, page: Page, player: dict[str, str], asked: list[str]) -> None:
    """Open the lobby in a tab, and note its requests of the own stream."""

    def note(request: Request) -> None:
        if OWN in request.url:
            asked.append(page.url)

    page.on("request", note)
    page.add_init_script(COUNT)
    visits.open_as(player, "/", page=page)


def test_one_tab_reads_the_stream_and_the_others_hear_it(visits: Visits) -> None:
    host = Client(port=int(visits.address.rpartition(":")[2]))
    player = host.call("POST", "/v1/players", {"name": "Ada"}).json
    host.token = player["token"]
    context, asked = visits.visitor(), list[str]()
    first, second = context.new_page(), context.new_page()
    for page in (first, second):
        lobby(visits, page, player, asked)
    wait_for(partial(first.evaluate, FOLLOWING, 2), seconds=20)
    game = open_table([host], ruleset="leeds", bots=("lowest",), window_seconds=0)
    for page in (first, second):
        heard = partial(page.evaluate, "(window.told ?? []).includes('hand_dealt')")
        wait_for(heard, seconds=20)
    assert len(asked) == 1
    host.call("POST", f"/v1/games/{game}/moves", {"type": "ready"})
    for page in (first, second):
        expect(page.locator("#elsewhere")).to_be_visible(timeout=20_000)
    with second.expect_request(f"**{OWN}"):
        first.close()  # another tab leads then


def test_a_player_registered_in_an_open_tab_is_followed_at_once_and_in_its_other_tabs(
    visits: Visits,
) -> None:
    context = visits.visitor()
    other, first = context.new_page(), context.new_page()
    for page in (other, first):
        page.goto("/")
    assert first.evaluate(FOLLOWING, 0)
    first.evaluate(REGISTER)
    wait_for(partial(first.evaluate, FOLLOWING, 2), seconds=20)


def test_the_stream_goes_on_without_a_hand_that_the_player_may_not_see(visits: Visits) -> None:
    """A window watches the hand of a private table that its player has left."""
    visits.expect("404")
    host = Client(port=int(visits.address.rpartition(":")[2]))
    player = host.call("POST", "/v1/players", {"name": "Ada"}).json
    page, asked = visits.visitor().new_page(), list[str]()
    lobby(visits, page, player, asked)
    wait_for(partial(page.evaluate, FOLLOWING, 1), seconds=20)
    unseen = "00000000-0000-4000-8000-000000000000"
    with page.expect_response(f"**{OWN}?watch={unseen}") as refused:
        page.evaluate(WATCH, unseen)
    assert refused.value.status == 404
    host.token = player["token"]
    wait_for(lambda: page.evaluate("0") or len(asked) == 3, seconds=20)
    open_table([host], ruleset="leeds", bots=("lowest",), window_seconds=0)
    wait_for(partial(page.evaluate, "(window.told ?? []).includes('hand_dealt')"), seconds=20)


def test_a_turn_at_another_table_is_shown_on_every_page_and_leads_there(visits: Visits) -> None:
    """Two tables: one is on the screen, the other one's turns end as they began, also elsewhere."""
    host = Client(port=int(visits.address.rpartition(":")[2]))
    player = host.call("POST", "/v1/players", {"name": "Ada"}).json
    host.token = player["token"]
    clock = {"turn_seconds": 90, "swap_seconds": 90}
    here, there = (
        open_table([host], ruleset="leeds", bots=("lowest",), window_seconds=0, clock=clock)
        for _ in range(2)
    )
    page = visits.open_as(player, f"/play/{here}")
    pill = page.locator("#elsewhere")
    expect(pill).to_have_text(re.compile(r"^Your turn at another table.* · 1:\d\d$"))
    expect(page).to_have_title(re.compile(r"^● "))
    page.get_by_role("button", name="Ready").click()
    expect(page).to_have_title(re.compile(r"^\(2\) ● "))
    for path in ("/", f"/replay/{here}", "/ratings", "/disputes", "/verify", "/rules/leeds"):
        page.goto(path)
        expect(pill).to_have_attribute("href", re.compile(f"/play/({here}|{there})"))
        if path == "/":  # above the table of others: gold, with the time left
            own = page.locator("#own-list .row.yours")
            expect(own.first).to_contain_text(re.compile(r"your turn · 1:\d\d"))
            top = "all => all.map((one) => one.getBoundingClientRect().top)"
            tops = page.locator("#own-games, .hero").evaluate_all(top)
            assert tops == sorted(tops)
            expect(page.locator(f'#playing a[href="/play/{here}"]')).to_have_text("Play")
    page.goto(f"/play/{here}")
    pill.click()
    page.wait_for_url(f"**/play/{there}")
    expect(pill).to_have_attribute("href", f"/play/{here}")
    host.call("POST", f"/v1/games/{here}/moves", {"type": "forfeit"})  # with another device
    expect(pill).to_have_count(0)
    expect(page).to_have_title(re.compile(r"^[^(●]"))
