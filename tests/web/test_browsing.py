"""The pages in a browser: all load without a fault, and the fixture detects every kind of fault."""

from __future__ import annotations

import pytest

from tests.running import Running
from tests.web.browsing import SIZES, Visits, faults_of
from tests.web.page_pool import PagePool

pytestmark = pytest.mark.heavy

PAGES = (
    *(pytest.param(path, marks=pytest.mark.smoke) for path in ("/", "/rules", "/checks", "/docs")),
    pytest.param("/rules/leeds", marks=pytest.mark.smoke),
    *("/docs/calls/games", "/docs/schemas", "/docs/client", "/docs/assistants"),
)


@pytest.mark.parametrize("path", PAGES)
def test_a_page_loads_without_a_fault_and_fits_every_size(visits: Visits, path: str) -> None:
    page = visits.open(path)
    for width, height in SIZES.values():
        page.set_viewport_size({"width": width, "height": height})
        wider = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        assert wider <= 0, (path, width)


def test_every_kind_of_page_fault_is_detected(visits: Visits) -> None:
    """The fixture would be worthless if a broken page passed."""
    page = visits.open("/rules")
    page.goto("/no-such-page")
    page.goto("/rules")
    page.evaluate("console.error('broken')")
    page.evaluate("setTimeout(() => { throw new Error('thrown') })")
    page.evaluate("fetch('http://127.0.0.1:9/').catch(() => {})")  # the policy forbids it
    page.wait_for_timeout(300)
    found = "\n".join(visits.unexpected())
    faults = ("status of 404", "console: broken", "exception: thrown", "console: Connecting to")
    for fault in faults:
        assert fault in found, found
    visits.expect("")
    assert visits.unexpected() == []


def test_an_unreadable_colour_is_detected(visits: Visits) -> None:
    """Also on a page that is not drawn: axe examines it without the sheet that prevents this."""
    page = visits.open("/rules")
    page.evaluate("document.querySelector('h1').style.color = 'Canvas'")
    assert any(fault.startswith("color-contrast: <h1") for fault in faults_of(page))


def test_a_page_answered_with_304_keeps_its_style(visits: Visits) -> None:
    """A 304 replaces the policy of the stored page, so it must have the policy of a page."""
    page = visits.visitor(drawn=True).new_page()
    page.goto("/rules")
    color = "getComputedStyle(document.querySelector('.bar')).backgroundColor"
    before = page.evaluate(color)
    page.goto("/rules")
    assert page.evaluate(color) == before != "rgba(0, 0, 0, 0)"


def test_visitors_have_separate_storage(visits: Visits) -> None:
    one, two = visits.open("/rules"), visits.open("/rules")
    one.evaluate("localStorage.setItem('name', 'Ada')")
    assert two.evaluate("localStorage.getItem('name')") is None


STORED = """async () => ({
    local: localStorage.getItem("name"), session: sessionStorage.getItem("name"),
    cookies: document.cookie, databases: (await indexedDB.databases()).length,
    caches: (await caches.keys()).length, history: history.length, online: navigator.onLine,
    clipboard: (await navigator.permissions.query({ name: "clipboard-read" })).state,
    dark: matchMedia("(prefers-color-scheme: dark)").matches,
    still: matchMedia("(prefers-reduced-motion: reduce)").matches, width: innerWidth })"""
"""A script that returns what a page stores, and how its browser is set up."""

STORE = """() => {
    localStorage.setItem("name", "Ada"); sessionStorage.setItem("name", "Ada");
    document.cookie = "name=Ada"; indexedDB.open("name"); return caches.open("name").then(() => 0);
}"""


def test_a_page_of_another_test_is_as_good_as_new(page_pool: PagePool, service: Running) -> None:
    address = f"http://127.0.0.1:{service.port}"
    new = Visits(pool=PagePool(browser=page_pool.browser), address=address)
    page = new.open("/rules")
    empty = page.evaluate(STORED)
    context = page.context
    page.evaluate(STORE)
    page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    page.set_viewport_size({"width": 300, "height": 300})
    context.grant_permissions(["clipboard-read"])
    page.goto("/checks")
    used = page.evaluate(STORED)
    assert [key for key in empty if used[key] == empty[key]] == ["online"]
    context.set_offline(True)
    page.route("**/*", lambda route: route.abort())
    with context.expect_page():
        page.evaluate("() => void open('/rules')")
    new.close()
    again = new.open("/rules")
    assert again is page and context.pages == [page]
    assert again.evaluate(STORED) == empty
    new.close()
    new.expect("ERR_INTERNET_DISCONNECTED")  # of the window
    assert new.unexpected() == []
