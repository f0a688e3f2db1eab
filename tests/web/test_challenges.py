"""Challenges in a browser: between two people, one of whom was found by a handle."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from tests.client import Client
from tests.running import Running
from tests.web.browsing import Visits, faults_in_every_size

pytestmark = pytest.mark.heavy


def player(service: Running, name: str) -> tuple[Client, dict[str, Any]]:
    """Register a player; return the client, and what a browser stores of the player."""
    client = Client(port=service.port)
    registered: dict[str, Any] = client.call("POST", "/v1/players", {"name": name}).json
    client.token = registered["token"]
    return client, registered


def test_a_player_is_found_by_handle_challenged_and_accepts(
    visits: Visits, service: Running
) -> None:
    """Each answer needs one press, and the challenger is led to the table."""
    (ada, her), (_, him) = player(service, "Ada"), player(service, "Bob")
    guest = visits.open_as(him, "/", "desktop")
    guest.get_by_role("button", name="You: Bob").click()
    guest.get_by_text("Your handle, by which others find you").click()
    guest.get_by_label("Your handle, by which others find you").fill("Bob-N")
    guest.get_by_role("button", name="Choose", exact=True).click()
    expect(guest.get_by_text("Your handle is bob-n.")).to_be_visible()
    guest.get_by_role("button", name="Close").click()
    host = visits.open_as(her, "/", "phone")
    expect(host.get_by_role("button", name="Challenge", exact=True)).to_be_enabled()
    host.get_by_label("Handle of the player").fill("bob")
    expect(host.locator("#challenge-found option")).to_have_attribute("value", "bob-n")
    host.get_by_label("Handle of the player").fill("bob-n")
    host.get_by_role("button", name="Challenge", exact=True).click()
    expect(host.get_by_text("Waiting for Bob (bob-n) to answer")).to_be_visible()
    body = {"ruleset": "leeds", "seats": ["me", "open"], "visibility": "private"}
    ada.call("POST", "/v1/tables", {**body, "invited": [him["id"]]})
    expect(guest.get_by_text("Ada challenges you")).to_be_visible(timeout=20_000)
    expect(guest.get_by_text("Ada invites you")).to_be_visible()
    assert faults_in_every_size(guest) == []
    guest.get_by_role("button", name="Accept").click()
    for page in (guest, host):
        page.wait_for_url("**/play/*")
        expect(page.get_by_role("button", name="Ready")).to_be_visible(timeout=20_000)


def test_a_challenge_from_the_page_of_ratings_is_declined(visits: Visits, service: Running) -> None:
    (_, her), (bob, him) = player(service, "Ada"), player(service, "Bob")
    host = visits.open_as(her, f"/?challenge={him['id']}", "desktop")
    expect(host.get_by_label("Handle of the player")).to_have_value("Bob")
    host.get_by_role("button", name="Challenge", exact=True).click()
    expect(host.get_by_text("Waiting for Bob to answer")).to_be_visible()
    [asked] = bob.call("GET", "/v1/challenges").json["received"]
    assert asked["visibility"] == "public"
    guest = visits.open_as(him, "/", "desktop")
    guest.get_by_role("button", name="Decline").click()
    expect(guest.locator("#challenges")).to_be_hidden()
    expect(host.get_by_text("Bob declined.")).to_be_visible(timeout=20_000)
    visits.expect("422")
    host.get_by_label("Handle of the player").fill("nobody-here")
    host.get_by_role("button", name="Challenge", exact=True).click()
    expect(host.locator("#fault")).to_contain_text("there is no such other player")
