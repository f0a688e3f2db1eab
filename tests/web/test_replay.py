"""The replay room in a browser: samples of all rulesets, and hands that have just been played."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import UUID

import pytest
from playwright.sync_api import Page, Route, expect

from tests.client import Client, open_table, register
from tests.examples import stride
from tests.random_games import Plan, made_game
from tests.running import Running, wait_for
from tests.web.browsing import FAR_ROWS, SIZES, Visits, faults_in_every_size, faults_of, tab_to
from tests.web.page_pool import PagePool
from tests.web.samples import Sample, enter, longest, samples
from tests.web.test_story import TONES

pytestmark = pytest.mark.heavy


@pytest.fixture(scope="module", autouse=True)
def entered(service: Running) -> Iterator[None]:
    """Enter the samples into the database of the service."""
    unknown = "shithead"  # tests of /verify use its file as one of another server
    entered = tuple(one for one in samples() if one.name != unknown)
    enter(str(service.settings.database_url), service.port, entered)
    yield


def sample(name: str) -> Sample:
    return next(one for one in samples() if one.name == name)


LEEDS = sample("leeds")


def opened(visits: Visits, game: UUID | str, query: str = "", **more: Any) -> Page:
    """Return the page of a replay, once its first version is shown."""
    page = visits.open(f"/replay/{game}{query}", **more)
    page.locator("#position:not(:empty)").wait_for()
    return page


def position(page: Page) -> int:
    """Return the version that is shown: the one after the event that the page names."""
    return int(page.locator("#position").inner_text().split(" / ")[0]) + 1


def wait_for_version(page: Page, version: int) -> None:
    """Wait until a version is shown, which is the one after event `version - 1`."""
    expect(page.locator("#position")).to_have_text(re.compile(rf"^{version - 1} / "))


def api(service: Running, path: str) -> Any:
    return Client(port=service.port).get(path)


def cards_shown(page: Page, seat: int) -> list[str]:
    """Return the cards of a hand that are drawn."""
    found = page.locator(f'[data-seat="{seat}"] .shown [data-card]')
    return sorted(found.evaluate_all("(all) => all.map((one) => one.dataset.card)"))


STEP_THROUGH = """(steps) => {
    const key = { key: "ArrowRight", bubbles: true };
    const text = (selector) => document.querySelector(selector)?.textContent;
    const all = (place, selector) => Array.from(place.querySelectorAll(selector));
    const cards = (seat) => all(seat, ".shown [data-card]").map((one) => one.dataset.card);
    const seats = () => all(document, "#felt [data-seat]");
    const shown = [];
    for (let step = 0; step < steps; step += 1) {
        shown.push({
            position: text("#position"), pile: text(".pile > b"), stock: text(".stock > b"),
            hands: Object.fromEntries(seats().map((one) => [one.dataset.seat, cards(one)])),
            fans: all(document, "#felt .shown").map((one) => [
                one.children.length, Number(one.style.getPropertyValue("--n")),
                one.classList.contains("tight"),
            ]),
        });
        document.body.dispatchEvent(new KeyboardEvent("keydown", key));
    }
    document.getElementById("sky")?.remove();  // cards that are still flying
    return shown;
}"""
"""A script that presses the right arrow key after each version, and returns what was drawn."""

MOVE_SCRUBBER = """(versions) => {
    const scrub = document.getElementById("scrub");
    document.documentElement.hidden = true;
    const shown = versions.map((version) => {
        scrub.value = version - 1;
        scrub.dispatchEvent(new Event("input"));
        return document.getElementById("position").textContent;
    });
    document.documentElement.hidden = false;
    return shown;
}"""
"""
A script that moves the scrubber to each of some versions, and returns the positions shown.

A hidden page runs the same code and computes no layout, which takes most of the time otherwise.
"""


def test_a_hand_is_stepped_through_after_one_request(visits: Visits, service: Running) -> None:
    requested: list[str] = []
    context = visits.visitor()
    context.on("request", lambda request: requested.append(request.url))
    page = context.new_page()
    page.goto(f"/replay/{LEEDS.game}?event=0")
    page.locator("#position:not(:empty)").wait_for()
    shown = page.evaluate(STEP_THROUGH, len(LEEDS.lines))
    frames = api(service, f"/v1/games/{LEEDS.game}/replay?as=all")["items"]
    for frame, drawn in zip(frames, shown, strict=True):
        view = frame["view"]
        assert drawn["position"] == f"{frame['version'] - 1} / {len(LEEDS.lines) - 1}"
        if view["status"] == "playing":
            assert drawn["pile"] == str(len(view["pile"])), drawn
            assert drawn["stock"] == str(view["stock"]), drawn
            for seat in view["seats"]:
                assert sorted(drawn["hands"][str(seat["seat"])]) == sorted(seat["hand"]["cards"])
    fans = {tuple(fan) for drawn in shown for fan in drawn["fans"]}
    assert all(fan == (fan[0], max(2, fan[0]), fan[0] > 12) for fan in fans)
    assert {1, 12} < {count for count, *_ in fans}
    assert any(is_tight for *_, is_tight in fans)
    wait_for_version(page, len(LEEDS.lines))
    expect(page.locator(".result .places li")).to_have_count(3)
    assert len([url for url in requested if "/replay?as=" in url]) == 1


def test_the_address_has_the_version_and_the_viewer(visits: Visits) -> None:
    page = opened(visits, LEEDS.game, "?event=59&as=1")
    wait_for_version(page, 60)
    expect(page.locator("#as")).to_have_value("1")
    page.keyboard.press("ArrowRight")
    page.wait_for_url(re.compile(r"\?event=60&as=1$"))
    page.reload()
    wait_for_version(page, 61)
    page.locator("#as").select_option("public")
    page.wait_for_url(re.compile(r"\?event=60&as=public$"))


@pytest.mark.parametrize("viewer", ["0", "1", "public", "all"])
def test_a_replay_shows_what_its_viewer_saw(visits: Visits, service: Running, viewer: str) -> None:
    page = opened(visits, LEEDS.game, f"?event=59&as={viewer}")
    view = api(service, f"/v1/games/{LEEDS.game}?at=60&as={viewer}")
    hands = [seat["hand"] for seat in view["seats"]]
    assert any(hand["cards"] is None for hand in hands) == (viewer != "all")
    for seat, hand in enumerate(hands):
        known = hand["known"] if hand["cards"] is None else hand["cards"]
        assert cards_shown(page, seat) == sorted(known)


@pytest.mark.smoke
def test_an_event_is_shown_with_its_rule(visits: Visits, service: Running) -> None:
    page = opened(visits, LEEDS.game, "?event=59")
    ruleset = api(service, "/v1/rulesets/leeds")
    move = api(service, f"/v1/games/{LEEDS.game}/audit/moves/59")
    rule = move["effects"][0]["rules"][0]
    text = next(one["text"] for one in ruleset["statements"] if one["id"] == rule)
    expect(page.locator("#now .by")).to_contain_text(text)
    expect(page.locator("#now .by p").first).to_have_attribute("lang", "en")
    row = page.locator('#rows li[value="59"]')
    expect(row.locator(".n")).to_have_text("59")
    expect(row.locator(".rule")).to_have_attribute("href", f"/rules/leeds#{rule}")
    assert not rule.startswith("1-")  # the statement that decided, not one of all rulesets


def test_a_statement_about_the_deal_is_left_out_once_the_play_has_begun(
    visits: Visits, service: Running
) -> None:
    slide = sample("ten-two-slide")
    page = opened(visits, slide.game, "?event=13")
    statements = api(service, f"/v1/rulesets/{slide.ruleset}")["statements"]
    texts = {one["section"]: one["text"] for one in statements if one["id"] == "P36"}
    expect(page.locator("#now .by")).to_contain_text(texts["play"])
    expect(page.locator("#now .by")).not_to_contain_text(texts["deal"])
    page = opened(visits, slide.game, "?event=6")
    for text in texts.values():  # the cards are dealt
        expect(page.locator("#now .by")).to_contain_text(text)


def test_the_whole_statement_of_the_rules_can_be_read_on_a_phone(visits: Visits) -> None:
    page = opened(visits, LEEDS.game, "?event=59", size="phone")
    statement = page.locator("#now .by")
    hidden = "one => one.scrollHeight - one.clientHeight"
    more = page.get_by_role("button", name="more", exact=True)
    expect(more).to_be_visible()
    assert statement.evaluate(hidden) > 10
    more.click()
    assert statement.evaluate(hidden) <= 0
    expect(page.get_by_role("button", name="less", exact=True)).to_be_focused()
    page.keyboard.press("Enter")
    assert statement.evaluate(hidden) > 10


def test_a_card_is_followed_through_the_hand(visits: Visits, service: Running) -> None:
    page = opened(visits, LEEDS.game, "?event=59")
    [card] = json.loads(LEEDS.lines[59])["data"]["cards"]
    expect(page.locator("#felt .moved")).to_have_attribute("data-card", card)
    page.locator(".pile .card").last.click()
    expect(page.locator("#felt .followed")).to_have_attribute("data-card", card)
    path = api(service, f"/v1/games/{LEEDS.game}/audit/cards/{card}")["path"]
    last = len(LEEDS.lines) - 1
    ranges = [(str(one["from_seq"]), f" – {one['to_seq']}", one["to_seq"] < last) for one in path]
    shown = [begin + end * is_over for begin, end, is_over in ranges]
    expect(page.locator("#way li button")).to_have_text(shown)
    expect(page.locator(".lane.way rect")).to_have_count(len(path))
    expect(page.locator("#way .now")).to_have_count(1)
    page.locator("#way li button").nth(1).click()
    wait_for_version(page, path[1]["from_seq"] + 1)
    expect(page.locator("#way .now button")).to_have_text(re.compile(f"^{path[1]['from_seq']}"))
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#way .now button")).to_have_text(re.compile(f"^{path[0]['from_seq']}"))
    page.locator("#way li").nth(0).locator("button").click()
    wait_for_version(page, path[0]["from_seq"] + 1)
    page.locator("#way").get_by_role("button", name="Close").click()
    expect(page.locator("#way")).to_be_hidden()
    expect(page.locator("#follow")).to_be_focused()


def test_the_way_of_a_card_that_comes_late_does_not_replace_that_of_the_next(
    visits: Visits,
) -> None:
    page, late = opened(visits, LEEDS.game, "?event=59"), list[Route]()
    page.route("**/audit/cards/*", lambda route: route.continue_() if late else late.append(route))
    options = page.locator("#follow option")
    first, second = (options.nth(number).get_attribute("value") for number in (1, 2))
    for card in (first, second):
        page.locator("#follow").select_option(card)
    way = page.locator("#way li")
    way.first.wait_for()
    shown = way.all_text_contents()
    with page.expect_response(f"**/audit/cards/{first}"):
        late[0].continue_()
    page.evaluate("() => new Promise((done) => setTimeout(done, 200))")
    assert way.all_text_contents() == shown


def test_a_move_is_explained(visits: Visits, service: Running) -> None:
    """The page shows the seat's view, its legal moves, and the reasons against the others."""
    page = opened(visits, LEEDS.game, "?event=19")
    moves = (api(service, f"/v1/games/{LEEDS.game}/audit/moves/{seq}") for seq in range(30, 100))
    move = next(one for one in moves if one["not_legal"] and len(one["legal"]) > 1)
    page.locator("#rows button.event").nth(move["first"]).click()
    why = page.locator("#why")
    expect(why.locator(".could li")).to_have_count(len(move["legal"]))
    expect(why.locator(".could .done")).to_have_count(1)
    expect(why.locator(".could .done")).to_contain_text("this one")
    expect(why.locator(".could .done button")).to_have_count(0)
    expect(why.locator(".why li")).to_have_count(len(move["not_legal"]))
    expect(why.locator(".why li").first).to_contain_text(
        move["not_legal"][0]["text"], ignore_case=True
    )
    own = move["saw"]["seats"][move["seat"]]["hand"]["cards"]
    expect(why.locator("section > .cardrow button")).to_have_count(len(own))
    why.get_by_role("button", name="Show the table as").click()
    wait_for_version(page, move["first"])
    expect(page.locator("#as")).to_have_value(str(move["seat"]))


def choose_event(page: Page, seq: int) -> None:
    """Press the row of an event, which a move of the bot may fold at the same moment."""
    page.locator("#rows button.event").nth(seq).dispatch_event("click")


def test_the_set_up_is_folded_and_turns_have_pictures_and_colours(visits: Visits) -> None:
    """It opens for an event that is in it, and what is below it stays where it is."""
    page = opened(visits, LEEDS.game, "?event=59", size="desktop")
    begun = next(at for at, line in enumerate(LEEDS.lines) if b'"play_started"' in line)
    setup = page.locator("#rows .setup")
    expect(setup).to_have_count(begun + 1)
    expect(setup.first).to_be_hidden()
    fold = page.get_by_role("button", name="Before the play")
    expect(fold).to_have_attribute("aria-expanded", "false")
    top = "(one) => Math.round(one.getBoundingClientRect().top)"
    before = page.locator("#rows [aria-current]").evaluate(top)
    fold.click()
    expect(setup.last).to_be_attached()
    assert setup.last.evaluate("(one) => one.offsetHeight") > 0
    assert page.locator("#rows [aria-current]").evaluate(top) == before
    fold.click()
    expect(fold).to_have_attribute("aria-expanded", "false")
    page.keyboard.press("Home")
    expect(fold).to_have_attribute("aria-expanded", "true")
    expect(setup.first).to_be_visible()
    colour = "(one) => getComputedStyle(one).color"
    tones = [page.locator(f"#rows span.{one}").first.evaluate(colour) for one in ("burned", "took")]
    assert len({*tones, page.locator("#rows .event").first.evaluate(colour)}) == 3
    played = page.locator("#rows li:not(.setup, .same)", has_text=" played ").first
    assert played.locator("svg.avatar").bounding_box()["width"] == 18  # type: ignore[index] # drawn
    expect(page.locator("#rows li.same").first).to_contain_text(" drew ")
    expect(page.locator("#rows li.same svg.avatar")).to_have_count(0)


def test_a_note_is_kept_beside_its_event_and_on_the_scrubber(
    visits: Visits, service: Running
) -> None:
    """The page of a spectator: the note is for its author alone."""
    eve = register(service.port, "Eve")
    me = {"id": eve.get("/v1/players/me")["id"], "name": "Eve", "token": eve.token}
    page = visits.open_as(me, f"/replay/{LEEDS.game}?event=40&why=1", size="desktop")
    page.get_by_label("Your note").fill("Why not the nine?")
    page.get_by_role("button", name="Keep the note").click()
    expect(page.locator("#rows .noted")).to_have_count(1)
    expect(page.locator(".lane.noted")).to_be_visible()
    assert faults_of(page, besides=[FAR_ROWS]) == []
    page.reload()
    expect(page.get_by_label("Your note")).to_have_value("Why not the nine?")
    page.get_by_role("button", name="Delete the note").click()
    expect(page.locator("#rows .noted")).to_have_count(0)
    expect(page.get_by_label("Your note")).to_have_value("")
    expect(page.get_by_role("button", name="Delete the note")).to_have_count(0)


def another_move(service: Running) -> dict[str, Any]:
    """Return a decision at which the seat had more than one move."""
    moves = (api(service, f"/v1/games/{LEEDS.game}/audit/moves/{seq}") for seq in range(30, 100))
    return next(one for one in moves if len(one["legal"]) > 1)


def tried(visits: Visits, move: dict[str, Any], size: str) -> Page:
    """Try another move at a decision; check that it is marked as hypothetical."""
    page = opened(visits, LEEDS.game, f"?event={move['first']}&why=1", size=size)
    page.get_by_role("button", name="Try this move").first.click()
    line = page.locator("#now .what-if")
    expect(line.locator(".hypothetical")).to_be_in_viewport()
    expect(line.locator(".hypothetical")).to_have_text(f"What if, at event {move['first']}:")
    wait_for_version(page, move["first"] + 1)
    expect(page.locator("#rows [aria-current] .n")).to_have_text(str(move["first"]))
    felt = page.locator("#felt")
    expect(felt).to_have_css("outline-style", "dashed")
    mark = "(felt) => getComputedStyle(felt, '::before').content"
    assert felt.evaluate(mark) == '"What if"'
    for real in ("#rows", "#plot"):
        expect(page.locator(real)).to_have_css("filter", re.compile("grayscale.*opacity"))
    board = expect(page.locator("#why"), "it covers the board of a phone")
    (board.to_be_hidden if size == "phone" else board.to_be_visible)()
    expect(line.locator(".could button").first).to_be_in_viewport()
    assert faults_of(page, besides=[FAR_ROWS]) == []
    return page


def test_another_move_is_tried_played_on_and_shared(visits: Visits, service: Running) -> None:
    """
    It is named by the event that it replaces.

    Its address shows it again, and one press leads back.
    """
    move = another_move(service)
    tried(visits, move, "desktop")
    page = tried(visits, move, "phone")
    line = page.locator("#now .what-if")
    line.locator(".could button").first.click()
    expect(line.get_by_role("button", name="Let bots play on")).to_be_visible()
    line.get_by_role("button", name="Let bots play on").click()
    line.get_by_role("button", name="To its end").click()
    expect(line.locator(".what")).to_contain_text("shithead")
    expect(page.locator("#controls")).to_be_hidden()
    ended = json.loads(LEEDS.lines[-2])["data"]["places"]
    fact = ("first", "place 2", "last")[ended.index(move["seat"])]
    sentence = re.compile(rf": What if: (first|place 2|last)\. In fact: {fact}\.$")
    expect(line.locator(".compared")).to_have_text(sentence)
    page.wait_for_url(re.compile(r"line=.*%2C1%5D"))
    page.get_by_role("button", name="Share this moment").click()
    dialog = page.get_by_role("dialog")
    address = dialog.get_by_label("Address of this moment").input_value()
    assert address == page.url.replace("&why=1", "")
    assert dialog.locator("img, textarea").count() == 0, "they would show the hand that was played"
    page.keyboard.press("Escape")
    shared = visits.open(f"/replay/{page.url.rpartition('/')[2]}", size="phone")
    again = shared.locator("#now .what-if")
    again.get_by_role("button", name="To its end").click()
    expect(again.locator(".what")).to_contain_text("shithead")
    again.get_by_role("button", name="Back to the hand").click()
    expect(shared.locator("#controls")).to_be_visible()
    expect(shared.locator("#felt")).not_to_have_css("outline-style", "dashed")
    wait_for_version(shared, move["first"] + 1)
    shared.emulate_media(media="print")
    cut = "one => one.scrollHeight - one.clientHeight"
    assert shared.locator("#rows").evaluate(cut) <= 1, "the whole list is printed"
    shared.emulate_media(media="screen")


def test_of_two_moves_that_are_tried_the_later_one_is_shown(
    visits: Visits, service: Running
) -> None:
    """Also if the line of the earlier one arrives last."""
    moves = (api(service, f"/v1/games/{LEEDS.game}/audit/moves/{seq}") for seq in range(30, 100))
    move = next(one for one in moves if len(one["legal"]) > 2)
    page = opened(visits, LEEDS.game, f"?event={move['first']}&why=1", size="desktop")
    held: list[Route] = []
    page.route("**/what-if", lambda route: route.continue_() if held else held.append(route))
    attempts = page.get_by_role("button", name="Try this move")
    attempts.nth(0).click()
    wait_for(lambda: pumped(page) and len(held) == 1, seconds=20)
    attempts.nth(1).click()
    said = page.locator("#now .what-if .what")
    said.wait_for()
    shown = said.inner_text()
    with page.expect_response("**/what-if"):
        held[0].continue_()
    page.evaluate("() => new Promise((done) => setTimeout(done, 200))")
    assert said.inner_text() == shown
    page.wait_for_url(re.compile("line="))
    [[_, move_shown]] = json.loads(parse_qs(urlsplit(page.url).query)["line"][0])[1]
    early = json.loads(held[0].request.post_data or "")
    assert move_shown != early["moves"][0]["move"]


def test_on_a_phone_a_decision_is_a_visible_sheet(visits: Visits) -> None:
    """The page itself does not scroll; Escape closes the sheet and leads back to the button."""
    page = opened(visits, LEEDS.game, "?event=59", size="phone")
    why = page.locator("#why")
    for size in ("phone", "phone on its side"):
        width, height = SIZES[size]
        page.set_viewport_size({"width": width, "height": height})
        page.locator("#ask").click()
        expect(why.locator(".could li").first).to_be_visible()
        expect(why.locator("h2")).to_be_in_viewport()
        expect(why.locator(".could li").first).to_be_in_viewport()
        expect(why.get_by_role("button", name="Close")).to_be_focused()
        assert faults_of(page, besides=[FAR_ROWS]) == []
        page.keyboard.press("Escape")
        expect(why).to_be_hidden()
        expect(page.locator("#ask")).to_be_focused()


def test_the_knowledge_of_a_seat_is_shown_beside_its_decision(
    visits: Visits, service: Running
) -> None:
    """Every known card is listed once under its place, with the event that revealed it."""
    game = LEEDS.game
    moves = (api(service, f"/v1/games/{game}/audit/moves/{seq}") for seq in range(40, 100))
    move = next(one for one in moves if one["saw"] and one["did"])
    seat, first = move["seat"], move["first"]
    known = api(service, f"/v1/games/{game}/audit/knowledge?seat={seat}&at={first}")
    page = opened(visits, game, f"?event={first}")
    page.get_by_role("button", name="The decision").click()
    page.locator("#knowledge summary").click()
    cards = page.locator("#knowledge .card")
    expect(cards).to_have_count(len(known["cards"]) + len(known["unseen"]))
    one = next(card for card in known["cards"] if card["by"] == "pile")
    shown = page.locator(f'#knowledge [data-card="{one["card"]}"]')
    expect(shown).to_have_attribute("title", f"since event {one['since_seq']}: was played")
    expect(page.locator("#knowledge")).to_contain_text(f"{len(known['unseen'])} cards")
    assert faults_of(page, besides=[FAR_ROWS]) == []
    page.locator("#forward").click()
    expect(page.locator("#knowledge")).to_have_attribute("open", "")


def test_what_a_seat_knows_of_twelve_seats_is_listed_seat_by_seat(
    visits: Visits, service: Running
) -> None:
    """Each place has a heading of its own, and the seats with two digits come last."""
    lines = made_game(Plan(name="twelve", ruleset="leeds", seats=12))
    twelve = Sample(name="twelve", lines=tuple(lines))
    enter(str(service.settings.database_url), service.port, (twelve,))
    first = next(n for n, line in enumerate(lines) if json.loads(line)["type"] == "cards_played")
    path = f"/v1/games/{twelve.game}/audit"
    seat = api(service, f"{path}/moves/{first}")["seat"]
    known = api(service, f"{path}/knowledge?seat={seat}&at={first}")["cards"]
    page = opened(visits, twelve.game, f"?event={first}&why=1")
    page.locator("#knowledge summary").click()
    places = {(card["zone"], card["seat"]) for card in known}
    expect(page.locator("#knowledge h4")).to_have_count(len(places) + 1)  # and the unseen cards
    seats = {card["card"]: card["seat"] for card in known if card["zone"] == "up"}
    shown = [str(one.get_attribute("data-card")) for one in page.locator("#knowledge .card").all()]
    assert len(set(seats.values())) == 12
    assert [seats[card] for card in shown if card in seats] == sorted(seats.values())


def refused_then_ended(service: Running, **more: Any) -> tuple[str, Client]:
    """Return a hand in which the host's attempt was refused, and which the host then gave up."""
    host = register(service.port, "Ada")
    game = open_table([host], ruleset="leeds", bots=("lowest",), window_seconds=0, **more)
    host.post(f"/v1/games/{game}/moves", {"type": "ready"})

    def my_turn() -> bool:
        view = host.get(f"/v1/games/{game}")
        return bool(view["status"] == "playing" and view["turn"] == view["as"])

    wait_for(my_turn, seconds=30)
    refused = host.call("POST", f"/v1/games/{game}/moves", {"type": "pass"})
    assert refused.json["type"].endswith("rule-refused"), refused.body
    view = host.get(f"/v1/games/{game}")
    host.post(f"/v1/games/{game}/moves", view["moves"][0])
    host.post(f"/v1/games/{game}/moves", {"type": "forfeit"})
    return game, host


def test_a_refused_attempt_is_shown_with_its_rule(visits: Visits, service: Running) -> None:
    game, _ = refused_then_ended(service)
    log = api(service, f"/v1/games/{game}/events")["items"]
    seq = next(
        one["seq"]
        for one in log
        if api(service, f"/v1/games/{game}/audit/moves/{one['seq']}")["refused"]
    )
    page = opened(visits, game, f"?event={seq}")
    page.get_by_role("button", name="The decision").click()
    marked = page.locator(f'#rows li[value="{seq}"] .tried')
    expect(marked).to_have_attribute("title", "1 attempt refused before")
    attempt = page.locator("#why .refused li")
    expect(attempt).to_contain_text("Pass")
    expect(attempt.locator(".statement a")).to_have_attribute("href", re.compile("/rules/leeds#"))


@pytest.mark.parametrize("has_fewer", [True, False])
@pytest.mark.parametrize("path", ["replay", "embed"])
def test_after_a_restore_a_page_shows_the_log_of_the_server_from_its_begin(
    visits: Visits, service: Running, path: str, *, has_fewer: bool
) -> None:
    """The server has fewer events than the page (409), or others where the page goes on."""
    game = open_table([register(service.port, "Ada")], ruleset="leeds", bots=("lowest",))
    page = visits.page()
    newest = page.locator("#position")
    asked: list[str] = []

    def answer(route: Route) -> None:
        asked.append(route.request.url)
        if len(asked) > 1:
            route.continue_()
        elif has_fewer:
            problem = {"type": "/problems/unknown-version", "title": "x", "status": 409}
            route.fulfill(status=409, json=problem, content_type="application/problem+json")
        else:
            seq = int(newest.inner_text().partition("/")[2]) + 1
            line = json.dumps({"seq": seq, "type": "seat_ready", "prev": "0" * 64})
            event = f"id: {seq}\nevent: seat_ready\ndata: {line}\n\n"
            route.fulfill(body=event, content_type="text/event-stream")

    def went_on() -> bool:
        page.wait_for_timeout(50)
        return len(asked) > 1

    visits.expect("409")
    page.route(f"**/v1/games/{game}/stream*", answer)
    page.goto(f"/{path}/{game}")
    wait_for(went_on, seconds=20)
    expect(newest).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)


def test_a_running_hand_is_followed_live_and_hides_the_other_hands(
    visits: Visits, service: Running
) -> None:
    host = register(service.port, "Ada")
    game = open_table([host], ruleset="leeds", bots=("lowest",), visibility="private")
    player = {"id": "", "name": "Ada", "token": host.token, "recovery": None}
    page = visits.open_as(player, f"/replay/{game}?as=all")
    expect(page.locator("#complaint")).to_contain_text("after the end of this hand")
    before = position(page) - 1
    options = page.locator("#as option").evaluate_all("(all) => all.map((one) => one.value)")
    own = host.get(f"/v1/games/{game}")["as"]
    assert options == ["public", str(own)]
    assert cards_shown(page, 1 - own) == []
    host.post(f"/v1/games/{game}/moves", {"type": "ready"})
    expect(page.locator("#position")).not_to_have_text(re.compile(f"^{before} / "))

    def by_the_bot() -> list[int]:
        log = host.get(f"/v1/games/{game}/events")["items"]
        return [one["seq"] for one in log if one["by"] == 1 - own]

    wait_for(by_the_bot, seconds=20)  # a busy worker may move after the page has shown our event
    theirs = by_the_bot()[0]
    choose_event(page, theirs)
    private = page.get_by_text("Until the end of the hand, only this player sees the choice.")
    expect(private).to_be_visible()
    page.get_by_role("button", name="A bot's opinion").click()
    expect(page.locator("#opinion")).to_contain_text("available after the end of the hand")
    host.post(f"/v1/games/{game}/moves", {"type": "forfeit"})
    expect(page.locator("#as option")).to_have_count(4)
    expect(page.locator("#why")).to_contain_text("saw")
    expect(private).to_be_hidden()
    assert position(page) == theirs + 1, "the page goes on by itself only from the newest event"
    page.locator("#last").click()
    wait_for_version(page, host.get(f"/v1/games/{game}")["version"])
    page.locator("#as").select_option("all")
    page.locator("#first").click()
    dispute = page.get_by_role("link", name="Dispute this move")
    expect(dispute).to_have_attribute("href", f"/disputes/new?game={game}&event=0")
    stranger = visits.page()
    visits.expect("404")
    stranger.goto(f"/replay/{game}")
    stranger.get_by_role("alert").wait_for()


def pumped(page: Page) -> bool:
    """Let the browser's requests reach the test."""
    page.wait_for_timeout(20)
    return True


def test_another_viewer_chosen_while_an_event_arrives_is_shown_alone(
    visits: Visits, service: Running
) -> None:
    """Two loads are under way, and the later one to end has an event of the former viewer."""
    host = register(service.port, "Ada")
    game = open_table([host], ruleset="leeds", bots=("lowest",))
    player = {"id": "", "name": "Ada", "token": host.token, "recovery": None}
    page = visits.open_as(player, f"/replay/{game}?as=public")
    own = host.get(f"/v1/games/{game}")["as"]
    expect(page.locator("#as")).to_have_value("public")
    assert cards_shown(page, own) == []
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)
        if len(held) > 2:
            route.continue_()

    page.route(f"**/replay?as={own}&from=*", hold)
    page.locator("#as").select_option(str(own))
    wait_for(lambda: pumped(page) and len(held) == 1, seconds=20)
    host.post(f"/v1/games/{game}/moves", {"type": "ready"})
    wait_for(lambda: pumped(page) and len(held) == 2, seconds=20)
    for route in held[:2]:
        with page.expect_response("**/replay?as=*"):
            route.continue_()
    expect(page.locator("#as")).to_have_value(str(own))
    log = host.get(f"/v1/games/{game}/events")["items"]
    dealt = next(one["seq"] for one in log if one["type"] == "cards_dealt")
    choose_event(page, dealt)
    assert cards_shown(page, own) != [], "the cards of the viewer that is named"


def test_a_step_while_another_viewer_is_fetched_stays(visits: Visits, service: Running) -> None:
    page = opened(visits, LEEDS.game, "?event=59&as=1")
    wait_for_version(page, 60)
    held: list[Route] = []
    page.route("**/replay?as=public*", lambda route: held.append(route))
    page.locator("#as").select_option("public")
    wait_for(lambda: pumped(page) and held, seconds=20)
    page.locator("#first").click()
    held[0].continue_()
    page.wait_for_url(re.compile(r"\?event=0&as=public$"))


def test_a_step_while_a_new_event_is_fetched_stays(visits: Visits, service: Running) -> None:
    """The page goes on by itself only if the reader is still at the newest event."""
    host = register(service.port, "Ada")
    game = open_table([host], ruleset="leeds", bots=("lowest",))
    wait_for(lambda: host.get(f"/v1/games/{game}")["seats"][1]["ready"], seconds=20)
    page = visits.open(f"/replay/{game}?as=public")
    wait_for_version(page, host.get(f"/v1/games/{game}")["version"])
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)
        if len(held) > 1:
            route.continue_()

    page.route("**/replay?as=public*", hold)
    host.post(f"/v1/games/{game}/moves", {"type": "forfeit"})
    wait_for(lambda: pumped(page) and held, seconds=20)
    page.locator("#first").click()
    held[0].continue_()
    expect(page.locator("#position")).to_have_text(re.compile("^0 / [1-9]"))
    expect(page.locator("#as option")).to_have_count(4)  # all events of the hand have arrived
    assert position(page) == 1


WHOLE = """(all) => all.map((one) => {
    const { x, y, width, height } = one.firstElementChild.getBBox(), seen = one.viewBox.baseVal;
    const isWide = x >= seen.x && x + width <= seen.x + seen.width;
    return isWide && y >= seen.y && y + height <= seen.y + seen.height;
})"""
"""Whether pictures on buttons show all of their drawing."""


def test_a_hand_is_played_back_at_a_speed(visits: Visits) -> None:
    page = opened(visits, LEEDS.game, "?event=29")
    page.get_by_label("Speed").select_option("8")
    page.get_by_role("button", name="Play", exact=True).click()
    expect(page.locator("#position")).to_have_text(re.compile(r"^(3[6-9]|[4-9]\d|1\d\d) / "))
    page.get_by_role("button", name="Pause").click()
    stopped = position(page)
    assert page.locator("#live-region p").count() == 0, "too fast for a screen reader"
    page.wait_for_timeout(500)
    assert position(page) == stopped
    page.get_by_role("button", name="To the end").click()
    wait_for_version(page, len(LEEDS.lines))
    page.keyboard.press("ArrowLeft")
    wait_for_version(page, len(LEEDS.lines) - 1)
    play = page.get_by_role("button", name="Play", exact=True)
    play.click()
    wait_for_version(page, len(LEEDS.lines))
    play.click()  # it has stopped at the end, and begins anew
    expect(page.locator("#position")).to_have_text(re.compile(r"^\d / "))
    page.get_by_role("button", name="To the beginning").click()
    expect(play).to_be_visible()
    assert set(page.locator("button .icon").evaluate_all(WHOLE)) == {True}


def test_the_scrubber_is_in_the_plot_which_has_a_text(visits: Visits, service: Running) -> None:
    page = opened(visits, LEEDS.game, "?event=29")
    expect(page.locator("#scrub")).to_have_value("29")
    box = page.locator("#scrub").bounding_box()
    plot = page.locator("#lanes").bounding_box()
    assert box and plot and box["height"] >= plot["height"]
    page.locator("#scrub").click(position={"x": box["width"] / 2, "y": 20})
    assert abs(position(page) - len(LEEDS.lines) / 2) < 3
    frames = api(service, f"/v1/games/{LEEDS.game}/replay?as=public")["items"]
    held = [frame["view"]["seats"][0]["hand"]["count"] for frame in frames]
    line = page.locator("#lanes .hand-line").first.get_attribute("d") or ""
    assert line.count("V") == 1 + sum(before != now for before, now in pairwise(held))
    page.get_by_text("The plot in words").click()
    burned = [
        frame["event"]["data"]["count"]
        for frame in frames
        if frame["event"]["type"] == "pile_burned"
    ]
    cells = page.locator("#words tbody tr td:nth-of-type(2)").all_inner_texts()
    assert sum(int(cell.split(" ")[0]) for cell in cells) == sum(burned)


@pytest.mark.parametrize("name", ["reverse-second-hand", "leeds-seven-seats-two-decks"])
def test_the_plot_in_words_counts_for_each_seat(
    visits: Visits, service: Running, name: str
) -> None:
    """Another seat than the one that turned a card can take the pile, and there may be none."""
    hand = sample(name)
    frames = api(service, f"/v1/games/{hand.game}/replay?as=public")["items"]
    log = [json.loads(line) for line in hand.lines]
    page = opened(visits, hand.game)
    page.get_by_text("The plot in words").click()
    rows = page.locator("#words tbody tr")
    expect(rows).to_have_count(len(log[0]["data"]["seats"]))
    for seat in range(rows.count()):
        cells = rows.nth(seat).locator("td").all_inner_texts()
        held = [frame["view"]["seats"][seat]["hand"]["count"] for frame in frames]
        assert cells[0] == f"{max(held)}, at event {held.index(max(held))}"
        ends = {"pile_picked_up": "taker", "blind_failed": "taker", "stock_failed": "taker"}
        for kinds, text in (({"pile_burned": "seat"}, cells[1]), (ends, cells[2])):
            found = [
                event["data"]["count"]
                for event in log
                if event["type"] in kinds and event["data"][kinds[event["type"]]] == seat
            ]
            times = sum(count > 0 for count in found)
            shown = "once" if times == 1 else f"{times} times"
            assert text == f"{sum(found)} ({shown})"
        waits = [
            (datetime.fromisoformat(event["at"]) - datetime.fromisoformat(before["at"]), event)
            for before, event in pairwise(log)
            if event["data"].get("seat") == seat
        ]
        longest = max(wait for wait, _ in waits)
        seq = next(event["seq"] for wait, event in waits if wait == longest)
        assert cells[3].endswith(f", at event {seq}")


def test_the_keyboard_suffices(visits: Visits) -> None:
    page = opened(visits, LEEDS.game, "?event=29", reduced_motion="reduce")
    for key, version in (("ArrowLeft", 29), ("Home", 1), ("End", len(LEEDS.lines))):
        page.keyboard.press(key)
        wait_for_version(page, version)
    page.keyboard.press("Home")
    page.keyboard.press("Space")
    page.get_by_role("button", name="Pause").wait_for()
    page.keyboard.press("Space")
    tab_to(page, "#rows [aria-current]")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.locator("#why .effects li").first.wait_for()
    tab_to(page, "#why [data-key='close why']")
    page.keyboard.press("Enter")
    expect(page.locator("#why")).to_be_hidden()
    expect(page.locator("#ask")).to_be_focused()
    page.locator("#follow").focus()
    page.keyboard.type("seven")
    page.locator("#way li").first.wait_for()
    assert page.locator("#live-region p").count() > 0


def test_the_replay_fits_every_size_and_axe_finds_nothing(visits: Visits) -> None:
    game = sample("leeds-seven-seats-two-decks").game
    page = opened(visits, game, "?event=159")
    page.get_by_role("button", name="The decision").click()
    page.locator("#why .effects li").first.wait_for()
    page.locator("#follow").select_option("7h")
    page.locator("#way li").first.wait_for()
    far = ("#rows li:nth-child(-n+140)", "#rows li:nth-child(n+180)")
    assert faults_in_every_size(page, besides=far) == []
    for width, height in SIZES.values():
        page.set_viewport_size({"width": width, "height": height})
        hidden = "(felt) => felt.scrollHeight - felt.clientHeight"
        assert page.locator("#felt").evaluate(hidden) <= 0, width


def test_an_open_decision_and_a_followed_card_are_in_the_address(visits: Visits) -> None:
    """On a phone caption, rule and controls stay in sight, and the selects are behind a button."""
    page = opened(visits, LEEDS.game, "?event=59", size="phone")
    expect(page.locator("#as")).to_be_hidden()
    page.get_by_role("button", name="View").click()
    page.locator("#follow").select_option(index=5)
    card = page.locator("#follow").input_value()
    page.locator("#way .head button").wait_for()
    page.locator("#ask").evaluate("(button) => button.click()")
    expect(page).to_have_url(re.compile(rf"event=59&as=all&why=1&card={card}$"))
    page.reload()
    expect(page.locator("#why")).to_be_visible()
    expect(page.locator("#way-title")).to_be_visible()
    expect(page.locator("#follow")).to_have_value(card)
    page.keyboard.press("Escape")
    expect(page.locator("#way")).to_be_hidden()
    expect(page.locator("#why")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#why")).to_be_hidden()
    page.evaluate("scrollTo(0, 99999)")
    for part in ("#now .what", "#now .by", "#play"):
        box = page.locator(part).bounding_box()
        assert box is not None and box["y"] >= 0 and box["y"] + box["height"] <= 740, part


def test_steps_of_the_replay_are_shown_one_after_the_other(visits: Visits) -> None:
    """A card flies before the pile shows it; a second step at once shows the first one at once."""
    page = visits.visitor(paced=True).new_page()
    page.clock.install()
    lines = [json.loads(line) for line in LEEDS.lines]
    seq = next(one["seq"] for one in lines if one["type"] == "cards_played" and one["seq"] > 40)
    [top, *_] = reversed(lines[seq]["data"]["cards"])
    page.goto(f"/replay/{LEEDS.game}?event={seq - 1}")
    expect(page.locator("#position")).to_contain_text(f"{seq - 1} /")
    page.locator("#forward").click()
    page.clock.run_for(100)
    flying = page.locator(f'#flights [data-card="{top}"]')
    expect(flying).to_have_count(1)
    expect(page.locator(f'[data-pile] [data-card="{top}"]')).to_have_count(0)
    page.clock.run_for(1000)
    expect(page.locator(f'[data-pile] [data-card="{top}"]')).to_have_count(1)
    expect(flying).to_have_count(0)
    page.locator("#back").click()
    for _ in range(2):
        page.locator("#forward").click()
    page.clock.run_for(1000)
    wait_for_version(page, seq + 2)


def test_a_seat_that_a_play_passes_over_gets_a_whole_sign(visits: Visits) -> None:
    """Also beside the edge of a phone, with long words; a seat that is out gets none."""
    page = visits.visitor("phone", paced=True, locale="sv-SE").new_page()
    page.clock.install()
    signs = page.locator("#flights .sign")
    for seq, texts in ((46, ["⤼ hoppas över"]), (196, [])):  # before the second one seat 1 is out
        page.goto(f"/replay/{sample('reverse').game}?event={seq - 1}")
        expect(page.locator("#position")).to_contain_text(f"{seq - 1} /")
        page.locator("#forward").click()
        page.clock.run_for(1000)
        expect(page.locator("#position")).to_contain_text(f"{seq} /")
        expect(signs).to_have_text(texts)
        for box in filter(None, (one.bounding_box() for one in signs.all())):
            assert 0 <= box["x"] <= 360 - box["width"]


def test_a_step_forward_sounds_and_one_back_does_not(visits: Visits) -> None:
    context = visits.visitor()
    context.add_init_script(TONES)
    page = context.new_page()
    lines = [json.loads(line) for line in LEEDS.lines]
    seq = next(one["seq"] for one in lines if one["type"] == "cards_played" and one["seq"] > 40)
    page.goto(f"/replay/{LEEDS.game}?event={seq - 1}")
    page.get_by_label("Settings").click()
    page.get_by_label("Sounds").check()
    page.keyboard.press("Escape")
    wait_for_version(page, seq)
    for key, version in (("ArrowRight", seq + 1), ("ArrowRight", seq + 2), ("ArrowLeft", seq + 1)):
        before = page.evaluate("tones")
        page.keyboard.press(key)
        wait_for_version(page, version)
        heard = page.evaluate("tones") - before
        if version == seq + 1:
            assert heard == (1 if key == "ArrowRight" else 0)


def test_the_replay_is_in_the_language_of_the_reader(visits: Visits) -> None:
    page = opened(visits, LEEDS.game, "?event=59", locale="sv-SE")
    expect(page.get_by_role("button", name="Beslutet")).to_be_visible()
    expect(page.locator("#rows")).to_contain_text("spelade")
    assert page.locator("html").get_attribute("lang") == "sv"
    texts = "performance.getEntriesByType('resource').map((one) => one.name)"
    loaded = {one for one in page.evaluate(texts) if "/strings/" in one}
    early = page.locator("link[rel=preload][as=fetch]").evaluate_all(
        "(all) => all.map((a) => a.href)"
    )
    assert set(early) == loaded, "texts are requested before the modules that read them"
    assert len(loaded) > 1


@pytest.fixture(scope="module")
def reused(page_pool: PagePool, service: Running) -> Iterator[tuple[Visits, Page]]:
    """Return a page for many tests, which need not be emptied between them."""
    visits = Visits(pool=page_pool, address=f"http://127.0.0.1:{service.port}")
    yield visits, visits.page("phone", reduced_motion="reduce")
    visits.close()


def versions_of_every_kind(lines: Sequence[bytes]) -> list[int]:
    """Return the version after the first event of each kind, and each 16th; in a long run all."""
    chosen: dict[tuple[object, ...], int] = {}
    for number, event in enumerate(map(json.loads, lines)):
        data = event["data"]
        kind = (event["type"], data.get("zone"), data.get("cause"), data.get("reason"))
        chosen.setdefault(kind, number + 1)
    return sorted({*chosen.values(), *range(1, len(lines), stride(16)), len(lines)})


REPLAYED = [
    pytest.param(each, id=each.ruleset, marks=[pytest.mark.long] if number % 4 else [])
    for number, each in enumerate(longest())
]
"""The longest sample of each ruleset; CI replays every fourth."""


@pytest.mark.parametrize("each", REPLAYED)
def test_every_ruleset_can_be_replayed(reused: tuple[Visits, Page], each: Sample) -> None:
    """The longest sample of each: views of every kind, captions, plots, and a rule at the end."""
    visits, page = reused
    visits.faults.clear()
    page.goto(f"/replay/{each.game}?event=0")
    page.locator("#position:not(:empty)").wait_for()
    expect(page.locator("#rows li")).to_have_count(len(each.lines))
    versions = versions_of_every_kind(each.lines)
    shown = page.evaluate(MOVE_SCRUBBER, versions)
    assert shown == [f"{version - 1} / {len(each.lines) - 1}" for version in versions]
    page.keyboard.press("ArrowLeft")
    page.locator("#now .statement").first.wait_for()
    assert visits.unexpected() == []


@pytest.mark.parametrize("name", ["shithead-aborted", "shithead-stalemate", "leeds-forfeit"])
def test_every_end_can_be_replayed(visits: Visits, name: str) -> None:
    each = sample(name)
    page = opened(visits, each.game)
    page.keyboard.press("End")
    wait_for_version(page, len(each.lines))
    page.locator(".result h2").wait_for()
    counts_not = page.locator(".result").get_by_text("does not count in the ratings")
    expect(counts_not).to_have_count(int(name.endswith("-aborted")))
    reached = page.locator(".result").get_by_text("The limit of turns was reached")
    expect(reached).to_have_count(int(name.endswith("-stalemate")))


def test_at_the_end_each_seat_that_is_out_shows_its_place(visits: Visits) -> None:
    """Also the one that went out long before the end, in ink that can be read."""
    each = sample("leeds")
    page = opened(visits, each.game)
    page.set_viewport_size({"width": 390, "height": 844})
    page.keyboard.press("End")
    wait_for_version(page, len(each.lines))
    count = page.locator(".result .places li").count() - 1
    assert count > 1
    placed = page.locator(".seat.gone .placed:visible")
    assert sorted(placed.all_inner_texts()) == [f"place {n + 1}" for n in range(count)]
    opacity = "all => all.map((one) => getComputedStyle(one.parentElement).opacity)"
    assert placed.evaluate_all(opacity) == ["1"] * count


JUDGED_FROM = 82
"""The first event of the last moves of the hand; two of its four mistakes, 83 and 89, follow."""


def judge_last_moves(page: Page) -> None:
    """Let the server judge the last moves of the stalemate only, outside a long run."""

    def asked(route: Route) -> None:
        address = route.request.url
        seq = int(address.partition("/moves/")[2].partition("?")[0])
        judged = seq >= stride(JUDGED_FROM)
        route.continue_(url=address if judged else address.replace("=true", "=false"))

    page.route("**/audit/moves/*?opinion=true", asked)


def test_a_bots_opinion_is_a_curve_with_the_largest_mistakes(visits: Visits) -> None:
    """
    It is fetched when the reader opens it first; a listed mistake leads to its version.

    It is beside the felt, or below it on a phone, and takes nothing from it.
    """
    page = opened(visits, sample("shithead-stalemate").game)  # the fewest moves to judge
    judge_last_moves(page)
    place = page.locator("#opinion")
    page.locator("#now .statement").wait_for()
    felt = page.locator("#felt").bounding_box()
    expect(place).to_be_hidden()
    page.get_by_role("button", name="A bot's opinion").click()
    expect(place.locator(".lane path.hand-line").first).to_be_attached(timeout=60_000)
    expect(place.locator("progress")).to_have_count(0, timeout=120_000)
    expect(place).to_contain_text("not evidence")
    assert {"83", "89"} <= set(place.locator("li button").all_inner_texts())
    listed = re.compile(r"\d+ .+: played .+ \d+%, better .+ \d+%")
    expect(place.locator("li").first).to_have_text(listed)
    assert page.locator("#felt").bounding_box() == felt
    for size in ("desktop", "phone", "phone on its side"):
        width, height = SIZES[size]
        page.set_viewport_size({"width": width, "height": height})
        beside, table = place.bounding_box(), page.locator("#felt").bounding_box()
        assert beside and table
        is_below = beside["y"] >= table["y"] + table["height"]
        assert is_below or beside["x"] >= table["x"] + table["width"], size
        assert is_below == (size != "desktop")
    page.set_viewport_size({"width": 1024, "height": 768})
    mistake = place.locator("li button").first
    version = int(mistake.inner_text()) + 1
    mistake.click()
    wait_for_version(page, version)
    assert faults_of(page, besides=[FAR_ROWS]) == []
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    for _ in ("closed", "opened again"):
        page.get_by_role("button", name="A bot's opinion").click()
    expect(mistake).to_be_visible()
    assert [one for one in asked if "opinion" in one] == []


ALIKE: dict[str, Any] = {
    "decisions": 40,
    "hands": 31,
    "limited": False,
    "choices": [
        {
            "choice": "pick_up",
            "n": 30,
            "share": {"of": 40, "share": 0.75, "low": 0.5981, "high": 0.8581},
            "lost": {"of": 28, "share": 0.5, "low": 0.3264, "high": 0.6736},
        },
        {
            "choice": "play 9 x2",
            "n": 10,
            "share": {"of": 40, "share": 0.25, "low": 0.1419, "high": 0.4019},
            "lost": None,
        },
    ],
    "items": [
        {
            "game": "7d1a54f0-8a3c-4bd1-8b3c-1c3f5a0c2f11",
            "event": 42,
            "kind": "play",
            "rank": "9",
            "count": 2,
            "bot": None,
        }
    ],
    "next": None,
}


def decision_with(service: Running, game: UUID, *, cards: int) -> Any:
    """Return the first decision of a hand that was made with so many open cards."""
    seq = 1
    while True:
        found = api(service, f"/v1/games/{game}/audit/moves/{seq}")
        saw: Any = found["saw"] if found["did"] else None
        if saw and saw["status"] == "playing":
            hand = saw["seats"][found["seat"]]["hand"]["cards"] or ()
            if len(hand) == cards:
                return found
        seq = found["last"] + 1


def test_positions_like_one_stand_beside_a_bots_opinion(visits: Visits, service: Running) -> None:
    """Same ruleset, demand and cards by rank; the panel says that likeness is no evidence."""
    decision = decision_with(service, LEEDS.game, cards=5)  # of more it would ask for their number
    saw = decision["saw"]
    page = visits.open(f"/replay/{LEEDS.game}?event={decision['first']}&why=1")
    asked = list[str]()

    def found(route: Route) -> None:
        asked.append(route.request.url)
        route.fulfill(json=ALIKE)

    page.route("**/v1/decisions?*", found)
    place = page.locator("#alike")
    place.wait_for()
    assert asked == [], "only on request"
    place.locator("summary").click()
    expect(place.locator("tbody tr").first).to_contain_text("75%")
    [query] = [parse_qs(urlsplit(url).query) for url in asked]
    ranks = [card[0] for card in saw["seats"][decision["seat"]]["hand"]["cards"]]
    assert sorted(query.pop("cards")[0].split(",")) == sorted(ranks)
    rank = saw["demand"]["rank"]
    assert query == {
        "ruleset": ["leeds"],
        "phase": ["hand"],
        "demand": [saw["demand"]["kind"]],
        **({"asked": [rank]} if rank else {}),
        "limit": ["10"],
    }
    assert (
        Client(port=service.port).get(asked[0].partition("/v1")[2].join(["/v1", ""]))["items"] == []
    )
    expect(place).to_contain_text("no evidence by itself")
    expect(place).to_contain_text("40 decisions, hands: 31")
    chances = place.locator("tbody td:last-child").all_inner_texts()
    assert any(text.endswith("%") for text in chances), "the bot's opinion"
    link = place.locator("li a")
    expect(link).to_have_text("9 × 2, event 42")
    expect(link).to_have_attribute("href", f"/replay/{ALIKE['items'][0]['game']}?event=42&why=1")
    assert faults_of(page, besides=[FAR_ROWS]) == []
    again = f"/replay/{LEEDS.game}?event={decision['first']}&why=1&alike=1"
    page.goto(again)
    expect(page.locator("#alike tbody tr").first).to_contain_text("75%")
