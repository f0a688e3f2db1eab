"""A hand as a story: each event is seen in its order and soon; phones need no scrolling."""

from __future__ import annotations

import itertools
import re
import time
from typing import Any, Final
from weakref import WeakKeyDictionary

import pytest
from playwright.sync_api import Page, Response, expect

from tests.client import Client, open_table
from tests.examples import is_long
from tests.web.browsing import SIZES, Traffic, Visits, faults_in_both_schemes
from tests.web.page_pool import TIMEOUT
from tests.web.test_failing_pages import BLOCKED
from tests.web.test_table import (
    CHOSEN,
    CUT_TEXTS,
    LONG_HAND,
    PICK_UP,
    STRIP,
    TURN,
    TURNS,
    call,
    seated,
    take_turn,
)

pytestmark = pytest.mark.heavy

STEP = 50
"""Milliseconds of the page's clock between two looks at it."""

LATEST = 2000
"""Milliseconds after its arrival in which an event is seen at the latest, if a clock runs."""

UNHURRIED = 8000
"""The same without a clock."""

STILL = 1200
"""Milliseconds without a change after which a page that shows the newest state is not watched."""

LEGIBLE = 350
"""Milliseconds for which a card that a bot played is seen on the pile, at the normal pace."""

SKIP = "[data-key=skip]"

CLICK = "(card) => document.querySelector(`[data-own='${card}']`)?.click()"

KNOWN: Final[WeakKeyDictionary[Page, set[int]]] = WeakKeyDictionary()
"""The versions of the views that a page has received."""

TRAFFIC: Final[WeakKeyDictionary[Page, Traffic]] = WeakKeyDictionary()

SEEN = """() => {
    const isSeen = (one) => getComputedStyle(one).visibility !== "hidden";
    const cards = (css) => [...document.querySelectorAll(css)].filter(isSeen)
        .map((one) => one.dataset.card);
    const number = (css) => document.querySelector(css)?.textContent ?? null;
    const turn = document.querySelector("#others .seat.turn")?.dataset.seat;
    return {
        laid: cards("[data-pile] .card"),
        pile: number("[data-pile] > b"), stock: number("[data-stock] > b"),
        turn: turn ? Number(turn) : document.querySelector("#own.turn") ? "own" : null,
        flying: cards("#flights .card"), over: Boolean(document.querySelector(".result")),
        hint: document.querySelector("#say .hint")?.textContent ?? "",
        lit: document.querySelectorAll("#table:not(.behind) #cards .fits").length,
        title: document.title.startsWith("● "),
        offline: Boolean(document.querySelector("#connection")?.checkVisibility()),
        elsewhere: document.querySelector("#elsewhere .whole")?.textContent ?? "",
        behind: Boolean(document.querySelector("#table.behind")),
        line: document.querySelector("#say .now")?.textContent ?? "",
        dull: document.querySelectorAll("#cards .dull").length,
        buttons: [...document.querySelectorAll("#say .buttons > button")]
            .map((one) => [one.dataset.key, one.textContent, one.disabled]),
    };
}"""


def paced(
    visits: Visits, *bots: str, size: str = "tablet", ahead: int = 0, **more: Any
) -> tuple[Page, Client, str]:
    """
    Return the page of a hand against bots at the normal pace, on turn, with its player and game.

    Time passes on the page only as the test lets it pass; its clock is some seconds `ahead`.
    """
    page = visits.visitor(size, paced=True).new_page()
    page.clock.install(time=time.time() + ahead)
    return hand_on(visits, page, *bots, **more)


def hand_on(
    visits: Visits, page: Page, *bots: str, ruleset: str = "leeds", **more: Any
) -> tuple[Page, Client, str]:
    host = Client(port=int(visits.address.rpartition(":")[2]))
    player = host.call("POST", "/v1/players", {"name": "Guest"}).json
    host.token = player["token"]
    game = open_table([host], ruleset=ruleset, bots=bots, window_seconds=0, **more)
    host.post(f"/v1/games/{game}/moves", {"type": "ready"})
    wait_for_turn(host, game)
    KNOWN[page] = set()
    TRAFFIC[page] = Traffic(page)
    page.on("response", lambda response: KNOWN[page].add(version_of(response)))
    visits.open_as(player, f"/play/{game}", page=page)
    page.locator("#own.turn, .result").first.wait_for()
    return page, host, game


def wait_for_turn(host: Client, game: str) -> dict[str, Any]:
    """Wait until the bots have moved, and return the view; on the page they may be seen later."""
    end = time.monotonic() + TIMEOUT / 1000
    while time.monotonic() < end:
        view: dict[str, Any] = host.get(f"/v1/games/{game}")
        is_over = view["status"] in ("ended", "aborted")
        if is_over or (view["status"] == "playing" and view["turn"] == view["as"]):
            return view
        time.sleep(0.02)
    raise AssertionError("the turn does not come back")


def know_newest(page: Page, view: dict[str, Any]) -> None:
    """Wait until a page of `hand_on` has a view; it may show earlier events."""
    for _ in range(TIMEOUT // 20):
        if max(KNOWN[page], default=0) >= view["version"]:
            TRAFFIC[page].settle()  # the views between arrive as well
            if view["status"] == "playing":
                ready = page.locator("#say .buttons > button:enabled, #cards button.fits").first
                expect(ready).to_be_attached(timeout=TIMEOUT)
            return
        page.wait_for_timeout(20)
    raise AssertionError(f"the page does not know version {view['version']}")


def version_of(response: Response) -> int:
    """Return the version of the view in an answer, 0 if it has none."""
    found = re.match(r'(?:W/)?"v(\d+)', response.headers.get("etag", ""))
    return int(found[1]) if found and "/v1/games/" in response.url else 0


def move(page: Page) -> None:
    """Make one legal move with the buttons of the page, after the events that are still shown."""
    page.locator("#own[aria-busy=false]").wait_for()
    page.locator(SKIP).evaluate_all("all => all.forEach((one) => one.click())")
    if page.locator("#cards button.fits").count():
        page.locator("#cards button.fits").first.click(position=STRIP)
        while not page.locator(f"{CHOSEN}.main").count():
            page.locator("#cards button.fits:not(.chosen)").first.click(position=STRIP)
        page.locator(CHOSEN).click()
    else:
        page.locator(f"{PICK_UP}:enabled, [data-key=pass]").first.click()


def moved(page: Page) -> None:
    """Make one legal move, and wait for its answer: until then the turn is still one's own."""
    with page.expect_response("**/moves", timeout=TIMEOUT):
        move(page)


WATCHED = UNHURRIED + 800
"""Milliseconds in which every event that a page knows has been shown."""


def watch(page: Page, until: int = WATCHED, *, whole: bool = True) -> list[dict[str, Any]]:
    """
    Let time pass on the page, and return what was seen every STEP.

    Unless the `whole` time is wanted, or the run is long, it ends when a page that knows the newest
    state has shown it unchanged for STILL.
    """
    found: list[dict[str, Any]] = []
    still = 0
    while len(found) < until // STEP and (whole or is_long() or still < STILL // STEP):
        page.clock.run_for(STEP)
        found.append(page.evaluate(SEEN))
        is_newest = not found[-1]["behind"] and not found[-1]["flying"]
        still = still + 1 if is_newest and found[-1:] == found[-2:-1] else 0
    return found


def check_order(
    seen: list[dict[str, Any]], host: Client, game: str, first: int, *, as_: str | None = None
) -> int:
    """
    Check that what was seen is one event after another, and return how many views were seen.

    `first` is the version that was shown at the beginning; `as_` the viewer, by default the host.
    """
    view = host.get(f"/v1/games/{game}")
    me = view["as"] if as_ is None else as_
    frames = host.get(f"/v1/games/{game}/replay?as={me}&from={first}")["items"]
    views = [frame["view"] for frame in frames]

    def shown(one: dict[str, Any]) -> tuple[Any, ...]:
        if one["status"] != "playing":
            return ("over",)
        turn = "own" if one["turn"] == me else one["turn"]
        return (str(len(one["pile"])), str(one["stock"]), turn)

    at = 0
    reached = set()
    for look in seen:
        state = ("over",) if look["over"] else (look["pile"], look["stock"], look["turn"])
        while at < len(views) and shown(views[at]) != state:
            at += 1
        assert at < len(views), f"{state} is no view between {shown(views[0])} and the newest"
        reached.add(at)
        if as_ is None and look["flying"] and not look["over"]:
            pile = views[at]["pile"]
            flying = [card for card in look["flying"] if card]
            assert not set(flying) & set(look["laid"]), "a card flies to a pile that shows it"
            assert len(flying) == len(set(flying)), "a card flies twice"
            assert set(flying) <= {*pile, *(c for one in views for c in _open(one))}
    assert shown(views[-1]) == shown(views[at]), "the newest state is seen in the end"
    return len(reached)


def _open(view: dict[str, Any]) -> list[str]:
    hands = (card for seat in view["seats"] for card in seat["hand"]["cards"] or ())
    up = (card for seat in view["seats"] for stack in seat["up"] for card in stack)
    return [*view["pile"], *hands, *up]


@pytest.mark.parametrize(
    ("bots", "size", "more"),
    [
        (("greedy", "lowest", "greedy"), "tablet", {}),
        (("lowest",) * 23, "phone", {}),
        # By the device's clock the time of each turn would be over before it begins.
        (
            ("greedy", "lowest"),
            "phone",
            {"ahead": 90, "clock": {"turn_seconds": 60, "swap_seconds": 60}},
        ),
    ],
)
def test_every_event_is_seen_in_its_order_and_soon(
    visits: Visits, bots: tuple[str, ...], size: str, more: dict[str, Any]
) -> None:
    """No pile is seen before its card landed, and no turn before its move, of bots in 90 ms."""
    page, host, game = paced(visits, *bots, size=size, **more)
    most = 0
    for _ in range(2):
        view = wait_for_turn(host, game)
        if view["status"] != "playing":
            break
        moved(page)
        know_newest(page, wait_for_turn(host, game))
        seen = watch(page, whole=False)
        views = check_order(seen, host, game, view["version"])
        most = max(most, views)
        assert all(one["title"] == (one["turn"] == "own") for one in seen if not one["over"])
        assert not seen[-1]["flying"]
        early = [one for one in seen if one["turn"] != "own" and not one["over"]]
        assert not any(one["hint"] for one in early), "a hint for a turn that is not seen yet"
        if most >= 3 and not is_long():
            break
    # While the player may follow with a card just drawn, everything is shown at once.
    assert most >= 3, "the moves are seen one by one"
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


def test_a_spectator_sees_every_event_in_its_order(visits: Visits) -> None:
    host = Client(port=int(visits.address.rpartition(":")[2]))
    host.token = host.call("POST", "/v1/players", {"name": "Guest"}).json["token"]
    game = open_table([host], ruleset="leeds", bots=("lowest",) * 3, window_seconds=0)
    host.post(f"/v1/games/{game}/moves", {"type": "ready"})
    view = wait_for_turn(host, game)
    page = visits.visitor(paced=True).new_page()
    page.clock.install()
    page.goto(f"/play/{game}")
    page.locator(".middle .demand").wait_for()
    moves = [one for one in view["moves"] if one["type"] == "play"] or view["moves"]
    with page.expect_response("**/replay?as=public*"):
        host.post(f"/v1/games/{game}/moves", moves[0])
    wait_for_turn(host, game)
    seen = watch(page)
    assert check_order(seen, host, game, view["version"], as_="public") >= 3
    assert not any(one["title"] for one in seen)


def test_while_earlier_events_are_shown_the_reader_can_only_skip_them(visits: Visits) -> None:
    """What can be pressed belongs to the state that is shown."""
    page, host, game = paced(visits, "greedy", "lowest", "greedy")
    moved(page)
    view = wait_for_turn(host, game)
    if view["status"] != "playing":
        return  # the hand ended with these moves
    know_newest(page, view)
    page.clock.pause_at(page.evaluate("Date.now() / 1000 + 0.05"))  # else events go on meanwhile
    assert page.locator(SKIP).text_content() == "Skip to my turn"
    before = page.evaluate(SEEN)
    page.locator("#hand button").first.click(position=STRIP)
    page.keyboard.press("p")
    assert page.evaluate(SEEN)["lit"] == 0
    assert page.locator("#cards .chosen").count() == 0, "the press counted for a later turn"
    assert page.evaluate(SEEN)["pile"] == before["pile"]
    page.locator(SKIP).click()
    seen = page.evaluate(SEEN)
    assert not seen["flying"] and seen["turn"] == "own" and not seen["behind"]
    assert (seen["stock"], seen["pile"]) == (str(view["stock"]), str(len(view["pile"])))
    page.clock.resume()
    with page.expect_response("**/moves", timeout=TIMEOUT) as answer:
        move(page)
    assert answer.value.status == 201


def contradictions(seen: dict[str, Any]) -> list[str]:
    """Return what a look at the page says of two moments at once."""
    found = []
    first, second = [*seen["buttons"], ["", "", True], ["", "", True]][:2]
    if "follow with cards just drawn" in seen["line"]:
        found.append("a rule that Leeds does not have")
    if re.search(r"(for|för) *\.", seen["line"]):
        found.append("the page waits for no seat")
    if seen["behind"] and not seen["over"]:
        if first[0] != "skip" or second[0] == "pick_up":
            found.append("buttons of a later moment")
        if "your turn" in seen["line"] or "press Ready" in seen["line"]:
            found.append("the reader is asked before it is the turn")
        if seen["lit"] or seen["dull"]:
            found.append("cards are marked for a later moment")
    up = re.fullmatch(r"Pick up (\d+) cards?", second[1])
    if up and up[1] != seen["pile"]:
        found.append("the button counts another pile")
    return found


def test_no_picture_of_a_hand_contradicts_itself(visits: Visits) -> None:
    """A film of a default hand, of its first turns outside a long run; bots can be followed."""
    page, host, game = paced(visits, "greedy", "lowest", "greedy", turn_limit=150)
    for _ in range(150 if is_long() else 3):
        if wait_for_turn(host, game)["status"] != "playing":
            break
        moved(page)
        know_newest(page, wait_for_turn(host, game))
        film = watch(page, whole=False)
        for at, look in enumerate(film):
            assert not contradictions(look), (at, look)
        piles = [(look["pile"], tuple(look["laid"])) for look in film if not look["over"]]
        stands = [len([*same]) * STEP for _, same in itertools.groupby(piles)]
        # The first is that of the reader; the last stays, and events of no time end one at once.
        changes = [one for one in stands[1:-1] if one > STEP]
        assert all(one >= LEGIBLE - STEP for one in changes), stands


def test_films_of_two_tables_a_restart_and_a_hang_contradict_nothing(visits: Visits) -> None:
    """The page says at once that the server is away, and goes on with the newest state."""
    visits.expect("ERR_INTERNET_DISCONNECTED|no answer|Failed to load|502|503")
    page, host, game = paced(visits, "greedy", "lowest", "greedy")
    other = open_table([host], ruleset="leeds", bots=("lowest",), window_seconds=0)
    host.post(f"/v1/games/{other}/moves", {"type": "ready"})
    wait_for_turn(host, other)
    page.locator("#elsewhere").wait_for()

    def film(until: int) -> list[dict[str, Any]]:
        looks = watch(page, until)
        for at, look in enumerate(looks):
            assert not contradictions(look), (at, look)
            assert "another table" in look["elsewhere"], (at, look)
        return looks

    moved(page)
    know_newest(page, wait_for_turn(host, game))
    film(UNHURRIED)
    page.context.set_offline(True)  # as in a restart every connection ends
    assert any(look["offline"] for look in film(2000))
    page.context.set_offline(False)
    go_on(page)
    held: list[Any] = []
    # Requests get no answer, and no stream shows a sign of life.
    page.route("**/v1/**", lambda route: held.append(route))
    page.clock.run_for(16_000)  # in one step: signs of life come by the clock of the machine
    assert any(look["offline"] for look in film(1000)), "a hang is noticed without an action"
    for route in held:
        route.abort()
    page.unroute_all(behavior="ignoreErrors")
    go_on(page)
    view = wait_for_turn(host, game)
    for _ in range(TIMEOUT // 100):
        seen = page.evaluate(SEEN)
        assert not contradictions(seen), seen
        if seen["over"] or seen["pile"] == str(len(view["pile"])):
            return
        page.wait_for_timeout(100)
    raise AssertionError(f"the page shows a pile of {seen['pile']}")


def go_on(page: Page) -> None:
    """Let time pass until the page is connected again."""
    for _ in range(TIMEOUT // 100):
        page.clock.run_for(500)
        if not page.evaluate(SEEN)["offline"]:
            return
        page.wait_for_timeout(100)
    raise AssertionError("the page does not come back")


def test_a_page_that_slept_a_minute_shows_the_newest_state(visits: Visits) -> None:
    page, host, game = paced(visits, "greedy", "lowest", "greedy")
    moved(page)
    view = wait_for_turn(host, game)
    know_newest(page, view)
    page.clock.run_for(100)
    page.clock.fast_forward(60_000)
    newest = host.get(f"/v1/games/{game}")  # a bot may have followed its play meanwhile
    piles = {str(len(one["pile"])) for one in (view, newest)}
    for _ in range(LATEST // STEP):
        page.clock.run_for(STEP)
        seen = page.evaluate(SEEN)
        if not seen["flying"] and (newest["status"] != "playing" or seen["pile"] in piles):
            return
        page.wait_for_timeout(20)  # the frames after the pause are fetched
    raise AssertionError(f"the page shows a pile of {seen['pile']}, the game has {piles}")


def test_without_storage_a_hand_is_shown_at_the_normal_pace(visits: Visits) -> None:
    context = visits.visitor(paced=True)
    context.add_init_script(BLOCKED)
    page = context.new_page()
    page.goto("/")
    page.get_by_role("button", name="Play a hand now").click()
    page.get_by_role("button", name="I know the game").click()
    page.get_by_role("button", name="Ready").click()
    expect(page.locator("#log")).to_contain_text("You got ready")
    assert page.locator("#pace").input_value() == "normal"


def test_a_double_click_plays_a_card_once(visits: Visits) -> None:
    """The second click comes at once or late, before or after the answer to the move."""
    page, host, game = paced(visits, "lowest", "lowest", turn_limit=100)
    pauses = [0, 50, 150, 250]
    while pauses:
        before = wait_for_turn(host, game)
        assert before["status"] == "playing", pauses
        expect(page.locator("#own")).to_have_attribute("aria-busy", "false")
        know_newest(page, before)
        page.locator(SKIP).evaluate_all("all => all.forEach((one) => one.click())")
        page.clock.run_for(3000)
        alone = [one["cards"][0] for one in before["moves"] if len(one.get("cards", ())) == 1]
        if not alone:
            move(page)
            page.locator("#own[aria-busy=false]").wait_for()
            continue
        own = page.locator(f"[data-own='{alone[0]}']")
        for _ in range(100):  # the views between may arrive late
            if own.count() and not page.locator(SKIP).count():
                break
            page.clock.run_for(100)
            page.wait_for_timeout(20)
        with page.expect_response("**/moves") as answer:
            page.evaluate(CLICK, alone[0])
            page.clock.run_for(pauses.pop())
            page.evaluate(CLICK, alone[0])
        assert answer.value.status == 201
        wait_for_turn(host, game)
        log = host.get(f"/v1/games/{game}/events?after={before['version']}")["items"]
        mine = [one for one in log if one["by"] == before["as"]]
        actions = [one for one in mine if one["type"] in ("cards_played", "pile_picked_up")]
        assert [one["data"].get("cards") for one in actions] == [[alone[0]]]


CUT_WORDS = """() => [...document.querySelectorAll("#table *")].filter((one) => {
    const isText = [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    const hidden = ".unseen, svg, details:not([open]) > :not(summary)";
    if (!isText || one.closest(hidden) || !one.checkVisibility({ visibilityProperty: true })) {
        return false;
    }
    const range = document.createRange();
    range.selectNodeContents(one);
    const text = range.getBoundingClientRect();
    if (text.left < -1 || text.right > innerWidth + 1) return true;
    for (let around = one; around.id !== "table"; around = around.parentElement) {
        const { overflowX, overflowY } = getComputedStyle(around);
        if (/auto|scroll/.test(overflowX + overflowY)) return false;  // it can be read by scrolling
        const box = around.getBoundingClientRect();
        const wide = text.right > box.right + 1.5 || text.left < box.left - 1.5;
        const high = text.bottom > box.bottom + 2 || text.top < box.top - 2;
        if ((overflowX !== "visible" && wide) || (overflowY !== "visible" && high)) return true;
    }
    return false;
}).map((one) => `${one.className || one.tagName}: ${one.textContent.slice(0, 60)}`)"""
"""The texts of a table that are cut off, by the window or by an element that does not scroll."""

ZOOMED: Final = ((360, 740), (180, 370), (640, 400))
"""A phone, the same at a zoom of 200 %, and a desktop of 1280 × 800 at 200 %."""


def test_a_whole_hand_is_played_without_a_cut_text(visits: Visits) -> None:
    """On a phone, and at a zoom of 200 %; of its first turns outside a long run."""
    page = seated(visits, "phone", page=visits.visitor("phone").new_page())
    game, turns = page.url.rpartition("/")[2], 0

    def cut() -> list[str]:
        found = []
        for width, height in ZOOMED:
            page.set_viewport_size({"width": width, "height": height})
            found += [f"{width}: {one}" for one in page.evaluate(CUT_WORDS)]
        width, height = ZOOMED[turns % len(ZOOMED)]
        page.set_viewport_size({"width": width, "height": height})
        return found

    assert cut() == []
    page.get_by_role("button", name="Ready").click()
    for turns in range(TURNS if is_long() else 5):
        page.locator(TURN).first.wait_for()
        assert cut() == [], turns
        view = call(page, "GET", f"/v1/games/{game}")
        if not view["moves"]:
            continue
        before = page.locator("#log li").first.get_attribute("value")
        call(page, "POST", f"/v1/games/{game}/moves", view["moves"][0])
        expect(page.locator("#log li").first).not_to_have_attribute("value", before or "")
    page.locator(TURN).first.wait_for()
    if not page.locator(".result").count():
        call(page, "POST", f"/v1/games/{game}/moves", {"type": "forfeit"})
    page.locator(".result").wait_for()
    assert cut() == [], "at the end"
    page.locator("[data-key=next]").click()
    page.get_by_role("button", name="Ready").wait_for()


def test_the_notice_about_storage_lies_above_the_table(visits: Visits) -> None:
    context = visits.visitor("phone")
    context.add_init_script(BLOCKED)
    page = context.new_page()
    page.goto("/")
    page.get_by_role("button", name="Play a hand now").click()
    page.get_by_role("button", name="I know the game").click()
    box = "(css) => document.querySelector(css).getBoundingClientRect().toJSON()"
    notice, felt, own = (page.evaluate(box, css) for css in ("#unstored", "#felt", "#own"))
    assert notice["bottom"] <= felt["top"] + 1
    assert own["bottom"] <= 740 + 1, "the buttons stay in the window"
    page.locator("#unstored").get_by_role("button", name="Close").click()
    expect(page.locator("#unstored")).to_have_count(0)
    assert page.evaluate(box, "#own")["bottom"] == pytest.approx(740, abs=12)


def own_actions(host: Client, game: str, seat: int) -> list[dict[str, Any]]:
    """Return what a seat played and picked up, in order."""
    log = host.get(f"/v1/games/{game}/events")["items"]
    acts = ("cards_played", "pile_picked_up", "blind_failed")
    return [one["data"] for one in log if one["by"] == seat and one["type"] in acts]


def strip_of(page: Page, css: str) -> tuple[float, float]:
    """Return the place at which a press reaches an element; other cards cover the rest of it."""
    box = page.locator(css).first.bounding_box()
    assert box is not None
    return box["x"] + STRIP["x"], box["y"] + STRIP["y"]


def test_twenty_clicks_on_one_card_play_no_other(visits: Visits) -> None:
    """The cards beside it move under the pointer, and a bot without a pause gives the turn back."""
    page, host, game = hand_on(visits, visits.page(), "lowest", turn_limit=60)
    seat = host.get(f"/v1/games/{game}")["as"]
    own = "#own.turn[aria-busy=false]"
    while not page.locator("#hand button.leads.fits").count():
        moved(page)
        page.locator(f"{own}, .result").first.wait_for()
        assert not page.locator(".result").count(), "no card was ever legal"
    x, y = strip_of(page, "#hand button.leads.fits:not(.needy)")
    pressed = page.locator("#hand button.leads.fits:not(.needy)").first.get_attribute("data-card")
    before = len(own_actions(host, game, seat))
    page.mouse.move(x, y)
    for _ in range(20):
        page.mouse.click(x, y)
        page.wait_for_timeout(100)
    Traffic(page).settle()
    after = own_actions(host, game, seat)[before:]
    assert [one.get("cards") for one in after] == [[pressed]]
    # After a pause a press at the same place is for what lies there now.
    page.locator(own).wait_for()
    chosen = page.locator("#hand button[aria-pressed=true]").count()
    page.wait_for_timeout(800)
    page.locator("#hand button").first.click(position=STRIP)
    expect(page.locator("#hand button[aria-pressed=true]")).not_to_have_count(chosen)


def test_a_second_press_of_pick_up_is_not_for_the_next_turn(visits: Visits) -> None:
    """With the pointer and with the key P; a press after a pause, or another key, counts."""
    for how in ("pointer", "key"):
        # In this ruleset one may always pick up.
        page, host, game = hand_on(visits, visits.page(), "lowest", ruleset="shithead")
        seat = host.get(f"/v1/games/{game}")["as"]
        while not page.locator(f"{PICK_UP}:enabled").count():
            moved(page)
            page.locator("#own.turn[aria-busy=false], .result").first.wait_for()
        x, y = strip_of(page, PICK_UP)
        before = len(own_actions(host, game, seat))
        page.mouse.move(0, 0)
        for _ in range(6):
            page.keyboard.press("p") if how == "key" else page.mouse.click(x, y)
            page.wait_for_timeout(250)
        Traffic(page).settle()
        after = own_actions(host, game, seat)[before:]
        assert len(after) == 1 and "taker" in after[0], how
        if not page.locator("#own.turn[aria-busy=false]").count():
            continue  # the hand ended
        page.wait_for_timeout(800)
        if page.locator(f"{PICK_UP}:enabled").count():
            with page.expect_response("**/moves"):
                page.keyboard.press("p") if how == "key" else page.mouse.click(x, y)


def test_a_hand_is_played_by_touch(visits: Visits) -> None:
    page = visits.visitor("phone", has_touch=True).new_page()
    hand_on(visits, page, "lowest", "lowest")
    if page.locator("#cards button.fits").count():
        page.locator("#cards button.fits").first.tap(position=STRIP)
        while not page.locator(f"{CHOSEN}.main").count():
            page.locator("#cards button.fits:not(.chosen)").first.tap(position=STRIP)
        page.locator(CHOSEN).tap()
    else:
        page.locator(PICK_UP).tap()
    expect(page.locator("#log")).to_contain_text("You ")
    expect(page.locator("#own")).to_have_attribute("aria-busy", "false")
    page.locator("[data-key=more]").tap()
    expect(page.locator(".more .menu")).to_be_visible()
    expect(page.locator(".more .keys")).to_be_hidden()  # a phone has none


def test_a_press_is_seen_at_once_and_a_long_wait_is_stated(visits: Visits) -> None:
    page, host, game = paced(visits, "lowest", "lowest")
    waiting: list[Any] = []
    page.route("**/moves", lambda route: waiting.append(route))
    move(page)
    expect(page.locator("#own")).to_have_attribute("aria-busy", "true")
    expect(page.locator("#say .buttons > button:enabled")).to_have_count(0)
    expect(page.locator("#say .hint")).not_to_contain_text("Waiting")
    page.clock.run_for(3100)
    expect(page.locator("#say .hint")).to_contain_text("Waiting for the server")
    waiting[0].continue_()
    expect(page.locator("#say .hint")).not_to_contain_text("Waiting")
    assert host.get(f"/v1/games/{game}")["version"] > 0


PARTS = (
    "#cards .card, #slots .slot, .demand strong, .stacks .pile, .stacks .stock, #say .buttons > *"
)
HIDDEN = """(css) => [...document.querySelectorAll(css)].filter((one) => {
    const { top, left, right, bottom, width } = one.getBoundingClientRect();
    return width && (top < 0 || left < -1 || right > innerWidth + 1 || bottom > innerHeight + 1);
}).map((one) => `${innerWidth}: ${one.outerHTML.slice(0, 90)}`)"""
OVERLAP = """() => (document.querySelector(".demand strong") ?? document.querySelector(".stacks"))
    .getBoundingClientRect().bottom - document.querySelector("#own").getBoundingClientRect().top"""
COVERED = """() => document.querySelector(".result").getBoundingClientRect().bottom
    - document.querySelector("#say .buttons").getBoundingClientRect().top"""
PLACES = """() => {
    const found = ["chosen", "pick_up"].map((key) => document.querySelector(`[data-key=${key}]`));
    const place = ({ x, y, width }) => [x, y, width].join();
    if (!found.every(Boolean)) return null;
    return found.map((one) => place(one.getBoundingClientRect())).join();
}"""
"""Where both buttons are; null while what can only be picked up has their whole width."""


def test_the_smallest_phone_shows_everything_without_scrolling(visits: Visits) -> None:
    """In the exchange, at play, with twenty cards, and at the end; no button moves meanwhile."""
    page = seated(visits, "phone")
    page.set_viewport_size({"width": 320, "height": 568})
    assert page.evaluate(HIDDEN, PARTS) == []
    page.get_by_role("button", name="Ready").click()
    page.locator("#own.turn[aria-busy=false]").wait_for()
    places = page.evaluate(PLACES)
    page.locator("#slots button").first.click(position=STRIP)
    assert page.evaluate(HIDDEN, PARTS) == []
    page.locator(CHOSEN).click()
    page.locator(".refusal").wait_for()
    if places is not None:
        assert page.evaluate(PLACES) == places, "choosing and refusing move nothing"
    for _ in range(4):
        take_turn(page)
        assert page.evaluate(HIDDEN, PARTS) == []
    page.locator("#own[aria-busy=false]").wait_for()
    if page.locator("#hand .card").count():
        page.evaluate(LONG_HAND, 20)
        assert page.evaluate(HIDDEN, PARTS) == []
        if places is not None:
            assert page.evaluate(PLACES) in {places, None}, "a longer hand moves no button"
        page.evaluate(LONG_HAND, 34)
        assert page.evaluate(OVERLAP) <= 0, "a hand of 34 cards covers the demand"
    game = page.url.rpartition("/")[2]
    call(page, "POST", f"/v1/games/{game}/moves", {"type": "forfeit"})
    page.locator(".result").wait_for()
    assert page.evaluate(HIDDEN, ".result, #say .buttons > *") == []
    assert page.evaluate(COVERED) <= 1, "the result covers the buttons"


def test_buttons_keep_their_places_beside_a_third_action(visits: Visits) -> None:
    """Egilsson's players may always try the stock."""
    page = visits.page("phone")
    page.set_viewport_size({"width": 320, "height": 568})
    hand_on(visits, page, "lowest", "lowest", ruleset="egilsson")
    expect(page.locator("[data-key=try_stock]")).to_be_visible()
    assert page.evaluate(HIDDEN, PARTS) == []
    widths = [float(part.split(",")[2]) for part in re.findall(r"[^,]+,[^,]+,[^,]+", places(page))]
    assert len(widths) == 2 and min(widths) > 80
    before = places(page)
    page.locator("#cards button").first.click(position=STRIP)
    assert places(page) == before


def places(page: Page) -> str:
    """Return places and widths of the buttons to play and to pick up."""
    found: str = page.evaluate(PLACES)
    return found


SENTENCES = """async () => {
    const script = document.querySelector("script[type=module]").src;
    const { lastFailure, recentActions } = await import(script.replace("table.js", "captions.js"));
    const { detail, evening } = await import(script.replace("table.js", "ending.js"));
    const voice = { who: (seat) => ["You", "Ada"][seat], turned: (seq) => (seq ? "8c" : null) };
    const event = (seq, type, data) => ({ seq, by: data.seat, type, data });
    const play = (seat, cards) => event(0, "cards_played", { seat, cards, turn: 1 });
    const blind = event(1, "blind_failed", { seat: 0, taker: 0, count: 3, opening: null });
    const given = event(2, "pile_picked_up", { seat: 0, taker: 1, count: 5, with: [] });
    const swap = event(3, "cards_swapped", { seat: 0, up: ["2c"], hand: ["3c"] });
    const own = event(4, "pile_picked_up", { seat: 0, taker: 0, count: 6, with: ["Kh"] });
    const burned = event(5, "pile_burned", { seat: 0, cleared_by: 0, count: 9, cause: "rank" });
    const seat = (name, hands, shithead) => ({ seat: 0, kind: "human", name, hands, shithead });
    return {
        failed: lastFailure([blind, play(1, ["9c"])], 0, voice),
        passed: lastFailure([blind, play(0, ["9c"])], 0, voice),
        deeds: [[swap, swap, blind], [given]].map((one) => recentActions(one, 0)),
        taken: recentActions([given], 1),
        end: detail([blind, given, swap, own, burned], 0),
        one: detail([given], 1),
        evening: [[seat("Ada", 1, 1)], [seat("Ada", 5, 1), seat("Bob", 5, 3), seat("Cy", 5, 0)]]
            .map((seats) => evening({ seats })),
    };
}"""


def test_what_a_seat_did_last_is_complete(visits: Visits) -> None:
    """A failed face-down card is named until its owner acts, however fast the others are."""
    found = seated(visits).evaluate(SENTENCES)
    assert found["failed"] == "You turned 8♣: it does not fit"
    assert found["passed"] == ""
    assert found["deeds"] == [["exchanged", "turned, took 4"], ["could not"]]
    assert found["taken"] == ["picked up 5"], "the seat that takes the pile shows it"
    assert found["end"] == "picked up 11 cards · at most 7 at once · 1 burn"
    assert found["one"] == "picked up 5 cards"
    assert found["evening"] == ["", "5 hands at this table. In the bag: Bob 3× and Ada 1×."]


TURN_OVER = """async () => {
    const script = document.querySelector("script[type=module]").src;
    const { stage } = await import(script.replace("table.js", "stage.js"));
    const slot = document.querySelector("#cards [data-own]");
    slot.dataset.own = "slot 0";
    const places = { slot, stock: document.querySelector("[data-stock] .card") };
    const middle = (one) => {
        const { x, y, width, height } = one.getBoundingClientRect();
        return [x + width / 2, y + height / 2];
    };
    const seen = (cards, down, pile) => {
        const own = { seat: 0, kind: "human", hand: { cards }, up: [[]], down: [down], out: null };
        return { as: 0, status: "playing", turn: 0, direction: 1, pile, seats: [own] };
    };
    const was = seen([], "##", ["9c"]);
    const turned = async (type, more, view) => {
        const data = { seat: 0, taker: 0, count: 2, turn: 0, direction: 1, ...more };
        const end = new AbortController();
        const how = { tempo: 1, signal: end.signal, show: () => {} };
        const run = stage({ event: { seq: 9, by: 0, type, data }, view }, was, 0, how);
        const face = document.querySelector("#flights .turned");
        const [x, y] = middle(face);
        const far = (name) => Math.hypot(middle(places[name])[0] - x, middle(places[name])[1] - y);
        const place = Object.keys(places).sort((a, b) => far(a) - far(b))[0];
        end.abort();
        await run.catch(() => {});
        return [face.dataset.card ?? null, place];
    };
    const failed = seen(["4s", "9c"], null, []);
    const played = { cards: ["Kh"], zone: "down", slot: 0 };
    return [
        await turned("blind_failed", { slot: 0, opening: null }, failed),
        await turned("blind_failed", { slot: 0, opening: { card: "5d" } }, failed),
        await turned("cards_played", played, seen([], null, ["9c", "Kh"])),
        await turned("cards_played", { cards: ["Kh"], zone: "stock" }, was),
    ];
}"""
"""Returns the face of each card that is turned over, and what it lies on."""


def test_a_card_is_turned_over_where_it_lay(visits: Visits) -> None:
    """The player of a hidden card that did not fit sees which it was."""
    found = seated(visits).evaluate(TURN_OVER)
    assert found == [["4s", "slot"], ["5d", "slot"], ["Kh", "slot"], ["Kh", "stock"]]


LOG = """async () => {
    const script = document.querySelector("script[type=module]").src;
    const { logRows } = await import(script.replace("table.js", "turns.js"));
    const bot = { seat: 1, kind: "bot", bot: "lowest" };
    const seats = [{ seat: 0, kind: "human", name: "Ada" }, bot];
    let named = 0;
    const who = (seat) => (named += 1) && ["You", "Lotta"][seat];
    const voice = (aloud = false) => ({ aloud, turned: () => "8c", who });
    const scene = (fresh) => ({ view: { id: "x", seats }, players: ["a", null], fresh, voice });
    const log = [];
    const add = (type, data) => log.push({ seq: log.length, type, data });
    const play = (seat, cards, zone = "hand") => add("cards_played", { seat, zone, cards });
    const read = (rows) => rows.map((row) => [
        row.value, row.className, row.querySelectorAll("svg").length,
        row.querySelector("span[aria-hidden]")?.textContent ?? null,
        (row.querySelector(".unseen") ?? row.querySelector("span:last-child")).textContent,
    ]);
    add("game_created", { seats });
    add("entropy_committed", { seat: 0 });
    add("seat_ready", { seat: 0 });
    add("play_started", { turn: 0 });
    play(0, ["6h", "6s"]);
    add("cards_drawn", { seat: 0, count: 2 });
    play(1, ["Th"], "up");
    add("pile_burned", { seat: 1, cleared_by: 1, count: 3, cause: "rank" });
    play(1, ["3h"]);
    add("turn_timed_out", { seat: 0 });
    add("pile_picked_up", { seat: 0, taker: 0, count: 1, with: ["Kh"] });
    add("blind_failed", { seat: 0, taker: 0, count: 3, opening: null });
    add("pile_picked_up", { seat: 1, taker: 0, count: 4, with: [] });
    const [turns, setUp] = logRows(log, scene(9));
    const found = { turns: read(turns), setUp: read(setUp) };
    for (let at = 0; at < 5000; at += 1) play(at % 2, ["4h"]);
    named = 0;
    const many = logRows(log, scene(9));
    return { ...found, many: [many[0].length, many[1].length, many[0][0].value], named };
}"""


def test_the_log_has_a_row_a_turn_in_few_words_and_in_sentences(visits: Visits) -> None:
    """Newest first; a time-out and its play are one turn; a second seat needs a sentence."""
    found = seated(visits).evaluate(LOG)
    assert [row[3] for row in found["turns"]] == [
        None,
        "You turned 8♣, took 4",
        "You ran out of time, picked up 1, with K♥",
        "Lotta 3♥",
        "Lotta 10♥ from the table, burned 3",
        "You 6♥ 6♠, drew 2",
    ]
    assert [row[1] for row in found["turns"]] == [
        "took fresh",
        "took fresh",
        "took fresh",
        "",
        "burned",
        "",
    ]
    assert found["turns"][0][4] == "Lotta could not play, and You took 4 cards"
    assert found["turns"][-1][4] == (
        "You played the six of hearts and the six of spades. You drew 2 cards"
    )
    assert [row[0] for row in found["turns"]] == [12, 11, 10, 8, 7, 5]
    assert {row[2] for row in found["turns"]} == {1}, "each with the picture of its player"
    assert [row[4] for row in found["setUp"]] == ["You got ready", "A hand for 2 players begins"]
    assert found["many"] == [40, 0, 5012], "a long hand has the newest turns"
    assert found["named"] <= 120, "and no sentence is made for the others"


def test_the_log_of_a_table_folds_the_set_up_and_keeps_the_place_of_its_reader(
    visits: Visits,
) -> None:
    page = seated(visits, "desktop")
    log = page.locator("#log")
    expect(log.locator(".setup")).to_be_hidden()  # of a hand whose play has not begun
    page.get_by_role("button", name="Ready").click()
    take_turn(page)
    expect(log.locator(".setup summary")).to_be_visible()
    expect(log.locator(".setup li").first).to_be_hidden()
    log.locator(".setup summary").click()
    expect(log.locator(".setup li").first).to_be_visible()
    own = log.locator(".turns > ol > li").filter(has_text="You ").last
    assert own.locator(".avatar").bounding_box()["width"] == 18  # type: ignore[index] # it is drawn
    log.locator(".turns").evaluate("(one) => { one.style.height = '50px'; one.scrollTop = 30; }")
    take_turn(page)
    assert log.locator(".turns").evaluate("(one) => one.scrollTop") >= 30
    expect(log.locator(".setup li").first).to_be_visible()
    assert faults_in_both_schemes(page) == []


@pytest.mark.parametrize("size", ["phone", "desktop"])
def test_the_end_of_a_hand_shows_who_got_the_bag_and_what_to_do_next(
    visits: Visits, size: str
) -> None:
    """Places, the change of the rating, and one gold button; the bag comes down once, if at all."""
    page = seated(visits, size)
    page.get_by_role("button", name="Ready").click()
    page.locator("#own.turn[aria-busy=false]").wait_for()
    game = page.url.rpartition("/")[2]
    call(page, "POST", f"/v1/games/{game}/moves", {"type": "forfeit"})
    result = page.locator(".result")
    expect(result.locator("h2")).to_have_text("You gave up and are the shithead")
    expect(result.locator(".bagged .avatar + .mark")).to_have_count(1)
    moving = "(all) => all.filter((one) => getComputedStyle(one).animationName !== 'none').length"
    assert page.locator(".bagged .mark").evaluate_all(moving) == 1
    page.emulate_media(reduced_motion="reduce")
    page.wait_for_function(  # the page hears of it a little later
        "() => [...document.querySelectorAll('.bagged .mark, .places li')]"
        ".every((one) => getComputedStyle(one).animationName === 'none')"
    )
    buttons = page.locator("#say .buttons > :is(button, a)")
    expect(buttons).to_have_text(["Next hand", "Invite", "Share"])
    expect(page.locator("#say .main")).to_have_text(["Next hand"])
    top = result.evaluate("(one) => one.getBoundingClientRect().top")
    expect(result.locator(".rated").first).to_have_text(
        re.compile(r"^rating −?\d+\.\d[+−]\d+\.\d$"), timeout=60_000
    )
    assert result.evaluate("(one) => one.getBoundingClientRect().top") == top, "nothing moved"
    assert page.evaluate(CUT_TEXTS, ".result *") == []
    assert faults_in_both_schemes(page) == []
    page.locator("[data-key=friends]").click()
    page.wait_for_url("**/tables/*#invite=*")


TONES = """
globalThis.tones = 0;
const start = OscillatorNode.prototype.start;
OscillatorNode.prototype.start = function (when) {
    if (when < this.context.currentTime + 1) tones += 1;
    return start.call(this, when);
};
"""
"""A script that counts the tones that begin within a second."""


def test_pace_and_sounds_are_chosen_behind_one_button(visits: Visits) -> None:
    """On a phone language and pages are there as well; no sound is made until it is switched on."""
    context = visits.visitor("phone", paced=True)
    context.add_init_script(TONES)
    page, host, game = hand_on(visits, context.new_page(), "lowest", "lowest", turn_limit=100)
    moved(page)
    wait_for_turn(host, game)
    assert page.evaluate("tones") == 0
    page.get_by_label("Settings").click()
    expect(page.locator(".settings #language")).to_be_visible()
    expect(page.locator(".settings nav")).to_be_visible()
    page.get_by_label("Sounds").check()
    page.get_by_label("Pace").select_option("off")
    page.keyboard.press("Escape")
    expect(page.locator(".settings .panel")).to_be_hidden()
    begun = page.evaluate("tones")
    assert begun, "a first sound shows what was switched on"
    know_newest(page, wait_for_turn(host, game))
    with page.expect_response("**/moves"):
        move(page)
    page.wait_for_function("(begun) => tones > begun", arg=begun)
    page.reload()
    expect(page.locator("#pace")).to_have_value("off")
    expect(page.locator("#sound")).to_be_checked()


def coached(visits: Visits, size: str) -> tuple[Page, Client]:
    """Return the page of a player's first hand."""
    host = Client(port=int(visits.address.rpartition(":")[2]))
    player = host.call("POST", "/v1/players", {"name": "Ada"}).json
    host.token = player["token"]
    game = open_table([host], ruleset="leeds", bots=("lowest",), window_seconds=0)
    page = visits.open_as(
        player, f"/play/{game}", page=visits.visitor(size, novice=True).new_page()
    )
    page.get_by_role("button", name="Deal").wait_for()
    return page, host


def test_a_coach_explains_the_first_hand_once(visits: Visits) -> None:
    """Three steps with the special ranks, and tags, that the API names in `in_short`."""
    page, host = coached(visits, "desktop")
    sheet = page.locator("dialog.coach")
    expect(sheet.locator(".steps > li")).to_have_count(3)
    short = host.get("/v1/rulesets/leeds")["in_short"]
    expect(sheet.locator(".special > li")).to_have_count(
        len(short["special"]) + bool(short["burning_set"])
    )
    for size in ("desktop", "phone"):
        width, height = SIZES[size]
        page.set_viewport_size({"width": width, "height": height})
        texts = ".coach .drawn, .coach .steps p, .coach .does, .coach button"
        assert page.evaluate(CUT_TEXTS, texts) == []
        assert faults_in_both_schemes(page) == []
    sheet.get_by_role("button", name="Deal").click()
    strong = {
        one["rank"] for one in short["special"] if {"burns", "asks_anything"} & {*one["does"]}
    }
    held = "all => all.map((one) => [one.dataset.card[0], Boolean(one.querySelector('.tag'))])"
    tagged = page.locator("#cards .card[data-own]").evaluate_all(held)
    assert all(has for rank, has in tagged if rank in strong), tagged
    plain = {one["rank"] for one in short["special"]}
    assert not any(has for rank, has in tagged if rank not in plain), tagged
    assert page.evaluate(CUT_TEXTS, "#cards .tag") == []
    width, height = SIZES["desktop"]
    page.set_viewport_size({"width": width, "height": height})
    assert page.evaluate(CUT_TEXTS, "#cards .tag") == []
    page.reload()
    page.get_by_role("button", name="Ready").wait_for()
    expect(sheet).to_have_count(0)
    page.locator("[data-key=more]").click()
    page.get_by_role("button", name="Help for beginners").click()
    sheet.get_by_role("button", name="I know the game").click()
    expect(page.locator("#cards .tag")).to_have_count(0)


COACH = """async () => {
    const script = document.querySelector("script[type=module][src*='table.js']").src;
    const { help, sentence, acted } = await import(script.replace("table.js", "coach.js"));
    const { hand } = JSON.parse(localStorage.getItem("shithead.coach"));
    const seats = [{ seat: 0 }, { seat: 1 }];
    const view = { id: hand, as: 0, status: "playing", turn: 1, seats, moves: [] };
    const event = (type, data = {}) => ({ type, data: { seat: 1, ...data } });
    const log = [event("cards_played", { zone: "hand" })];
    const said = [];
    const look = (more = {}) => said.push(sentence({ ...view, ...more }, log));
    look();
    log.push(event("pile_burned"));
    look();
    look();
    acted();
    look();
    look({ turn: 0, moves: [{ type: "pick_up" }] });
    acted();
    log.push(event("pile_picked_up"), event("pile_burned"));
    look();
    log.push(event("cards_played", { zone: "down" }));
    look();
    look({ id: "another" });
    help({ view: { ...view, id: "next" }, ruleset: { in_short: null } }, () => {});
    log.length = 0;
    look({ id: "next" });
    return said;
}"""


def test_the_coach_says_each_first_thing_once(visits: Visits) -> None:
    """It stays until the reader acts, and no other hand has it."""
    page, _ = coached(visits, "phone")
    nothing, burn, same, after, pick_up, then, blind, other, new = page.evaluate(COACH)
    assert [nothing, after, then, other, new] == [""] * 5
    assert burn == same and burn.startswith("Burned: ")
    assert "takes the whole pile" in pick_up
    assert "turned unseen" in blind
