"""A dispute walked in browsers: each person finds the next step on the first screen."""

from __future__ import annotations

import random

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.client import Client, open_table, play_on, register
from tests.examples import is_long
from tests.running import Running
from tests.web.browsing import Visits
from tests.web.test_disputes import move_of, page_of

pytestmark = pytest.mark.heavy

REASON = "The pile had a higher card."


def found(page: Page, step: Locator) -> Locator:
    """Return the element of the next step, which is on the first screen of the page."""
    expect(step.first).to_be_in_viewport(ratio=0.9, timeout=15_000)
    return step.first


def concern(page: Page, words: str) -> None:
    """Follow the mark in the bar of any page, and the row that says what awaits the player."""
    page.goto("/ratings")
    found(page, page.get_by_role("link", name="1 dispute concerns you")).click()
    heading = page.get_by_role("heading", name="Disputes that concern you")
    row = page.locator("section", has=heading).locator(".row")
    expect(row).to_contain_text(words, timeout=15_000)
    found(page, row.locator("a")).click()
    expect(page.locator(".now")).to_be_visible()


def step(page: Page, words: str) -> Locator:
    """Return a step of *What to do now*."""
    return found(page, page.locator(".now").get_by_text(words))


def offer(page: Page, path: str) -> None:
    """Offer to judge, from the list of disputes."""
    page.goto("/disputes")
    found(page, page.locator(f"#court a[href='{path}']")).click()
    step(page, "You can judge this dispute").click()
    found(page, page.get_by_role("button", name="Offer to judge")).click()
    expect(page.locator("#court-panel")).to_contain_text("(You)")


def vote(page: Page, choice: str, *, sealed: bool) -> None:
    """Vote, from the row of what concerns the player."""
    concern(page, "Your vote is awaited")
    step(page, "Read the findings").click()
    found(page, page.locator("#ballot input[name=vote]"))
    page.locator("#ballot").get_by_label(choice).check()
    page.get_by_label("Reason").fill(REASON)
    page.get_by_label("Seal it in this browser").set_checked(sealed)
    page.get_by_role("button", name="Vote", exact=True).click()
    expect(page.get_by_role("button", name="Vote", exact=True)).to_have_count(0)


def opened(page: Page, game: str, seq: int) -> str:
    """Open a dispute from the replay room, and return the path of its page."""
    page.goto(f"/replay/{game}?event={seq}")
    found(page, page.locator(f"#dispute[href$='event={seq}']")).click()
    found(page, page.locator("label", has_text="Charge").locator("select"))
    page.get_by_label("Statement").fill("This card does not fit.")
    page.get_by_role("button", name="Look it over").click()
    found(page, page.get_by_role("button", name="Open the dispute")).click()
    page.wait_for_url("**/disputes/*-*")
    step(page, "Add a statement")
    found(page, page.get_by_role("button", name="Withdraw the dispute"))
    return f"/disputes/{page.url.rsplit('/', 1)[1]}"


def appealed(page: Page) -> None:
    """Appeal as the accused, from the row of what concerns the player."""
    page.on("dialog", lambda dialog: dialog.accept())
    concern(page, "You lost, and can appeal")
    step(page, "You lost this ruling").click()
    found(page, page.get_by_role("button", name="Appeal")).click()
    step(page, "The ruling was appealed")


def test_everybody_finds_the_next_step_from_the_replay_to_the_ruling_after_an_appeal(
    visits: Visits, service: Running
) -> None:
    """
    The accuser, the accused on a phone, three referees, and three others for the appeal.

    One referee of each three uses a browser, the others the API; in a long run all use browsers.
    """
    names = ("Ada", "Bob", "Cat", "Dan", "Eve", "Fay", "Gus", "Hal")
    people: list[Client] = [register(service.port, name) for name in names]
    ada, bob, *judges = people
    game = open_table([ada, bob], ruleset="leeds")
    play_on([ada, bob], game, random.Random(7))
    accuser = page_of(visits, ada, "/rules", "desktop")
    accused = page_of(visits, bob, "/rules", "phone")
    shown = judges if is_long() else judges[::3]
    sizes = ("tablet", "phone", "desktop", "tablet", "phone", "desktop")
    pages = {
        one.token: page_of(visits, one, "/rules", size)
        for one, size in zip(judges, sizes, strict=True)
        if one in shown
    }

    path = opened(accuser, game, move_of(ada, game, 1))
    concern(accused, "You can make a statement")
    step(accused, "Add a statement").click()
    found(accused, accused.get_by_label("Statement")).fill("It does.")
    accused.get_by_role("button", name="Add the statement").click()
    expect(accused.locator(".statements li")).to_have_count(2)

    def ruled(panel: list[Client], *choices: str, sealed: bool) -> None:
        """Seat three referees, and let them vote."""
        for one in panel:
            if page := pages.get(one.token):
                offer(page, path)
            else:
                one.post(f"/v1{path}/referees", {})
        for one, choice in zip(panel, choices, strict=True):
            if page := pages.get(one.token):
                vote(page, choice, sealed=sealed)
            else:
                body = {"vote": choice.lower().replace(" ", "_"), "reason": REASON}
                one.post(f"/v1{path}/votes", body)

    ruled(judges[:3], "Cheated", "Cheated", "Cheated", sealed=True)
    for page in [pages[one.token] for one in judges[:3] if one in shown]:
        concern(page, "Reveal your vote")
        found(page, page.get_by_role("button", name="Reveal my vote")).click()
        expect(page.get_by_role("button", name="Reveal my vote")).to_have_count(0)
        assert page.evaluate("Object.keys(localStorage).filter((k) => k.includes('.vote.'))") == []
    appealed(accused)

    ruled(judges[3:], "Not proven", "Cheated", "Cheated", sealed=False)
    for page in (accuser, accused, *pages.values()):
        page.goto(path)
        step(page, "The dispute is closed")
        found(page, page.locator(".now").get_by_role("link", name="Check the record"))
        expect(page.locator(".verdict")).to_contain_text("Not proven: cleared")
        expect(page.locator("#concerns")).to_be_hidden()
