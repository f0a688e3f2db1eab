"""Two loads into one place of a page: the answer to the earlier one, if last, is not drawn."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from tests.client import Client, open_table, register
from tests.running import Running, wait_for
from tests.web.browsing import Visits
from tests.web.samples import Sample, enter, samples

pytestmark = pytest.mark.heavy

LATE = "Latecomer"
PLAYER = "01990000-0000-7000-8000-000000000001"
SEAT = {"seat": 0, "kind": "human", "player": None, "name": LATE, "bot": None}


class Held:
    """The first request that matches is held, and answered last; later ones pass."""

    def __init__(self, page: Page, pattern: str) -> None:
        self._page = page
        self._route: Route | None = None
        self.passed = 0
        page.route(pattern, self._take)

    def _take(self, route: Route) -> None:
        if self._route is None:
            self._route = route
        else:
            self.passed += 1
            route.continue_()

    def wait(self, *, passed: int = 0) -> None:
        """Wait until the first request is held and so many others have passed."""

        def is_there() -> bool:
            self._page.wait_for_timeout(20)
            return self._route is not None and self.passed >= passed

        wait_for(is_there, seconds=20)

    def release(self, body: object) -> None:
        """Answer the first request, and let the page draw what it draws."""
        assert self._route is not None
        self._route.fulfill(json=body)
        self._page.wait_for_timeout(300)


def stored(service: Running, name: str = "Ada") -> tuple[Any, dict[str, object]]:
    """Return a new player, and what a browser stores of the player."""
    client = register(service.port, name)
    me = client.get("/v1/players/me")
    return client, {"id": me["id"], "name": name, "token": client.token, "recovery": None}


@pytest.fixture(scope="module")
def finished(service: Running) -> Sample:
    """Return a finished hand of the service."""
    sample = next(one for one in samples() if one.name == "leeds-forfeit")
    enter(str(service.settings.database_url), service.port, (sample,))
    return sample


def rating(name: str) -> dict[str, object]:
    figures = {"rank": 1, "rating": 9.0, "mu": 9.0, "sigma": 1.0, "hands": 3}
    return {"player": PLAYER, "bot": None, "name": name, "provisional": False, **figures}


def test_the_ratings_of_the_ruleset_that_was_chosen_last_are_shown(visits: Visits) -> None:
    page = visits.open("/ratings?ruleset=leeds")
    page.locator("#ratings > *").first.wait_for()
    held = Held(page, "**/v1/ratings?*")
    for ruleset in ("shithead", "reverse"):
        page.locator("#ruleset").select_option(ruleset)
    held.wait(passed=1)
    held.release({"items": [rating(LATE)], "next": None})
    expect(page.locator("#ratings")).not_to_contain_text(LATE)


def test_the_form_describes_the_ruleset_that_was_chosen_last(
    visits: Visits, service: Running
) -> None:
    """Its options, and how its rules differ from those that the reader knows."""
    ruleset = Client(port=service.port).get("/v1/rulesets/shithead")
    offered = [name for name, option in ruleset["options"].items() if option["values"]]
    page = visits.open("/")
    page.locator("#more > summary").click()
    held = Held(page, "**/v1/rulesets/reverse/differences?*")
    for chosen in ("reverse", "shithead"):
        page.locator("#ruleset").select_option(chosen)
    held.wait()
    expect(page.locator("#about-ruleset")).to_contain_text("These are the rules you know.")
    held.release({"items": [{"text": LATE, "rule": None}]})
    expect(page.locator("#about-ruleset")).not_to_contain_text(LATE)
    options = page.locator("#options [data-option]")
    assert [one.get_attribute("data-option") for one in options.all()] == offered


def test_a_second_press_on_more_ratings_adds_no_rows_twice(visits: Visits) -> None:
    page = visits.page()
    first = {"items": [rating("Ada")], "next": "1"}
    page.route("**/v1/ratings?ruleset=leeds", lambda route: route.fulfill(json=first))
    page.goto("/ratings?ruleset=leeds")
    page.get_by_role("cell", name="Ada").wait_for()
    held = Held(page, "**/v1/ratings?*cursor=1")
    page.locator("#ratings > button").evaluate("(more) => { more.click(); more.click(); }")
    held.wait()
    held.release({"items": [rating("Bob")], "next": None})
    expect(page.get_by_role("cell", name="Bob")).to_have_count(1)
    assert held.passed == 0


def test_a_list_of_disputes_whose_filter_went_and_came_back_is_the_newest(
    visits: Visits, service: Running
) -> None:
    page = visits.open("/disputes")
    filters = page.locator("label select")
    filters.wait_for()
    held = Held(page, "**/v1/disputes?*state=ruled*")
    for state in ("ruled", "open", "ruled"):
        filters.select_option(state)
    held.wait(passed=1)
    opened = {"id": PLAYER, "charge": "time", "accused": 0, "state": "ruled"}
    times = {"opened_at": "2026-11-01T00:00:00Z"}
    held.release({"items": [{**opened, **times}], "next": None})
    expect(page.locator(f'a[href="/disputes/{PLAYER}"]')).to_have_count(0)


def test_a_read_of_a_dispute_does_not_undo_what_the_reader_did_meanwhile(
    visits: Visits, service: Running
) -> None:
    ada, me = stored(service)
    game = open_table([ada], ruleset="leeds", bots=("lowest",))
    ada.post(f"/v1/games/{game}/moves", {"type": "forfeit"})
    body = {"accused": None, "seq": 0, "charge": "wrong_deal", "statement": "The deal."}
    dispute = ada.post(f"/v1/games/{game}/disputes", body)
    page = visits.visitor().new_page()
    page.clock.install()
    visits.open_as(me, f"/disputes/{dispute['id']}", page=page)
    page.locator("textarea").fill("I saw it.")
    held = Held(page, f"**/v1/disputes/{dispute['id']}")
    before = ada.get(f"/v1/disputes/{dispute['id']}")
    page.clock.run_for(10_000)
    held.wait()
    page.get_by_role("button", name="Add the statement").click()
    expect(page.locator(".statements li")).to_have_count(2)
    held.release(before)
    expect(page.locator(".statements li")).to_have_count(2)


GAME = {
    "id": PLAYER, "ruleset": {"id": "leeds"}, "status": "playing", "hand": 1, "seats": [SEAT],
    "your_turn": True, "result": None, "created_at": "2026-11-01T00:00:00Z",
}  # fmt: skip
TABLE = {"id": PLAYER, "ruleset": {"id": "leeds"}, "seats": [SEAT, {**SEAT, "kind": "open"}]}
INVITATION = {"table": PLAYER, "host": PLAYER, "name": LATE, "ruleset": "leeds"}
CONCERN = {"id": PLAYER, "state": "open", "you": None, "deadline": None, "voting_from": None}

LISTS = [
    ("**/v1/games?status=ended&limit=8", "#recent", GAME),
    ("**/v1/games?player=me*", "#own-list", GAME),
    ("**/v1/tables?status=open*", "#tables", {**TABLE, "as": None}),
    ("**/v1/players/me/invitations", "#invited-list", INVITATION),
    ("**/v1/disputes?mine=true*", "#disputes", CONCERN),
]


@pytest.mark.parametrize(("pattern", "place", "item"), LISTS)
def test_a_list_of_the_lobby_is_not_replaced_by_an_older_one(
    visits: Visits, service: Running, pattern: str, place: str, item: dict[str, object]
) -> None:
    _, me = stored(service)
    page = visits.open_as(me, "/")
    expect(page.locator(".filling")).to_have_count(0)
    before = page.locator(place).inner_html()
    held = Held(page, pattern)
    for passed in (0, 1):
        page.evaluate("dispatchEvent(new Event('online'))")
        held.wait(passed=passed)
    page.wait_for_timeout(300)
    fresh = page.locator(place).inner_html()
    held.release({"items": [item], "next": None})
    assert page.locator(place).inner_html() == fresh, before


def test_a_block_that_was_ended_does_not_come_back(visits: Visits, service: Running) -> None:
    _, me = stored(service)
    page = visits.open_as(me, "/")
    page.locator("#account").click()
    blocks = page.get_by_role("dialog").locator("details", has_text="block").first
    held = Held(page, "**/v1/players/me/blocks")
    for passed in (0, 0, 1):
        blocks.locator("summary").click()
        held.wait(passed=passed)
    held.release({"items": [{"player": PLAYER, "name": LATE}]})
    expect(blocks).not_to_contain_text(LATE)


def test_the_guests_of_a_table_are_those_of_the_newest_answer(
    visits: Visits, service: Running
) -> None:
    ada, me = stored(service)
    seats = ["me", "open", "open"]
    table = ada.post("/v1/tables", {"ruleset": "leeds", "seats": seats})["id"]
    page = visits.page()
    held = Held(page, "**/invitations")
    visits.open_as(me, f"/tables/{table}", page=page)
    held.wait()
    register(service.port, "Bob").post(f"/v1/tables/{table}/seats", {"seat": None})
    held.wait(passed=1)
    page.wait_for_timeout(300)
    held.release({"items": [{"player": PLAYER, "name": LATE, "status": "open"}]})
    expect(page.locator("#table")).not_to_contain_text(LATE)


def test_a_note_that_was_kept_does_not_vanish(
    visits: Visits, service: Running, finished: Sample
) -> None:
    _, me = stored(service)
    page = visits.page()
    page.route("**/notes", lambda route: route.continue_())
    visits.open_as(me, f"/replay/{finished.game}?event=9&why=1", page=page)
    field = page.get_by_label("Your note")
    field.wait_for()
    held = Held(page, "**/notes")
    for passed, text in enumerate(("First.", "Second.")):
        field.fill(text)
        page.get_by_role("button", name="Keep the note").click()
        held.wait(passed=passed)
    expect(page.locator("#rows .noted")).to_have_count(1)
    held.release({"items": []})
    expect(page.locator("#rows .noted")).to_have_count(1)


def test_a_decision_that_was_asked_for_before_the_end_is_asked_for_again(
    visits: Visits, service: Running
) -> None:
    """Before the seal the answer hides what the seat of another player could do."""
    ada, me = stored(service)
    game = open_table([ada], ruleset="leeds", bots=("lowest",))
    ada.post(f"/v1/games/{game}/moves", {"type": "ready"})
    own = ada.get(f"/v1/games/{game}")["as"]

    def by_the_bot() -> list[int]:
        log = ada.get(f"/v1/games/{game}/events")["items"]
        return [one["seq"] for one in log if one["by"] == 1 - own]

    wait_for(by_the_bot, seconds=20)
    seq = by_the_bot()[0]
    hidden = ada.get(f"/v1/games/{game}/audit/moves/{seq}")
    assert hidden["legal"] is None
    page = visits.page()
    held = Held(page, f"**/audit/moves/{seq}")
    visits.open_as(me, f"/replay/{game}?event={seq}&why=1", page=page)
    held.wait()
    ada.post(f"/v1/games/{game}/moves", {"type": "forfeit"})
    expect(page.locator("#as option")).to_have_count(4)
    held.release(hidden)
    expect(page.locator("#why")).to_contain_text("could do")


def test_the_names_of_a_record_are_not_those_of_the_file_before(
    visits: Visits, finished: Sample
) -> None:
    """The first file takes longer to read than the second, and has stored receipts."""
    first, second = (finished, next(one for one in samples() if one.name == "shithead"))
    page = visits.visitor().new_page()
    key = f"shithead.receipts.{first.game}"
    slow = """([key, size]) => {
        localStorage.setItem(key, JSON.stringify(["none"]));
        const real = Blob.prototype.arrayBuffer;
        Blob.prototype.arrayBuffer = async function () {
            if (this.size !== size) return real.call(this);
            await new Promise((done) => { globalThis.readOn = done; });
            return real.call(this);
        };
    }"""
    page.goto(f"{visits.address}/verify")
    bodies = [b"".join(line + b"\n" for line in one.lines) for one in (first, second)]
    page.evaluate(slow, [key, len(bodies[0])])
    place = page.locator("#file")
    for name, body in zip(("first", "second"), bodies, strict=True):
        place.set_input_files(
            {"name": f"{name}.jsonl", "mimeType": "application/json", "buffer": body}
        )
    expect(page.locator("#name")).to_have_text("second.jsonl")
    page.locator("#verdict h2").wait_for()
    page.evaluate("readOn()")
    page.wait_for_timeout(300)
    assert page.locator("#stored").inner_text() == ""


def test_a_reason_that_comes_late_is_not_shown_for_other_cards(
    visits: Visits, service: Running
) -> None:
    ada, me = stored(service)
    game = open_table([ada], ruleset="leeds", bots=("lowest",))
    own = ada.get(f"/v1/games/{game}")["as"]
    ada.post(f"/v1/games/{game}/moves", {"type": "ready"})

    wait_for(lambda: ada.get(f"/v1/games/{game}")["turn"] == own, seconds=30)
    page = visits.visitor().new_page()
    visits.open_as(me, f"/play/{game}", page=page)
    held = Held(page, "**/reasons?*")
    module = page.evaluate_handle(
        "() => import(performance.getEntriesByType('resource')"
        ".map(({ name }) => name).find((name) => /table_transport/.test(name)))"
    )
    page.wait_for_timeout(500)
    hand = ada.get(f"/v1/games/{game}")["seats"][own]["hand"]["cards"]
    for passed, card in enumerate(hand[:2]):
        module.evaluate("({ askWhy }, card) => { askWhy([card]); }", card)
        held.wait(passed=passed)
    page.wait_for_timeout(300)
    late = {"rules": ["L8"], "code": None, "values": None, "text": LATE, "legal": False}
    held.release(late)
    expect(page.locator("#felt")).not_to_contain_text(LATE)
