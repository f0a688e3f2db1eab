"""The lobby in a browser: who plays in it."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.web.browsing import Visits

pytestmark = pytest.mark.heavy


def test_a_player_has_a_name_before_there_is_a_player(visits: Visits) -> None:
    page = visits.open("/")
    page.get_by_role("button", name="You: Guest").click()
    page.get_by_label("Name, as others see it").fill("Ada")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("button", name="You: Ada")).to_be_visible()
    page.reload()
    expect(page.get_by_role("button", name="You: Ada")).to_be_visible()


def test_a_player_goes_on_in_another_browser_with_the_recovery_code(visits: Visits) -> None:
    first, second = visits.open("/"), visits.open("/")
    made = first.evaluate(
        """fetch("/v1/players", {method: "POST", body: '{"name": "Ada"}',
            headers: {"Content-Type": "application/json"}}).then((answer) => answer.json())"""
    )
    second.get_by_role("button", name="You: Guest").click()
    second.get_by_text("Play on as a player you have already").click()
    second.get_by_label("Recovery code").fill(made["recovery"])
    second.get_by_role("button", name="Recover").click()
    expect(second.get_by_role("button", name="You: Ada")).to_be_visible()
    assert made["token"] not in second.evaluate("JSON.stringify(localStorage)")
    assert made["id"] in second.evaluate("localStorage.getItem('shithead.player')")
