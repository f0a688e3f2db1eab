"""Invitations, the next hand by itself, and blocks in a browser, between two people."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Dialog, expect

from tests.client import registered
from tests.running import Running
from tests.web.browsing import Visits, faults_in_every_size

pytestmark = pytest.mark.heavy

NEXT = "[data-next]"


def test_an_invited_player_sits_down_and_the_hands_follow_by_themselves(
    visits: Visits, service: Running
) -> None:
    (ada, her), (_, him) = registered(service.port, "Ada"), registered(service.port, "Bob")
    body = {"ruleset": "leeds", "seats": ["me", "open"], "visibility": "private"}
    more = {"deal": "always", "invited": [him["id"]]}
    table = ada.call("POST", "/v1/tables", {**body, **more}).json
    host = visits.open_as(her, f"/tables/{table['id']}", "phone")
    expect(host.get_by_text("Bob is invited.")).to_be_visible()
    assert faults_in_every_size(host) == []
    guest = visits.open_as(him, "/", "phone")
    expect(guest.get_by_text("Ada invites you")).to_be_visible()
    guest.get_by_role("button", name="Sit down").click()
    guest.get_by_role("button", name="Ready").wait_for()
    game = ada.call("GET", f"/v1/tables/{table['id']}").json["game"]
    ada.call("POST", f"/v1/games/{game}/moves", {"type": "forfeit"})
    expect(guest.locator(NEXT)).to_have_text(re.compile(r"^Next hand in \d s$"))
    guest.get_by_role("button", name="Pause").click()
    expect(guest.locator(NEXT)).to_have_text("Paused by Bob.")
    expect(host.locator(NEXT)).to_have_text("Paused by Bob.")
    assert faults_in_every_size(guest) == []
    guest.get_by_role("button", name="Go on").click()
    for page in (host, guest):
        expect(page.get_by_role("button", name="Ready")).to_be_visible(timeout=20_000)
    assert guest.url != f"{visits.address}/play/{game}"


def test_a_player_whose_opponent_left_opens_a_new_table_for_both(
    visits: Visits, service: Running
) -> None:
    (ada, her), (bob, _) = registered(service.port, "Ada"), registered(service.port, "Bob")
    table = ada.call("POST", "/v1/tables", {"ruleset": "leeds", "seats": ["me", "open"]}).json["id"]
    game = bob.call("POST", f"/v1/tables/{table}/seats", {"seat": None}).json["game"]
    ada.call("POST", f"/v1/games/{game}/moves", {"type": "forfeit"})
    bob.call("DELETE", f"/v1/tables/{table}/seats/me")
    page = visits.open_as(her, f"/play/{game}", "phone")
    page.get_by_role("button", name="New table, same players").click()
    page.wait_for_url("**/tables/*")
    assert table not in page.url
    expect(page.get_by_text("Bob is invited.")).to_be_visible()


def test_a_block_from_the_lobby_hides_the_invitation_and_ends_in_the_dialog(
    visits: Visits, service: Running
) -> None:
    (ada, _), (client, him) = registered(service.port, "Ada"), registered(service.port, "Bob")
    body = {"ruleset": "leeds", "seats": ["me", "open"], "visibility": "private"}
    ada.call("POST", "/v1/tables", {**body, "invited": [him["id"]]})
    page = visits.open_as(him, "/", "desktop")
    sure, said = [False, True, True], list[str]()

    def answer(asked: Dialog) -> None:
        said.append(asked.message)
        if sure.pop(0):
            asked.accept()
        else:
            asked.dismiss()

    page.on("dialog", answer)
    page.get_by_role("button", name="Block", exact=True).click()
    expect(page.get_by_text("Ada invites you")).to_be_visible()
    client.token = him["token"]
    assert client.call("GET", "/v1/players/me/blocks").json["items"] == []
    page.get_by_role("button", name="Block", exact=True).click()
    expect(page.get_by_text("Ada invites you")).to_be_hidden()
    assert said[2].startswith("Ada is blocked: no invitation will seat the two of you together.")
    page.get_by_role("button", name="You: Bob").click()
    page.get_by_text("Your handle, by which others find you").click()
    page.get_by_text("Players you block").click()
    expect(page.get_by_role("dialog").get_by_text("Ada")).to_be_visible()
    assert faults_in_every_size(page) == []
    page.get_by_role("button", name="End").click()
    expect(page.get_by_text("You block no players")).to_be_visible()
