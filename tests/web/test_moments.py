"""Moments that a player keeps: from the replay room, and the page that lists them."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import Page, expect

from service.api.pages import strings
from tests.client import Client
from tests.running import Running
from tests.web.browsing import Visits, faults_in_every_size, tab_to
from tests.web.test_looks import MOST_SHIFT, OBSERVE, SHOWN
from tests.web.test_sharing import hand

pytestmark = pytest.mark.heavy

MOMENTS = "/v1/players/me/moments"


def of(service: Running, stored: dict[str, object]) -> Client:
    """Return the calls of the player of a browser."""
    return Client(port=service.port, token=str(stored["token"]))


def kept(service: Running, *texts: str) -> tuple[str, dict[str, object], Client]:
    """Return a finished hand and its player, who keeps a moment with each text."""
    game, ada = hand(service)
    client = of(service, ada)
    for at, text in enumerate(texts):
        moment = {"game": game, "version": 3, "as": "all", "text": text}
        client.post(MOMENTS, {**moment, "list": "Tens" if at % 2 else "Endings"})
    return game, ada, client


def assert_next_list(page: Page, name: str) -> None:
    """Open the dialog, which proposes the list of the newest moment, and close it."""
    page.locator("#keep").click()
    expect(page.get_by_role("dialog").get_by_label("List")).to_have_value(name)
    page.keyboard.press("Escape")


def rows(page: Page) -> list[str]:
    page.locator("#moments .rows").wait_for()
    return page.locator("#moments .row .what > :first-child").all_text_contents()


def test_a_moment_is_kept_by_keys_and_leads_back_to_its_place_and_viewer(
    visits: Visits, service: Running
) -> None:
    game, ada = hand(service)
    page = visits.open_as(ada, f"/replay/{game}?event=2&as=1")
    expect(page.locator("#position")).to_contain_text("2 / ")
    tab_to(page, "#keep")
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="Keep this moment")
    text = dialog.get_by_label("A line about it")
    expect(text).to_be_focused()
    assert "Ada" not in text.input_value(), "seats instead of names, which can be erased"
    assert faults_in_every_size(page) == []
    page.keyboard.type("The first card")
    expect(dialog.get_by_label("List")).to_have_value("My moments")
    page.keyboard.press("Enter")
    expect(dialog.get_by_role("status")).to_contain_text("Kept in the list “My moments”.")
    assert faults_in_every_size(page) == []
    page.keyboard.press("Escape")
    expect(page.locator("#keep")).to_be_focused()
    assert_next_list(page, "My moments")
    [moment] = of(service, ada).get(MOMENTS)["items"]
    shown = {"game": game, "version": 3, "as": "1", "list": "My moments"}
    assert {key: moment[key] for key in shown} == shown
    of(service, ada).post(MOMENTS, {**shown, "text": "x", "list": "Tens"})
    assert_next_list(page, "Tens")
    visits.expect("404")  # a player without a webhook
    page.goto("/account")
    page.get_by_role("link", name="Your moments").click()
    page.get_by_role("link", name="The first card").click()
    expect(page.locator("#position")).to_contain_text("2 / ")
    expect(page.locator("#as")).to_have_value("1")


@pytest.mark.smoke
def test_a_visitor_without_a_player_is_offered_no_moments(visits: Visits, service: Running) -> None:
    game, _ = hand(service)
    page = visits.open(f"/replay/{game}?event=2")
    expect(page.get_by_role("button", name="Share this moment")).to_be_visible()
    expect(page.get_by_role("button", name="Keep this moment")).to_have_count(0)
    page.goto("/moments")
    expect(page.get_by_text("You have no player yet")).to_be_visible()
    assert faults_in_every_size(page) == []


def test_moments_are_edited_deleted_and_shown_by_list(visits: Visits, service: Running) -> None:
    _, ada, client = kept(service, "one", "two", "<b>three</b> & a long line " + "so " * 40)
    page = visits.open_as(ada, "/moments", "phone")
    page.on("dialog", lambda dialog: dialog.accept())
    assert [text[:12] for text in rows(page)] == ["<b>three</b>", "two", "one"]
    assert faults_in_every_size(page) == []
    page.get_by_role("button", name="Edit: two").click()
    dialog = page.get_by_role("dialog", name="Edit this moment")
    dialog.get_by_label("A line about it").fill(" ")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_be_visible()  # the browser asks for a line
    dialog.get_by_label("A line about it").fill("zwei")
    dialog.get_by_label("List").fill("Neu")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_have_count(0)
    expect(page.get_by_role("link", name="zwei")).to_be_visible()
    expect(page.get_by_role("button", name="Edit: zwei")).to_be_focused()
    page.locator("#moments select").select_option("Endings")
    expect(page.get_by_role("link", name="zwei")).to_have_count(0)
    assert page.url.endswith("/moments?list=Endings")
    page.get_by_role("button", name="Delete: one").click()
    expect(page.get_by_role("link", name="one", exact=True)).to_have_count(0)
    assert sorted(one["text"][:8] for one in client.get(MOMENTS)["items"]) == ["<b>three", "zwei"]
    page.get_by_role("button", name="Delete: ").click()
    expect(page.locator("#moments select")).to_have_value("")  # the list ended with its last one
    assert rows(page) == ["zwei"]
    page.get_by_role("button", name="Delete: zwei").click()
    expect(page.get_by_text("You have kept no moment yet")).to_be_visible()
    assert faults_in_every_size(page) == []


def test_a_list_is_renamed_and_all_moments_are_saved_as_a_file(
    visits: Visits, service: Running
) -> None:
    _, ada, client = kept(service, "one", "two", "three")
    page = visits.open_as(ada, "/moments?list=Endings")
    assert rows(page) == ["three", "one"]
    page.get_by_role("button", name="Rename the list").click()
    dialog = page.get_by_role("dialog", name="Rename the list “Endings”")
    assert faults_in_every_size(page) == []
    dialog.get_by_label("New name").fill("Ends & odds")
    page.keyboard.press("Enter")
    expect(dialog).to_have_count(0)
    expect(page.locator("#moments select")).to_have_value("Ends & odds")
    assert rows(page) == ["three", "one"]
    page.reload()
    assert rows(page) == ["three", "one"]
    with page.expect_download() as download:
        page.get_by_role("button", name="Export as a file").click()
    assert download.value.suggested_filename == "moments.json"
    saved = json.loads(download.value.path().read_text("utf-8"))
    assert saved == client.get(f"{MOMENTS}/export")
    assert len(saved["moments"]) == 3


def test_more_moments_than_a_page_are_shown_page_by_page(visits: Visits, service: Running) -> None:
    _, ada, _ = kept(service, *(f"number {at}" for at in range(53)))
    page = visits.open_as(ada, "/moments")
    assert len(rows(page)) == 50
    page.get_by_role("button", name="Show more").click()
    expect(page.get_by_role("link", name="number 0", exact=True)).to_be_visible()
    assert rows(page) == [f"number {at}" for at in range(52, -1, -1)]
    expect(page.get_by_role("button", name="Show more")).to_be_hidden()


def test_the_page_shows_none_of_our_english_in_another_language_and_nothing_moves(
    visits: Visits, service: Running
) -> None:
    _, ada, _ = kept(service, "uno", "dos")
    english, other = strings("en"), strings("ja")
    ours = {text for key, text in english.items() if len(text) > 4 and other.get(key, text) != text}
    ours.discard("Shithead")  # the name
    context = visits.visitor("phone", drawn=True, locale="ja")
    context.add_init_script(OBSERVE)
    page = visits.open_as(ada, "/moments", page=context.new_page())
    assert rows(page) == ["dos", "uno"]
    page.wait_for_timeout(300)
    assert page.evaluate("shift") < MOST_SHIFT
    assert ours & set(page.evaluate(SHOWN)) == set()
    page.locator("#moments button[data-key^=edit]").first.click()
    page.get_by_role("dialog").wait_for()
    assert ours & set(page.evaluate(SHOWN)) == set()


def test_a_refused_moment_says_why_in_the_language_of_the_page(
    visits: Visits, service: Running
) -> None:
    game, ada = hand(service)
    page = visits.page(locale="ja")
    visits.open_as(ada, f"/replay/{game}?event=2&as=all", page=page)
    page.route(
        f"**{MOMENTS}",
        lambda route: route.fulfill(
            status=409,
            content_type="application/problem+json",
            body=json.dumps(
                {
                    "type": "/problems/limit-reached",
                    "title": "x",
                    "status": 409,
                    "detail": "x",
                    "code": "quota.kept",
                    "values": {"most": 500},
                }
            ),
        ),
    )
    visits.expect("409")
    page.locator("#keep").evaluate("(one) => (one.click(), one.click())")  # one dialog
    page.locator("dialog").first.wait_for()
    expect(page.locator("dialog")).to_have_count(1)
    page.get_by_role("dialog").get_by_role("textbox").first.press("Enter")
    expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("500")
    assert page.get_by_role("dialog").get_by_role("alert").get_attribute("lang") == "ja"
