"""The page /verify in a real browser: valid and invalid files, games of the server, offline use."""

from __future__ import annotations

import io
import json
import re
import tarfile
from base64 import b64encode
from collections.abc import Callable
from functools import partial
from http.client import HTTPConnection
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import FilePayload, Page, Route, expect

from service.shx.archives import read_zip
from service.shx.bundle import PROOF, STAMP, STAMPED, write_bundle
from service.shx.tlog.checkpoint import Cosigner
from service.shx.tlog.notes import NoteSigner
from service.verify.finding import Check
from tests.client import open_table, register
from tests.conformance.evidence_cases import SERVER_KEY, WITNESS_KEY, proof_of, receipt_of
from tests.examples import is_long, spread
from tests.packed_again import in_folder, packed
from tests.running import Running, wait_for
from tests.tamper import LOGS, Forgery, failing, report_on, sample, sample_lines
from tests.unit.verify.test_anchoring import LAST, LINES, SERVER, THIEF, WITNESS, proof, receipt
from tests.web.browsing import NO_ED25519, SIZES, Visits, faults_in_both_schemes
from tests.web.node import INTACT, INTACT_SO_FAR, UNJUDGED

pytestmark = pytest.mark.heavy

CHECKS = 16
GAME = json.loads(LINES[0])["game"]
FOLDER = Path(__file__).parents[2] / "service" / "api" / "static" / "verifier"


def payload(name: str, content: bytes) -> FilePayload:
    return {"name": name, "mimeType": "application/octet-stream", "buffer": content}


def first_visit(visits: Visits) -> Page:
    """Return the page in a browser that has stored no file of the service yet."""
    page = visits.visitor().new_page()
    page.goto("/verify")
    return page


def choose_file(page: Page, name: str, content: bytes) -> None:
    """Choose a file in the page, and wait until all checks were made."""
    page.locator("#app").wait_for()
    page.set_input_files("#file", payload(name, content))
    expect(page.locator("#progress")).to_have_js_property("value", 1, timeout=20_000)


def log_of(lines: tuple[bytes, ...]) -> bytes:
    return b"".join(line + b"\n" for line in lines)


@pytest.mark.smoke
def test_a_valid_bundle_passes_every_check(visits: Visits) -> None:
    page = visits.open("/verify")
    choose_file(page, "game.shx", write_bundle(LINES))
    expect(page.locator("#verdict h2")).to_have_text(INTACT)
    assert page.locator("#checks li").count() == CHECKS
    assert page.locator("#checks li.fail").count() == 0
    passed, open_ = (page.locator(f"#checks li.{one}").count() for one in ("pass", "missing"))
    assert open_, "no key was given, so signatures are not checked"
    counted = f"{passed} of {passed + open_} checks pass, {open_} not made"
    expect(page.locator("#verdict")).to_contain_text(counted)
    for check in ("bytes", "chain", "order", "shuffle", "openings", "deal", "custody", "seal"):
        expect(page.locator(f"#check-{check}")).to_have_class("pass")


def test_receipts_and_keys_of_the_user_are_checked(visits: Visits) -> None:
    page = visits.open("/verify")
    choose_file(page, "game.shx", write_bundle(LINES))
    expect(page.locator("#check-receipts")).to_have_class("missing")
    page.locator("main summary").click()
    page.locator("#server").fill(str(SERVER.verifier))
    page.set_input_files("#receipts", payload("a.note", receipt(LAST)))
    expect(page.locator("#check-receipts")).to_have_class("pass")
    expect(page.locator("#check-receipts")).to_contain_text("cover the whole record")


def test_receipts_that_the_browser_stored_during_the_game_are_used(visits: Visits) -> None:
    """With the server's keys that it stored; a file that contradicts a receipt fails."""
    page = visits.open("/verify")
    stored = {
        f"shithead.receipts.{GAME}": json.dumps([receipt(LAST).decode()]),
        "shithead.server-keys": f"{SERVER.verifier}\n",
    }
    page.evaluate("(all) => Object.assign(localStorage, all)", stored)
    choose_file(page, "game.shx", write_bundle(LINES))
    expect(page.locator("#stored")).to_have_text(
        "With 1 receipt and the server’s keys, as this browser stored them during the game."
    )
    expect(page.locator("#check-receipts")).to_have_class("pass")
    choose_file(page, "events.jsonl", log_of(LINES[:-1]))
    expect(page.locator("#check-receipts .reason")).to_contain_text("its end was cut off")
    page.evaluate("localStorage.removeItem('shithead.server-keys')")
    choose_file(page, "game.shx", write_bundle(LINES))
    expect(page.locator("#check-receipts")).to_have_class("missing")


def offer(page: Page, key: NoteSigner) -> None:
    """Let the answer of the server have this key, which signed the samples."""
    public = b64encode(key.verifier.public).decode()
    items = [{"name": key.verifier.name, "id": key.verifier.key_id.hex(), "public": public}]
    page.route("**/v1/keys", lambda route: route.fulfill(json={"items": items}))


def test_the_key_of_the_server_is_offered_with_what_it_proves(visits: Visits) -> None:
    """A perfect hand then has no amber mark; a key from elsewhere is used alone."""
    page = visits.open("/verify")
    offer(page, SERVER)
    box = page.get_by_role("checkbox", name="Also use the key of this server")
    expect(box).to_have_accessible_description(re.compile("only that this server signed"))
    choose_file(page, "game.shx", write_bundle(LINES, files={PROOF: proof()}))
    expect(page.locator("#check-anchor")).to_have_class("missing")
    expect(page.locator("#signers")).to_contain_text("Nobody whose receipt or key you gave")
    box.check()
    expect(page.locator("#check-anchor")).to_have_class("pass")
    expect(page.locator("#verdict h2")).to_have_text(INTACT)
    stamped = {PROOF: proof(), STAMPED: proof(), STAMP: b"a token"}
    choose_file(page, "game.shx", write_bundle(LINES, files=stamped))
    expect(page.locator("#check-anchor.pass .reason")).to_contain_text("was not checked here")
    amber = page.locator("#checks .missing:not(.absent)")
    expect(amber).to_have_count(0)
    choose_file(page, "game.shx", write_bundle(LINES))
    expect(page.locator("#check-anchor")).to_have_class("missing absent")
    expect(amber).to_have_count(0)
    sign = "(selector) => getComputedStyle(document.querySelector(selector)).color"
    quiet, absent = ("#check-witness .tag", "#check-anchor .tag")
    assert page.evaluate(sign, quiet) == page.evaluate(sign, absent)
    page.locator("main summary").first.click()
    page.locator("#witness").fill(str(WITNESS.verifier))
    page.locator("#witness").blur()
    expect(page.locator("#check-anchor")).to_have_class("missing")
    silent = Cosigner(name="silent.example/w", key=THIEF.key)
    page.locator("#witness").fill(f"{WITNESS.verifier} {silent.verifier}")
    choose_file(page, "game.shx", write_bundle(LINES, files={PROOF: proof()}))
    expect(page.locator("#check-witness.missing .reason")).to_contain_text("2 are required")
    page.locator("#quorum").fill("1")
    page.locator("#quorum").blur()
    passed = page.locator("#check-witness.pass .reason")
    expect(passed).to_contain_text("1 of 2 witnesses signed")
    expect(passed).to_contain_text("they were shown one log only")
    signed = page.locator("#signers li")
    expect(signed).to_have_text(
        [
            re.compile("The server, below its public log: nobody without its key"),
            re.compile(r"Witnesses \(.+\), by 20\d\d-.+Z at the latest: the operator did not"),
        ]
    )
    page.locator("#quorum").fill("")
    page.locator("#witness").fill("")
    page.locator("#server").fill(str(THIEF.verifier))
    choose_file(page, "game.shx", write_bundle(LINES, files={PROOF: proof()}))
    expect(page.locator("#check-anchor.fail .reason")).to_contain_text("that you entered")


def test_a_file_is_checked_even_if_the_server_sends_no_key(visits: Visits) -> None:
    visits.expect("ERR_INTERNET_DISCONNECTED")
    page = first_visit(visits)
    page.locator("#offline:not(:empty)").wait_for()
    page.context.set_offline(True)
    page.locator("#offered").check()
    choose_file(page, "game.shx", write_bundle(LINES))
    expect(page.locator("#stored")).to_contain_text("The server does not answer")
    expect(page.locator("#verdict h2")).to_have_text(INTACT)
    expect(page.locator("#check-anchor")).to_have_class("missing")


def test_one_changed_byte_of_a_bundle_is_found_and_its_entry_shown(visits: Visits) -> None:
    seq = next(i for i, line in enumerate(LINES) if b'"type":"cards_played"' in line)
    entry = LINES[seq]
    bundle = write_bundle(LINES)
    at = bundle.index(entry) + entry.index(b'"direction":1') + len(b'"direction":')
    page = visits.open("/verify")
    choose_file(page, "game.shx", bundle[:at] + b"2" + bundle[at + 1 :])
    expect(page.locator("#verdict h2")).to_have_text("This record is invalid")
    failed = page.locator("#check-bytes")
    expect(failed).to_contain_text("The file events.jsonl of the bundle was changed or damaged")
    expect(failed.locator(".reason").first).to_contain_text(f"Event {seq}.")
    expect(failed.locator(".next")).to_contain_text("get the record from its server again")
    expect(failed.locator("pre").first).to_contain_text('"direction": 2')
    link = failed.get_by_role("link", name=f"Show event {seq} in this server’s replay")
    expect(link).to_have_attribute("href", f"/replay/{GAME}?event={seq}")
    visits.expect("404")
    link.click()
    expect(failed).to_contain_text("This server has no such game")  # the file is of another one
    expect(page.locator("#verdict a")).to_have_attribute("href", "#check-bytes")
    order = page.locator("#check-order")
    expect(order).to_have_class("part")
    expect(order.locator(".tag")).to_have_text(f"counts before event {seq} only")


def test_a_changed_entry_is_explained_in_one_sentence_and_shown(visits: Visits) -> None:
    page = visits.open("/verify")
    seq = next(i for i, line in enumerate(LINES) if b'"type":"cards_played"' in line)
    changed = LINES[seq].replace(b'"direction":1', b'"direction":-1')
    choose_file(page, "events.jsonl", log_of((*LINES[:seq], changed, *LINES[seq + 1 :])))
    expect(page.locator("#verdict h2")).to_have_text("This record is invalid")
    chain = page.locator("#check-chain")
    expect(chain).to_have_class("fail")
    expect(chain.locator(".reason")).to_have_text(
        f"Event {seq}. This event is not the one that was here when event {seq + 1} was "
        f"written: it was changed, or the events from {seq + 1} on come from another record."
    )
    expect(chain.locator("pre").first).to_contain_text('"direction": -1')
    verdict = page.locator("#verdict")
    expect(verdict).to_contain_text("a person who had this file and changed it after the server")
    expect(verdict).to_contain_text("ask another player, or the server, for their file")


def test_a_bundle_packed_again_and_edited_is_judged_by_its_log(visits: Visits) -> None:
    """Compressed and in a folder, as an ordinary program packs it."""
    files = read_zip(write_bundle(LINES))
    page = visits.open("/verify")
    choose_file(page, "game.zip", packed(in_folder(files)))
    expect(page.locator("#verdict h2")).to_have_text("No evidence of tampering")
    expect(page.locator("#check-bytes")).to_contain_text("Packed again: another program")
    log = files["events.jsonl"].replace(b'"direction":1', b'"direction":-1', 1)
    choose_file(page, "game.zip", packed(in_folder({**files, "events.jsonl": log})))
    expect(page.locator("#verdict h2")).to_have_text("This record is invalid")
    changed = page.locator("#check-bytes .reason").first
    expect(changed).to_contain_text("The file events.jsonl of the bundle was changed or damaged")
    expect(page.locator("#check-chain")).to_have_class("fail")
    expect(page.locator("#verdict")).to_contain_text("a person who had this file and changed it")


def test_a_card_not_held_is_named_even_if_all_hashes_are_recomputed(visits: Visits) -> None:
    forgery = Forgery(LINES)
    seq = forgery.find("cards_played", lambda event: event["data"]["zone"] == "hand")
    true = forgery.data(seq)["cards"][0]
    other = next(card for card in ("2c", "3c", "4c") if card != true)
    forgery.data(seq)["cards"] = [other]
    page = visits.open("/verify")
    choose_file(page, "events.jsonl", log_of(forgery.lines()))
    reason = page.locator("#check-custody .reason")
    rank = {"2c": "two", "3c": "three", "4c": "four"}[other]
    seat = 1 + json.loads(LINES[seq])["data"]["seat"]
    expect(reason).to_contain_text(
        f"Seat {seat} played the {rank} of clubs, but did not hold it at that moment"
    )
    expect(page.locator("#check-custody h4")).to_have_text(
        f"Event {seq}: Seat {seat} played the {rank} of clubs"
    )
    expect(page.locator("#check-chain")).to_have_class("pass")


def test_a_file_of_another_kind_is_refused(visits: Visits) -> None:
    page = visits.open("/verify")
    choose_file(page, "picture.png", b"\x89PNG\r\n")
    expect(page.locator("#verdict")).to_contain_text("neither an evidence bundle nor the record")


def test_a_dropped_file_is_checked(visits: Visits) -> None:
    page = visits.open("/verify")
    page.locator("#app").wait_for()
    page.evaluate(
        """(text) => {
            const data = new DataTransfer();
            data.items.add(new File([text], "events.jsonl"));
            dispatchEvent(new DragEvent("drop", { dataTransfer: data, cancelable: true }));
        }""",
        log_of(LINES).decode(),
    )
    expect(page.locator("#verdict h2")).to_have_text(INTACT)


def test_a_game_of_this_server_is_fetched_by_its_id(visits: Visits, service: Running) -> None:
    host = register(service.port, "Ada")
    game = open_table([host], ruleset="shithead", bots=("lowest",))
    page = visits.open(f"/verify?game={game}")
    expect(page.locator("#verdict h2")).to_have_text(UNJUDGED)
    expect(page.locator("#check-seal")).to_have_class("missing")
    expect(page.locator("#check-chain")).to_have_class("pass")
    expect(page.get_by_role("link", name="Save this file")).to_have_attribute(
        "download", f"{game}.shx"
    )
    page.locator("#offered").check()
    expect(page.locator("#check-receipts")).to_have_class("missing absent")
    page.locator("#game").fill("nothing")
    page.get_by_role("button", name="Fetch and check").click()
    expect(page.locator("#verdict")).to_contain_text("not the id of a game")


def test_a_fetched_game_does_not_replace_a_file_chosen_later(
    visits: Visits, service: Running
) -> None:
    """The answer to an earlier request arrives after the later file was checked."""
    game = open_table([register(service.port, "Ada")], ruleset="shithead", bots=("lowest",))
    page = visits.open("/verify")
    waiting: list[Route] = []
    page.route("**/evidence", lambda route: waiting.append(route))
    page.locator("#game").fill(game)
    with page.expect_request("**/evidence"):
        page.get_by_role("button", name="Fetch and check").click()
    choose_file(page, "later.shx", write_bundle(LINES))
    with page.expect_response("**/evidence"):
        waiting[0].fallback()
    page.wait_for_timeout(500)
    expect(page.locator("#name")).to_have_text("later.shx")
    expect(page.locator("#save")).to_be_hidden()


def test_an_answer_that_is_too_large_is_not_read_to_its_end(visits: Visits) -> None:
    """Of an announced one nothing is read, of another one no more than the limit."""
    page = visits.open("/verify")
    page.evaluate(
        """() => {
            const { fetch } = window, block = new Uint8Array(2 ** 24);
            const pull = (to) => void (window.read += 1, to.enqueue(block));
            const stream = () => new ReadableStream({ pull }, { highWaterMark: 0 });
            Object.assign(window, { read: 0, fetch: (url, how) => url.includes("/evidence")
                ? Promise.resolve(new Response(stream(), window.how)) : fetch(url, how) });
        }"""
    )
    page.locator("#game").fill(GAME)
    for headers, read in (({"Content-Length": str(2**28)}, 0), ({}, 9)):
        page.evaluate("(headers) => { window.how = { headers }; }", headers)
        page.get_by_role("button", name="Fetch and check").click()
        page.wait_for_function("(read) => window.read === read", arg=read)
        expect(page.locator("#verdict")).to_contain_text("larger than any evidence of a game")
        page.locator("#verdict").evaluate("(verdict) => verdict.replaceChildren()")


def wrong_turn(forgery: Forgery) -> int:
    seq = forgery.find("cards_played", lambda event: event["data"]["turn"] is not None)
    forgery.data(seq)["turn"] = forgery.data(seq)["seat"]
    return seq


def a_card_that_does_not_fit(forgery: Forgery) -> int:
    """Two plays of one seat change places, so that the first does not fit the pile."""
    plays = [
        (one, other)
        for one, event in enumerate(forgery.events)
        for other, later in enumerate(forgery.events[one + 1 : one + 30], one + 1)
        if event["type"] == later["type"] == "cards_played"
        and event["data"]["zone"] == later["data"]["zone"] == "hand"
        and event["data"]["seat"] == later["data"]["seat"]
    ]
    for one, other in plays:
        changed = Forgery(forgery.lines())
        first, second = changed.data(one), changed.data(other)
        first["cards"], second["cards"] = second["cards"], first["cards"]
        found = failing(report_on(changed.lines()))
        if found == {Check.LEGALITY: one}:
            forgery.events = changed.events
            return one
    raise AssertionError("no two plays can change places")


def pick_up_while_able(forgery: Forgery) -> int:
    """By `leeds` a seat that can play must."""
    seq = forgery.find("cards_played", lambda event: event["data"]["turn"] is not None, 1)
    data, by = forgery.data(seq), forgery.events[seq]["by"]
    pile = 0
    for event in forgery.events[:seq]:
        kind = event["type"]
        pile += len(event["data"]["cards"]) if kind == "cards_played" else 0
        pile += 1 if kind == "cards_dealt" and event["data"]["starter"] else 0
        pile = 0 if kind in ("pile_burned", "pile_picked_up") else pile
    taken = {"seat": data["seat"], "taker": data["seat"], "count": pile, "with": []}
    turn = (data["seat"] + data["direction"]) % len(forgery.events[0]["data"]["seats"])
    forgery.drop(seq, forgery.move_end(seq))
    more = {"turn": turn, "direction": data["direction"]}
    forgery.insert(seq, "pile_picked_up", {**taken, **more}, by=by)
    return seq


RULE_FAULTS: Final = (
    ("shithead", wrong_turn, "After this move", "1-direction"),
    ("shithead", a_card_that_does_not_fit, "where it is not allowed", ""),
    ("leeds", pick_up_while_able, "and so had to play", "L10"),
)
"""A changed outcome, a card that does not fit, and a skipped obligation."""


def explained(
    page: Page, name: str, change: Callable[[Forgery], int], reason: str, rule: str
) -> None:
    """Choose a changed log, whose fault the page explains by its rule; it leads to the event."""
    forgery = sample(name)
    seq = change(forgery)
    choose_file(page, "events.jsonl", log_of(forgery.lines()))
    failed = page.locator("#check-legality.fail")
    expect(failed.locator(".reason")).to_contain_text(reason)
    expect(failed.locator(".rule")).to_contain_text(f"The rule ({rule}")
    game = forgery.events[0]["game"]
    link = failed.get_by_role("link", name=f"Show event {seq} in")
    expect(link).to_have_attribute("href", f"/replay/{game}?event={seq}")


def test_an_illegal_move_is_explained_by_its_rule_and_leads_into_the_replay(
    visits: Visits,
) -> None:
    page = visits.open("/verify")
    for name, change, reason, rule in RULE_FAULTS:
        explained(page, name, change, reason, rule)


def test_rulesets_are_judged_with_the_server_switched_off(visits: Visits) -> None:
    """
    All checks pass if the evidence is there, and a fault is explained by its rule.

    Outside a long run of two rulesets: `test_verifier.py` judges all without a browser.
    """
    visits.expect("ERR_INTERNET_DISCONNECTED")
    page = first_visit(visits)
    page.locator("#offline:not(:empty)").wait_for()
    page.context.set_offline(True)
    page.reload()
    page.locator("#app").wait_for()
    page.locator("main summary").click()
    page.locator("#server").fill(SERVER_KEY)
    page.locator("#witness").fill(WITNESS_KEY)
    names = {path.stem for path in LOGS if sample(path.stem).events[-1]["type"] == "game_sealed"}
    chosen = names if is_long() else {"shithead", "threes"} & names
    assert len(chosen) > 1
    for name in sorted(chosen):
        lines = sample_lines(name)
        page.set_input_files("#receipts", payload("mine.note", receipt_of(lines)))
        choose_file(page, "game.shx", write_bundle(lines, files={PROOF: proof_of(lines)}))
        expect(page.locator("#verdict h2")).to_have_text(INTACT)
        assert page.locator("#checks li.pass").count() >= CHECKS - 3, name
        assert page.locator("#checks li.pass, #checks li.na").count() == CHECKS, name
    page.set_input_files("#receipts", [])
    explained(page, *RULE_FAULTS[-1])


def test_the_page_works_with_the_server_switched_off(visits: Visits, service: Running) -> None:
    visits.expect("ERR_CONNECTION|ERR_FAILED|ERR_EMPTY_RESPONSE")
    page = first_visit(visits)
    expect(page.locator("#offline")).to_contain_text("works with the server switched off")
    service.kill("API")
    try:
        page.reload()
        choose_file(page, "game.shx", write_bundle(LINES))
        expect(page.locator("#verdict h2")).to_have_text(INTACT)
        page.locator("#game").fill("6f1c2b3a-0000-4000-8000-00000000abcd")
        page.get_by_role("button", name="Fetch and check").click()
        expect(page.locator("#verdict")).to_contain_text("The server does not answer")
    finally:
        service.start("API")
        wait_for(partial(answers, service.port), seconds=60)


def answers(port: int) -> bool:
    connection = HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()


def test_signatures_do_not_pass_if_the_browser_cannot_check_them(visits: Visits) -> None:
    context = visits.visitor()
    context.add_init_script(NO_ED25519 + "\ndelete window.Worker;")  # as an older browser
    page = context.new_page()
    page.goto("/verify")
    keyed = (FOLDER.parents[3] / "tests/golden/samples/shithead-keyed.jsonl").read_bytes()
    choose_file(page, "events.jsonl", keyed)
    signatures = page.locator("#check-signatures")
    expect(signatures).to_have_class("missing")
    expect(signatures).to_contain_text("cannot be checked in this browser")
    expect(page.locator("#verdict h2")).to_have_text(INTACT_SO_FAR)


def test_axe_finds_nothing(visits: Visits) -> None:
    page = visits.open("/verify")
    page.locator("#offline:not(:empty)").wait_for()
    assert faults_in_both_schemes(page) == []
    choose_file(page, "game.shx", write_bundle(LINES))
    page.locator("main summary").click()
    assert faults_in_both_schemes(page) == []
    choose_file(page, "events.jsonl", log_of((*LINES[:30], *LINES[31:])))
    assert page.locator("#checks li.fail").count() > 0
    assert faults_in_both_schemes(page) == []


@pytest.mark.parametrize(
    ("locale", "title", "failure"),
    spread(
        [
            ("ja-JP", "ゲームを検証する", "この出来事の番号は 31 です"),
            ("sv-SE", "Kontrollera ett spel", "Händelsen har nummer 31"),
        ],
        2,
    ),
)
def test_the_page_is_in_the_language_of_the_reader(
    visits: Visits, locale: str, title: str, failure: str
) -> None:
    """Only the texts of that language are loaded, and they are available offline."""
    visits.expect("ERR_INTERNET_DISCONNECTED")
    page = visits.visitor(locale=locale).new_page()
    requested: list[str] = []
    page.on("request", lambda request: requested.append(request.url))
    page.goto("/verify")
    page.locator("#offline:not(:empty)").wait_for()
    words = {url.split("/strings/")[1] for url in requested if "/strings/" in url}
    assert words == {f"{locale[:2]}.json", f"verify/{locale[:2]}.json"}
    page.context.set_offline(True)
    page.reload()
    expect(page.locator("h1")).to_have_text(title)
    choose_file(page, "events.jsonl", log_of((*LINES[:30], *LINES[31:])))
    expect(page.locator("#check-chain .reason")).to_contain_text(failure)


def test_a_language_that_cannot_be_loaded_leaves_the_page_as_it_is(visits: Visits) -> None:
    """The language is chosen offline, or on another page before the server stopped."""
    visits.expect("ERR_INTERNET_DISCONNECTED|ERR_FAILED")
    page = first_visit(visits)
    page.locator("#offline:not(:empty)").wait_for()
    page.context.set_offline(True)
    page.locator("#language").select_option("ja")
    expect(page.locator("#no-language")).to_contain_text("could not be loaded")
    expect(page.locator("#language")).to_have_value("en")
    page.evaluate("localStorage.setItem('shithead.language', 'sv')")
    page.reload()
    choose_file(page, "game.shx", write_bundle(LINES))
    expect(page.locator("#verdict h2")).to_have_text(INTACT)
    expect(page.locator("html")).to_have_attribute("lang", "en")


def test_file_and_game_are_reached_with_the_tab_key(visits: Visits) -> None:
    page = visits.open("/verify?game=nothing")
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == "file":
            break
    assert page.evaluate("document.activeElement.id") == "file"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "game"


def test_a_failure_fits_every_size(visits: Visits) -> None:
    page = visits.open("/verify")
    choose_file(page, "events.jsonl", log_of((*LINES[:30], *LINES[31:])))
    assert page.locator("#checks li.fail").count() > 0
    for width, height in SIZES.values():
        page.set_viewport_size({"width": width, "height": height})
        wider = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        assert wider <= 0, width


def tampered() -> bytes:
    """Return a bundle with one changed byte."""
    bundle = write_bundle(LINES)
    at = bundle.index(b'"direction":1') + len(b'"direction":')
    return bundle[:at] + b"2" + bundle[at + 1 :]


def tar_of(files: dict[str, bytes]) -> bytes:
    """Return a tar file, as the server sends hands in bulk."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return packed.getvalue()


def drop(page: Page, *paths: Path) -> None:
    """Drop files and folders of the disk on the page, as a person does."""
    client = page.context.new_cdp_session(page)
    data = {"items": [], "files": [str(path) for path in paths], "dragOperationsMask": 1}
    for kind in ("dragEnter", "dragOver", "drop"):
        client.send("Input.dispatchDragEvent", {"type": kind, "x": 200, "y": 200, "data": data})


def test_of_three_files_the_one_that_was_changed_is_found(visits: Visits, tmp_path: Path) -> None:
    """Dropped together, the changed one second; a row opens the report of its file."""
    contents = {"a.shx": write_bundle(LINES), "b.shx": tampered(), "c.shx": write_bundle(LINES)}
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    page = visits.open("/verify")
    page.locator("#app").wait_for()
    drop(page, *(tmp_path / name for name in contents))
    expect(page.locator("#many-verdict h2")).to_have_text("1 of 3 fails", timeout=20_000)
    expect(page.locator("#many-verdict")).to_have_class("status-1")
    expect(page.locator("#many-rows li")).to_have_count(3)
    expect(page.locator("#many-rows .fail")).to_contain_text("b.shx")
    expect(page.locator("#many-rows .fail")).to_contain_text("The exact format")
    assert page.locator("#many-rows .pass").count() == 2
    expect(page.locator("#result")).to_be_hidden()
    assert faults_in_both_schemes(page) == []
    page.get_by_role("button", name="b.shx").click()
    expect(page.locator("#verdict h2")).to_have_text("This record is invalid")
    expect(page.locator("#many-rows li")).to_have_count(3)
    choose_file(page, "game.shx", write_bundle(LINES))
    expect(page.locator("#many")).to_be_hidden()


def test_a_folder_of_files_and_one_of_a_bundle_are_read(visits: Visits, tmp_path: Path) -> None:
    """With a tar file in it; files of other kinds are counted, and an empty folder is refused."""
    mixed, unpacked = tmp_path / "mixed", tmp_path / "unpacked"
    (mixed / "deep").mkdir(parents=True)
    (mixed / "deep" / "one.shx").write_bytes(tampered())
    (mixed / "month.tar").write_bytes(tar_of({"x.shx": write_bundle(LINES), "y.shx": b"no"}))
    (mixed / "readme.txt").write_text("Not evidence.")
    for name, content in read_zip(write_bundle(LINES)).items():
        (unpacked / name).parent.mkdir(parents=True, exist_ok=True)
        (unpacked / name).write_bytes(content)
    page = visits.open("/verify")
    page.locator("#app").wait_for()
    drop(page, mixed)
    expect(page.locator("#many-verdict h2")).to_have_text("1 of 3 fails", timeout=20_000)
    rows = page.locator("#many-rows li")
    expect(rows).to_have_count(3)
    expect(rows.filter(has_text="month.tar: y.shx")).to_contain_text("neither an evidence bundle")
    expect(page.locator("#many-verdict")).to_contain_text("1 other file in the folder")
    drop(page, unpacked)
    expect(page.locator("#verdict h2")).to_have_text("No evidence of tampering", timeout=20_000)
    (tmp_path / "empty").mkdir()
    drop(page, tmp_path / "empty")
    expect(page.locator("#verdict")).to_contain_text("This folder has no manifest.json")


def test_every_failure_of_reading_ends_in_one_sentence(visits: Visits, tmp_path: Path) -> None:
    page = visits.open("/verify")
    page.locator("#app").wait_for()
    large = tmp_path / "large.shx"
    with large.open("wb") as file:
        file.truncate(2_300_000_000)
    drop(page, large)
    expect(page.locator("#verdict")).to_contain_text("larger than any evidence of a game")
    whole = tar_of({f"{n}.shx": write_bundle(LINES) for n in range(2)})
    page.set_input_files("#file", payload("hands.tar", whole[: len(whole) // 2]))
    expect(page.locator("#many-rows .fail")).to_contain_text("This tar file was cut off")
    gone = "(file) => { Blob.prototype.arrayBuffer = () => Promise.reject(new DOMException('x')); }"
    page.evaluate(gone)
    choose_file(page, "game.shx", write_bundle(LINES))
    expect(page.locator("#verdict")).to_contain_text("The browser cannot read this file")


def test_more_records_than_a_page_holds_are_refused(visits: Visits) -> None:
    """In one tar file, or chosen one by one; the limit of this page is two."""

    def lower(route: Route) -> None:
        answer = route.fetch()
        text, changes = re.subn("MAX_SOURCES ?= ?100_?000", "MAX_SOURCES=2", answer.text())
        assert changes == 1
        route.fulfill(response=answer, body=text)

    page = visits.visitor(service_workers="block").new_page()
    page.route("**/app/sources.js", lower)
    content = {f"{n}.shx": write_bundle(LINES) for n in range(3)}
    for files in ({"hands.tar": tar_of(content)}, content):
        page.goto("/verify")
        page.locator("#app").wait_for()
        page.set_input_files("#file", [payload(name, data) for name, data in files.items()])
        expect(page.locator("#verdict")).to_contain_text("These are more than 2 records.")
