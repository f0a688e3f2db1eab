"""Disputes and statistics in a browser: from the accusation to the ruling, and the plots."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Dialog, FilePayload, Locator, Page, expect

from service.api.pages import strings
from tests.client import Client, open_table, play_on, register
from tests.running import Running
from tests.web.browsing import Visits, faults_in_every_size, faults_of, tab_to

pytestmark = pytest.mark.heavy


@pytest.fixture(scope="module")
def hand(service: Running) -> tuple[list[Client], str]:
    """Return two players, and a hand with a shithead in which the second took the pile."""
    players = [register(service.port, name) for name in ("Ada", "Bob")]
    taken = False
    while not taken:  # the deal is random; in most hands each player takes the pile
        game = open_table(players, ruleset="leeds")
        play_on(players, game, random.Random(7))
        log = players[0].get(f"/v1/games/{game}/events")["items"]
        taken = any(one["by"] == 1 and one["type"] == "pile_picked_up" for one in log)
        result = players[0].get(f"/v1/games/{game}")["result"]
        taken = taken and result["shithead"] is not None  # a stalemate has none
    return players, game


def page_of(visits: Visits, player: Client, path: str, size: str = "tablet", **more: Any) -> Page:
    """Return a page in the browser of a player who is registered already."""
    me = player.get("/v1/players/me")
    stored = {"id": me["id"], "name": me["name"], "token": player.token}
    return visits.open_as(stored, path, size, **more)


POLL_SOON = "window.setInterval = ((real) => (work, ms) => real(work, ms / 20))(setInterval)"
"""A script with which an open dispute asks the server every half second instead of every ten."""


def polling_soon(visits: Visits, size: str = "tablet") -> Page:
    """Return an empty page that shows a change of a dispute soon."""
    page = visits.visitor(size).new_page()
    page.add_init_script(POLL_SOON)
    return page


def choice(page: Page, name: str) -> Locator:
    """Return the form control with a label."""
    return page.locator("label", has_text=re.compile(f"^{name}")).locator("select")


def move_of(player: Client, game: str, seat: int) -> int:
    """Return the seq of a move of a seat, in play."""
    log = player.get(f"/v1/games/{game}/events")["items"]
    return next(
        int(one["seq"]) for one in log if one["by"] == seat and one["type"] == "cards_played"
    )


def vote_file(key: dict[str, str]) -> FilePayload:
    """Return a file with the key of a sealed vote."""
    content = json.dumps(key).encode()
    return {"name": "vote.json", "mimeType": "application/json", "buffer": content}


def test_a_dispute_goes_from_the_move_to_the_ruling(
    visits: Visits, service: Running, hand: tuple[list[Client], str]
) -> None:
    """
    A player opens it and three others judge it, one of them in a browser.

    It seals the vote, which the file of its key reveals. A referee is told when to come back, on
    the first screen. `test_court_walk.py` has votes that the browser reveals or the server seals.
    """
    (ada, bob), game = hand
    seq = move_of(ada, game, 1)
    accuser = page_of(visits, ada, f"/disputes/new?game={game}&event={seq}")
    choice(accuser, "Charge").select_option("illegal_move")
    expect(choice(accuser, "Move")).to_have_value(str(seq))
    accuser.get_by_role("button", name="Look it over").click()
    statement = accuser.get_by_label("Statement")
    expect(statement).to_be_focused()
    assert statement.evaluate("one => one.validationMessage") == "Write a statement first."
    statement.fill("This card does not fit.")
    assert faults_of(accuser) == []
    accuser.get_by_role("button", name="Look it over").click()
    review = accuser.locator("#review")
    expect(review).to_contain_text("Everybody who can see the hand can read whom you accuse")
    expect(review).to_contain_text("Bob · Illegal move")
    accuser.get_by_role("button", name="Change it").click()
    expect(statement).to_have_value("This card does not fit.")
    accuser.get_by_role("button", name="Look it over").click()
    accuser.get_by_role("button", name="Open the dispute").click()
    accuser.wait_for_url("**/disputes/*-*")
    expect(accuser.locator("h1")).to_have_text(re.compile("Did .+ make an illegal move"))
    expect(accuser.locator(".statements")).to_contain_text("This card does not fit.")
    alike = accuser.get_by_role("link", name="Positions like it")
    expect(alike).to_have_attribute("href", f"/replay/{game}?event={seq}&why=1&alike=1")

    path = f"/v1/disputes/{accuser.url.rsplit('/', 1)[1]}"
    bob.post(f"{path}/statements", {"text": "It does."})
    clients = [register(service.port, f"Judge {number}") for number in range(3)]
    judge = page_of(visits, clients[0], accuser.url, page=polling_soon(visits))
    expect(judge.locator(".statements li").first).to_contain_text("Only the two sides and")
    judge.get_by_role("button", name="Offer to judge").click()
    expect(judge.locator("#court")).to_contain_text("(You)")
    expect(judge.locator("#court-panel")).to_contain_text(
        re.compile(r"Public hands: 0 · account: \d+ \w+ · disputes judged: 0")
    )
    for client in clients[1:]:
        client.post(f"{path}/referees", {})
    judge.get_by_label("Not proven").check()
    bob.post(f"{path}/statements", {"text": "Still."})
    expect(judge.locator(".statements li")).to_have_count(3)
    expect(judge.get_by_label("Not proven")).to_be_checked()
    assert faults_of(judge) == []
    expect(judge.get_by_text("a key, which is in this browser alone")).to_be_visible()
    judge.get_by_role("button", name="Vote", exact=True).click()
    now = judge.locator(".now")
    expect(now).to_contain_text(re.compile("Come back when all have voted, at the latest by .+2"))
    expect(now).not_to_contain_text("Nothing is left")
    expect(judge.locator("#now-title")).to_be_in_viewport()
    expect(judge.locator("#court")).to_contain_text("sealed by the referee")
    with judge.expect_download() as saved:
        judge.get_by_role("button", name="Save the key of my vote").click()
    for client in clients[1:]:
        client.post(f"{path}/votes", {"vote": "not_proven"})
    judge.evaluate(
        "localStorage.removeItem(Object.keys(localStorage).find((k) => k.includes('.vote.')))"
    )
    judge.reload()
    expect(judge.locator("#court")).to_contain_text("has not revealed the vote yet")
    key = json.loads(Path(saved.value.path()).read_bytes())
    field = judge.get_by_label("The saved key of my vote")
    field.set_input_files(vote_file({**key, "dispute": "another"}))
    assert "not the key" in field.evaluate("one => one.validationMessage")
    field.set_input_files(vote_file(key))
    expect(judge.locator(".verdict")).to_contain_text("Not proven: cleared")
    accuser.reload()
    expect(accuser.get_by_role("button", name="Appeal")).to_be_visible()
    assert faults_of(accuser) == []


def test_the_ruling_after_an_appeal_comes_before_the_one_that_it_replaced(
    visits: Visits, service: Running, hand: tuple[list[Client], str]
) -> None:
    (ada, bob), game = hand
    accusation = {"accused": 1, "charge": "time", "statement": "Too slow."}
    dispute = ada.post(f"/v1/games/{game}/disputes", {**accusation, "seq": move_of(ada, game, 1)})
    path = f"/disputes/{dispute['id']}"
    for last in ("cheated", "not_proven"):
        judges = [register(service.port, f"{last} {number}") for number in range(3)]
        for judge in judges:
            judge.post(f"/v1{path}/referees", {})
        for judge, vote in zip(judges, ("cheated", "cheated", last), strict=True):
            judge.post(f"/v1{path}/votes", {"vote": vote, "reason": f"Seen: {vote}."})
        if last == "cheated":
            bob.post(f"/v1{path}/appeal", {})
    page = page_of(visits, bob, path)
    rulings = page.locator("section", has=page.get_by_role("heading", name="Ruling"))
    expect(rulings.locator("p.verdict")).to_contain_text("Not proven: cleared")
    texts = rulings.locator("p").all_inner_texts()
    assert [text.split("\n")[0].strip() for text in texts] == [
        "Not proven: cleared",
        "All referees voted “Cheated”: against Bob",
    ]
    assert "replaced by the ruling above" in texts[1]
    votes = [one.inner_text() for one in rulings.locator("ul").all()]
    assert "Referee 6: Not proven" in votes[0]
    assert votes[1].count("Cheated") == 3
    assert votes[1].count("Seen: cheated.") == 3
    assert faults_of(page) == []


@pytest.mark.smoke
def test_the_list_names_the_dispute_and_leads_to_it(
    visits: Visits, hand: tuple[list[Client], str]
) -> None:
    (ada, bob), game = hand
    accusation = {"accused": None, "seq": 0, "charge": "altered_log", "statement": "A gap."}
    dispute = bob.post(f"/v1/games/{game}/disputes", accusation)
    page = page_of(visits, ada, "/disputes", size="phone")
    page.locator(f'a[href="/disputes/{dispute["id"]}"]').click()
    expect(page.locator("h1")).to_contain_text("Was the record of this hand changed?")
    room = (
        "one => one.getBoundingClientRect().bottom - one.lastChild.getBoundingClientRect().bottom"
    )
    assert page.locator(".now").evaluate(room) > 10, "the last point is not on the edge"
    expect(page.locator(".facts-list")).to_contain_text("the server")


def test_without_a_dispute_the_page_says_once_how_to_open_one(visits: Visits) -> None:
    page = visits.open("/rules", size="phone")
    none: dict[str, Any] = {"items": [], "next": None}
    page.route("**/v1/disputes?*", lambda route: route.fulfill(json=none))
    for path in ("/disputes", "/disputes/new"):
        page.goto(path)
        expect(page.get_by_text("There is no dispute to show.")).to_be_visible()
        expect(page.get_by_text("To open a dispute, open the replay")).to_have_count(1)


def test_a_side_submits_a_receipt_and_reads_periods_and_hash(
    visits: Visits, hand: tuple[list[Client], str], tmp_path: Path
) -> None:
    """The receipt is a file; a visitor without a token can neither judge nor submit one."""
    (ada, bob), game = hand
    accusation = {"accused": None, "seq": 0, "charge": "wrong_deal", "statement": "Not so."}
    dispute = bob.post(f"/v1/games/{game}/disputes", accusation)
    path = f"/disputes/{dispute['id']}"
    page = page_of(visits, bob, path)
    receipts = page.locator("section", has=page.get_by_role("heading", name="Receipts"))
    expect(receipts).to_contain_text("No side has handed in a receipt.")
    answer = page.get_by_text("✓ Every card went where the deal or the draw puts it.")
    expect(answer).to_be_visible(timeout=15_000)  # the checks of this charge are not folded
    expect(page.get_by_text("The rules allow this move.")).to_be_hidden()  # it is about no move
    note = tmp_path / "mine.note"
    note.write_bytes(ada.call("GET", f"/v1/games/{game}/receipt").body)
    page.get_by_label("A receipt file").set_input_files(note)
    expect(receipts.locator("li")).to_contain_text("Accuser (Bob)")
    facts = page.locator(".facts-list")
    expect(facts).to_contain_text("An appeal is possible for 7 days.")
    expect(facts).not_to_contain_text("–")
    expect(facts).to_contain_text(f"the copy dispute/{dispute['id']}.shx in the evidence")
    expect(facts).to_contain_text(dispute["bundle_sha256"])
    assert faults_of(page) == []
    visitor = visits.page("desktop")
    periods = {**dispute["periods"], "referee_account_seconds": 50}
    waits = {**dispute, "you": None, "periods": periods}
    visitor.route(f"**/v1{path}", lambda route: route.fulfill(json=waits))
    visitor.goto(path)
    conditions = "A referee did not sit at this table, has finished 0 hands, and has had an account"
    expect(visitor.locator("#court")).to_contain_text(f"{conditions} for 50 seconds.")
    expect(visitor.get_by_role("button", name="Offer to judge")).to_have_count(0)
    expect(visitor.get_by_label("A receipt file")).to_have_count(0)


def test_only_moves_that_fit_the_charge_can_be_chosen_and_a_refusal_is_shown(
    visits: Visits, hand: tuple[list[Client], str]
) -> None:
    visits.expect("422")
    (ada, _), game = hand
    page = page_of(visits, ada, f"/disputes/new?game={game}")
    moves = choice(page, "Move").locator("option")
    log = {one["seq"]: one for one in ada.get(f"/v1/games/{game}/events")["items"]}
    pick_ups = {"pile_picked_up", "blind_failed", "stock_failed"}
    excluded = page.get_by_text("The server can be accused of a wrong deal or an altered log only.")
    for charge, fits in (("time", None), ("false_pick_up", pick_ups)):
        choice(page, "Charge").select_option(charge)
        expect(excluded).to_have_count(0)
        chosen = [log[int(str(one.get_attribute("value")))] for one in moves.all()]
        assert all(event["by"] != 0 for event in chosen)
        assert fits is None or {event["type"] for event in chosen} <= fits
    choice(page, "Charge").select_option("altered_log")
    expect(choice(page, "Accused")).to_have_value("")
    choice(page, "Charge").select_option("time")
    choice(page, "Accused").select_option("")
    page.get_by_label("Statement").fill("It is the server.")
    expect(excluded).to_be_visible()
    page.get_by_role("button", name="Look it over").click()
    page.get_by_role("button", name="Open the dispute").click()
    expect(page.get_by_role("alert")).to_contain_text("wrong_deal")


def test_charges_that_the_chosen_event_excludes_are_listed_apart(
    visits: Visits, hand: tuple[list[Client], str]
) -> None:
    """The choice of one of them selects another event, and the page states it."""
    (ada, _), game = hand
    log = ada.get(f"/v1/games/{game}/events")["items"]
    taken = next(one["seq"] for one in log if one["by"] == 1 and one["type"] == "pile_picked_up")
    before = next(one for one in log[taken - 1 :: -1] if one["by"] != 1)
    apart = ["illegal_move", "false_pick_up", "time", "other"]
    page = page_of(visits, ada, f"/disputes/new?game={game}&event={taken}")
    others = page.locator("optgroup[label='for another move'] option")
    expect(choice(page, "Move")).to_have_value(str(taken))
    expect(others).to_have_count(0)
    page.goto(f"/disputes/new?game={game}&event={before['seq']}")
    expect(choice(page, "Move")).to_have_value(str(before["seq"]))
    assert [one.get_attribute("value") for one in others.all()] == apart
    choice(page, "Charge").select_option("time")
    expect(page.get_by_role("status").filter(has_text="Another move is selected")).to_be_visible()
    expect(choice(page, "Move")).not_to_have_value(str(before["seq"]))
    assert faults_of(page) == []


def test_the_dispute_begins_with_the_event_that_the_replay_showed(
    visits: Visits, hand: tuple[list[Client], str]
) -> None:
    """The charge fits the event; for the reader's own move only the server can be accused."""
    (ada, _), game = hand
    own, other = (move_of(ada, game, seat) for seat in (0, 1))
    page = page_of(visits, ada, f"/replay/{game}?event={own}")
    page.locator(f"#dispute[href$='event={own}']").click()
    for seq, accused, charge in ((own, "", "altered_log"), (other, "1", "other")):
        if seq == other:
            page.goto(f"/disputes/new?game={game}&event={other}")
        expect(choice(page, "Move")).to_have_value(str(seq))
        expect(choice(page, "Accused")).to_have_value(accused)
        expect(choice(page, "Charge")).to_have_value(charge)


def test_all_disputes_are_listed_by_state_and_page_after_page(
    visits: Visits, hand: tuple[list[Client], str]
) -> None:
    (ada, bob), game = hand
    for seq in (1, 2):
        accusation = {"accused": None, "seq": seq, "charge": "altered_log", "statement": "A gap."}
        bob.post(f"/v1/games/{game}/disputes", accusation)
    listed = ada.get("/v1/disputes")["items"]
    page = page_of(visits, ada, "/rules")
    small = re.compile(r"limit=\d+")
    page.route(
        "**/v1/disputes?*",
        lambda route: route.continue_(url=small.sub("limit=1", route.request.url)),
    )
    page.goto("/disputes")
    links = page.locator("#court .row a")
    expect(links).to_have_count(1)
    expect(page.locator("#court .row .quiet")).to_contain_text("Accused: the server")
    tab_to(page, "[data-key='court.more']")
    for count in range(2, len(listed) + 1):
        page.locator("[data-key='court.more']").press("Enter")
        expect(links).to_have_count(count)
        expect(links.last).to_be_focused()
    expect(page.locator("[data-key='court.more']")).to_be_hidden()
    shown = [link.get_attribute("href") for link in links.all()]
    assert shown == [f"/disputes/{one['id']}" for one in listed]
    choice(page, "State").select_option("revealing")
    expect(page.get_by_text("There is no dispute to show.")).to_be_visible()
    expect(links).to_have_count(0)


def test_a_finding_is_a_plain_sentence_with_its_check_below(
    visits: Visits, hand: tuple[list[Client], str]
) -> None:
    (ada, _), game = hand
    seq = move_of(ada, game, 1)
    body = {"accused": 1, "seq": seq, "charge": "time", "statement": "Slow."}
    dispute = ada.post(f"/v1/games/{game}/disputes", body)
    page = page_of(visits, ada, f"/disputes/{dispute['id']}")
    finding = page.locator(".row.pass").first
    expect(finding.locator("strong")).to_have_text("✓ The rules allow this move.", timeout=15_000)
    expect(finding.locator(".quiet")).to_contain_text(f"The disputed move · event {seq}")
    page.locator("[data-key=further]").click()
    expect(page.get_by_text("✓ No seat played a card that it did not hold.")).to_be_visible()
    assert faults_of(page) == []


def test_all_sentences_of_a_finding_are_in_the_language_of_the_reader(
    visits: Visits, hand: tuple[list[Client], str]
) -> None:
    """With names and cards in words."""
    (ada, bob), game = hand
    accusation = {"accused": None, "seq": 3, "charge": "altered_log", "statement": "A gap."}
    dispute = bob.post(f"/v1/games/{game}/disputes", accusation)
    held = {"code": "custody.held", "values": {"seat": 1, "holder": 0, "card": "Kh"}, "text": "…"}
    refusal = {"code": "refused.must_play", "values": {}}
    found: dict[str, Any] = {"result": "fail", "seq": 3, "rule": None, "plain": "…", "text": "…"}
    findings = [
        found | {"check": "custody", "code": "custody.not_held", "values": held["values"]},
        found | {"check": "legality", "code": "legality.refused", "values": {"refusal": refusal}},
    ]
    shown = [{**one, "more": [held] * (one["check"] == "custody")} for one in findings]
    page = page_of(visits, ada, "/rules")
    page.route(
        f"**/v1/disputes/{dispute['id']}",
        lambda route: route.fulfill(json={**dispute, "findings": shown}),
    )
    page.evaluate("localStorage.setItem('shithead.language', 'sv')")
    page.goto(f"/disputes/{dispute['id']}")
    expect(page.locator(".row.fail")).to_have_count(2)
    texts = page.locator(".row.fail").all_inner_texts()
    assert "Bob spelade hjärter kung, men höll det inte" in texts[0]
    assert "Bob höll inte hjärter kung: Ada höll det." in texts[0]
    assert "Reglerna förbjuder detta: den som kan spela måste spela." in texts[1]
    assert faults_of(page) == []


def test_a_dispute_is_opened_with_the_keyboard_alone(
    visits: Visits, hand: tuple[list[Client], str]
) -> None:
    (_, bob), game = hand
    seq = move_of(bob, game, 0)
    page = page_of(visits, bob, f"/disputes/new?game={game}&event={seq}")
    page.locator("textarea").wait_for()
    tab_to(page, "textarea")
    page.keyboard.type("Look at this.")
    tab_to(page, "[data-key='court.review']")
    page.keyboard.press("Enter")
    tab_to(page, "[data-key='court.open']")
    page.keyboard.press("Enter")
    page.wait_for_url("**/disputes/*-*")
    expect(page.locator(".statements")).to_contain_text("Look at this.")
    tab_to(page, "[data-key=text]")
    page.keyboard.type("And at that.")
    tab_to(page, "[data-key='court.say']")
    page.keyboard.press("Space")
    expect(page.locator(".statements li")).to_have_count(2)
    expect(page.locator("textarea")).to_have_value("")


def test_a_refused_statement_stays_in_its_field(
    visits: Visits, hand: tuple[list[Client], str]
) -> None:
    visits.expect("422")
    (ada, _), game = hand
    last = ada.get(f"/v1/games/{game}")["version"] - 1  # no other test disputes this event
    accusation = {"accused": None, "seq": last, "charge": "wrong_deal", "statement": "Not so."}
    dispute = ada.post(f"/v1/games/{game}/disputes", accusation)
    page = page_of(visits, ada, f"/disputes/{dispute['id']}")
    problem = {"type": "/problems/invalid-body", "title": "Invalid", "detail": "not accepted"}
    page.route(
        "**/statements",
        lambda r: r.fulfill(
            status=422, content_type="application/problem+json", body=json.dumps(problem)
        ),
    )
    page.get_by_label("Statement").fill("A long statement.")
    page.get_by_role("button", name="Add the statement").click()
    expect(page.get_by_role("alert")).to_contain_text("not accepted")
    expect(page.locator("textarea")).to_have_value("A long statement.")
    page.unroute("**/statements")
    page.get_by_role("button", name="Add the statement").click()
    expect(page.locator(".statements li")).to_have_count(2)
    expect(page.locator("textarea")).to_have_value("")


def test_collusion_is_charged_against_two_players_of_three(
    visits: Visits, hand: tuple[list[Client], str], three: tuple[list[Client], str]
) -> None:
    """The form says what has to be shown; the partner answers, and is no accused."""
    (ada, _), of_two = hand
    page = page_of(visits, ada, f"/disputes/new?game={of_two}")
    expect(choice(page, "Charge").locator("option[value=time]")).to_have_count(1)
    expect(choice(page, "Charge").locator("option[value=collusion]")).to_have_count(0)
    (ada, _, cat), game = three
    page = page_of(visits, ada, f"/disputes/new?game={game}")
    charge, shown = choice(page, "Charge"), page.locator("#to-be-shown")
    for value in charge.locator("option").evaluate_all("all => all.map((one) => one.value)"):
        charge.select_option(value)
        expect(shown).to_contain_text("To be shown:")
        assert ("evidence begins at 100" in shown.inner_text()) is (value == "collusion")
    charge.select_option("collusion")
    expect(choice(page, "Move")).to_be_hidden()
    choice(page, "Accused").select_option("2")
    expect(choice(page, "Partner")).to_have_value("1")
    choice(page, "Accused").select_option("1")
    expect(choice(page, "Partner")).to_have_value("2")
    page.get_by_label("Statement").fill("They never hurt each other.")
    assert faults_in_every_size(page) == []
    page.get_by_role("button", name="Look it over").click()
    expect(page.locator("#review")).to_contain_text("Bob · Cat · Collusion")
    page.get_by_role("button", name="Open the dispute").click()
    page.wait_for_url("**/disputes/*-*")
    expect(page.locator("h1")).to_have_text("Did Bob play together with Cat?")
    expect(page.locator(".lead")).to_contain_text("about Bob and Cat")
    partner = page_of(visits, cat, "/disputes")
    row = partner.locator("section", has=partner.get_by_role("heading", name="that concern you"))
    expect(row).to_contain_text("You are named as the partner")
    row.locator(".row a").click()
    partner.get_by_label("Statement").fill("We play alone.")
    partner.get_by_role("button", name="Add the statement").click()
    expect(partner.locator(".statements")).to_contain_text("Partner of the accused (Cat)")
    expect(partner.get_by_label("A receipt file")).to_have_count(0)
    expect(partner.locator("#court-findings .row").first).to_contain_text("Collusion")
    assert faults_in_every_size(partner) == []


def test_the_accuser_withdraws_a_dispute_after_a_question(
    visits: Visits, hand: tuple[list[Client], str]
) -> None:
    (ada, bob), game = hand
    log = ada.get(f"/v1/games/{game}/events")["items"]
    seq = next(one["seq"] for one in log if one["by"] == 1 and one["type"] == "pile_picked_up")
    body = {"accused": 1, "seq": seq, "charge": "false_pick_up", "statement": "Hm."}
    path = f"/disputes/{ada.post(f'/v1/games/{game}/disputes', body)['id']}"
    accused = page_of(visits, bob, path, page=polling_soon(visits))
    expect(accused.locator(".now")).to_contain_text("waits for three")
    expect(accused.get_by_role("button", name="Withdraw")).to_have_count(0)
    page = page_of(visits, ada, path, size="phone")
    asked: list[str] = []
    answers = [False, True]

    def answer(dialog: Dialog) -> None:
        asked.append(dialog.message)
        if answers.pop(0):
            dialog.accept()
        else:
            dialog.dismiss()

    page.on("dialog", answer)
    button = page.get_by_role("button", name="Withdraw the dispute")
    expect(button).to_be_in_viewport()
    button.click()
    expect(button).to_be_visible()
    assert faults_of(page) == []
    button.click()
    expect(page.locator(".now")).to_contain_text("The accuser withdrew the dispute.")
    assert len(asked) == 2
    assert "you cannot make this charge again" in asked[0]
    expect(button).to_have_count(0)
    expect(page.locator("#court-ruling")).to_contain_text("There is no ruling.")
    expect(accused.locator(".now")).to_contain_text("The accuser withdrew")
    assert faults_of(page) == []
    page.goto("/disputes")
    expect(page.locator(f"li:has(a[href='{path}'])")).to_contain_text("withdrawn")


@pytest.fixture(scope="module")
def three(service: Running) -> tuple[list[Client], str]:
    """Return three players, and the id of a hand that they finished."""
    players = [register(service.port, name) for name in ("Ada", "Bob", "Cat")]
    game = open_table(players, ruleset="leeds")
    play_on(players, game, random.Random(7))
    return players, game


def test_a_referee_reads_whether_two_players_spare_each_other(
    visits: Visits, service: Running, three: tuple[list[Client], str]
) -> None:
    """Only referees of a dispute about collusion have the section, with what it proves."""
    (ada, bob, _), game = three
    body = {"accused": 2, "partner": 1, "charge": "collusion"}
    dispute = ada.post(f"/v1/games/{game}/disputes", {**body, "statement": "They are friends."})
    judges = [register(service.port, f"Cat {number}") for number in range(3)]
    judges[0].post(f"/v1/disputes/{dispute['id']}/referees", {})
    page = page_of(visits, judges[0], f"/disputes/{dispute['id']}", page=polling_soon(visits))
    expect(page.locator(".now")).to_contain_text("You are seated.")
    for judge in judges[1:]:  # the voting opens: the page is not loaded again
        judge.post(f"/v1/disputes/{dispute['id']}/referees", {})
    section = page.locator("section", has=page.get_by_role("heading", name="Do they spare"))
    expect(section).to_contain_text(
        re.compile(r"Value \d[\d.]*; evidence begins at 100: nothing is shown"), timeout=30_000
    )
    ballot = page.locator("#ballot")
    expect(ballot).to_contain_text("A record shows nothing of what players agreed on.")
    ballot.get_by_label("Cheated").check()
    ballot.get_by_role("button", name="Vote").click()
    expect(ballot.get_by_label("Reason")).to_be_focused()
    expect(section).to_contain_text("It does not show why")
    section.get_by_text("The numbers").click()
    expect(section.locator("tbody tr")).to_have_count(3)
    assert faults_in_every_size(page) == []
    accused = page_of(visits, bob, f"/disputes/{dispute['id']}")
    expect(accused.get_by_role("heading", name="Statements")).to_be_visible()
    expect(accused.get_by_role("heading", name="Do they spare")).to_have_count(0)


@pytest.mark.smoke
def test_the_statistics_are_plots_with_their_text(
    visits: Visits, hand: tuple[list[Client], str]
) -> None:
    """The page gets a prepared answer, because a test cannot play enough hands."""
    (ada, _), game = hand
    figure = {"ruleset": "leeds", "df": 12, "p": 0.4, "low": 3.0, "high": 28.0, "n": 900}
    measures = [
        {**figure, "name": "ranks dealt to people", "statistic": 11.5},
        {**figure, "name": "position of each card", "statistic": 400.0, "p": 0.0001},
    ]
    answer = {"n": 900, "measures": measures, "cannot_tell": "Nothing."}
    choices = ada.get(f"/v1/statistics/blind-choices?player={ada.get('/v1/players/me')['id']}")
    page = page_of(visits, ada, "/rules")
    page.route("**/v1/statistics/shuffles", lambda route: route.fulfill(json=answer))
    page.route(
        "**/v1/statistics/blind-choices?*",
        lambda route: route.fulfill(json={**choices, "n": 0, "e_value": 1}),
    )
    page.goto("/statistics")
    plot = page.get_by_role("img", name="1 of 2 figures are in the range")
    expect(plot.locator(".dot.out")).to_have_count(1)
    dot, edges = plot.locator(".dot.out").bounding_box(), plot.bounding_box()
    assert dot and edges and dot["x"] + dot["width"] <= edges["x"] + edges["width"]
    expect(page.get_by_text("A small p means")).to_be_hidden()
    page.get_by_text("The numbers").click()
    expect(page.locator("tbody tr")).to_have_count(2)
    expect(page.get_by_text("A small p means")).to_be_visible()
    name = ada.get("/v1/rulesets/leeds")["name"]
    expect(page.locator("tbody tr").first.locator("td").first).to_have_text(name)
    expect(plot).to_contain_text(f"{name}: ")
    expect(page.locator("#choices")).to_contain_text("No choice has counted yet.")
    expect(page.locator("#choices")).to_contain_text("some would fit and some not")
    expect(page.locator("#hands")).to_contain_text("Shithead in")
    expect(page.locator("#hands .rows a").first).to_have_attribute("href", f"/replay/{game}")
    assert faults_in_every_size(page) == []
    seven = {**choices, "n": 7, "e_value": 1.23456}
    page.route("**/v1/statistics/blind-choices?*", lambda route: route.fulfill(json=seven))
    page.reload()
    expect(page.locator("#choices")).to_contain_text(
        "After 7 choices that count the value is 1.235."
    )


def test_the_paper_bag_is_counted_at_more_than_twenty_tables(
    visits: Visits, hand: tuple[list[Client], str]
) -> None:
    """M14: the loser wears a paper bag. This table is the oldest of the player's 21."""
    (ada, _), _ = hand
    eve = register(ada.port, "Eve")
    bagged = {"ruleset": "morehead", "seats": ["me", {"bot": "lowest"}]}
    game = eve.post("/v1/tables", bagged)["game"]
    eve.post(f"/v1/games/{game}/moves", {"type": "forfeit"})
    hidden = {"visibility": "private"}  # from the lobby, where other tests join a table
    for _ in range(20):
        eve.post("/v1/tables", {"ruleset": "shithead", "seats": ["me", "open"], **hidden})
    page = page_of(visits, eve, "/statistics")
    expect(page.locator("#hands")).to_contain_text("worn at 1 table.")


LINES = """all => all.map((one) => {
    const range = document.createRange();
    range.selectNodeContents(one);
    return range.getClientRects().length;
})"""
"""The number of lines of each element's text."""


@pytest.mark.smoke
def test_the_ratings_are_a_table_with_what_they_cannot_tell(
    visits: Visits, hand: tuple[list[Client], str]
) -> None:
    (ada, _), _ = hand
    me = ada.get("/v1/players/me")["id"]
    numbers = {"mu": 30.0, "sigma": 2.5, "rating": 22.5, "hands": 12, "provisional": False}
    items = [
        {"rank": 1, "player": me, "bot": None, "name": "Ada", **numbers},
        {"rank": 2, "player": None, "bot": "greedy", "name": None, **numbers, "hands": 9,
         "provisional": True},
    ]  # fmt: skip
    answer = {"ruleset": "shithead", "leaves": 9, "items": items, "cannot_tell": "-", "next": "2"}
    page = page_of(visits, ada, "/rules")
    page.route("**/v1/ratings?ruleset=*", lambda route: route.fulfill(json=answer))
    page.route(
        "**/v1/ratings?*cursor=2",
        lambda route: route.fulfill(json={**answer, "items": items[:1], "next": None}),
    )
    page.goto("/ratings")
    rows = page.locator("#ratings tbody tr")
    expect(rows).to_have_count(2)
    expect(rows.first).to_contain_text("22.5")
    expect(rows.first.locator("strong")).to_have_text("Ada")
    expect(rows.nth(1)).to_contain_text("greedy (bot)")
    expect(rows.nth(1)).to_contain_text("9, provisional")
    page.get_by_role("button", name="Show more").click()
    expect(rows).to_have_count(3)
    expect(page.locator("main")).to_contain_text("friends at one table")
    expect(page.get_by_label("Ruleset")).not_to_have_value("")  # one that is played here
    assert faults_in_every_size(page) == []
    items[0]["name"] = "\N{HIRAGANA LETTER MA}" * 40  # it takes what the headings can spare
    page.set_viewport_size({"width": 360, "height": 740})
    page.evaluate("localStorage.setItem('shithead.language', 'ja')")
    page.reload()
    expect(rows).to_have_count(2)
    # A Japanese character is as wide as it is high; the boxes without a font of them are not.
    page.locator("#ratings").evaluate("one => { one.style.letterSpacing = '.4em'; }")
    heads = page.locator("#ratings th:visible")
    assert heads.evaluate_all(LINES) == [1, 1, 1, 1]  # no word is divided
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_the_form_of_a_dispute_is_in_the_language_of_the_reader(
    visits: Visits, hand: tuple[list[Client], str]
) -> None:
    (ada, _), game = hand
    page = page_of(visits, ada, f"/disputes/new?game={game}", locale="ja-JP")
    words = strings("ja")
    expect(page.locator("[data-key='court.review']")).to_have_text(words["court.review"])
    expect(page.locator("label", has=page.locator("textarea"))).to_contain_text(
        words["court.statement"]
    )
    assert faults_of(page) == []


def test_an_accuser_reads_what_the_rules_say_of_the_move(
    visits: Visits, service: Running, hand: tuple[list[Client], str]
) -> None:
    (ada, _), game = hand
    seq = move_of(ada, game, 1)
    page = page_of(visits, ada, f"/disputes/new?game={game}&event={seq}")
    said = page.locator(".say")
    expect(said).to_contain_text("The rules allow it. It is one of")
    decision = ada.get(f"/v1/games/{game}/audit/moves/{seq}")
    [chosen] = [one for one in decision["legal"] if one["move"] == decision["did"]]
    expect(said.locator(".statement").first).to_contain_text(chosen["rules"][0])
    page.goto(f"/disputes/new?game={game}&event=2")
    expect(said).to_contain_text("The server did this")


def test_before_the_end_only_the_statements_of_the_move_are_shown(
    visits: Visits, service: Running
) -> None:
    """What another seat could have played would show cards of its hand."""
    players = [register(service.port, name) for name in ("Ada", "Bob")]
    game = open_table(players, ruleset="leeds")
    for player in players:
        player.post(f"/v1/games/{game}/moves", {"type": "ready"})
    turn = players[0].get(f"/v1/games/{game}")["turn"]
    view = players[turn].get(f"/v1/games/{game}")
    players[turn].post(f"/v1/games/{game}/moves", view["moves"][0])
    page = page_of(visits, players[1 - turn], f"/disputes/new?game={game}")
    expect(page.locator(".say")).to_contain_text("is shown after the end of the hand")
    expect(page.locator(".say .statement")).not_to_have_count(0)


def test_a_dispute_states_its_question_and_what_the_reader_can_do(
    visits: Visits, hand: tuple[list[Client], str]
) -> None:
    """Dates and hashes are in a fold, which stays open when the page draws the dispute again."""
    (ada, _), game = hand
    accusation = {"accused": 1, "seq": move_of(ada, game, 1), "charge": "other"}
    body = {**accusation, "statement": "Watch this."}
    path = f"/disputes/{ada.post(f'/v1/games/{game}/disputes', body)['id']}"
    page = page_of(visits, ada, path, size="phone")
    expect(page.locator("h1")).to_have_text(re.compile("Did .+ cheat?"))
    expect(page.locator(".now")).to_contain_text("waits for three referees")
    expect(page.locator(".now li")).to_contain_text(["Add a statement", "Hand in a receipt"])
    expect(page.locator(".facts-list")).to_be_hidden()
    page.get_by_text("Dates, conditions and the hash").click()
    page.get_by_label("Statement").fill("Again.")
    page.get_by_role("button", name="Add the statement").click()
    expect(page.locator(".statements li")).to_have_count(2)
    expect(page.locator(".facts-list")).to_be_visible()
    assert faults_in_every_size(page) == []
    stranger = visits.open(path)
    expect(stranger.locator(".now")).to_contain_text("You have no part in this dispute.")


BESIDE_PLOTS = """(all) => all.flatMap((plot) =>
    [...plot.querySelectorAll("text")].filter((one) => {
        const { x, width } = one.getBBox();
        return x < 0 || x + width > plot.viewBox.baseVal.width;
    }).map((one) => one.textContent))"""
"""The texts that a plot cuts off."""


def test_statistics_of_a_young_server_show_samples_marked_as_such(visits: Visits) -> None:
    page = visits.open("/rules", size="phone")
    answer = {"n": 3, "measures": [], "cannot_tell": "Nothing."}
    page.route("**/v1/statistics/shuffles", lambda route: route.fulfill(json=answer))
    page.goto("/statistics")
    samples = page.locator("figure.sample")
    expect(samples).to_have_count(3)
    for sample in samples.all():
        expect(sample).to_contain_text("Sample: invented to show how the plot is read")
        assert not re.search(r"\d+ hands", sample.inner_text())
    expect(page.get_by_text("The numbers")).to_have_count(0)
    expect(page.get_by_role("link", name="Play a hand")).to_have_count(2)
    assert page.locator(".plot").evaluate_all(BESIDE_PLOTS) == []
    assert faults_in_every_size(page) == []


def test_the_accused_and_the_referees_learn_of_a_dispute_on_any_page(
    visits: Visits, service: Running
) -> None:
    """A mark at the name leads to it; the lobby states the part, what to do, and until when."""
    people = [register(service.port, name) for name in ("Ada", "Bob", "Cat", "Dan", "Eve", "Fay")]
    ada, bob, *judges = people
    game = open_table([ada, bob], ruleset="leeds")
    play_on([ada, bob], game, random.Random(7))
    body = {"accused": 1, "seq": move_of(ada, game, 1), "charge": "other", "statement": "See."}
    path = f"/disputes/{ada.post(f'/v1/games/{game}/disputes', body)['id']}"
    for judge in judges[:3]:
        judge.post(f"/v1{path}/referees", {})
    rules = page_of(visits, bob, "/disputes", size="phone")
    mark = rules.get_by_role("link", name="1 dispute concerns you")
    expect(mark).to_be_in_viewport()
    mark.click()
    own = rules.locator("section", has=rules.get_by_role("heading", name="that concern you"))
    expect(own).to_contain_text("You are accused")
    expect(own).to_contain_text("You can make a statement")
    assert faults_in_every_size(rules) == []
    lobby = page_of(visits, judges[0], "/", size="desktop")
    expect(lobby.locator("#disputes")).to_be_in_viewport()
    expect(lobby.locator("#disputes")).to_contain_text(
        re.compile("Your vote is awaited · until .+2")
    )
    lobby.locator("#disputes a").click()
    expect(lobby.locator("#ballot")).to_be_visible()
    expect(lobby.get_by_role("link", name="1 dispute concerns you")).to_be_visible()
    stranger = page_of(visits, judges[3], "/")
    expect(stranger.locator("#now")).to_be_enabled()
    expect(stranger.locator("#disputes")).to_be_hidden()
    expect(stranger.locator("#concerns")).to_be_hidden()


def test_a_panel_that_is_complete_is_announced_with_the_time_of_the_voting(
    visits: Visits, hand: tuple[list[Client], str]
) -> None:
    (ada, _), game = hand
    last = ada.get(f"/v1/games/{game}")["version"] - 2  # no other test disputes this event
    accusation = {"accused": None, "seq": last, "charge": "altered_log", "statement": "A gap."}
    dispute = ada.post(f"/v1/games/{game}/disputes", accusation)
    page = page_of(visits, ada, "/rules")
    opens = {**dispute, "voting_from": "2026-03-04T12:00:00.000000Z"}
    page.route(f"**/v1/disputes/{dispute['id']}", lambda route: route.fulfill(json=opens))
    page.goto(f"/disputes/{dispute['id']}")
    now = page.locator(".now")
    expect(now).to_contain_text(re.compile("The voting opens at .+, unless one is refused"))
    expect(now).not_to_contain_text("waits for three")
