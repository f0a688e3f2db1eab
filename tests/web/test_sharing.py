"""Sharing a moment of a hand from the replay."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.client import register
from tests.running import Running
from tests.web.browsing import Visits, faults_in_every_size

pytestmark = pytest.mark.heavy


def hand(service: Running, **more: str) -> tuple[str, dict[str, object]]:
    """Return a finished hand, and its player as a browser stores it."""
    ada = register(service.port, "Ada")
    body = {"ruleset": "leeds", "seats": ["me", {"bot": "lowest"}], **more}
    game = ada.post("/v1/tables", body)["game"]
    ada.post(f"/v1/games/{game}/moves", {"type": "forfeit"})
    return str(game), {"id": "", "name": "Ada", "token": ada.token, "recovery": None}


def test_sharing_a_moment_copies_its_address_and_shows_its_picture(
    visits: Visits, service: Running
) -> None:
    game, _ = hand(service)
    page = visits.visitor().new_page()
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(f"{visits.address}/replay/{game}?event=2&as=all#invite=secret")
    page.get_by_role("button", name="Share this moment").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("status")).to_contain_text("The address is copied")
    address = f"{visits.address}/replay/{game}?event=2&as=all"
    assert page.evaluate("navigator.clipboard.readText()") == address
    picture = dialog.locator("img")
    expect(picture).to_have_attribute("src", f"/v1/games/{game}/picture.svg?at=3&as=all")
    page.wait_for_function("document.querySelector('.share img').naturalWidth > 0")
    dialog.get_by_text("Show the replay on your own page").click()
    html = dialog.get_by_label("HTML").input_value()
    assert f'<iframe src="{visits.address}/embed/{game}?event=2&as=all"' in html
    dialog.get_by_role("button", name="Copy").last.click()
    expect(dialog.get_by_role("status")).to_have_text("Copied.")
    assert page.evaluate("navigator.clipboard.readText()") == html
    assert faults_in_every_size(page) == []
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    page.goto(address)
    expect(page.locator("#position")).to_contain_text("2 / ")


def test_the_picture_of_a_shared_moment_is_in_the_language_of_the_page(
    visits: Visits, service: Running
) -> None:
    game, _ = hand(service)
    page = visits.open(f"/replay/{game}?event=2&as=all", locale="sv")
    page.locator("#share").click()
    picture = f"/v1/games/{game}/picture.svg?at=3&as=all&language=sv"
    expect(page.get_by_role("dialog").locator("img")).to_have_attribute("src", picture)
    page.wait_for_function("document.querySelector('.share img').naturalWidth > 0")


def test_a_moment_of_a_private_hand_is_shared_without_picture_frame_and_invite(
    visits: Visits, service: Running
) -> None:
    game, ada = hand(service, visibility="private")
    page = visits.open_as(ada, f"/replay/{game}?event=2&as=all#invite=secret")
    page.get_by_role("button", name="Share this moment").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("This hand was played at a private table")
    assert dialog.locator("img, textarea").count() == 0
    shared = dialog.get_by_label("Address of this moment").input_value()
    assert shared == f"{visits.address}/replay/{game}?event=2&as=all"


def test_a_running_hand_is_shared_as_everybody_sees_it(visits: Visits, service: Running) -> None:
    ada = register(service.port, "Ada")
    body = {"ruleset": "leeds", "seats": ["me", {"bot": "lowest"}]}
    game = ada.post("/v1/tables", body)["game"]
    player = {"id": "", "name": "Ada", "token": ada.token, "recovery": None}
    page = visits.open_as(player, f"/replay/{game}?event=2&as=0")
    page.get_by_role("button", name="Share this moment").click()
    shared = page.get_by_label("Address of this moment").input_value()
    assert shared.endswith(f"/replay/{game}?event=2&as=public")
