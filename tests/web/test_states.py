"""Pages that cannot show their subject: each says what happened and what to do next."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from uuid import UUID, uuid4

import pytest
from playwright.sync_api import Route, expect

from service.rulesets.catalogue import catalogue
from service.rulesets.custom import custom_definition
from service.store.database import Database
from service.store.directory import CustomRuleset, Directory
from tests.client import Client, register
from tests.running import Running
from tests.web.browsing import HURRY, Visits, faults_in_every_size, faults_of

pytestmark = pytest.mark.heavy


@pytest.mark.parametrize(
    ("path", "heading"),
    [
        ("/play/{id}", "This hand is not here"),
        ("/replay/{id}", "This hand is not here"),
        ("/tables/{id}", "This table is not here"),
        ("/disputes/{id}", "This dispute is not here"),
        ("/disputes/new?game={id}", "This hand is not here"),
    ],
)
def test_an_unknown_address_says_what_to_do_next(visits: Visits, path: str, heading: str) -> None:
    visits.expect("404")
    page = visits.open(path.format(id=uuid4()), size="phone")
    state = page.get_by_role("alert").filter(has_text=heading)
    expect(state).to_contain_text("If a friend sent you the address, ask for all of it")
    expect(state.get_by_role("link", name="Lobby")).to_have_attribute("href", "/")
    assert faults_in_every_size(page) == []


def test_an_invite_that_opens_nothing_is_named(visits: Visits) -> None:
    visits.expect("404")
    page = visits.open(f"/tables/{uuid4()}#invite=wrong")
    expect(page.get_by_role("alert").last).to_contain_text("The invite in this address")


def private_hand(service: Running) -> tuple[Client, str]:
    """Return a player and the id of a private hand that they play against a bot."""
    ada = register(service.port, "Ada")
    body = {"ruleset": "leeds", "seats": ["me", {"bot": "lowest"}], "visibility": "private"}
    game: str = ada.post("/v1/tables", body)["game"]
    return ada, game


def test_a_private_hand_is_shown_to_its_player_although_the_page_has_status_404(
    visits: Visits, service: Running
) -> None:
    ada, game = private_hand(service)
    player = {"id": "", "name": "Ada", "token": ada.token, "recovery": None}
    page = visits.open_as(player, f"/play/{game}")
    page.get_by_role("button", name="Ready").wait_for()
    visits.expect("404")
    stranger = visits.open(f"/play/{game}")
    expect(stranger.get_by_role("alert")).to_contain_text("This hand is not here")


def test_the_faces_of_a_private_hand_are_those_of_its_players(
    visits: Visits, service: Running
) -> None:
    """They come from the ids of the players, also where the address of the hand names none."""
    ada, game = private_hand(service)
    ada.post(f"/v1/games/{game}/moves", {"type": "forfeit"})
    player = {"id": "", "name": "Ada", "token": ada.token, "recovery": None}
    visits.expect("404")
    page = visits.open_as(player, f"/play/{game}")
    face = page.locator(".places li .avatar, .bagged .avatar").first
    shown = face.evaluate("one => one.innerHTML")
    page.goto(f"/replay/{game}?event=3")
    replayed = page.locator('[data-seat="0"] .avatar')
    assert replayed.evaluate("one => one.innerHTML") == shown


def test_a_page_without_a_connection_loads_again_when_it_is_back(
    visits: Visits, service: Running
) -> None:
    ada = register(service.port, "Ada")
    game = ada.post("/v1/tables", {"ruleset": "leeds", "seats": ["me", {"bot": "lowest"}]})["game"]
    visits.expect("no answer|Failed to load")
    page = visits.visitor().new_page()
    page.add_init_script(HURRY)
    page.route("**/v1/**", lambda route: route.abort())
    page.goto(f"/replay/{game}")
    expect(page.get_by_role("alert")).to_contain_text("No connection to the server")
    expect(page.get_by_role("button", name="Load it again")).to_be_visible()
    page.unroute_all()  # the browser notices nothing, as when the server was restarted
    page.locator("#rows li").first.wait_for()


def test_a_hand_that_the_server_cannot_read_now_says_so(visits: Visits, service: Running) -> None:
    """As an archived hand whose bundle is missing."""
    ada = register(service.port, "Ada")
    game = ada.post("/v1/tables", {"ruleset": "leeds", "seats": ["me", {"bot": "lowest"}]})["game"]
    detail = "this game is archived and its bundle is missing"
    visits.expect("503")
    page = visits.visitor().new_page()
    page.add_init_script(HURRY)
    answer = {"type": "/problems/unavailable", "title": "x", "status": 503, "detail": detail}
    page.route("**/v1/games/**", lambda route: route.fulfill(status=503, json=answer))
    player = {"id": "", "name": "Ada", "token": ada.token, "recovery": None}
    visits.open_as(player, f"/play/{game}", page=page)
    state = page.get_by_role("alert")
    expect(state).to_contain_text("The server cannot show this now")
    expect(state).to_contain_text(detail)
    expect(state.get_by_role("button", name="Load it again")).to_be_visible()


def test_an_erased_player_is_named_so(visits: Visits, service: Running) -> None:
    eve = register(service.port, "Eve")
    game = eve.post("/v1/tables", {"ruleset": "leeds", "seats": ["me", {"bot": "lowest"}]})["game"]
    eve.post(f"/v1/games/{game}/moves", {"type": "forfeit"})
    assert eve.call("DELETE", "/v1/players/me").status == 204
    page = visits.open(f"/replay/{game}")
    expect(page.locator("#own .name")).to_have_text("Erased player 1")


@pytest.mark.parametrize("path", ["/", "/ratings", "/disputes"])
def test_a_page_whose_lists_do_not_come_says_that_the_server_does_not_answer(
    visits: Visits, path: str
) -> None:
    """No list pretends to be empty, and no sentence speaks of a fault of the page."""
    visits.expect("no answer|Failed to load|TypeError|does not answer")
    page = visits.visitor("phone").new_page()
    page.add_init_script(HURRY)
    page.route("**/v1/**", lambda route: route.abort())
    page.goto(path)
    alert = page.get_by_role("alert").filter(has_text="erver does not answer")
    expect(alert).to_be_visible()
    expect(alert.get_by_role("button", name="Load it again")).to_be_visible()
    expect(page.locator("main")).not_to_contain_text("met a fault")
    expect(page.get_by_text("There is no dispute")).to_be_hidden()
    assert faults_of(page) == []


def test_a_list_that_does_not_come_takes_no_way_to_a_table_away(visits: Visits) -> None:
    visits.expect("503|busy")
    page = visits.visitor().new_page()
    page.add_init_script(HURRY)
    answer = {"type": "/problems/unavailable", "title": "x", "status": 503, "detail": "busy"}
    page.route("**/v1/bots**", lambda route: route.fulfill(status=503, json=answer))
    page.goto("/")
    for name in ("#now", "#with-anybody", "#with-friends"):
        expect(page.locator(name)).to_be_enabled()


def test_the_lobby_says_while_its_lists_may_be_old(visits: Visits) -> None:
    visits.expect("no answer|Failed to load")
    page = visits.visitor("phone").new_page()
    page.goto("/")
    page.locator("#recent :is(li, p)").first.wait_for()
    page.context.set_offline(True)
    expect(page.get_by_text("Offline, trying again")).to_be_visible()
    assert faults_in_every_size(page) == []
    page.context.set_offline(False)
    expect(page.get_by_text("Offline, trying again")).to_be_hidden()


@pytest.mark.parametrize("path", ["/play/{game}", "/tables/{table}", "/replay/{game}"])
def test_an_open_page_says_that_the_connection_is_lost_until_it_is_back(
    visits: Visits, service: Running, path: str
) -> None:
    """On a phone the notice pushes no button out of the window."""
    visits.expect("no answer|Failed to load")
    ada = register(service.port, "Ada")
    game = ada.post("/v1/tables", {"ruleset": "leeds", "seats": ["me", {"bot": "lowest"}]})["game"]
    table = ada.post("/v1/tables", {"ruleset": "leeds", "seats": ["me", "open"]})["id"]
    me = {"id": "", "name": "Ada", "token": ada.token, "recovery": None}
    page = visits.open_as(
        me, path.format(game=game, table=table), page=visits.visitor("phone").new_page()
    )
    page.locator("#hand button, .places li, #rows li").first.wait_for()
    page.context.set_offline(True)
    lost = page.get_by_role("status").filter(has_text="Offline, trying again")
    expect(lost).to_be_visible()
    if path.startswith("/play"):
        expect(page.get_by_role("button", name="Ready")).to_be_in_viewport(ratio=1)
    assert faults_of(page) == []
    page.context.set_offline(False)
    expect(lost).to_be_hidden(timeout=15_000)


def stored_ruleset(service: Running, owner: Client, name: str) -> str:
    """Store a ruleset with this name, without the trial hands that the API plays; return its id."""
    changes = {"deal": {"hand": 5}}
    made = custom_definition(catalogue()["leeds"], name, changes, changes)
    database = Database(str(service.settings.database_url))
    try:
        Directory(database).save_ruleset(
            CustomRuleset(
                id=made.id,
                name=name,
                owner=UUID(owner.get("/v1/players/me")["id"]),
                document=json.dumps({"base": "leeds", "settings": made.tree}),
                created_at=datetime.now(UTC),
            )
        )
    finally:
        database.close()
    return made.id


def test_a_custom_ruleset_has_its_name_in_the_lobby_and_its_page_leads_to_a_table_of_it(
    visits: Visits, service: Running
) -> None:
    ada = register(service.port, "Ada")
    name = f"Kitchen table {uuid4().hex[:6]}"
    ruleset = stored_ruleset(service, ada, name)
    ada.post("/v1/tables", {"ruleset": ruleset, "seats": ["me", "open"]})
    page = visits.open(f"/rules/{ruleset}", size="phone")
    page.get_by_role("link", name="Play with these rules").click()
    expect(page.locator("#ruleset")).to_have_value(ruleset)
    expect(page.locator("#tables li", has_text=name)).to_be_visible()
    expect(page.get_by_text(ruleset)).to_have_count(0)
    page.get_by_role("button", name="Start", exact=True).click()
    page.wait_for_url("**/play/*")
    expect(page).to_have_title(f"{name}, hand 1")


def test_a_move_without_an_answer_is_compared_when_the_server_is_back(
    visits: Visits, service: Running
) -> None:
    """The page first says what it does not know; then that the move was not played, or nothing."""
    visits.expect("no answer|Failed to load")
    ada = register(service.port, "Ada")
    seats = ["me", {"bot": "lowest"}]
    game = ada.post("/v1/tables", {"ruleset": "leeds", "seats": seats, "window_seconds": 0})["game"]
    me = {"id": "", "name": "Ada", "token": ada.token, "recovery": None}
    page = visits.visitor().new_page()
    page.add_init_script(HURRY)
    visits.open_as(me, f"/play/{game}", page=page)
    for is_played in (False, True):
        ready = page.get_by_role("button", name="Ready")
        ready.wait_for()
        page.locator("#log li").first.wait_for(state="attached")
        page.route("**/v1/games/**", lambda route: route.abort())
        ready.click()
        box = page.locator(".refusal")
        expect(box).to_contain_text("The server does not answer")
        if is_played:
            ada.post(f"/v1/games/{game}/moves", {"type": "ready"})
        page.unroute_all()
        page.evaluate("dispatchEvent(new Event('offline')); dispatchEvent(new Event('online'))")
        if is_played:
            expect(box).to_have_count(0)
            expect(ready).to_have_count(0)
        else:
            expect(box).to_contain_text("Your move was not played. Ready again.")


def without_findings(route: Route) -> None:
    """Answer with a dispute as it was before the verifier ran."""
    answer = route.fetch()
    route.fulfill(response=answer, json={**answer.json(), "findings": []})


def test_a_step_of_a_dispute_without_an_answer_is_compared_when_the_server_is_back(
    visits: Visits, service: Running
) -> None:
    visits.expect("no answer|Failed to load")
    ada = register(service.port, "Ada")
    game = ada.post("/v1/tables", {"ruleset": "leeds", "seats": ["me", {"bot": "lowest"}]})["game"]
    ada.post(f"/v1/games/{game}/moves", {"type": "forfeit"})
    body = {"accused": None, "seq": 0, "charge": "wrong_deal", "statement": "The deal."}
    dispute = ada.post(f"/v1/games/{game}/disputes", body)["id"]
    me = {"id": "", "name": "Ada", "token": ada.token, "recovery": None}
    page = visits.visitor().new_page()
    page.add_init_script(HURRY)
    page.route(f"**/v1/disputes/{dispute}", without_findings)  # they are added to it later
    visits.open_as(me, f"/disputes/{dispute}", page=page)
    page.locator("textarea").fill("I saw it.")
    page.route("**/v1/disputes/**", lambda route: route.abort())
    page.get_by_role("button", name="Add the statement").click()
    fault = page.locator("#fault")
    expect(fault).to_contain_text("The server does not answer")
    expect(page.locator("#connection")).to_contain_text("Offline")
    page.unroute_all()
    expect(fault).to_have_text("This was not done. Do it again.")
    expect(page.locator("#connection")).to_be_hidden()
    page.get_by_role("button", name="Add the statement").click()
    expect(page.get_by_text("I saw it.")).to_be_visible()
    expect(fault).to_be_empty()
