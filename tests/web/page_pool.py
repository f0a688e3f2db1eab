"""Pages that tests use one after another, emptied in between."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Final, Literal

from playwright.sync_api import Browser, BrowserContext, Error, Page

from tests.examples import is_long

TIMEOUT: Final = 20_000
"""Milliseconds that an action on a page waits for its element."""

EMPTY: Final = "/healthz"
"""
A path of the service without scripts, which a page shows between two tests.

A page of the same site stays in its process; `about:blank` would get another one.
"""

PACELESS: Final = """
try {
    localStorage.getItem("shithead.pace") ?? localStorage.setItem("shithead.pace", "off");
} catch {}
"""
"""A script with which a table shows every event at once, unless the test chose a pace."""

COACHED: Final = """
try {
    const key = "shithead.coach";
    localStorage.getItem(key) ?? localStorage.setItem(key, '{"hand":"-"}');
} catch {}
"""
"""A script with which a player knows the game, so that no sheet is shown before the first hand."""

UNDRAWN: Final = """
const transparent = new CSSStyleSheet();
transparent.replaceSync("html { opacity: 0 !important }");
document.adoptedStyleSheets = [transparent];
"""
"""
A script with which a page is laid out as always, and the browser draws no pixels of it.

Opacity changes neither places and sizes, nor which element gets a click, nor what Playwright
counts as visible. Drawing takes a sixth of the processor time of all pages.
"""


def new_context(
    browser: Browser,
    address: str,
    *,
    drawn: bool = False,
    paced: bool = False,
    novice: bool = False,
    **options: object,
) -> BrowserContext:
    """
    Return a browser context for the service at `address`; the options are Playwright's.

    Its pages are drawn if `drawn`, and in a long run: no test compares pixels. They show every
    event at once unless `paced`, and the sheet of the coach if `novice`.
    """
    context = browser.new_context(base_url=address, **options)  # type: ignore[arg-type] # as given
    context.set_default_timeout(TIMEOUT)
    if not paced:
        context.add_init_script(PACELESS)
    if not novice:
        context.add_init_script(COACHED)
    if not (drawn or is_long()):
        context.add_init_script(f"{{ {UNDRAWN} }}")
    return context


@dataclass(frozen=True, slots=True, kw_only=True)
class PagePool:
    """
    Pages for tests, each in a context of its own, which come back empty.

    A new page starts a process and compiles all scripts: this takes 0.15 s of processor time,
    half of the time that a page needs to load. The cache of files is not emptied.
    """

    browser: Browser
    _free: dict[str, list[Page]] = field(default_factory=lambda: defaultdict(list))

    def take(
        self,
        address: str,
        *,
        width: int,
        height: int,
        color_scheme: Literal["dark", "light"] = "light",
        reduced_motion: Literal["no-preference", "reduce"] = "no-preference",
    ) -> Page:
        """Return an empty page for the service at `address`; the sizes are in CSS pixels."""
        free = self._free[address]
        page = free.pop() if free else new_context(self.browser, address).new_page()
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme=color_scheme, reduced_motion=reduced_motion)
        return page

    def give_back(self, page: Page, address: str) -> None:
        """Empty a page and its context for the next test, or close them if the page is closed."""
        context = page.context
        try:
            self._empty(page, address)
        except Error:  # the page was closed or has crashed, or the service has ended
            context.close()
        else:
            self._free[address].append(page)

    def _empty(self, page: Page, address: str) -> None:
        context = page.context
        for other in context.pages:
            if other is not page:
                other.close()
        context.unroute_all(behavior="ignoreErrors")
        page.unroute_all(behavior="ignoreErrors")
        page._impl_obj.remove_all_listeners("dialog")  # it would answer for the next test
        context.set_offline(False)
        context.clear_permissions()
        page.goto(address + EMPTY)
        page.mouse.move(0, 0)
        session = context.new_cdp_session(page)
        stored = {"origin": address, "storageTypes": "all"}
        session.send("Storage.clearDataForOrigin", stored)
        page.evaluate("sessionStorage.clear()")  # a browser other than the headless shell keeps it
        session.send("Page.resetNavigationHistory")
        session.detach()
