"""A restore that lost a move, in the browser of the player who has its receipt."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from service.cli.recover import declare_restore
from service.local.servers import EmbeddedValkey
from tests.client import Client, open_table
from tests.databases import Databases
from tests.running import READY_SECONDS, Running, is_ready, running, wait_for
from tests.web.browsing import HURRY, Visits, faults_of
from tests.web.page_pool import PagePool

pytestmark = pytest.mark.heavy


@dataclass(frozen=True, kw_only=True)
class Restorable:
    """A running service whose database can be set back to an earlier state."""

    service: Running
    valkey: EmbeddedValkey
    databases: Databases
    url: str

    @contextmanager
    def losing(self, *, declared: bool) -> Iterator[None]:
        """Lose every change that is made in this context; then start again as after `recover`."""
        before, since = self.databases.contents(self.url), datetime.now(UTC)
        yield
        self.service.stop()
        self.valkey.stop()
        self.databases.fill(self.url, before)
        if declared:
            declare_restore(self.url, since, self.service.settings.origin)
        self.valkey.start()
        self.start()

    def start(self) -> None:
        """Start the processes of the service again."""
        for name in list(self.service.children):
            self.service.start(name)
        wait_for(partial(is_ready, self.service.port), seconds=READY_SECONDS)


@pytest.fixture
def restorable(databases: Databases, server_folder: Path, tmp_path: Path) -> Iterator[Restorable]:
    """Return a service of its own with one worker."""
    url, valkey = databases.take(), EmbeddedValkey(server_folder / "lost")
    valkey.start()
    # One address has a quarter of the threads for its streams: three pages follow six of them.
    more: dict[str, Any] = {"rate_limits": False, "api_processes": 1, "api_threads": 64}
    with running(url, valkey.url, tmp_path, **more) as service:
        yield Restorable(service=service, valkey=valkey, databases=databases, url=url)
    valkey.stop()
    databases.give_back(url)


@pytest.fixture
def browsers(page_pool: PagePool, restorable: Restorable) -> Iterator[Visits]:
    """Return the browsers of its players."""
    opened = Visits(pool=page_pool, address=f"http://127.0.0.1:{restorable.service.port}")
    opened.expect("no answer|Failed to load|status of 503")  # while it is down
    opened.expect("409.*(stream|receipts)")  # the page has seen more, or no restore is declared
    yield opened
    opened.close()
    assert opened.unexpected() == []


def player(port: int, name: str) -> tuple[Client, dict[str, object]]:
    """Register a player; return the client, and what a browser stores of the player."""
    client = Client(port=port)
    registered: dict[str, object] = client.call("POST", "/v1/players", {"name": name}).json
    client.token = str(registered["token"])
    return client, registered


def ready(page: Page) -> None:
    """End the exchange of cards; the page stores the receipt."""
    page.get_by_role("button", name="Ready").click()
    expect(page.get_by_role("button", name="Ready")).to_be_hidden()


def test_the_page_hands_in_the_receipt_of_a_lost_move_and_says_why_the_hand_ended(
    restorable: Restorable, browsers: Visits
) -> None:
    """
    On a page that was open all the time, on one that is opened later, and on the opponent's.

    The opponent's page connects again only after the end, which stands where it saw the lost move:
    as many events as it has.
    """
    port = restorable.service.port
    (ada, her), (bob, him), (cleo, _) = (player(port, name) for name in ("Ada", "Bob", "Cleo"))
    games = [open_table([ada, one], ruleset="leeds") for one in (bob, cleo)]
    stayed = browsers.open_as(her, f"/play/{games[0]}", "phone")
    opponent = browsers.open_as(him, f"/play/{games[0]}", "desktop")
    left = browsers.open_as(her, f"/play/{games[1]}", "desktop")
    with restorable.losing(declared=True):
        ready(stayed)
        ready(left)
        expect(opponent.locator("#others")).to_contain_text("ready")
        opponent.route("**/stream", lambda route: route.abort())
        left.goto("about:blank")
    left.goto(f"{browsers.address}/play/{games[1]}")
    for page in (stayed, left, opponent):
        if page == opponent:
            page.unroute_all()
        expect(page.locator("#middle")).to_contain_text("ended by the operator", timeout=60_000)
        notice = page.get_by_role("status").filter(has_text="set back to an earlier state")
        expect(notice).to_contain_text("A hand that lost moves is ended")
        expect(page.locator(".notice.warning")).to_have_count(0)  # nothing contradicts a receipt
    assert faults_of(stayed) == []
    assert {ada.get(f"/v1/games/{game}")["status"] for game in games} == {"aborted"}


def test_a_loss_that_no_restore_explains_stays_a_warning(
    restorable: Restorable, browsers: Visits
) -> None:
    """
    The receipt ends nothing, and the page says at the next event that the log contradicts it.

    A restore that was declared before the hand began explains nothing of it.
    """
    declare_restore(restorable.url, datetime.now(UTC), restorable.service.settings.origin)
    (ada, her), (bob, _) = (player(restorable.service.port, name) for name in ("Ada", "Bob"))
    game = open_table([ada, bob], ruleset="leeds")
    page = browsers.open_as(her, f"/play/{game}")
    with restorable.losing(declared=False):
        ready(page)
    page.reload()
    page.get_by_role("button", name="Ready").wait_for()
    bob.post(f"/v1/games/{game}/moves", {"type": "ready"})
    ready(page)
    warning = page.locator(".notice.warning")
    expect(warning).to_contain_text("The log contradicts a receipt that this browser stored")
    expect(page.get_by_text("set back to an earlier state")).to_have_count(0)


def test_a_move_whose_answer_a_restart_lost_is_played_once_and_nothing_is_said_of_it(
    restorable: Restorable, browsers: Visits
) -> None:
    """The service commits the move and stops; the page compares when it has started again."""
    (ada, her), (bob, _) = (player(restorable.service.port, name) for name in ("Ada", "Bob"))
    game = open_table([ada, bob], ruleset="leeds")
    page = browsers.visitor().new_page()
    page.add_init_script(HURRY)
    browsers.open_as(her, f"/play/{game}", page=page)
    page.locator("#log li").first.wait_for(state="attached")

    committed: list[int] = []

    def commit_and_stop(route: Route) -> None:
        if not committed:
            committed.append(route.fetch().status)
            restorable.service.stop()
        route.abort()

    page.route("**/moves", commit_and_stop)
    page.get_by_role("button", name="Ready").click()
    refusal, lost = page.locator(".refusal"), page.locator("#connection")
    expect(refusal).to_contain_text("The server does not answer")
    expect(lost).to_contain_text("Offline, trying again")
    page.unroute_all()
    restorable.start()
    assert committed == [201]
    expect(lost).to_be_hidden(timeout=30_000)
    expect(refusal).to_have_count(0)
    expect(page.get_by_role("button", name="Ready")).to_have_count(0)
    page.wait_for_function("(key) => localStorage.getItem(key)", arg=f"shithead.receipts.{game}")
    events = ada.get(f"/v1/games/{game}/events")["items"]
    assert [one["by"] for one in events if one["type"] == "seat_ready"] == [0]
