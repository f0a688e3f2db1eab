"""The page of a table as an invitation: what a guest reads, and how the host sends it."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.client import Client
from tests.running import Running
from tests.web.browsing import Visits, faults_in_every_size

pytestmark = pytest.mark.heavy

SHARE = "navigator.share = (what) => { window.shared = what; return Promise.resolve(); }"
"""A script that notes what is passed to the share sheet, which no headless browser has."""

DRAWN = """(svg) => {
    const { width } = svg.viewBox.baseVal;
    return [width, svg.querySelector("path").getAttribute("d").match(/M/g).length];
}"""


def host_of_a_private_table(service: Running) -> tuple[Client, dict[str, Any], str]:
    """Return a host, what the host's browser stores, and the path with the invite."""
    ada = Client(port=service.port)
    stored: dict[str, Any] = ada.call("POST", "/v1/players", {"name": "Ada"}).json
    ada.token = stored["token"]
    body = {"ruleset": "leeds", "seats": ["me", "open", "open"], "visibility": "private"}
    table = ada.post("/v1/tables", body)
    return ada, stored, f"/tables/{table['id']}#invite={table['invite']}"


def test_a_friend_is_invited_sits_down_and_the_host_fills_the_rest_with_bots(
    visits: Visits, service: Running
) -> None:
    _, stored, path = host_of_a_private_table(service)
    host = visits.open_as(stored, path, "phone")
    expect(host.get_by_role("heading", name="Invite friends")).to_be_visible()
    host.locator(".guests").wait_for(state="attached")  # drawn anew once the invitations are there
    assert faults_in_every_size(host) == []
    guest = visits.open(f"{path}&from=Mallory", "phone")
    expect(guest.locator("h1")).to_have_text("Ada invites you to a hand of Shithead")
    expect(guest.get_by_text("No account needed")).to_be_visible()
    expect(guest.get_by_text("Whoever is left with cards is the shithead.")).to_be_visible()
    expect(guest.locator("main")).not_to_contain_text("Mallory")
    sit = guest.get_by_role("button", name="Sit down")
    first = guest.locator("main button").first
    assert first.evaluate("(one) => one.textContent") == "Sit down"
    box = sit.bounding_box()
    assert box is not None and box["width"] > 250 and box["height"] >= 56
    assert faults_in_every_size(guest) == []
    sit.click()
    expect(host.get_by_text("Waiting for 1 more player.")).to_be_visible()
    host.get_by_role("button", name="Fill with bots and deal").click()
    for page in (host, guest):
        page.get_by_role("button", name="Ready").wait_for()
        expect(page.locator("#others .seat", has_text="Greedy")).to_be_visible()


def test_the_host_sends_the_address_by_the_system_as_text_and_as_a_code(
    visits: Visits, service: Running
) -> None:
    _, stored, path = host_of_a_private_table(service)
    page = visits.visitor().new_page()
    page.add_init_script(SHARE)
    page = visits.open_as(stored, path, page=page)
    page.get_by_role("button", name="Send to …").click()
    address = page.get_by_label("Share this address").input_value()
    assert address == f"{visits.address}{path}"
    shared = page.evaluate("shared")
    assert shared == {"title": "You are invited to a hand of Shithead", "url": address}
    code = page.get_by_role("img", name="QR code of this address")
    width, dark = code.evaluate(DRAWN)
    sides = int(width) - 8  # without the quiet zone of four modules on each side
    assert sides >= 21 and (sides - 17) % 4 == 0  # a version of the standard
    assert 0.4 < dark / sides**2 < 0.6  # a mask balances dark and light


def test_a_player_without_the_right_to_fill_seats_is_not_offered_it(
    visits: Visits, service: Running
) -> None:
    _, _, path = host_of_a_private_table(service)
    guest = visits.open(path)
    guest.get_by_role("button", name="Sit down").click()
    guest.get_by_role("button", name="Leave the table").wait_for()
    expect(guest.get_by_role("heading", name="Invite friends")).to_be_visible()
    expect(guest.get_by_role("button", name="Fill with bots and deal")).to_have_count(0)
    expect(guest).to_have_title(re.compile("A table of Leeds"))
