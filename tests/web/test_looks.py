"""The look of the pages: nothing moves while they load, the deck, and what the lobby offers."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final, Literal

import pytest
from flask import Flask
from playwright.sync_api import Page, expect
from werkzeug.routing import UnicodeConverter

from service.api.pages import pages, strings
from tests.client import Client, open_table
from tests.examples import stride
from tests.forked_command import run_command
from tests.web.browsing import SIZES, Traffic, Visits, faults_in_both_schemes, faults_of
from tests.web.samples import FOLDER

pytestmark = pytest.mark.heavy

MOST_SHIFT: Final = 0.05
"""The largest layout shift of a page, as browsers measure it."""

WINDOWS: Final = ((360, 740), (390, 844), (768, 1024), (1280, 800), (1920, 1080))
"""Width and height in CSS pixels of the windows in which it is measured."""

SCHEMES: Final[tuple[Literal["light", "dark"], ...]] = ("light", "dark")

OBSERVE: Final = """
globalThis.shift = 0;
new PerformanceObserver((list) => {
    for (const one of list.getEntries()) if (!one.hadRecentInput) shift += one.value;
}).observe({ type: "layout-shift", buffered: true });
"""

NEXT_FRAMES: Final = """() => new Promise((done) =>
    requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))"""
"""Waits until the page is laid out twice, after which a layout shift has been reported."""


def hand_of(visits: Visits, *bots: str) -> tuple[Client, str]:
    """Return a host and a running hand against bots."""
    host = Client(port=int(visits.address.rpartition(":")[2]))
    host.token = host.call("POST", "/v1/players", {"name": "Ada"}).json["token"]
    game = open_table([host], ruleset="leeds", bots=bots, window_seconds=0, turn_limit=100)
    host.post(f"/v1/games/{game}/moves", {"type": "ready"})
    return host, game


def every_page(visits: Visits) -> tuple[dict[str, object], dict[str, str]]:
    """Return a player, as a browser stores one, and the pages of the service by their routes."""
    host, over = hand_of(visits, "lowest")
    host.post(f"/v1/games/{over}/moves", {"type": "forfeit"})
    accusation = {"accused": None, "charge": "altered_log", "seq": 0, "statement": "It differs."}
    dispute = host.post(f"/v1/games/{over}/disputes", accusation)["id"]
    moment = {"game": over, "version": 3, "as": "all", "text": "A ten", "list": "Tens"}
    host.post("/v1/players/me/moments", moment)
    table = host.post("/v1/tables", {"ruleset": "leeds", "seats": ["me", "open"]})["id"]
    player = {"id": host.get("/v1/players/me")["id"], "name": "Ada", "token": host.token}
    alone = (
        "/",
        "/account",
        "/checks",
        "/disputes",
        "/moments",
        "/ratings",
        "/rules",
        "/statistics",
    )
    return player, {
        **{path: path for path in alone},
        "/disputes/<uuid:dispute_id>": f"/disputes/{dispute}",
        "/disputes/new": f"/disputes/new?game={over}",
        "/embed/<uuid:game_id>": f"/embed/{over}?event=3",
        "/play/<uuid:game_id>": f"/play/{over}",
        "/replay/<uuid:game_id>": f"/replay/{over}?event=9&why=1",
        "/rules/<name:ruleset_id>": "/rules/leeds",
        "/tables/<uuid:table_id>": f"/tables/{table}",
        "/verify": f"/verify?game={over}",
        "a document": "/docs",
        "a page of the document": "/docs/calls/seeks",
        "the schemas of the document": "/docs/schemas",
        "the guide to a client": "/docs/client",
        "assistants": "/docs/assistants",
        "a problem": "/problems/rule-refused",
        "no such page": "/nothing",
        "no such hand": f"/play/{table}",
        "no such dispute": f"/disputes/{table}",
        "no ratings": "/ratings?ruleset=morehead",
    }


def go(page: Page, traffic: Traffic, path: str) -> None:
    """Open a page, and wait until its script has filled it and nothing comes any more."""
    page.goto(path)
    page.locator("#recent li, .seat, h1, main h2, #position").first.wait_for(state="attached")
    page.locator(".filling, .loading").first.wait_for(state="detached")
    traffic.settle(60)
    page.evaluate(NEXT_FRAMES)


def routes() -> set[str]:
    """Return the routes of the pages, without files and an older address of a hand."""
    app = Flask(__name__)
    app.url_map.converters["name"] = UnicodeConverter
    app.register_blueprint(pages)
    found = {rule.rule for rule in app.url_map.iter_rules() if rule.endpoint.startswith("pages.")}
    others = {"/games/<uuid:game_id>", "/source/<name:package>/<file>"}
    return {
        one for one in found - others if not re.search(r"\.(svg|txt|png|ico|js|\w+manifest)$", one)
    }


def test_nothing_moves_while_a_page_loads_and_axe_finds_nothing_in_both_schemes(
    visits: Visits,
) -> None:
    """axe examines each page in the smallest window, with everything that can be opened open."""
    visits.expect("404")
    player, listed = every_page(visits)
    assert routes() <= listed.keys()
    _, game = hand_of(visits, "lowest", "lowest")
    faults = {}
    for width, height in WINDOWS[:: stride(len(WINDOWS) - 1)]:
        context = visits.visitor(drawn=True)
        context.add_init_script(OBSERVE)
        page = context.new_page()
        traffic = Traffic(page)
        page.set_viewport_size({"width": width, "height": height})
        visits.open_as(player, "/healthz", page=page)
        shifts = {}
        for path in (*listed.values(), f"/play/{game}", f"/replay/{game}", "/verify"):
            go(page, traffic, path)
            shifts[path] = page.evaluate("shift")
            is_sandbox = path.startswith("/embed/")  # in which axe needs a test of its own
            if (width, height) == WINDOWS[0] and path in listed.values() and not is_sandbox:
                page.locator("main summary").evaluate_all(
                    "all => all.forEach((one) => one.click())"
                )
                faults[path] = faults_in_both_schemes(page)
        assert {path: one for path, one in shifts.items() if one > MOST_SHIFT} == {}, width
    assert {path: found for path, found in faults.items() if found} == {}


FELT: Final = """(one) => {
    const { backgroundImage, boxShadow } = getComputedStyle(one);
    return [backgroundImage.startsWith('url("data:image/svg'), boxShadow.includes("inset")];
}"""


def test_felt_has_noise_and_an_edge_and_no_page_requests_a_font_or_a_picture(
    visits: Visits,
) -> None:
    """Decision 0124; the noise is in the style sheet."""
    _, game = hand_of(visits, "lowest")
    page = visits.page()
    kinds: list[tuple[str, str]] = []
    page.on("request", lambda request: kinds.append((request.resource_type, request.url)))
    for path, felt in (("/", ".hero"), (f"/play/{game}", "#felt"), (f"/replay/{game}", "#felt")):
        page.goto(path)
        page.locator(felt).wait_for()
        assert page.locator(felt).evaluate(FELT) == [True, True], path
    assert [url for kind, url in kinds if kind == "font"] == []
    assert [url for kind, url in kinds if kind == "image" and url.startswith("http")] == []


SHOWN: Final = """() => {
    const found = [document.title];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const { parentElement: place, textContent } = walker.currentNode;
        const left = place.closest("[lang=en], [translate=no], script, noscript, code, pre");
        if (!left && textContent.trim()) found.push(textContent.trim());
    }
    return found;
}"""


def test_no_page_with_scripts_shows_our_english_in_another_language(visits: Visits) -> None:
    """One language is enough: a text that is not of the catalogue is English in each of them."""
    _, game = hand_of(visits, "lowest")
    english, other = strings("en"), strings("ja")
    ours = {text for key, text in english.items() if len(text) > 4 and other.get(key, text) != text}
    ours.discard("Shithead")  # the name
    page = visits.page(locale="ja")
    for path in (
        "/",
        f"/play/{game}",
        f"/replay/{game}",
        "/disputes",
        "/statistics",
        "/account",
        "/verify",
    ):
        page.goto(path)
        page.locator("#recent li, .seat, h1, main h2").first.wait_for(state="attached")
        page.locator(".filling").first.wait_for(state="detached")
        assert ours & set(page.evaluate(SHOWN)) == set(), path
    visits.expect("404")
    for path in ("/ratings", "/statistics", "/disputes", f"/tables/{game}"):
        page.goto(path)
        page.locator(".loading, .filling").first.wait_for(state="detached")
        title = page.title().removeprefix("Shithead: ")
        assert title in set(other.values()), (path, title)


@pytest.mark.parametrize(
    ("locale", "does"), [("en-US", "burns the pile"), ("sv-SE", "bränner högen")]
)
def test_the_rules_stand_on_one_screen_above_the_complete_ones(
    visits: Visits, locale: str, does: str
) -> None:
    """In the language of the reader; the complete rules are in English."""
    page = visits.open("/rules/leeds", size="desktop", locale=locale)
    ten = page.locator(".short .ranks li", has_text="10")
    expect(ten).to_contain_text(does)
    play = page.locator(".short .button")
    assert page.evaluate(
        "one => one.getBoundingClientRect().bottom <= innerHeight", play.element_handle()
    )
    expect(page.locator("#complete ~ h2").first).to_be_attached()
    assert faults_of(page) == []


DRAWN: Final = """async () => {
    const script = document.querySelector("script[type=module]").src;
    const { picture } = await import(script.replace("lobby.js", "pictures.js"));
    const parts = (card) => picture(card).querySelectorAll(".parts path").length;
    const ranks = ["A", ..."23456789T"];
    const codes = [..."23456789TJQKA"].flatMap((rank) => [..."cdhs"].map((suit) => rank + suit));
    return {
        pips: ranks.map((rank) => parts(`${rank}h`)),
        distinct: new Set([...codes, "X1", ""].map((card) => picture(card || null).innerHTML)).size,
    };
}"""


def test_a_card_shows_as_many_pips_as_its_rank_and_each_card_its_own_drawing(
    visits: Visits,
) -> None:
    page = visits.open("/")
    page.locator("#with-bots:enabled").wait_for()
    drawn = page.evaluate(DRAWN)
    assert drawn == {"pips": list(range(1, 11)), "distinct": 54}


def test_the_lobby_shows_a_running_table_and_who_was_the_shithead(visits: Visits) -> None:
    host, over = hand_of(visits, "lowest")
    host.post(f"/v1/games/{over}/moves", {"type": "forfeit"})
    for _ in range(6):
        hand_of(visits, "lowest")
    _, running = hand_of(visits, "lowest", "greedy", "lowest")
    page = visits.open("/", size="phone")
    expect(page.locator("#playing li")).to_have_count(6)
    table = page.locator("#running")
    expect(table.locator(".faces .avatar")).to_have_count(4)
    below = "one => one.scrollHeight - one.clientHeight"
    assert table.locator(".faces").evaluate(below) <= 0, "all four are shown"
    expect(table.get_by_role("link", name="Watch")).to_have_attribute("href", f"/play/{running}")
    lost = page.locator("#recent li", has=page.locator(f"[href='/replay/{over}']"))
    expect(lost.locator("strong")).to_have_text("Ada gave up and is the shithead")
    expect(lost.locator(".avatar + .mark")).to_have_count(1)
    programs = page.locator("p", has_text="Programs play as well").get_by_role("link")
    expect(programs).to_have_attribute("href", "/docs")


SPARE: Final = """(one) => {
    const alone = one.cloneNode();
    alone.append(one.selectedOptions[0].cloneNode(true));
    alone.style.cssText = "position: absolute; width: max-content; max-width: none";
    one.after(alone);
    const spare = one.offsetWidth - alone.offsetWidth;
    alone.remove();
    return spare;
}"""
"""The width of a select beyond what its chosen option needs, in CSS pixels."""


COVERED: Final = """(one) => {
    const { width, top, bottom } = one.getBoundingClientRect();
    return width * (Math.min(innerHeight, bottom) - top) / (innerWidth * innerHeight);
}"""
"""The share of the window that an element covers."""


CUT: Final = """one => {
    const { width } = one.getBoundingClientRect();
    one.style.cssText = "width: max-content; max-width: none";
    const needed = one.getBoundingClientRect().width;
    one.removeAttribute("style");
    return needed - width;
}"""
"""What the longest option of a select needs beyond its width, in CSS pixels."""


def test_the_lobby_leaves_the_window_to_the_ways_to_play_and_cuts_no_select(
    visits: Visits,
) -> None:
    """
    At most 40 % of a window are for the big picture, in every size.

    No name of a ruleset is cut off, also of those that are not chosen.
    """
    page = visits.open("/")
    expect(page.locator("#seek-rules")).to_have_value("leeds")
    page.locator("#tile-bot:enabled").wait_for()
    expect(page.locator(".filling")).to_have_count(0)
    for name, (width, height) in (*SIZES.items(), ("upright tablet", (768, 1024))):
        page.set_viewport_size({"width": width, "height": height})
        assert page.locator(".hero").evaluate(COVERED) <= 0.4, name
        for select in page.locator(".tile select").all():
            assert select.evaluate(SPARE) >= 0, (name, select.get_attribute("id"))
        assert page.locator("#seek-rules").evaluate(CUT) <= 0, name


def test_a_wide_lobby_shows_seeks_running_tables_and_own_hands_at_one_look(
    visits: Visits,
) -> None:
    """A press anywhere on a row is one on its link."""
    host, own = hand_of(visits, "lowest")
    wanted = {"rulesets": ["leeds"], "seats": 2, "fill_with_bots_after": None}
    sought = host.post("/v1/seeks", wanted)["id"]
    guest = visits.open("/")  # a reader who does not wait
    guest.locator("#seek-others .dots").first.wait_for()
    me = host.get("/v1/players/me")
    page = visits.open_as({"id": me["id"], "name": "Ada", "token": host.token}, "/", "desktop")
    page.set_viewport_size({"width": 1280, "height": 800})
    for shown, heading in ((guest, "Tables to join"), (page, "Being played"), (page, "Your games")):
        shown.set_viewport_size({"width": 1280, "height": 800})
        row = shown.locator("section", has=shown.get_by_role("heading", name=heading))
        expect(row.locator(".row").first).to_be_in_viewport(ratio=1)
    tops = "all => all.map((one) => one.getBoundingClientRect().top)"
    assert len(set(guest.locator(".hero, .lists").evaluate_all(tops))) == 1, "no hole above"
    row = page.locator("#own-list .row").first
    assert 44 <= row.evaluate("(one) => one.offsetHeight") <= 62  # one line of details, or two
    row.click(position={"x": 4, "y": 4})
    page.wait_for_url(f"**/play/{own}")
    assert host.call("DELETE", f"/v1/seeks/{sought}").status in (200, 204)  # no other test meets it


MOVES_OF_A_RECORD: Final = 5000
"""Milliseconds of the page's clock in which the recorded hand makes some moves."""


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_a_lobby_without_a_running_hand_shows_a_recorded_one_in_motion(
    visits: Visits, motion: Literal["no-preference", "reduce"]
) -> None:
    """It can be stopped, and stands still for readers who prefer less motion."""
    page = visits.visitor(reduced_motion=motion).new_page()
    page.clock.install()
    nothing: dict[str, object] = {"items": [], "next": None}
    page.route("**/v1/games?status=playing*", lambda route: route.fulfill(json=nothing))
    page.goto("/")
    scene = page.locator("#running .faces, #running .fan")
    expect(scene).to_have_count(2)
    expect(page.locator("#playing")).to_contain_text("deals one")
    state = "all => all.map((one) => one.innerHTML).join()"
    if motion == "no-preference":
        first = scene.evaluate_all(state)
        page.clock.run_for(MOVES_OF_A_RECORD)
        assert scene.evaluate_all(state) != first
        page.get_by_role("button", name="Stop the recorded hand").click()
    expect(page.get_by_role("button", name="Continue the recorded hand")).to_be_visible()
    stopped = scene.evaluate_all(state)
    page.clock.run_for(MOVES_OF_A_RECORD)
    assert scene.evaluate_all(state) == stopped


def test_players_of_the_running_table_that_are_not_shown_are_counted(visits: Visits) -> None:
    hand_of(visits, *["lowest"] * 10)
    page = visits.open("/", size="phone")
    expect(page.locator("#running .faces li").last).to_have_text("+4")
    expect(page.locator("#running .faces .avatar")).to_have_count(7)
    below = "one => one.scrollHeight - one.clientHeight"
    assert page.locator("#running .faces").evaluate(below) <= 0, "all are shown"


@pytest.mark.parametrize(("locale", "clock"), [("en-GB", r"\d\d:\d\d$"), ("en-US", r"[AP]M$")])
def test_times_are_written_as_in_the_readers_country(
    visits: Visits, locale: str, clock: str
) -> None:
    host, over = hand_of(visits, "lowest")
    host.post(f"/v1/games/{over}/moves", {"type": "forfeit"})
    page = visits.open("/", locale=locale)
    expect(page.locator("#recent .quiet").first).to_have_text(re.compile(clock))
    page.goto(f"/replay/{over}?event=1")
    seconds = clock.replace("$", r":\d\d$") if locale == "en-GB" else clock
    expect(page.locator("#now .what .quiet")).to_have_text(re.compile(seconds))


def test_a_table_of_two_fits_a_large_window(visits: Visits) -> None:
    host, game = hand_of(visits, "lowest")
    player = {"id": "", "name": "Ada", "token": host.token}
    page = visits.open_as(player, f"/play/{game}")
    page.locator("#own.turn").wait_for()
    for width, height in ((1920, 1080), (1600, 930)):
        page.set_viewport_size({"width": width, "height": height})
        fits = "(height) => document.documentElement.scrollHeight <= height"
        page.wait_for_function(fits, arg=height)


@pytest.mark.parametrize("command", [("audit", "--move", "40"), ("verify",)])
def test_pages_that_commands_write_have_whole_words_on_a_phone(
    visits: Visits, tmp_path: Path, command: tuple[str, ...]
) -> None:
    """No column is so narrow that a word is broken."""
    name, *options = command
    log, page_file = FOLDER / "leeds.jsonl", tmp_path / "page.html"
    words = [name, log, *options, "--html", page_file]
    run_command(words, environment=os.environ, folder=tmp_path)
    page = visits.visitor("phone").new_page()
    page.set_content(page_file.read_text("utf-8"))
    narrow = (
        "all => all.filter((one) => one.textContent.length > 12 && one.clientWidth < 80).length"
    )
    assert page.locator("td, li").count() > 10
    assert page.locator("td, li").evaluate_all(narrow) == 0
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


BAR = """() => {
    const one = document.querySelector("#language");
    const { width } = one.getBoundingClientRect();
    one.style.width = "max-content";
    const needed = one.getBoundingClientRect().width;
    one.style.removeProperty("width");
    return { missing: needed - width };
}"""


WHERE: Final = "all => all.map((one) => Math.round(one.getBoundingClientRect().left))"
HEIGHTS: Final = "all => all.map((one) => one.getBoundingClientRect().height)"


def test_the_names_of_languages_are_whole_and_the_bar_has_one_row(visits: Visits) -> None:
    page = visits.open("/disputes", size="tablet")
    page.locator("#language:not([hidden])").wait_for()
    assert page.evaluate(BAR)["missing"] <= 0
    middles = [
        box["y"] + box["height"] / 2
        for part in (".brand", "#language", "#account")
        if (box := page.locator(part).bounding_box())
    ]
    assert len(middles) == 3 and max(middles) - min(middles) < 4, "in one row"


def test_the_bar_has_its_parts_in_the_same_places_on_every_page(visits: Visits) -> None:
    """The five pages, the language and the player with a picture of 24 px; it is 56 px high."""
    visits.expect("404")
    page = visits.open("/", size="desktop")
    places = {}
    for path in ("/", "/rules", "/ratings", "/verify", "/docs", "/checks", "/disputes", "/nothing"):
        page.goto(path)
        page.locator("#account:not([hidden]) .avatar").wait_for()
        places[path] = page.locator(".bar nav a").evaluate_all(WHERE)
        assert page.locator(".bar, #account .avatar").evaluate_all(HEIGHTS) == [56, 24], path
        assert page.evaluate(BAR)["missing"] <= 0
    assert len({tuple(one) for one in places.values()}) == 1, places


def test_a_page_of_text_has_the_language_and_the_player_of_other_pages(visits: Visits) -> None:
    page = visits.open("/docs", size="desktop")
    page.locator("#language").select_option("sv")
    expect(page.locator(".bar nav")).to_have_text("SpelaFöljReglerRankningGranska")
    expect(page.locator(".bar")).to_have_attribute("lang", "sv")
    expect(page.locator("main h1")).to_have_text("Shithead: the interface")
    page.locator("#account").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    assert faults_of(page) == []


@pytest.mark.parametrize("path", ["/disputes", "/rules/leeds"])
def test_on_a_phone_the_bar_has_one_row_with_a_menu_as_in_the_lobby(
    visits: Visits, path: str
) -> None:
    page = visits.open("/", size="phone")
    page.locator(".settings").wait_for()
    in_lobby = page.locator(".bar").evaluate("one => one.clientHeight")
    page.goto(path)
    page.get_by_label("Settings").click()
    assert page.locator(".bar").evaluate("one => one.clientHeight") == in_lobby
    for one in ("nav", "#language", "#account"):
        expect(page.locator(f".settings {one}")).to_be_visible()
    assert page.evaluate(BAR)["missing"] <= 0
    assert faults_in_both_schemes(page) == []
    page.keyboard.press("Escape")
    expect(page.locator(".settings nav")).to_be_hidden()
    page.set_viewport_size({"width": 1024, "height": 768})
    expect(page.locator(".bar nav")).to_be_visible()
    expect(page.get_by_label("Settings")).to_be_hidden()


FOCUS = """() => {
    const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
    const parsed = (colour) => {
        canvas.clearRect(0, 0, 1, 1);
        canvas.fillStyle = colour;
        canvas.fillRect(0, 0, 1, 1);
        return [...canvas.getImageData(0, 0, 1, 1).data];
    };
    const light = (rgb) => rgb.slice(0, 3).map((one) => one / 255)
        .map((one) => (one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4))
        .reduce((sum, one, at) => sum + one * [0.2126, 0.7152, 0.0722][at], 0);
    const below = (one) => {  // the colour behind an element; of a gradient the first
        const layers = [];
        for (let place = one; place; place = place.parentElement) {
            const { backgroundColor, backgroundImage } = getComputedStyle(place);
            const [first] = backgroundImage.match(/rgba?\\([^)]*\\)/) ?? [backgroundColor];
            layers.push(parsed(first));
            if (layers.at(-1)[3] === 255) break;
        }
        return layers.reverse().reduce((under, over) =>
            under.map((part, at) => over[at] * over[3] / 255 + part * (1 - over[3] / 255)));
    };
    const all = document.querySelectorAll("a[href], button, select, input, textarea, summary");
    const [seen, hidden] = [[], []];
    for (const one of all) {
        if (!one.checkVisibility() || one.disabled) continue;
        one.focus();
        if (!one.matches(":focus-visible")) continue;
        const { outlineStyle, outlineColor, outlineOffset } = getComputedStyle(one);
        seen.push(one);
        if (outlineStyle === "auto") continue;  // the browser's own
        const inside = parseFloat(outlineOffset) < 0;
        const behind = below(inside ? one : one.parentElement);
        const [a, b] = [light(parsed(outlineColor)), light(behind)];
        const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        if (outlineStyle === "none" || contrast < 3) {
            hidden.push(`${one.outerHTML.slice(0, 60)} ${contrast.toFixed(1)}`);
        }
    }
    return [seen.length, hidden];
}"""
"""
Focuses everything that can be; returns how much that is, and what has an outline with a contrast
below 3.
"""


def test_what_has_the_focus_is_visible_on_every_page(visits: Visits) -> None:
    host, game = hand_of(visits, "lowest")
    me = host.get("/v1/players/me")
    player = {"id": me["id"], "name": "Ada", "token": host.token}
    table = host.post("/v1/tables", {"ruleset": "leeds", "seats": ["me", "open"]})["id"]
    page = visits.open_as(player, "/")
    paths = ("/", f"/play/{game}", f"/tables/{table}", f"/replay/{game}", "/disputes", "/verify")
    for path in (*paths, "/statistics", "/ratings", "/rules/leeds", "/docs"):
        page.goto(path)
        page.locator("#recent li, .seat, h1, main h2").first.wait_for(state="attached")
        page.locator(".filling, .loading").first.wait_for(state="detached")
        page.keyboard.press("Tab")
        more = page.locator("#say summary")
        if more.count():
            more.click()
            page.keyboard.press("Tab")
        for scheme in SCHEMES:
            page.emulate_media(color_scheme=scheme)
            seen, hidden = page.evaluate(FOCUS)
            assert hidden == [], (path, scheme)
            assert seen > 4, path


def seek(page: Page, players: str) -> None:
    """Seek a table of Leeds rules in the lobby."""
    page.get_by_label("Players in all").first.select_option(players)
    page.get_by_role("button", name="Find players").click()


def test_players_meet_by_their_seeks(visits: Visits) -> None:
    """
    The first one waits, also after a reload, until the second one completes the table.

    A seek of two meets the one that the lobby offers first.
    """
    visits.expect("409")  # a seek that was matched is not renewed
    ada, bob = visits.open("/"), visits.open("/", size="phone")
    ada.get_by_role("button", name="Find players").click()
    expect(ada.locator("#seek-what")).to_contain_text("2 or 3 players")
    ada.reload()
    ada.get_by_role("button", name="Cancel").wait_for()
    expect(ada.locator("#seek-wait")).to_contain_text("Leeds")
    assert faults_of(ada) == []
    seek(bob, "2")
    for page in (bob, ada):
        page.wait_for_url("**/play/*")
    assert ada.url == bob.url
    ada.get_by_role("button", name="Ready").wait_for()


def test_the_lobby_shows_who_waits_and_one_press_joins_them(visits: Visits) -> None:
    """Who waits sees how many are missing, and until when; who has chosen nothing meets both."""
    visits.expect("409")
    ada, bob = visits.open("/"), visits.open("/", size="phone")
    ada.get_by_label("Ruleset").first.select_option("threes")
    seek(ada, "2")
    expect(ada.locator("#seek-count")).to_have_text(re.compile(r"^1 of 2, bots in 0:\d\d$"))
    bob.reload()
    offer = bob.locator("#seek-others li").filter(has_text="1 of 2")
    expect(offer.locator(".dots i")).to_have_count(2)
    assert faults_of(bob) == []
    offer.get_by_role("button", name="Join").click()
    for page in (bob, ada):
        page.wait_for_url("**/play/*")
    assert ada.url == bob.url


def test_the_tabs_of_a_player_wait_for_one_seek(visits: Visits) -> None:
    """Until the last of them is left."""
    context = visits.visitor()
    first, second = context.new_page(), context.new_page()
    for page in (first, second):
        page.goto("/")
    first.get_by_label("Bots take the free seats after a minute").uncheck()
    seek(first, "6")
    for one in (first, second):
        expect(one.locator("#seek-what")).to_contain_text("6 players")
    mine = """async () => {
        const { src } = document.querySelector("script[type=module][src*='lobby.js']");
        const { get } = await import(src.replace('lobby.js', 'api.js'));
        const { mine } = await get('/v1/seeks');
        return mine.filter(({ status }) => status === 'open').map(({ seats }) => seats);
    }"""
    assert second.evaluate(mine) == [6]
    first.goto("/rules")
    second.wait_for_timeout(2000)
    assert second.evaluate(mine) == [6]
    expect(second.locator("#seek-wait")).to_be_visible()
    second.get_by_role("button", name="Cancel").click()
    second.get_by_role("button", name="Find players").wait_for()


def test_a_page_that_is_left_withdraws_its_seek(visits: Visits) -> None:
    """Nobody would take its player to the table; a reload goes on (see above)."""
    page = visits.open("/")
    page.get_by_label("Bots take the free seats after a minute").uncheck()
    seek(page, "6")
    page.get_by_role("button", name="Cancel").wait_for()
    page.goto(page.url + "rules")
    page.go_back()
    page.get_by_role("button", name="Find players").wait_for()
    waiting = page.evaluate("fetch('/v1/seeks').then((one) => one.json())")["open"]
    assert [one for one in waiting if one["seats"] == 6] == []


def test_a_seek_is_cancelled_and_posted_again(visits: Visits) -> None:
    page = visits.open("/", size="phone")
    page.get_by_label("Bots take the free seats after a minute").uncheck()
    seek(page, "4")
    page.get_by_role("button", name="Cancel").click()
    seek(page, "5")
    expect(page.locator("#seek-what")).to_contain_text("5 players")
    with page.expect_response("**/renew"):
        page.evaluate("dispatchEvent(new Event('notice'))")  # ends all pauses of the page at once
    page.wait_for_timeout(300)
    expect(page.locator("#seek-what"), "the wait for the first one is over").to_be_visible()
    page.get_by_role("button", name="Cancel").click()
    page.get_by_role("button", name="Find players").wait_for()
    waiting = page.evaluate("fetch('/v1/seeks').then((one) => one.json())")["open"]
    assert [one for one in waiting if one["seats"] in (4, 5)] == []
