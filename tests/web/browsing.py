"""Pages in a real Chromium: find the program, open pages, and record every fault."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import (
    BrowserContext,
    ConsoleMessage,
    Page,
    Request,
    WebError,
)

from tests.examples import stride
from tests.web.page_pool import EMPTY, TIMEOUT, PagePool, new_context

PROGRAMS: Final = (
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
)
"""
Names of the browser on PATH.

The first one draws pages like the others, but opens no windows for them: a page costs a quarter
of the processor time, and an idle page none.
"""

FLAGS: Final = (
    "--no-sandbox",  # CI runs as root
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)

SIZES: Final[Mapping[str, tuple[int, int]]] = MappingProxyType(
    {
        "phone": (360, 740),
        "phone on its side": (740, 360),
        "tablet": (1024, 768),
        "desktop": (1440, 900),
        "large": (1920, 1080),
    }
)
"""Width and height in CSS pixels of the five sizes in which every page is tested."""


NO_ED25519: Final = """
const real = globalThis.SubtleCrypto?.prototype.importKey;
if (real) SubtleCrypto.prototype.importKey = function (format, data, algorithm, ...rest) {
    if (algorithm.name === "Ed25519") throw new DOMException("no", "NotSupportedError");
    return real.call(this, format, data, algorithm, ...rest);
};
"""
"""A script with which a page runs as in a browser that cannot check Ed25519 signatures."""


HURRY: Final = """window.setTimeout = (
    (real) => (work, ms) => real(work, ms < 10000 ? ms / 50 : ms)
)(setTimeout)"""
"""A script that shortens the pauses between attempts, not the time limit of one or of a silence."""


COLOURS: Final = ("color-contrast", "link-in-text-block")
"""The rules of axe about colours."""


FAR_ROWS: Final = "#rows li:nth-child(n+50):not(:has([aria-current]))"
"""Selects the rows of a replay's list of events from event 49 on, except the current row."""

RUN_AXE: Final = """async ([context, options]) => {
    const sheets = document.adoptedStyleSheets;
    document.adoptedStyleSheets = [];
    const { violations } = await axe.run(context, options);
    document.adoptedStyleSheets = sheets;
    return violations.map(({ id, nodes }) => `${id}: ${nodes[0].html.slice(0, 200)}`);
}"""
"""
A script that returns only the faults: the whole result takes as long to copy as to find.

Meanwhile the page is without the sheet of `UNDRAWN`: axe does not examine a transparent page.
"""


OF_THE_MACHINE: Final = "net::ERR_NETWORK_CHANGED"
"""
With this Chromium gives up requests while an interface of the machine comes or goes, as those of
containers do. It is no fault of a page; one that needed the answer fails its test otherwise.
"""


PRIVATE_PAGE: Final = re.compile(
    r"/(?:play/|replay/|tables/|disputes/|disputes/new\?game=)[0-9a-f-]{36}(?:[?&#]|$)"
)
"""
The address of a page that a request without a token may get with 404, and that works all the same.

A browser sends no token with it. A call of its script that is answered with 404 is a fault.
"""


def faults_of(page: Page, *, rules: Sequence[str] = (), besides: Sequence[str] = ()) -> list[str]:
    """
    Return what axe finds on a page, by all its rules unless `rules` names some.

    `besides` are selectors of elements that are left out: copies of elements that are tested.
    """
    options = {"resultTypes": ["violations"], **({"runOnly": list(rules)} if rules else {})}
    context = {"include": [["html"]], "exclude": [[selector] for selector in besides]}
    if not page.evaluate("'axe' in window"):
        page.evaluate(Axe().axe_script)
    found: list[str] = page.evaluate(RUN_AXE, [context, options])
    return found


def faults_in_both_schemes(page: Page, *, besides: Sequence[str] = ()) -> list[str]:
    """
    Return the findings of axe on a page in a light and in a dark scheme.

    A scheme changes only colours, so in the dark one axe runs its rules on colours.
    """
    faults = faults_of(page, besides=besides)
    page.emulate_media(color_scheme="dark")
    faults += [f"dark: {one}" for one in faults_of(page, rules=COLOURS, besides=besides)]
    page.emulate_media(color_scheme="light")
    return faults


def faults_in_every_size(page: Page, *, besides: Sequence[str] = ()) -> list[str]:
    """
    Return what axe finds on a page in any size, and the sizes in which the page is too wide.

    axe runs in the smallest size in both schemes; in a long run in all sizes and schemes.
    """
    faults = []
    for number, (name, (width, height)) in enumerate(SIZES.items()):
        page.set_viewport_size({"width": width, "height": height})
        wider = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        faults += [f"{wider} px too wide at {name}"] if wider > 0 else []
        if number % stride(len(SIZES)) == 0:
            found = faults_in_both_schemes(page, besides=besides)
            faults += [f"{fault} at {name}" for fault in found]
    return faults


class Traffic:
    """The requests of a page without an answer yet, besides streams and long polls."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._open = set[Request]()
        page.on("request", self._begin)
        page.on("requestfinished", self._end)
        page.on("requestfailed", self._end)

    def settle(self, milliseconds: int = 300) -> None:
        """Wait until the page has waited for no answer for some milliseconds."""
        quiet = 0
        for _ in range(TIMEOUT // 20):
            if quiet >= milliseconds:
                return
            self._page.wait_for_timeout(20)
            quiet = 0 if self._open else quiet + 20
        raise AssertionError(f"no answer yet: {[request.url for request in self._open]}")

    def _begin(self, request: Request) -> None:
        if "/stream" not in request.url and "wait=" not in request.url:
            self._open.add(request)

    def _end(self, request: Request) -> None:
        self._open.discard(request)


def tab_to(page: Page, selector: str) -> None:
    """Press Tab until an element that matches `selector` has the focus."""
    for _ in range(60):
        if page.evaluate("(s) => document.activeElement.matches(s)", selector):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"no key leads to {selector}")


def chromium_program() -> str | None:
    """Return the path of Chromium, from SHITHEAD_TEST_CHROMIUM or PATH; None if there is none."""
    program = os.environ.get("SHITHEAD_TEST_CHROMIUM")
    found = (shutil.which(name) for name in ((program,) if program else PROGRAMS))
    return next(filter(None, found), None)


@dataclass(kw_only=True)
class Visits:
    """
    The pages that one test opens, and their faults.

    A fault is an error on a page's console, an exception in a script, a request without an
    answer, or an answer with a status of 400 or more, which is an error on the console too. A test
    that provokes faults names them with `expect`.
    """

    pool: PagePool
    address: str  # of the service, without a slash at the end
    faults: list[str] = field(default_factory=list)
    _contexts: list[BrowserContext] = field(default_factory=list)
    _pages: list[Page] = field(default_factory=list)
    _expected: list[str] = field(default_factory=list)

    def visitor(
        self, size: str = "tablet", *, drawn: bool = False, **options: Any
    ) -> BrowserContext:
        """
        Return a new browser context with storage of its own, as another person's browser.

        `size` is a key of SIZES: a tablet shows the layout of a desktop and draws fewer pixels.
        `options` go to Playwright's `new_context`, for example `locale="sv-SE"`,
        `has_touch=True`; `drawn` as for `page_pool.new_context`. A test needs a new context if it
        adds something that cannot be removed, such as a script for each load or a listener, or if
        it depends on the browser's cache.
        """
        width, height = SIZES[size]
        viewport = {"width": width, "height": height}
        context = new_context(
            self.pool.browser, self.address, drawn=drawn, viewport=viewport, **options
        )
        self._listen(context)
        self._contexts.append(context)
        return context

    def page(self, size: str = "tablet", **options: Any) -> Page:
        """
        Return an empty page with storage of its own, as another person's browser.

        Earlier tests may have used the page, unless there are options other than `color_scheme`
        and `reduced_motion`.
        """
        if not options.keys() <= {"color_scheme", "reduced_motion"}:
            return self.visitor(size, **options).new_page()
        width, height = SIZES[size]
        page = self.pool.take(self.address, width=width, height=height, **options)
        self._listen(page.context)
        self._pages.append(page)
        return page

    def open(self, path: str = "/", size: str = "tablet", **options: Any) -> Page:
        """Return a visitor's page at a path of the service, loaded; see `page`."""
        page = self.page(size, **options)
        page.goto(path)
        return page

    def open_as(
        self,
        player: Mapping[str, object],
        path: str,
        size: str = "tablet",
        *,
        page: Page | None = None,
        **options: Any,
    ) -> Page:
        """
        Return the page at a path in the browser of a player who is registered already; see `page`.

        `player` has at least `id`, `name` and `token`. `page` is an empty page, instead of one
        of this size and these options.
        """
        page = page or self.page(size, **options)
        if page.url != self.address + EMPTY:  # a new page, or one in a context of its own
            page.goto(EMPTY)
        store = "(player) => localStorage.setItem('shithead.player', JSON.stringify(player))"
        page.evaluate(store, player)
        page.goto(path)
        return page

    def expect(self, pattern: str) -> None:
        """Name faults that the test provokes: a regular expression, found anywhere in them."""
        self._expected.append(pattern)

    def unexpected(self) -> list[str]:
        """Return the faults so far that no expected pattern matches."""
        expected = (*self._expected, OF_THE_MACHINE)
        return [
            fault
            for fault in self.faults
            if not any(re.search(pattern, fault) for pattern in expected)
        ]

    def close(self) -> None:
        """Close all pages, or empty them for other tests."""
        for context in self._contexts:
            context.close()
        for page in self._pages:
            for event, listener in self._listeners().items():
                page.context.remove_listener(event, listener)
            self.pool.give_back(page, self.address)

    def _listen(self, context: BrowserContext) -> None:
        for event, listener in self._listeners().items():
            context.on(event, listener)  # type: ignore[call-overload] # a literal for each event

    def _listeners(self) -> dict[str, Callable[[Any], None]]:
        """Return what is called for each kind of event of a context."""
        return {
            "console": self._console,
            "weberror": self._thrown,
            "requestfailed": self._failed,
        }

    def _thrown(self, error: WebError) -> None:
        self.faults.append(f"exception: {error.error}")

    def _console(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            where = message.location.get("url", "")
            if "status of 404" in message.text and PRIVATE_PAGE.search(where):
                return
            self.faults.append(f"console: {message.text} ({where})")

    def _failed(self, request: Request) -> None:
        reason = request.failure or ""
        if "net::ERR_ABORTED" in reason:
            return  # the page itself gave it up: left, or cancelled a stream
        self.faults.append(f"no answer: {request.method} {request.url} ({reason})")
