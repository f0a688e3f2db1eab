"""Two strangers who met through a seek, of whom one walks away: what the other one sees."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.client import Client, registered
from tests.running import Running
from tests.web.browsing import Visits, faults_of

pytestmark = pytest.mark.heavy

CLOCK = {"turn_seconds": 8, "swap_seconds": 60, "reserve_seconds": 6}


def met(visits: Visits, ada: Client, her: dict[str, Any], bob: Client) -> tuple[Page, str]:
    """Let Ada join the seek of Bob, who is ready at once; return her page and the hand."""
    conditions = {"rulesets": ["leeds"], "seats": 2, "clock": CLOCK}
    seek = bob.call("POST", "/v1/seeks", conditions).json["id"]
    page = visits.open_as(her, "/", "phone")
    offer = page.locator("#seek-others li").filter(has_text="0:08 a turn, 0:06 in reserve")
    expect(offer).to_contain_text("1 is new, or leaves some hands")
    offer.get_by_role("button", name="Join").click()
    page.wait_for_url("**/play/*")
    game = page.url.rpartition("/")[2]
    for one in (bob, ada):
        one.call("POST", f"/v1/games/{game}/moves", {"type": "ready"})
    assert bob.call("GET", f"/v1/seeks/{seek}").json["status"] == "matched"
    return page, game


def give_turn(ada: Client, game: str) -> dict[str, Any]:
    """Let Ada play until Bob is on turn or away; return her view."""
    while True:
        seen: dict[str, Any] = ada.call("GET", f"/v1/games/{game}").json
        if not seen["moves"] or seen["seats"][1 - seen["as"]]["stand_in"]:
            return seen
        ada.call("POST", f"/v1/games/{game}/moves", seen["moves"][0])


def test_who_stays_sees_the_turn_the_reserve_the_time_out_and_the_stand_in(
    visits: Visits, service: Running
) -> None:
    """The reserve is there once: the second turn of who walked away ends with its own seconds."""
    visits.expect("409")  # a seek that was matched is not renewed
    (ada, her), (bob, _) = registered(service.port, "Ada"), registered(service.port, "Bob")
    page, game = met(visits, ada, her, bob)
    give_turn(ada, game)
    clock = page.locator(".seat.turn [data-clock]")
    expect(clock).to_have_text(re.compile(r"^0:0[0-8] \+ 0:0[56]$"), timeout=20_000)
    expect(clock).to_have_text(re.compile(r"^0:0[1-6] in reserve$"), timeout=20_000)
    assert faults_of(page) == []
    late = page.locator("#log li").filter(has_text="Bob ran out of time")
    expect(late).to_have_count(1, timeout=30_000)
    if ada.call("GET", f"/v1/games/{game}").json["moves"]:
        expect(page.locator("#own [data-clock]")).to_be_visible()
    seen = give_turn(ada, game)
    assert seen["reserve_from"] is None
    expect(clock).to_have_text(re.compile(r"^0:0[0-8]$"), timeout=20_000)
    badge = page.locator('.seat abbr[title="a bot stands in"]')
    expect(badge).to_be_visible(timeout=30_000)
    assert give_turn(ada, game)["seats"][1 - seen["as"]]["reserve_seconds"] == 0


def test_a_seeker_asks_for_players_who_stay_and_is_counted_alone_until_one_comes(
    visits: Visits, service: Running
) -> None:
    """A newcomer's seek agrees in all but that; the lobby of a third one shows the condition."""
    (ada, her), (bob, _) = registered(service.port, "Ada"), registered(service.port, "Bob")
    page = visits.open_as(her, "/", "phone")
    expect(page.locator("#seek-seats option")).to_have_count(6)  # two or three, and 2 to 6
    page.locator("#seek-seats").select_option("2")
    page.get_by_label("Only with players who stay").check()
    page.get_by_role("button", name="Find players").click()
    page.get_by_role("button", name="Cancel").wait_for()
    [seek] = ada.call("GET", "/v1/seeks").json["mine"]
    assert (seek["only_stayers"], seek["standing"]) == (True, "mixed")
    alone = re.compile(r"^1 of 2, bots in")
    expect(page.locator("#seek-count")).to_have_text(alone)
    same = {name: seek[name] for name in ("rulesets", "seats", "clock", "entropy")}
    bob.call("POST", "/v1/seeks", {**same, "fill_with_bots_after": None})
    page.reload()
    expect(page.locator("#seek-count")).to_have_text(alone)
    other = visits.open("/")
    offer = other.locator("#seek-others li").filter(has_text="Only with players who stay")
    expect(offer.first).to_contain_text("Normal: 1 min a turn + 3 min")
    assert faults_of(other) == []
