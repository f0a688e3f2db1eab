"""Pages whose files cannot be loaded, or whose browser lacks what they need: they say so."""

from __future__ import annotations

import itertools
import re

import pytest
from playwright.sync_api import Page, Route, expect

from service.api.pages import FOLDER
from tests.web.browsing import Visits
from tests.web.test_table import TURN

pytestmark = pytest.mark.heavy

BLOCKED = """
const get = () => { throw new DOMException("blocked", "SecurityError"); };
for (const name of ["localStorage", "sessionStorage"]) Object.defineProperty(window, name, { get });
"""
"""A script for each load: a browser whose user has blocked the storage of all sites."""

FULL = """
Storage.prototype.setItem = () => { throw new DOMException("full", "QuotaExceededError"); };
"""
"""A script for each load: a browser whose storage is full."""

OLD = """
for (const name of ["any", "timeout"]) delete AbortSignal[name];
for (const name of ["findLast", "findLastIndex", "toReversed", "toSorted", "toSpliced", "with"])
  delete Array.prototype[name];
delete Object.groupBy;
delete Promise.withResolvers;
delete HTMLFormElement.prototype.requestSubmit;
delete Crypto.prototype.randomUUID;
for (const name of ["TextDecoderStream", "TextEncoderStream", "DecompressionStream", "URLPattern"])
  delete globalThis[name];
"""
"""A script for each load: what the oldest browsers that the README names do not have."""

NOTICE = "#guard"
SENTENCE = "This page did not load completely"


def served_by_another_build(page: Page, files: str, *, times: int | None = None) -> list[str]:
    """Answer requests of these files with 404, and return a list of the pages that are loaded."""
    loaded: list[str] = []
    page.on("framenavigated", lambda frame: loaded.append(frame.url))

    def missing(route: Route) -> None:
        route.fulfill(status=404, json={"type": "not-found"})

    page.route(files, missing, times=times)
    return loaded


@pytest.mark.parametrize("files", ["**/app/captions.js", "**/app/app.css", "**/strings/en.json"])
def test_a_page_whose_files_are_of_another_build_loads_itself_once_again(
    visits: Visits, files: str
) -> None:
    """The second load meets a server of the same build: the page works as if nothing had been."""
    visits.expect("404|Failed to load")
    page = visits.visitor().new_page()  # which has no stored file
    loaded = served_by_another_build(page, files, times=1)
    with page.expect_event("framenavigated", lambda frame: "reloaded" in frame.url):
        page.goto("/?next=1#invite=abc")
    page.locator("#with-bots:enabled").wait_for()
    # A change of the history of the page counts as well, with the same address.
    paths = [url.partition("/?")[2] for url, _ in itertools.groupby(loaded)]
    assert paths[:2] == ["next=1#invite=abc", "next=1&reloaded#invite=abc"], loaded
    assert page.url.endswith("/?next=1#invite=abc")
    expect(page.locator(NOTICE)).to_have_count(0)


def test_a_page_that_fails_twice_shows_a_sentence_and_a_button(visits: Visits) -> None:
    """Without any storage: that the page was loaded again is in its address."""
    visits.expect("404|Failed to load")
    context = visits.visitor(locale="sv-SE")
    context.add_init_script(BLOCKED)
    page = context.new_page()
    loaded = served_by_another_build(page, "**/app/dom.js")
    page.goto("/statistics")
    expect(page.locator(NOTICE)).to_contain_text("Sidan laddades inte helt")
    page.wait_for_timeout(200)
    assert len(loaded) == 2, loaded
    page.unroute_all()
    page.get_by_role("button", name="Ladda den igen").click()
    page.locator("#account:not([hidden])").wait_for()
    assert page.url.endswith("/statistics")


def test_a_page_whose_server_does_not_answer_is_not_replaced_by_an_error_page(
    visits: Visits,
) -> None:
    visits.expect("ERR_FAILED|no answer")
    page = visits.visitor().new_page()
    page.route("**/app/dom.js", lambda route: route.abort())
    page.route("**/", lambda r: r.abort() if r.request.method == "HEAD" else r.fallback())
    page.goto("/")
    expect(page.locator(NOTICE)).to_contain_text(SENTENCE)
    expect(page.locator("h1")).to_be_visible()


def test_a_browser_is_named_what_it_lacks(visits: Visits) -> None:
    visits.expect("exception")
    context = visits.visitor()
    context.add_init_script("delete Array.prototype.at; delete Intl.ListFormat;")
    page = context.new_page()
    page.goto("/")
    expect(page.locator(NOTICE)).to_have_text(
        "This browser is too old for this page: it lacks Array.prototype.at, Intl.ListFormat. "
    )


def test_an_error_that_no_script_handles_is_shown(visits: Visits) -> None:
    """The page would stand still without a word."""
    visits.expect("exception|status of 500|Failed to load")
    page = visits.page()
    page.route("**/v1/bots", lambda route: route.fulfill(status=200, json={"items": []}))
    page.goto("/")
    expect(page.locator(NOTICE)).to_contain_text("This page met a fault and may not go on: ")
    expect(page.get_by_role("button", name="Load it again")).to_be_visible()


@pytest.mark.parametrize("limits", [BLOCKED, FULL], ids=["blocked", "full"])
def test_a_hand_is_played_in_a_browser_that_stores_nothing(visits: Visits, limits: str) -> None:
    """The player lasts as long as the tab, also when it is loaded again, and the page says so."""
    context = visits.visitor()
    context.add_init_script(limits)
    page = context.new_page()
    page.goto("/")
    expect(page.locator("#unstored")).to_contain_text("your player is lost when you close this tab")
    page.get_by_role("button", name="Play a hand now").click()
    page.locator("[data-key=ready]").wait_for()
    if limits == BLOCKED:  # nor is it stored that the player knows the game
        page.get_by_role("button", name="I know the game").click()
    page.get_by_role("button", name="Ready").click()
    page.locator(TURN).first.wait_for()
    page.locator("#unstored").get_by_role("button", name="Close").click()
    page.reload()
    expect(page.locator("#hand button").first).to_be_visible()
    expect(page.locator("#table.seated")).to_be_visible()
    expect(page.locator("#unstored")).to_have_count(0)


def test_a_hand_is_played_and_verified_in_the_oldest_browser(visits: Visits) -> None:
    context = visits.visitor()
    context.add_init_script(OLD)
    page = context.new_page()
    page.goto("/")
    page.get_by_role("button", name="Play a hand now").click()
    page.get_by_role("button", name="Ready").click()
    page.locator(TURN).first.wait_for()
    game = page.url.rpartition("/")[2]
    page.goto(f"/verify?game={game}")
    expect(page.locator("#check-chain")).to_have_class("pass")
    expect(page.locator(NOTICE)).to_have_count(0)


def test_what_the_pages_need_is_older_than_the_oldest_browser_named() -> None:
    """Syntax cannot be removed from a browser for a test: these two are newer."""
    for path in (FOLDER / "app").rglob("*.js"):
        assert not re.search(r"\(\?<[=!]|\bstatic \{", path.read_text("utf-8")), path.name
