"""The page of the reader's own player: devices, programs, webhook, erasure; a token that ends."""

from __future__ import annotations

import re
from datetime import date
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from schemas.webhooks import SENDABLE
from tests.client import Client
from tests.running import Running
from tests.web.browsing import Visits, faults_in_every_size

pytestmark = pytest.mark.heavy


def registered(service: Running, name: str = "Ada") -> tuple[Client, dict[str, Any]]:
    """Register a player; return the client, and what a browser stores of the player."""
    client = Client(port=service.port)
    stored: dict[str, Any] = client.call("POST", "/v1/players", {"name": name}).json
    client.token = stored["token"]
    return client, stored


NO_WEBHOOK = "404"
"""What a browser logs of a player without a webhook."""


def status_with(service: Running, token: str, path: str = "/v1/players/me") -> int:
    """Return the status of a request with a token."""
    client = Client(port=service.port)
    client.token = token
    return int(client.call("GET", path).status)


def own_token(page: Page) -> str:
    """Return the token that the browser of a page stores."""
    return str(page.evaluate("JSON.parse(localStorage.getItem('shithead.player')).token"))


def test_a_second_device_is_added_plays_beside_the_first_and_is_ended(
    visits: Visits, service: Running
) -> None:
    _, stored = registered(service)
    visits.expect(NO_WEBHOOK)
    page = visits.open_as(stored, "/")
    page.get_by_role("button", name="You: Ada").click()
    page.get_by_role("link", name="Devices, programs, webhook, erase").click()
    expect(page.get_by_text("this browser", exact=True)).to_be_visible()
    page.get_by_role("button", name="Add a device").click()
    expect(page.get_by_role("img", name="QR code of this address")).to_be_visible()
    address = page.get_by_label("Address for the other device").input_value()
    assert faults_in_every_size(page) == []
    other = visits.open(address.removeprefix(visits.address), "phone")
    expect(other.get_by_role("heading", name="Play as Ada in this browser?")).to_be_visible()
    assert "#" not in other.url, "the token stays in no history"
    assert other.evaluate("localStorage.getItem('shithead.player')") is None
    assert faults_in_every_size(other) == []
    other.get_by_role("button", name="Play as Ada here").click()
    expect(other.get_by_role("button", name="You: Ada")).to_be_attached()
    expect(other.get_by_text("this browser", exact=True)).to_be_visible()
    sent = address.rpartition("=")[2]
    assert own_token(other) != sent, "whoever saw the code cannot use it any more"
    assert [status_with(service, one) for one in (stored["token"], own_token(other), sent)] == [
        200,
        200,
        401,
    ]
    page.get_by_role("button", name="Done").click()
    page.on("dialog", lambda dialog: dialog.accept())
    row = page.locator("#account-devices li", has_text="Chrome")
    row.get_by_role("button", name="End").click()
    expect(row).to_have_count(0)
    visits.expect("401")
    lost = other.locator("#lost")
    expect(lost).to_contain_text("can only watch now")  # at once: the page was not loaded again
    expect(lost).to_contain_text("add this one as a device")


def test_an_unused_address_for_a_device_ends_with_its_dialog(
    visits: Visits, service: Running
) -> None:
    _, stored = registered(service)
    visits.expect(NO_WEBHOOK)
    page = visits.open_as(stored, "/account")
    page.get_by_role("button", name="Add a device").click()
    address = page.get_by_label("Address for the other device").input_value()
    with page.expect_response(lambda one: one.request.method == "DELETE"):
        page.get_by_role("button", name="Done").click()
    expect(page.locator("#account-devices li")).to_have_count(1)
    assert status_with(service, address.rpartition("=")[2]) == 401
    visits.expect("401")
    other = visits.open(address.removeprefix(visits.address))
    expect(other.locator("#fault")).not_to_be_empty()


def test_a_program_gets_a_token_of_its_scopes_which_is_ended(
    visits: Visits, service: Running
) -> None:
    _, stored = registered(service)
    visits.expect(NO_WEBHOOK)
    page = visits.open_as(stored, "/account", "phone")
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_text("Make a token").click()
    page.get_by_label("What it is for").fill("my bot")
    page.get_by_label(re.compile("^play ")).uncheck()
    assert faults_in_every_size(page) == []
    page.get_by_role("button", name="Make the token").dblclick()
    token = page.get_by_label("Token", exact=True).input_value()
    row = page.locator("#account-programs li", has_text="my bot")
    expect(row).to_contain_text("read · until")
    assert status_with(service, token) == 200
    assert status_with(service, token, "/v1/players/me/tokens") == 403
    expect(page.locator("#account-programs li")).to_have_count(1)
    page.reload()
    assert token not in page.content()
    row.get_by_role("button", name="End").click()
    expect(page.get_by_text("No program has a token.")).to_be_visible()
    assert status_with(service, token) == 401


@pytest.mark.parametrize("place", ["Pacific/Honolulu", "Pacific/Kiritimati"])
def test_the_day_of_the_last_use_is_the_one_that_the_service_states(
    visits: Visits, service: Running, place: str
) -> None:
    """It is a day of UTC, also where the date is another one."""
    ada, stored = registered(service)
    [token] = ada.get("/v1/players/me/tokens")["items"]
    visits.expect(NO_WEBHOOK)
    page = visits.open_as(stored, "/account", timezone_id=place)
    day = date.fromisoformat(token["used_on"])
    expect(page.locator("#account-devices li")).to_contain_text(
        f"used {day:%b} {day.day}, {day:%Y}"
    )


def test_an_address_for_a_device_pressed_twice_leaves_the_browser_its_player(
    visits: Visits, service: Running
) -> None:
    """The second request has a token that has ended, and the browser keeps the new one."""
    ada, _ = registered(service)
    sent = ada.call("POST", "/v1/players/me/tokens", {"name": "phone"}).json["token"]
    visits.expect("401|ERR_ABORTED")
    page = visits.open(f"/account#device={sent}")
    page.route("**/account", lambda route: route.fulfill(status=204))  # the page stays
    button = page.get_by_role("button", name="Play as Ada here")
    for _ in range(2):
        with page.expect_response("**/players/me/tokens"):
            button.click()
    assert status_with(service, own_token(page)) == 200


def test_a_webhook_is_set_shown_and_removed(visits: Visits, service: Running) -> None:
    ada, stored = registered(service)
    visits.expect("404|422")  # none is set yet, and an address that is refused
    page = visits.open_as(stored, "/account")
    page.on("dialog", lambda dialog: dialog.accept())
    field = page.get_by_label("Address that receives events")
    field.fill("http://192.0.2.1/hook")
    page.get_by_role("button", name="Set the webhook").click()
    expect(page.locator("#fault")).not_to_be_empty()
    field.fill("https://hooks.example/shithead")
    page.get_by_text("Which events").click()
    page.get_by_label("hand_dealt").uncheck()
    page.get_by_role("button", name="Set the webhook").click()
    expect(page.get_by_label("Secret")).to_have_value(re.compile("^whsec_"))
    expect(page.locator("#account-webhook")).to_contain_text("Waiting for the first answer")
    hook = ada.get("/v1/players/me/webhook")
    assert hook["url"] == "https://hooks.example/shithead"
    assert "your_turn" in hook["types"]
    assert set(SENDABLE) - set(hook["types"]) == {"hand_dealt", "referee_wanted"}
    page.get_by_role("button", name="Remove it").click()
    expect(page.get_by_role("button", name="Set the webhook")).to_be_visible()
    assert ada.call("GET", "/v1/players/me/webhook").status == 404


def test_a_player_is_erased_only_after_the_name_is_typed(visits: Visits, service: Running) -> None:
    _, stored = registered(service)
    visits.expect(NO_WEBHOOK)
    page = visits.open_as(stored, "/account", "phone")
    erase = page.get_by_role("button", name="Erase for good")
    field = page.get_by_label("To confirm, type the name: Ada")
    for typed in ("", "ada", "Ad"):
        field.fill(typed)
        expect(erase).to_be_disabled()
    field.fill("Ada")
    erase.click()
    expect(page.get_by_role("heading", name="The player is erased")).to_be_focused()
    assert status_with(service, stored["token"]) == 401
    assert page.evaluate("localStorage.getItem('shithead.former')") is None
    page.reload()
    expect(page.get_by_text("You have no player yet")).to_be_visible()
    expect(page.locator("#lost")).to_have_count(0)
    assert faults_in_every_size(page) == []


def test_a_browser_says_at_once_that_its_player_was_recovered_elsewhere(
    visits: Visits, service: Running
) -> None:
    """Also in its other windows; it says how to go on in both browsers."""
    ada, stored = registered(service)
    page = visits.open_as(stored, "/ratings")
    second = page.context.new_page()
    second.goto(f"{visits.address}/statistics")
    second.get_by_role("button", name="You: Ada").wait_for()
    page.wait_for_timeout(500)  # the stream of the player is open
    visits.expect("401")
    assert ada.call("POST", "/v1/players/recover", {"recovery": stored["recovery"]}).status == 201
    for one in (page, second):
        notice = one.locator("#lost")
        expect(notice).to_contain_text("recovery code of Ada was used in another browser")
        expect(notice).to_contain_text("add this one as a device")
        expect(notice.get_by_role("button", name="Play as Ada here again")).to_be_visible()
