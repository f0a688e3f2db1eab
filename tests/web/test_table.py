"""The lobby and the table in a browser: hands played by clicking, by keys, by two people."""

from __future__ import annotations

import json
import re
import subprocess
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest
from playwright.sync_api import Page, Position, Route, expect

from service.api.pages import strings
from tests.client import Client, open_table
from tests.examples import stride
from tests.running import wait_for
from tests.web.browsing import (
    NO_ED25519,
    SIZES,
    Traffic,
    Visits,
    faults_in_every_size,
    faults_of,
    tab_to,
)
from tests.web.node import node

pytestmark = pytest.mark.heavy

TURNS = 40
"""The turn limit of a hand that a test plays to its end, or leaves to the bots."""

GUEST = re.compile(r"^You: [A-Z][a-z]+ [A-Z][a-z]+$")
"""The button of a player who has not chosen a name."""

TURN = "#table:not(.behind) #own.turn[aria-busy=false], .result"
CHOSEN = "[data-key=chosen]"
PICK_UP = "[data-key=pick_up]"
STRIP: Final[Position] = {"x": 9, "y": 22}
"""The part of a card that no other covers."""


def call(page: Page, method: str, path: str, body: object = None) -> Any:
    """Return the answer to a call of the API as the page's player."""
    return page.evaluate(
        """([method, path, body]) => fetch(path, {method, body: body && JSON.stringify(body),
            headers: {"Content-Type": "application/json", "Authorization":
                `Bearer ${JSON.parse(localStorage.getItem("shithead.player"))?.token}`}})
            .then((answer) => answer.json())""",
        [method, path, body],
    )


def shorten(page: Page, turns: int = TURNS) -> None:
    """Give each table that the page opens a turn limit, so that a hand of a test ends soon."""

    def with_limit(route: Route) -> None:
        body = {**json.loads(route.request.post_data or "{}"), "turn_limit": turns}
        route.continue_(post_data=json.dumps(body))

    page.route(
        "**/v1/tables", lambda r: with_limit(r) if r.request.method == "POST" else r.fallback()
    )


def play_now(visits: Visits, turns: int = TURNS, **more: Any) -> Page:
    """Return the page of a hand against bots, begun with the first button of the lobby."""
    page = visits.open("/", **more)
    shorten(page, turns)
    page.get_by_role("button", name="Play a hand now").click()
    page.get_by_role("button", name="Ready").wait_for()
    return page


def seated(visits: Visits, size: str = "tablet", page: Page | None = None) -> Page:
    """
    Return the page of a hand against bots, which was dealt before the page was opened.

    It loads one page less than `play_now`, but the browser adds nothing to the shuffle, and so
    stores no receipt of it. `page` is an empty page, if the test needs its own.
    """
    host = Client(port=int(visits.address.rpartition(":")[2]))
    player = host.call("POST", "/v1/players", {"name": "Guest"}).json
    host.token = player["token"]
    bots = ("greedy", "lowest", "greedy")
    game = open_table([host], ruleset="leeds", bots=bots, window_seconds=0, turn_limit=TURNS)
    opened = visits.open_as(player, f"/play/{game}", size, page=page)
    opened.get_by_role("button", name="Ready").wait_for()
    return opened


WHAT_NEXT: Final = """() => {
    if (document.querySelector(".result")) return "over";
    if (!document.querySelector("#table:not(.behind) #own.turn[aria-busy=false]")) return null;
    if (document.querySelector("#cards button.fits")) return "cards";
    return document.querySelector("[data-key=pick_up].main") && "pile";
}"""
"""What a player can do, read at one time: the hand may end between two looks at the page."""


def take_turn(page: Page) -> bool:
    """Make one move by clicking what is highlighted; return whether the hand goes on."""
    next_press = page.wait_for_function(WHAT_NEXT).json_value()
    if next_press == "over":
        return False
    before = page.locator("#log li").first.get_attribute("value")
    page.mouse.move(0, 0)  # what follows is no second press of the turn before
    if next_press == "cards":
        page.locator("#cards button.fits").first.click(position=STRIP)
        page.locator(CHOSEN).wait_for()
        while not page.locator(f"{CHOSEN}.main").count():
            page.locator("#cards button.fits:not(.chosen)").first.click(position=STRIP)
        page.locator(CHOSEN).click()
    else:
        page.locator(f"{PICK_UP}.main").click()
    expect(page.locator("#log li").first).not_to_have_attribute("value", before or "")
    return True


def in_node(**cases: object) -> Any:
    """Return the results of functions of the page modules, called in Node.js."""
    script = Path(__file__).with_name("page_modules.js")
    done = subprocess.run(
        [node(), script], input=json.dumps(cases), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_companion_is_selectable_only_beside_its_five() -> None:
    """L17: a five goes only together with a higher card, which alone may be too low."""
    hand = {"count": 5, "cards": ["4s", "5c", "6d", "9h", "9s"], "known": []}
    plays = [["9h"], ["9s"], ["5c", "6d"], ["5c", "9h"], ["5c", "9s"]]
    view = {
        "as": 0,
        "seats": [{"seat": 0, "hand": hand, "up": [], "down": []}],
        "moves": [{"type": "play", "cards": cards} for cards in plays] + [{"type": "pick_up"}],
    }
    chosen = [["5c"], ["6d"], ["5c", "9h"], ["4s"]]
    answer = in_node(view=view, choices=chosen, rows=[])
    assert answer["leading"] == ["5c", "9h", "9s"]
    assert answer["dependent"] == ["5"], "the five is marked as one that needs another card"
    assert answer["needing"] == ["5c"], "its companions are not"
    five, six, both, four = answer["choices"]
    assert five == {"listed": False, "part": True, "beside": ["5c", "6d", "9h", "9s"]}
    assert six == {"listed": False, "part": True, "beside": ["5c", "6d"]}
    assert both["beside"] == ["5c", "9h"], "no second companion of the same rank"
    assert both["listed"]
    assert not four["listed"] and not four["part"]


def seated_with(cards: list[str], *moves: dict[str, Any]) -> dict[str, Any]:
    """Return a view of a player with these cards on the hand."""
    hand = {"count": len(cards), "cards": cards, "known": []}
    own = {"seat": 0, "hand": hand, "up": [], "down": []}
    return {"as": 0, "status": "playing", "seats": [own], "moves": moves}


def test_a_press_adds_removes_or_begins_anew() -> None:
    view = seated_with(["4s", "4c", "9h", "Kd", "Kc"], {"type": "play", "cards": ["9h"]})
    pairs = [(["4s"], ["4c"]), (["4s", "4c"], ["4s"]), (["4s"], ["9h"]), (["Kd"], ["Kc"])]
    answer = in_node(view=view, choices=[], rows=[], presses=pairs)
    assert answer["presses"] == [["4s", "4c"], ["4c"], ["9h"], ["Kd", "Kc"]]


def step(kind: str, at: int, *, shown: str = "new", place: str = "#felt", **more: object) -> Any:
    """Return an event for `swallowed` of page_modules.js."""
    return at, shown, kind, place, more


def test_a_press_counts_for_the_state_in_which_its_series_began() -> None:
    """A series ends after 0.7 s, and if the pointer moves 12 pixels; the menus are not guarded."""
    down, click, move, key, up = (
        partial(step, kind) for kind in ("pointerdown", "click", "pointermove", "keydown", "keyup")
    )
    pressed, typed = down(0, shown="old"), key(0, shown="old", key="1")
    cases = (
        (True, [pressed, click(50)]),
        (True, [pressed, click(50, place="")]),
        (False, [pressed, click(50, shown="old")]),
        (False, [pressed, click(50, place="#bar")]),
        (False, [pressed, click(50, place="#felt .more")]),
        (False, [pressed, click(50, detail=0)]),
        (True, [pressed, down(699, x=108, y=58), click(700)]),
        (False, [pressed, down(699, x=112), click(700)]),
        (False, [pressed, down(699, y=62), click(700)]),
        (False, [pressed, down(700), click(701)]),
        (False, [pressed, move(1, x=112), down(2), click(3)]),
        (True, [pressed, move(1, x=112, buttons=1), down(2), click(3)]),
        (True, [typed, key(699, key="1")]),
        (False, [typed, key(700, key="1")]),
        (True, [typed, key(9000, key="1", repeat=True)]),
        (False, [typed, key(1, key="2")]),
        (True, [typed, key(1, key="1"), up(2)]),
        (False, [typed, key(1, key="1"), key(2, key="Tab"), up(3)]),
    )
    steps = [
        (10_000 * n + at, f"{shown} {n}", *more)
        for n, (_, case) in enumerate(cases)
        for at, shown, *more in case
    ]
    found = iter(in_node(view=seated_with([]), choices=[], rows=[], pressed=steps)["swallowed"])
    for is_swallowed, case in cases:
        assert [next(found) for _ in case][-1] is is_swallowed, case


def test_all_cards_of_a_rank_with_many_cards_can_be_played() -> None:
    """Of more than six cards the server lists one set of each size."""
    fours = ["4s", "4c", "4d", "4h", "4s/2", "4c/2", "4d/2"]
    sets = [{"type": "play", "cards": fours[: n + 1]} for n in range(6)]
    for cards, count in ((fours, 7), (fours[:6], 1)):
        view = seated_with([*cards, "9h"], *(sets if count == 7 else sets[:1]))
        answer = in_node(view=view, choices=[[]], rows=[])
        assert len(answer["leading"]) == len(answer["choices"][0]["beside"]) == count


def test_a_choice_becomes_the_move_that_the_server_lists() -> None:
    """In its order; a card that can only be taken with the pile is taken with it."""
    view = seated_with(
        ["4s", "4c", "Kh"],
        {"type": "play", "cards": ["4s", "4c"]},
        {"type": "pick_up", "with": ["Kh"]},
    )
    answer = in_node(view=view, choices=[], rows=[], made=[["4c", "4s"], ["Kh"], []])
    play, pick_up, nothing = answer["made"]
    assert play == {"type": "play", "cards": ["4s", "4c"]}
    assert pick_up == {"type": "pick_up", "with": ["Kh"]}
    assert nothing is None


def test_a_card_is_laid_on_the_next_free_slot_or_on_one_of_its_rank() -> None:
    up: list[list[str]] = [[], [], []]
    staged = [
        ([["4s"], [], []], "4s", None, up),
        ([["4s"], [], []], "9c", None, up),
        ([["4s"], [], []], "9c", None, [[], ["Kd"], []]),
        ([["4s"], ["9c"], ["Kd"]], "9d", None, up),
        ([["4s"], [], []], "4s", 2, up),
    ]
    answer = in_node(view=seated_with([]), choices=[], rows=[], staged=staged)
    assert answer["staged"] == [
        [[], [], []],
        [["4s"], ["9c"], []],
        [["4s"], [], ["9c"]],
        [["4s"], ["9c", "9d"], ["Kd"]],
        [[], [], ["4s"]],
    ]


def test_a_hand_is_sorted_by_the_ranks_of_its_ruleset_then_by_suit() -> None:
    """Jokers, which have no place in the order, lie last."""
    cards = ["X1", "Ks", "2h", "Kc", "3d", "Kc/2", "2c", "Kd"]
    hands = [[cards, list("23K")], [cards, list("3K2")]]
    found = in_node(view=seated_with([]), choices=[], rows=[], hands=hands)["sorted"]
    assert found[0] == ["2c", "2h", "3d", "Kc", "Kc/2", "Kd", "Ks", "X1"]
    assert found[1] == ["3d", "Kc", "Kc/2", "Kd", "Ks", "2c", "2h", "X1"]


def test_a_player_reads_which_face_down_card_did_not_fit() -> None:
    """The event hides it; it is the card that came to the hand neither from hand nor pile."""

    def view(hand: list[str], down: list[str | None], pile: list[str]) -> dict[str, object]:
        own = {"seat": 0, "hand": {"cards": hand}, "up": [[], []], "down": down}
        return {"as": 0, "seats": [own], "moves": [], "pile": pile}

    lying = view([], ["##", "##"], ["9c", "Qd"])
    failed = view(["4s", "9c", "Qd"], ["##", None], [])
    fitted = view([], ["##", None], ["9c", "Qd", "Kh"])
    picked = view(["9c", "Qd"], ["##", "##"], [])
    pairs = [[lying, failed], [lying, fitted], [lying, picked]]
    answer = in_node(view=lying, choices=[], rows=[], turned=pairs)
    assert answer["turned"] == ["4s", None, None]


def test_a_page_is_behind_while_it_shows_its_last_event() -> None:
    """Nothing waits after it, but what can be pressed still belongs to the state before."""
    answer = in_node(view=seated_with([]), choices=[], rows=[])
    assert answer["behind"] == [False, True, False]


def test_the_rows_of_a_hand_have_similar_lengths() -> None:
    """Thirteen cards with room for twelve are laid in rows of seven and six."""
    wide, narrow, single = in_node(
        view={"as": "public", "seats": [], "moves": []},
        choices=[],
        rows=[[13, 340, 60], [6, 900, 90], [1, 300, 60]],
    )["rows"]
    assert wide["row"] <= 340 < wide["row"] + wide["step"], "the eighth card begins a row"
    assert (wide["row"] - 60) / wide["step"] == pytest.approx(6)
    assert narrow["row"] == 90 + 5 * 96, "cards that have room do not overlap"
    assert single["row"] == 60


def test_a_visitor_chooses_a_name_before_registration(visits: Visits) -> None:
    page = visits.open("/")
    page.get_by_role("button", name=GUEST).click()
    page.get_by_label("Name, as others see it").fill("Ada")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("button", name="You: Ada")).to_be_visible()
    page.reload()
    expect(page.get_by_role("button", name="You: Ada")).to_be_visible()


@pytest.mark.parametrize("locale", ["en", "sv", "ja"])
def test_a_guest_gets_a_name_in_the_language_of_the_page(visits: Visits, locale: str) -> None:
    page = visits.open("/", locale=locale)
    page.locator("#account:not([hidden])").wait_for()
    ours = strings(locale)
    names = {
        ours["guest.name"].format(first=first, second=second)
        for first in ours["guest.first"].split(" ")
        for second in ours["guest.second"].split(" ")
    }
    assert page.locator("#account").text_content() in names
    assert (locale == "en") == (ours["guest.first"] == strings("en")["guest.first"])


def test_a_name_is_counted_in_the_page_as_on_the_server(visits: Visits) -> None:
    """Forty emoji are a name, and the page that made it can change it."""
    page = play_now(visits)
    page.goto("/")
    page.get_by_role("button", name=GUEST).click()
    name = page.get_by_label("Name, as others see it")
    save = page.get_by_role("button", name="Save", exact=True)
    family = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
    for wrong in ("\U0001f600" * 41, "e\u0301" * 41, family * 9):
        name.fill(wrong)
        save.click()
        expect(page.locator("dialog .fault")).to_contain_text("1 to 40 characters")
    name.fill("\U0001f600" * 40)
    save.click()
    page.get_by_role("button", name="You: \U0001f600").click()
    name.fill("\U0001f600" * 39)
    save.click()
    expect(page.get_by_role("button", name="You: " + "\U0001f600" * 39, exact=True)).to_be_visible()


def test_a_player_changes_name_and_recovery_code_in_the_lobby(visits: Visits) -> None:
    """With the keyboard alone, after the player was made in the background."""
    page = play_now(visits)
    page.goto("/")
    page.get_by_role("button", name=GUEST).focus()
    page.keyboard.press("Enter")
    masked = page.locator("dialog .code").inner_text()
    assert set(masked) == {"•"}, "the code stands in plain sight"
    page.get_by_role("button", name="Show", exact=True).press("Enter")
    old = page.locator("dialog .code").inner_text()
    assert faults_of(page) == []
    page.get_by_text("Replace the code, or leave this player").press("Enter")
    page.get_by_role("button", name="New recovery code").press("Enter")
    expect(page.locator("dialog .code")).to_have_text(masked)
    page.get_by_role("button", name="Show", exact=True).press("Enter")
    code = page.locator("dialog .code").inner_text()
    assert code != old
    page.get_by_label("Name, as others see it").fill("Ada")
    page.get_by_role("button", name="Save", exact=True).press("Enter")
    expect(page.get_by_role("button", name="You: Ada")).to_be_visible()
    visits.expect("401|422")
    answer = call(page, "POST", "/v1/players/recover", {"recovery": old})
    assert answer["status"] == 401
    me = call(page, "GET", "/v1/games?limit=1")["items"][0]["seats"][0]["name"]
    assert me == "Ada"
    page.reload()
    expect(page.get_by_role("button", name="You: Ada")).to_be_visible()
    other = visits.open("/")
    other.get_by_role("button", name=GUEST).click()
    other.get_by_text("Continue as an existing player").click()
    other.get_by_label("Recovery code", exact=True).fill(code)
    other.get_by_role("button", name="Recover", exact=True).click()
    expect(other.get_by_role("button", name="You: Ada")).to_be_visible()


def test_a_player_goes_on_in_another_browser_with_the_recovery_code(visits: Visits) -> None:
    first, second = visits.open("/"), visits.open("/")
    made = call(first, "POST", "/v1/players", {"name": "Ada"})
    second.get_by_role("button", name=GUEST).click()
    second.get_by_text("Continue as an existing player").click()
    second.get_by_label("Recovery code").fill(made["recovery"])
    second.get_by_role("button", name="Recover").click()
    expect(second.get_by_role("button", name="You: Ada")).to_be_visible()
    assert made["token"] not in second.evaluate("JSON.stringify(localStorage)")
    assert made["id"] in second.evaluate("localStorage.getItem('shithead.player')")


def test_a_browser_reports_that_its_player_moved_and_takes_the_player_back(visits: Visits) -> None:
    """The recovery code ends the token of the first browser, which could then only watch."""
    visits.expect("401")
    page = seated(visits)
    expect(page.locator(".seat .badge", has_text="✓")).to_have_count(3)  # no bot moves any more
    code = page.evaluate("JSON.parse(localStorage.getItem('shithead.player')).recovery")
    call(page, "POST", "/v1/players/recover", {"recovery": code})
    page.get_by_role("button", name="Ready").click()
    notice = page.locator(".notice.lost")
    expect(notice).to_contain_text("recovery code of Guest was used in another browser")
    page.reload()
    expect(notice).to_be_visible()
    expect(page.locator("h1")).to_have_count(1)  # the table is drawn after the notice
    assert faults_of(page) == []
    notice.get_by_role("button", name="Play as Guest here again").click()
    page.get_by_role("button", name="Ready").click()
    page.locator(TURN).first.wait_for()
    expect(notice).to_have_count(0)


def test_a_first_visitor_plays_a_whole_hand_by_clicking(visits: Visits) -> None:
    """
    Two clicks from the lobby to the first turn, then only cards and buttons.

    The hand usually ends at its turn limit, which is lower outside a long run.
    """
    page = play_now(visits, turns=TURNS // stride(4), reduced_motion="reduce")
    assert faults_of(page) == []
    for place in ("#slots", "#hand"):  # a card of each is exchanged
        expect(page.locator(f"{place} button.fits")).to_have_count(3)
    page.get_by_role("button", name="Ready").click()
    while take_turn(page):
        pass
    expect(page.locator(".result h2")).to_have_text(
        re.compile("shithead|Stalemate: nobody is the shithead")
    )
    game = page.url.rsplit("/", 1)[1]
    page.wait_for_function("(key) => localStorage.getItem(key)", arg=f"shithead.receipts.{game}")
    assert faults_of(page) == []
    log = call(page, "GET", f"/v1/games/{game}/events")["items"]
    assert {"entropy_committed", "entropy_revealed"} <= {event["type"] for event in log}
    expect(page.locator(".notice")).to_have_count(0)
    expect(page.locator("#say .buttons .main")).to_have_text(["Next hand"])
    page.locator("[data-key=more]").click()
    check = page.get_by_role("link", name="Check the record")
    expect(check).to_have_attribute("href", f"/verify?game={game}")
    again = page.get_by_role("link", name="Replay")
    expect(again).to_have_attribute("href", f"/replay/{game}")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Next hand").click()
    page.get_by_role("button", name="Ready").wait_for()
    assert game not in page.url


def test_a_table_is_started_and_joined_by_two_people(visits: Visits) -> None:
    """Each of the two sees the moves of the other without reloading the page."""
    ada, bob = visits.open("/"), visits.open("/", size="phone")
    shorten(ada)
    ada.get_by_text("More options").click()
    ada.locator("#ruleset").select_option("shithead")
    ada.locator("#seats").select_option("2")
    ada.get_by_label("Bots among them").select_option("0")
    ada.get_by_role("button", name="Start", exact=True).click()
    ada.get_by_text("Waiting for 1 more player").wait_for()
    table = re.search(r"/tables/([0-9a-f-]+)", ada.url)
    assert table is not None
    ada.get_by_role("button", name="Choose another name").click()
    ada.get_by_label("Name, as others see it").fill("Ada")
    ada.get_by_role("button", name="Save", exact=True).click()
    expect(ada.get_by_text("Others see you as")).to_have_count(0)
    bob.reload()
    expect(bob.get_by_text(re.compile("Others see you as [A-Z][a-z]+ [A-Z][a-z]+"))).to_be_visible()
    assert faults_of(bob) == []
    bob.locator(f'[data-key="join {table[1]}"]').click()
    for page in (ada, bob):  # the shuffle needs both browsers, and asks neither person
        page.get_by_role("button", name="Ready").wait_for()
    ada.get_by_role("button", name="Ready").click()
    expect(bob.locator("#others .seat .badge", has_text="✓")).to_be_visible()
    bob.get_by_role("button", name="Ready").click()
    for page in (ada, bob):
        page.locator(".middle .demand").wait_for()
    first, second = (ada, bob) if ada.locator("#own.turn").count() else (bob, ada)
    take_turn(first)
    while first.locator("#own.turn").count():  # the play burned the pile, or skipped a seat
        take_turn(first)
    take_turn(second)


def test_a_private_table_is_joined_by_its_address(visits: Visits) -> None:
    """The invite is in the fragment of the address, which no browser sends to a server."""
    ada = visits.open("/")
    shorten(ada)
    ada.locator("#tile-friends").select_option("2")
    ada.get_by_role("button", name="Get the link").click()
    address = ada.get_by_label("Share this address").last.input_value()
    assert "#invite=" in address
    ada.context.grant_permissions(["clipboard-read", "clipboard-write"])
    ada.get_by_role("button", name="Copy", exact=True).click()
    expect(ada.get_by_text("Copied.", exact=True).first).to_be_visible()
    assert ada.evaluate("navigator.clipboard.readText()") == address
    ada.get_by_role("button", name="Leave the table").click()
    ada.get_by_role("button", name="Play a hand now").wait_for()
    ada.goto(address)
    ada.get_by_role("button", name="Sit down").click()
    ada.get_by_role("button", name="Leave the table").wait_for()
    bob = visits.open(address.removeprefix(visits.address))
    bob.get_by_role("button", name="Sit down").click()
    for page in (ada, bob):
        page.get_by_role("button", name="Ready").wait_for()
    card = bob.locator("#hand button").first.get_attribute("data-card")
    bob.locator("#hand button").first.drag_to(bob.locator('[data-slot="2"]'))
    expect(bob.locator('[data-slot="2"] .layer')).to_have_attribute("data-card", card or "")


def test_moves_are_signed_in_another_language(visits: Visits) -> None:
    """The server checks each signature before it accepts the move."""
    page = visits.open("/", locale="sv-SE")
    shorten(page)
    page.get_by_role("button", name=re.compile("Du: [A-Z]")).click()
    page.get_by_label("Signera mina drag").check()
    page.get_by_role("button", name="Stäng").click()
    page.get_by_role("button", name="Spela en giv nu").click()
    page.get_by_role("button", name="Klar").click()
    take_turn(page)
    assert page.locator("html").get_attribute("lang") == "sv"
    expect(page.locator("#log")).to_contain_text("Du sade klar")
    begun = {"seat_ready", "cards_played", "pile_picked_up"}

    def own() -> list[Any]:
        log = call(page, "GET", f"/v1/games/{page.url.rsplit('/', 1)[1]}/events")["items"]
        return [event for event in log if event["by"] == 0 and event["type"] in begun]

    # On a busy machine the page may show an event of the bot late, after the turn has begun.
    wait_for(lambda: len(own()) >= 2, seconds=20)
    assert all("auth" in event for event in own())
    assert faults_of(page) == []


def test_the_rules_of_the_hand_open_at_the_table_and_close_again(visits: Visits) -> None:
    page = seated(visits)
    page.get_by_role("button", name="The rules").first.click()
    sheet = page.locator("dialog .short")
    expect(sheet).to_contain_text("Whoever is left with cards is the shithead")
    expect(sheet.locator(".button")).to_have_count(0)
    assert faults_of(page) == []
    page.keyboard.press("Escape")
    expect(sheet).to_have_count(0)
    expect(page.locator("#ask-rules")).to_be_focused()


@pytest.mark.smoke
def test_cards_that_do_not_fit_are_explained_with_their_rule(visits: Visits) -> None:
    """On the first turn every hand has cards, so a face-up card is always refused."""
    page = seated(visits)
    page.get_by_role("button", name="Ready").click()
    page.locator("#own.turn[aria-busy=false]").wait_for()
    page.locator("#slots button").first.click(position=STRIP)
    expect(page.locator(CHOSEN)).to_contain_text("Why not")
    with page.expect_response("**/reasons?cards=*"):
        page.locator(CHOSEN).click()
    rule = page.locator(".refusal a")
    expect(rule).to_have_attribute("href", re.compile(r"/rules/leeds#L\d+"))
    expect(rule).to_be_visible()  # a large screen has room for it
    expect(page.locator(".refusal")).to_have_attribute("data-key", "refusal")
    box = "document.querySelector('.refusal')"
    for width, height in SIZES.values():
        page.set_viewport_size({"width": width, "height": height})
        assert page.evaluate(f"{box}.scrollHeight <= {box}.clientHeight"), "all of it is seen"
        if width < 500:
            page.locator(".refusal details[open] summary").evaluate_all(
                "all => all.forEach((one) => one.click())"
            )
            tall = page.locator(".refusal").evaluate("(one) => one.offsetHeight / 16")
            assert tall <= 5.5, "pile and demand stay in sight"
            page.locator(".refusal summary").click()
            expect(rule).to_be_visible()
        page.get_by_text("More", exact=True).click()
        menu = page.locator(".more .menu").bounding_box()
        assert menu is not None and menu["x"] >= 0 and menu["x"] + menu["width"] <= width
        assert menu["y"] >= 0 and menu["y"] + menu["height"] <= height
        page.keyboard.press("Escape")
    reason = page.locator(".refusal strong").text_content() or ""
    expect(page.locator("#alert-region")).to_contain_text(reason)
    assert faults_of(page) == []


def test_a_refusal_is_in_the_language_of_the_reader(visits: Visits) -> None:
    """The page words it from the code of the answer; the statement of the rules stays English."""
    page = visits.open("/", locale="sv-SE")
    shorten(page)
    page.get_by_role("button", name="Spela en giv nu").click()
    page.get_by_role("button", name="Klar").click()
    page.locator("#own.turn[aria-busy=false]").wait_for()
    page.locator("#slots button").first.click(position=STRIP)
    with page.expect_response("**/reasons?cards=*"):
        page.locator(CHOSEN).click()
    refusal = page.locator(".refusal p")
    expect(refusal.first).to_contain_text("Man spelar kort från handen")
    assert refusal.first.get_attribute("lang") is None
    expect(refusal.last).to_have_attribute("lang", "en")
    assert faults_of(page) == []


def test_a_turn_that_another_tab_ends_takes_its_choice_and_refusal_along(visits: Visits) -> None:
    """Else the first tab would show the reason and `Why not` for cards of a turn that is over."""
    page = seated(visits, page=visits.visitor().new_page())
    other = page.context.new_page()
    other.goto(page.url)
    page.get_by_role("button", name="Ready").click()
    for tab in (page, other):
        tab.locator("#own.turn[aria-busy=false]").wait_for()
    page.locator("#slots button").first.click(position=STRIP)
    page.locator(CHOSEN).click()
    page.locator(".refusal").wait_for()
    take_turn(other)
    expect(page.locator(".refusal")).to_have_count(0)
    expect(page.locator(f"{CHOSEN}:enabled")).to_have_count(0)


def test_a_receipt_that_another_tab_stores_while_a_page_loads_is_no_lost_move(
    visits: Visits,
) -> None:
    """Its version is later than the fetched view; handing it in would be a fault of the page."""
    page = seated(visits, page=visits.visitor().new_page())
    key = f"shithead.receipts.{page.url.rsplit('/', 1)[1]}"

    def store(route: Route) -> None:
        page.evaluate("(key) => localStorage.setItem(key, JSON.stringify(['x\\n999\\nx']))", key)
        route.continue_()

    page.route("**/v1/rulesets/*", store)
    traffic = Traffic(page)
    page.reload()
    expect(page.get_by_role("button", name="Ready")).to_be_enabled()
    traffic.settle()
    assert page.evaluate("(key) => localStorage.getItem(key)", key) is not None


def test_a_move_made_without_a_network_is_played_once_when_it_is_back(visits: Visits) -> None:
    """The page shows the loss at once, and needs no reload afterwards."""
    visits.expect("ERR_INTERNET_DISCONNECTED")
    page = seated(visits, page=visits.visitor().new_page())
    page.get_by_role("button", name="Ready").click()
    page.locator("#own.turn[aria-busy=false]").wait_for()
    page.context.set_offline(True)
    expect(page.locator("#connection")).to_have_text("Offline, trying again …")
    button = CHOSEN if page.locator("#cards button.fits").count() else PICK_UP
    if button == CHOSEN:
        page.locator("#cards button.fits").first.click(position=STRIP)
        while not page.locator(f"{CHOSEN}.main").count():
            page.locator("#cards button.fits:not(.chosen)").first.click(position=STRIP)
    with page.expect_event("requestfailed", lambda request: request.url.endswith("/moves")):
        page.locator(button).click()
    page.context.set_offline(False)
    expect(page.locator("#log")).to_contain_text(re.compile("You (played|picked)"))
    expect(page.locator(".notice")).to_have_count(0)
    expect(page.locator(".refusal")).to_have_count(0)


def test_a_call_without_an_answer_is_reported_in_words(visits: Visits) -> None:
    """Not as `TypeError: Failed to fetch`; and no warning stays once the server answers again."""
    visits.expect("ERR_FAILED|ERR_CONNECTION|412")
    page = visits.visitor().new_page()
    page.clock.install()
    seated(visits, page=page)
    page.route("**/v1/games/*", lambda route: route.abort())
    page.route("**/v1/games/*/moves", lambda route: route.abort())
    page.get_by_role("button", name="Ready").click()
    words = re.compile("^The server does not answer")
    for _ in range(40):
        page.clock.run_for(1000)
        if page.locator(".refusal").count() and page.locator(".notice.warning").count():
            break
    expect(page.locator(".refusal")).to_have_text(words)
    expect(page.locator(".notice.warning")).to_have_text(words)
    page.unroute_all()
    page.get_by_role("button", name="Ready").click()
    page.locator("#own.turn[aria-busy=false]").wait_for()
    expect(page.locator(".refusal")).to_have_count(0)
    expect(page.locator(".notice")).to_have_count(0)


CUT_OFF = """(css) => [...document.querySelectorAll(css)].filter((one) => {
    const { left, right, width } = one.getBoundingClientRect();
    return width && (left < 0 || right > innerWidth);
}).map((one) => one.outerHTML.slice(0, 80))"""


def test_nothing_is_cut_off_on_a_phone_at_a_zoom_of_200_percent(visits: Visits) -> None:
    """The table hides what is wider, so its cards are measured; other pages would scroll."""
    page = seated(visits, "phone")
    game = page.url.rpartition("/")[2]
    page.set_viewport_size({"width": 180, "height": 370})
    page.get_by_role("button", name="Ready").click()
    page.locator(TURN).first.wait_for()
    assert page.evaluate(CUT_OFF, "#others .card, #middle .stacks *, .demand *, #cards .card") == []
    for path in ("/", "/verify", "/checks", "/rules", "/statistics", f"/replay/{game}"):
        page.goto(path)
        page.locator("main h1").first.wait_for()
        if path == "/verify":  # it stores its files: left before, these requests fail
            page.locator("#offline:not(:empty)").wait_for()
        wider = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        assert wider <= 0, path


LONG_HAND = """async (count) => {
    const own = await import(document.querySelector("link[href*='own.js']").href);
    const hand = document.querySelector("#hand");  // from here on no event can draw it anew
    while (hand.children.length < count) hand.append(hand.firstElementChild.cloneNode(true));
    Object.values(own).find((one) => String(one).includes("--overlap"))(); // fitHand
    const rows = {};
    for (const card of hand.children) (rows[card.offsetTop] ??= []).push(card.offsetLeft);
    return Object.values(rows).map((lefts) => [lefts.length, Math.min(...lefts)]);
}"""


def test_a_long_hand_lies_in_even_rows(visits: Visits) -> None:
    page = seated(visits, size="phone")
    (first, left), (second, below) = page.evaluate(LONG_HAND, 15)
    assert (first, second) == (8, 7)
    assert below >= left, "no row reaches over the edge"


SHORT_HAND = """async () => {
    const own = await import(document.querySelector("link[href*='own.js']").href);
    const hand = document.querySelector("#hand");  // from here on no event can draw it anew
    while (hand.children.length > 1) hand.lastElementChild.remove();
    Object.values(own).find((one) => String(one).includes("--overlap"))(); // fitHand
    const box = (css) => document.querySelector(css).getBoundingClientRect();
    const [slots, card, all] = [box("#slots"), box("#hand .card"), box("#cards")];
    return {
        apart: card.left - slots.right,
        beside: card.bottom > slots.top && slots.bottom > card.top,
        middle: (slots.left + card.right) / 2 - (all.left + all.right) / 2,
        below: box("#own").bottom - innerHeight,
    };
}"""


def test_a_hand_of_one_card_lies_beside_the_slots_on_a_tablet(visits: Visits) -> None:
    page = seated(visits)
    page.set_viewport_size({"width": 768, "height": 1024})
    found = page.evaluate(SHORT_HAND)
    assert found["beside"] and 0 < found["apart"] < 60
    assert abs(found["middle"]) < 20, "both together are in the middle"
    assert found["below"] <= 0, "the buttons stay in the window"


CUT_TEXTS = """(css) => [...document.querySelectorAll(css)].filter((one) =>
    one.scrollHeight > one.clientHeight + 1 || one.scrollWidth > one.clientWidth
).map((one) => one.textContent)"""


@pytest.mark.parametrize("size", [(768, 1024), (1024, 768), (1280, 800)])
def test_what_to_do_next_is_not_cut_off(visits: Visits, size: tuple[int, int]) -> None:
    page = seated(visits)
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.get_by_role("button", name="Ready").wait_for()
    assert page.evaluate(CUT_TEXTS, "#say .now, #say .hint") == []
    # One evaluation, because the parts are drawn anew between two.
    places = """() => [...document.querySelectorAll("#say, #say [data-key=ready], #say .more")]
        .map((one) => one.getBoundingClientRect().toJSON())"""
    place, ready, menu = page.evaluate(places)
    assert 0 < menu["x"] - ready["x"] - ready["width"] < 20, "no hole between the buttons"
    assert place["y"] < menu["y"] and menu["y"] + menu["height"] <= size[1]
    assert menu["width"] < 100, "no wider than its word"


MEASURES = """() => {
    const found = (css) => [...document.querySelectorAll(css)];
    const box = (one) => one.getBoundingClientRect();
    const [pile, demand, line, own] = [".pile", ".demand", ".line", "#own"]
        .map((css) => box(found(css)[0]));
    const slots = found("#others .slot");
    const indexes = (card) =>
        [...card.querySelectorAll(".index")].filter((one) => box(one).width > 0).length;
    const middle = (one) => (box(one).left + box(one).right) / 2;
    return {
        seats: new Set(found("#others .seat").map((one) => one.offsetWidth)).size,
        cards: Math.min(...slots.map((one) => one.offsetWidth)),
        above: found("#others .inhand b").every((one, at) => box(one).top < box(slots[3 * at]).top),
        stock: found(".stock")[0].offsetWidth,
        card: found(".pile :is(.card, .hole)")[0].offsetWidth,
        hand: found("#hand .card")[0].offsetWidth,
        middle: Math.abs((pile.left + pile.right - innerWidth) / 2),
        rows: [pile.bottom, demand.top, demand.bottom, line.top, line.bottom, own.top],
        demand: parseFloat(getComputedStyle(found(".demand")[0]).fontSize),
        indexes: [...found("#hand .card"), ...found("#others .slot > :last-child")]
            .map((card) => [card.offsetWidth, indexes(card)]),
        pips: found("#hand .drawing > .parts")
            .map((parts) => Math.abs(middle(parts) - middle(parts.ownerSVGElement))),
    };
}"""
"""What a felt shows, in CSS pixels."""


def test_the_felt_of_a_phone_is_for_the_cards(visits: Visits) -> None:
    page = seated(visits, "phone")
    page.get_by_role("button", name="Ready").click()
    page.locator(TURN).first.wait_for()
    found = page.evaluate(MEASURES)
    assert found["seats"] == 1, "three seats share the width"
    assert found["cards"] == 30 and found["above"]
    assert (found["stock"], found["card"], found["hand"]) == (60, 104, 72)
    assert found["middle"] < 1
    assert found["rows"] == sorted(found["rows"]), "no text lies on another part"
    assert found["demand"] > 22
    assert [one for one in found["indexes"] if one[1] != (2 if one[0] >= 56 else 1)] == []
    assert len({count for _, count in found["indexes"]}) == 2, "both kinds of cards are shown"
    assert max(found["pips"], default=0) < 1


def test_a_press_on_the_pile_plays_the_chosen_cards_and_else_shows_its_cards(
    visits: Visits,
) -> None:
    page = seated(visits)
    page.get_by_role("button", name="Ready").click()
    page.locator(TURN).first.wait_for()
    while not page.locator("#hand button.leads.fits").count():
        assert take_turn(page)
        page.locator(TURN).first.wait_for()
    expect(page.locator("#middle.legal")).to_have_count(0)
    page.locator("[data-pile]").click()
    page.get_by_role("dialog").get_by_role("button").last.click()
    card = page.locator("#hand button.leads.fits").first
    code = card.get_attribute("data-own")
    card.click(position=STRIP)
    expect(page.locator("#middle.legal .pile")).to_have_css(
        "outline", "rgb(255, 213, 74) solid 2px"
    )
    page.locator("[data-pile]").click()
    expect(page.locator(f'#hand [data-own="{code}"]')).to_have_count(0)
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_a_large_screen_has_a_large_table(visits: Visits) -> None:
    page = seated(visits, "large")
    page.get_by_role("button", name="Ready").click()
    page.locator(TURN).first.wait_for()
    widths = "all => Math.min(...all.map((one) => one.getBoundingClientRect().width))"
    assert page.locator(".stacks .card").evaluate_all(widths) > 130
    assert page.locator("#hand .card").evaluate_all(widths) > 110
    assert page.locator("#others .card").evaluate_all(widths) > 80
    assert page.evaluate("document.documentElement.scrollHeight") == SIZES["large"][1]


def test_a_click_counts_if_the_table_changes_under_the_pointer(visits: Visits) -> None:
    """A redraw between pressing and releasing must not lose the click."""
    page = seated(visits)
    card = page.locator("#hand button").first
    card.hover(position=STRIP)
    page.mouse.down()
    page.evaluate("dispatchEvent(new Event('resize'))")
    page.mouse.up()
    expect(card).to_have_attribute("aria-pressed", "true")


def test_moves_are_made_with_the_keyboard_alone(visits: Visits) -> None:
    page = visits.open("/", size="tablet", reduced_motion="reduce")
    shorten(page)
    page.get_by_role("button", name="Play a hand now").focus()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Ready").wait_for()
    exchange_with_keys(page)
    tab_to(page, "[data-key=more]")
    page.keyboard.press("Enter")
    expect(page.locator(".more .menu .keys")).to_be_visible()
    expect(page.locator(".more .menu")).to_contain_text("a number counts the cards in the hand")
    page.keyboard.press("Escape")
    expect(page.locator(".more .menu")).to_be_hidden()
    expect(page.locator("[data-key=more]")).to_be_focused()
    tab_to(page, "[data-key=ready]")
    page.keyboard.press("Enter")
    for _ in range(2):
        page.locator(TURN).first.wait_for()
        if page.locator(".result").count():
            return
        before = page.locator("#log li").first.get_attribute("value")
        if page.locator("#cards button.fits").count():
            tab_to(page, "#cards button.fits")
            page.keyboard.press("Space")
            while not page.locator(f"{CHOSEN}.main").count():
                tab_to(page, "#cards button.fits:not(.chosen)")
                page.keyboard.press("Space")
            page.keyboard.press("Enter")
        else:
            tab_to(page, PICK_UP)
            page.keyboard.press("Shift")
            page.keyboard.press("Enter")
        expect(page.locator("#log li").first).not_to_have_attribute("value", before or "")
        kept = "document.querySelector('#own').contains(document.activeElement)"
        assert page.evaluate(kept), "the focus goes on to a card when the played one is gone"
    announced = page.locator("#live-region")
    expect(announced).to_contain_text(re.compile("You (played|picked up)"))


def exchange_with_keys(page: Page) -> None:
    """Put the first card of the hand on the second slot."""
    card = page.locator("#hand button").first.get_attribute("data-card")
    page.locator("#hand button").first.focus()
    page.keyboard.press("2")
    expect(page.locator('[data-slot="1"] .layer')).to_have_attribute("data-card", card or "")


def test_a_lost_connection_is_shown_and_resumed(visits: Visits) -> None:
    """Missed events appear afterwards without reloading, each once."""
    visits.expect("ERR_INTERNET_DISCONNECTED")
    page = seated(visits)
    game = page.url.rsplit("/", 1)[1]
    page.context.set_offline(True)
    page.evaluate("dispatchEvent(new Event('online'))")
    other = visits.open("/")
    identity = page.evaluate("localStorage.getItem('shithead.player')")
    other.evaluate("(one) => localStorage.setItem('shithead.player', one)", identity)
    call(other, "POST", f"/v1/games/{game}/moves", {"type": "ready"})
    page.context.set_offline(False)
    page.evaluate("dispatchEvent(new Event('online'))")
    page.locator(TURN).first.wait_for()
    seqs = page.locator("#log li").evaluate_all("(all) => all.map((one) => one.value)")
    assert len(seqs) == len(set(seqs))
    expect(page.locator(".notice")).to_have_count(0)


def test_a_hand_is_followed_without_a_stream_if_the_server_is_busy(visits: Visits) -> None:
    """The page polls the log instead: it repeats a failed request, and stops after the seal."""
    visits.expect("503")
    busy = json.dumps({"type": "/problems/unavailable", "title": "Busy", "detail": "too many"})
    failures = iter([True])

    def refuse(route: Route) -> None:
        route.fulfill(status=503, content_type="application/problem+json", body=busy)

    page = visits.page()
    page.route("**/games/*/stream", refuse)
    page.route("**/events?after=*", lambda r: refuse(r) if next(failures, False) else r.fallback())
    seated(visits, page=page)
    expect(page.locator("#log li").first).to_be_attached()
    expect(page.locator(".notice")).to_have_count(0)
    game = page.url.rsplit("/", 1)[1]
    with page.expect_request("**/receipt", timeout=20_000):
        call(page, "POST", f"/v1/games/{game}/moves", {"type": "forfeit"})
    page.locator(".result").wait_for()


def test_a_log_that_contradicts_a_receipt_is_reported(visits: Visits) -> None:
    visits.expect("409|422")  # the page hands the receipt in, and the server did not sign it
    page = seated(visits)
    game = page.url.rsplit("/", 1)[1]
    note = f"tests.example/g/{game}\n3\n{'A' * 43}=\n"
    page.evaluate(
        "([k, v]) => localStorage.setItem(k, v)", [f"shithead.receipts.{game}", json.dumps([note])]
    )
    page.get_by_role("button", name="Ready").click()
    expect(page.locator(".notice.warning")).to_contain_text("contradicts a receipt")


def test_a_receipt_that_the_server_did_not_sign_is_reported(visits: Visits) -> None:
    """Its head agrees with the log; only the signature is false."""
    page = play_now(visits)
    game = page.url.rsplit("/", 1)[1]
    forge = """(game) => {
        const key = `shithead.receipts.${game}`;
        const [first] = JSON.parse(localStorage.getItem(key));
        const [body, line] = first.split("\\n\\n");
        const at = line.length - 12;
        const other = line[at] === "A" ? "B" : "A";
        const forged = `${body}\\n\\n${line.slice(0, at)}${other}${line.slice(at + 1)}`;
        localStorage.setItem(key, JSON.stringify([forged]));
    }"""
    page.wait_for_function("(key) => localStorage.getItem(key)", arg=f"shithead.receipts.{game}")
    page.evaluate(forge, game)
    page.get_by_role("button", name="Ready").click()
    expect(page.locator(".notice.warning")).to_contain_text("No key of this server signed")


NO_HASH: Final = "Object.defineProperty(crypto, 'subtle', { value: undefined });"
"""A script for each load: a page at an address that begins with http, of another machine."""


@pytest.mark.parametrize(
    ("script", "unchecked"),
    [(NO_ED25519, "whether the server signed"), (NO_HASH, "whether the log stays")],
    ids=["signatures", "hashes"],
)
def test_a_browser_that_cannot_make_a_check_says_so(
    visits: Visits, script: str, unchecked: str
) -> None:
    context = visits.visitor(size="phone")
    context.add_init_script(script)
    page = context.new_page()
    page.goto("/")
    shorten(page)
    page.get_by_role("button", name="Play a hand now").click()
    page.get_by_role("button", name="Ready").click()
    expect(page.locator(".notice")).to_contain_text(f"Not checked: {unchecked}")
    expect(page.locator(".notice")).to_have_count(1)
    expect(page.locator(".notice.warning")).to_have_count(0)


def test_the_pages_fit_every_size_and_axe_finds_nothing(visits: Visits) -> None:
    page = visits.open("/")
    page.get_by_role("button", name="Find players").wait_for()
    made = call(page, "POST", "/v1/players", {"name": "Ada"})
    page.evaluate("(one) => localStorage.setItem('shithead.player', one)", json.dumps(made))
    seats = ["me", *({"bot": "lowest"} for _ in range(11))]
    table = call(page, "POST", "/v1/tables", {"ruleset": "leeds", "seats": seats})
    for path in ("/", f"/play/{table['game']}"):
        page.goto(path)
        page.locator("#recent :is(li, p), #hand button").first.wait_for()
        assert faults_in_every_size(page) == [], path


def test_a_long_name_without_spaces_makes_no_page_wider(visits: Visits) -> None:
    """The list of tables to join and the waiting room, on a phone."""
    host = Client(port=int(visits.address.rpartition(":")[2]))
    host.token = host.call("POST", "/v1/players", {"name": "W" * 40}).json["token"]
    table = host.call("POST", "/v1/tables", {"ruleset": "leeds", "seats": ["me", "open"]}).json
    page = visits.page("phone")
    for path, name in (("/", "#tables li .what"), (f"/tables/{table['id']}", ".places li")):
        page.goto(path)
        page.locator(name).filter(has_text="W" * 40).first.wait_for()
        wider = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        assert wider <= 0, path


def test_a_seat_is_called_ready_once(visits: Visits) -> None:
    """Its sign says so, and to screen readers its description: the recent actions do not."""
    page = seated(visits)
    seat = page.locator("#others .seat", has_text="lowest")
    expect(seat.locator(".unseen")).to_contain_text("ready")
    expect(seat.locator(".badge", has_text="✓")).to_be_visible()
    expect(seat.locator(".did")).not_to_contain_text("ready")


def test_a_long_name_leaves_the_middle_of_the_table_free(visits: Visits) -> None:
    host = Client(port=int(visits.address.rpartition(":")[2]))
    host.token = host.call("POST", "/v1/players", {"name": "W" * 40}).json["token"]
    game = open_table([host], ruleset="leeds", bots=("lowest", "lowest"))
    page = visits.open(f"/play/{game}")
    page.locator(".side.right .seat").wait_for()
    box = "(css) => document.querySelector(css).getBoundingClientRect().toJSON()"
    stacks, seat = (page.evaluate(box, css) for css in (".stacks", ".side.right .seat"))
    assert stacks["right"] <= seat["left"]


def has_moved(host: Client, game: str, version: int) -> bool:
    """Return whether a game is past a version."""
    return bool(host.get(f"/v1/games/{game}")["version"] != version)


FOCUSED = "document.activeElement.className"
"""What has the focus; nothing if that is the page itself."""


def test_a_hand_is_played_with_the_keyboard_and_the_focus_is_never_lost(visits: Visits) -> None:
    """Enter plays the card that has the focus, P picks up, N deals the next hand."""
    page = visits.page()
    host = Client(port=int(visits.address.rpartition(":")[2]))
    player = host.call("POST", "/v1/players", {"name": "Ada"}).json
    host.token = player["token"]
    limit = TURNS // stride(2)
    game = open_table([host], ruleset="leeds", bots=("lowest",), window_seconds=0, turn_limit=limit)
    visits.open_as(player, f"/play/{game}", page=page)
    page.get_by_role("button", name="Ready").wait_for()
    tab_to(page, "button[data-key=ready]")
    page.keyboard.press("Enter")
    for turn in range(80):
        page.locator(TURN).first.wait_for()
        if page.locator(".result").count():
            break
        assert page.evaluate(FOCUSED) != "", f"turn {turn}"
        version = host.get(f"/v1/games/{game}")["version"]
        fits = "document.activeElement.matches('#hand button.leads.fits, #slots button.fits')"
        page.keyboard.press("Shift")  # what follows is no second press of the turn before
        if page.evaluate(fits):
            page.keyboard.press("Enter")
        elif page.locator(f"{PICK_UP}:enabled").count():
            page.keyboard.press("p")
        else:  # a card that goes only together with another
            for move in host.get(f"/v1/games/{game}")["moves"][:1]:
                host.post(f"/v1/games/{game}/moves", move)
        wait_for(partial(has_moved, host, game, version), seconds=20)
    else:
        raise AssertionError("no end")
    expect(page.locator("[data-key=next]")).to_be_focused()
    page.keyboard.press("n")
    page.wait_for_url(lambda url: game not in url)
    page.get_by_role("button", name="Ready").wait_for()
    expect(page.locator("#own :focus")).to_have_count(1)
