"""Dialogs and menus: what the keyboard does in them, and where the focus is afterwards."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.client import open_table, register
from tests.running import Running
from tests.web.browsing import Visits, faults_in_both_schemes

pytestmark = pytest.mark.heavy

DRAW = "dispatchEvent(new Event('resize'))"
"""A script that draws a table anew, as the next event does."""


def examined(page: Page) -> None:
    """Expect an open dialog without faults in both schemes."""
    expect(page.get_by_role("dialog")).to_be_visible()
    assert faults_in_both_schemes(page) == []


def test_the_dialog_of_the_player_returns_the_focus_to_its_button(visits: Visits) -> None:
    page = visits.open("/ratings")
    button = page.get_by_role("button", name="You:")
    button.focus()
    page.keyboard.press("Enter")
    examined(page)
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(button).to_be_focused()


def test_keys_in_the_dialog_of_a_moment_leave_the_replay_behind_it_alone(
    visits: Visits, service: Running
) -> None:
    ada = register(service.port, "Ada")
    game = open_table([ada], ruleset="leeds", bots=("lowest",), window_seconds=0)
    ada.post(f"/v1/games/{game}/moves", {"type": "forfeit"})
    page = visits.open(f"/replay/{game}?event=2&why=1")
    page.get_by_role("button", name="Share this moment").press("Enter")
    examined(page)
    page.get_by_role("button", name="Close").last.focus()
    page.keyboard.press("ArrowRight")
    page.set_viewport_size({"width": 600, "height": 800})  # the replay is drawn anew
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.locator("#position")).to_contain_text("2 /")
    expect(page.locator("#why")).to_be_visible()
    expect(page.get_by_role("button", name="Share this moment")).to_be_focused()


def test_the_menu_of_a_table_stays_open_while_others_play_and_gets_the_focus_back(
    visits: Visits, service: Running
) -> None:
    ada = register(service.port, "Ada")
    game = open_table([ada], ruleset="leeds", bots=("lowest",), window_seconds=0)
    me = {"id": "", "name": "Ada", "token": ada.token, "recovery": None}
    page = visits.open_as(me, f"/play/{game}", "phone")
    menu = page.locator("details.more")
    menu.locator("summary").press("Enter")
    page.get_by_role("button", name="The pile").focus()
    page.evaluate(DRAW)
    expect(menu).to_have_attribute("open", "")
    expect(page.get_by_role("button", name="The pile")).to_be_focused()
    page.keyboard.press("Enter")
    examined(page)
    page.evaluate(DRAW)
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(menu).not_to_have_attribute("open", "")
    expect(menu.locator("summary")).to_be_focused()


def test_people_end_a_hand_or_claim_an_absence_from_the_menu_of_the_table(
    visits: Visits, service: Running
) -> None:
    """Nobody is away so soon, which the dialog says; then both people agree to the end."""
    ada, bob = register(service.port, "Ada"), register(service.port, "Bob")
    game = open_table([ada, bob], ruleset="leeds")
    me = {"id": "", "name": "Ada", "token": ada.token, "recovery": None}
    page = visits.open_as(me, f"/play/{game}", "phone")
    summary = page.locator("details.more summary")
    summary.click()
    page.get_by_role("button", name="Somebody is away…").click()
    expect(page.get_by_role("dialog")).to_contain_text("away for 3 minutes")
    examined(page)
    page.get_by_role("dialog").get_by_role("button", name="Close").click()
    bob.post(f"/v1/games/{game}/moves", {"type": "agree_end"})
    summary.click()
    page.get_by_role("button", name="Agree to end the hand").click()
    expect(page.locator("main")).to_contain_text("everybody agreed")


def test_a_line_beside_the_actions_says_who_asks_to_end_the_hand(
    visits: Visits, service: Running
) -> None:
    ada, bob = register(service.port, "Ada"), register(service.port, "Bob")
    game = open_table([ada, bob], ruleset="leeds")
    me = {"id": "", "name": "Ada", "token": ada.token, "recovery": None}
    page = visits.open_as(me, f"/play/{game}", "phone")
    own = page.locator("#own")
    before = own.bounding_box()
    mark = page.locator("#others .seat abbr", has_text="⚑")
    page.locator("#say .now").wait_for()
    expect(mark).to_have_count(0)
    bob.post(f"/v1/games/{game}/moves", {"type": "agree_end"})
    expect(own.locator(".hint")).to_contain_text("Bob would like to end the hand.")
    expect(mark).to_have_attribute("title", "asks to end the hand")
    assert own.bounding_box() == before, "the line takes the place of another"
    assert faults_in_both_schemes(page) == []
    own.get_by_role("button", name="Agree", exact=True).press("Enter")
    expect(page.locator("main")).to_contain_text("everybody agreed")


def test_a_line_beside_the_actions_says_who_is_away_and_offers_the_claims(
    visits: Visits, service: Running
) -> None:
    """The page asks once a minute while nothing happens; the line goes with a move."""
    ada, bob = register(service.port, "Ada"), register(service.port, "Bob")
    game = open_table([ada, bob], ruleset="leeds")
    absent = [{"seat": 1, "away_seconds": 240, "claims": ["stand_in", "end"]}]
    page = visits.visitor("phone").new_page()
    page.clock.install()
    page.route(
        "**/absences",
        lambda route: route.fulfill(json={"after_seconds": 180, "absent": absent}),
    )
    me = {"id": "", "name": "Ada", "token": ada.token, "recovery": None}
    page = visits.open_as(me, f"/play/{game}", page=page)
    page.locator("#say .now").wait_for()
    page.clock.run_for(5_000)
    line = page.locator("#own .hint")
    expect(line).not_to_contain_text("away")
    page.clock.run_for(61_000)
    expect(line).to_contain_text("Bob has been away for 4 minutes.")
    page.get_by_role("button", name="What now?").click()
    dialog = page.get_by_role("dialog")
    page.route("**/moves", lambda route: route.fulfill(status=409, json={"type": "not-away"}))
    visits.expect("409")
    with page.expect_request("**/moves") as posted:
        dialog.get_by_role("button", name="Go on with a bot").click()
    claim = {"type": "claim_absence", "absent": 1, "then": "stand_in"}
    body = posted.value.post_data_json or {}
    assert {name: body.get(name) for name in claim} == claim
    expect(line).to_contain_text("Bob has been away for 4 minutes.")
    bob.post(f"/v1/games/{game}/moves", {"type": "ready"})
    expect(page.locator("#others")).to_contain_text("ready")
    expect(line).not_to_contain_text("away")
    page.clock.run_for(62_000)
    expect(line).to_contain_text("away")
    absent.clear()
    page.clock.run_for(61_000)
    expect(line).not_to_contain_text("away")


PRESSED = """async () => {
    const script = document.querySelector("script[type=module]").src;
    const { guardPresses } = await import(script.replace("lobby.js", "presses.js"));
    const cards = "<button>card</button>".repeat(3);
    document.body.insertAdjacentHTML("afterbegin", `<div id="felt">${cards}</div>`);
    window.state = window.clicks = 0;
    guardPresses(() => String(window.state));
    felt.addEventListener("click", () => (window.clicks += 1));
    felt.firstElementChild.focus();
}"""


def test_tab_moves_the_focus_while_others_play_and_enter_plays_nothing(visits: Visits) -> None:
    """A press of Enter that was meant for the state before is ignored; Tab decides nothing."""
    page = visits.open("/")
    page.evaluate(PRESSED)
    for _ in range(2):
        page.keyboard.press("Tab")
        page.evaluate("() => { window.state += 1 }")
    expect(page.locator("#felt button").last).to_be_focused()
    for _ in range(2):
        page.keyboard.press("Enter")
        page.evaluate("() => { window.state += 1 }")
    assert page.evaluate("window.clicks") == 1
