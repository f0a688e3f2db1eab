"""Challenges in a browser: between two people, one of whom was found by a handle."""

from __future__ import annotations

from uuid import UUID

import pytest
from playwright.sync_api import Route, expect

from tests.client import registered
from tests.running import Running
from tests.web.browsing import Visits, faults_in_every_size

pytestmark = pytest.mark.heavy


def test_a_player_is_found_by_handle_challenged_and_accepts(
    visits: Visits, service: Running
) -> None:
    """Each answer needs one press, and the challenger is led to the table."""
    (ada, her), (_, him) = registered(service.port, "Ada"), registered(service.port, "Bob")
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
    (_, her), (bob, him) = registered(service.port, "Ada"), registered(service.port, "Bob")
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


def test_a_player_who_comes_back_learns_how_challenges_ended_until_closed(
    visits: Visits, service: Running
) -> None:
    """Nearly two days later; the server deletes a challenge a day after its term."""
    _, her = registered(service.port, "Ada")
    ends = {"Bob": "declined", "Cleo": "expired", "Dan": "accepted", "Eve": "withdrawn"}
    made = [
        {
            "id": str(UUID(int=number)),
            "challenger": {"id": her["id"], "name": "Ada", "handle": None},
            "player": {"id": str(UUID(int=number)), "name": name, "handle": None},
            "status": status,
            "ruleset": "leeds",
            "visibility": "public",
            "created_at": "2026-01-01T10:00:00.000Z",
            "expires_at": "2026-01-02T10:00:00.000Z",
        }
        for number, (name, status) in enumerate(ends.items())
    ]
    page = visits.page()
    page.route(
        "**/v1/challenges",
        lambda route: route.fulfill(json={"received": [], "sent": made, "next": None}),
    )
    visits.open_as(her, "/", page=page)
    rows = page.locator("#challenges li")
    expect(rows).to_contain_text(
        ["Bob declined.", "Cleo did not answer in time.", "Dan accepted your challenge."]
    )
    for name in ("Bob", "Cleo"):
        rows.filter(has_text=name).get_by_role("button", name="Close").click()
        expect(rows.filter(has_text=name)).to_have_count(0)
    page.reload()
    expect(rows).to_have_count(1)
    opened = f"**/v1/tables/{made[2]['id']}"
    page.route(opened, lambda route: route.fulfill(json={"id": made[2]["id"], "game": None}))
    visits.expect("404")
    rows.get_by_role("button", name="Open").click()
    page.wait_for_url(f"**/tables/{made[2]['id']}")
    page.goto("/")
    expect(page.get_by_role("button", name="Challenge", exact=True)).to_be_enabled()
    expect(page.locator("#challenges")).to_be_hidden()


def test_a_handle_typed_before_the_script_listens_proposes_players(
    visits: Visits, service: Running
) -> None:
    (_, her), (bob, _) = registered(service.port, "Ada"), registered(service.port, "Bob")
    bob.call("PUT", "/v1/players/me/handle", {"handle": "bob-early"})
    page = visits.page()
    visits.open_as(her, "/", page=page)
    held: list[Route] = []
    page.route("**/app/lobby.js", lambda route: held.append(route))
    page.reload(wait_until="commit")
    page.locator("#challenge-who").evaluate("(field) => { field.value = 'bob-e'; }")
    page.wait_for_timeout(100)
    held[0].continue_()
    expect(page.locator("#challenge-found option")).to_have_attribute("value", "bob-early")


def test_what_is_typed_before_a_linked_player_is_known_stays(
    visits: Visits, service: Running
) -> None:
    (_, her), (bob, him) = registered(service.port, "Ada"), registered(service.port, "Bob")
    bob.call("PUT", "/v1/players/me/handle", {"handle": "bob-linked"})
    page = visits.page()
    held: list[Route] = []
    page.route("**/v1/players?ids=*", lambda route: held.append(route))
    visits.open_as(her, f"/?challenge={him['id']}", page=page)
    page.get_by_label("Handle of the player").fill("bob-l")
    expect(page.locator("#challenge-found option")).to_have_attribute("value", "bob-linked")
    held[0].continue_()
    expect(page.get_by_role("button", name="Challenge", exact=True)).to_be_enabled()
    expect(page.get_by_label("Handle of the player")).to_have_value("bob-l")
