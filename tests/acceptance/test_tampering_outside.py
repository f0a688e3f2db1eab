"""Tampering that only outside evidence reveals passes without it and fails with it."""

from __future__ import annotations

import json
from datetime import timedelta
from functools import cache
from uuid import UUID

import pytest

from service.replay.sentences import Sentence
from service.shx.bundle import OPENINGS, Bundle, read_bundle, write_bundle
from service.shx.canonical import canonical
from service.shx.chain import head
from service.shx.receipts import issue_receipt
from service.shx.tlog.notes import NoteSigner
from service.verify.evidence import OutsideEvidence
from service.verify.finding import Check, Result
from service.verify.verify import verify_bundle
from tests.changed import replace
from tests.random_games import START, Plan, made_game, private_key, public_text
from tests.tamper import Forgery, failing, report_on, sample, sample_lines

KEYS = {seat: private_key(f"seat {seat}") for seat in range(3)}
SEAT_KEYS = {seat: public_text(key) for seat, key in KEYS.items()}
SERVER = NoteSigner(name="example.org/shithead", key=private_key("server"))


@cache
def keyed_lines() -> tuple[bytes, ...]:
    """Return the log of a game whose three seats signed their moves with KEYS."""
    return tuple(made_game(Plan(name="keyed", ruleset="threes", keys=KEYS, turn_limit=150)))


def receipt(lines: tuple[bytes, ...], seq: int, signer: NoteSigner = SERVER) -> bytes:
    game = UUID(json.loads(lines[0])["game"])
    return issue_receipt(signer, game=game, seq=seq, head=head(lines[seq]))


def with_receipts(*notes: bytes, keys: bool = False) -> OutsideEvidence:
    return OutsideEvidence(
        receipts=notes,
        server_keys=(SERVER.verifier,),
        seat_keys=SEAT_KEYS if keys else {},
    )


def test_a_whole_game_replaced_passes_alone_and_fails_with_a_receipt() -> None:
    """The level is L1 alone; the receipt of the true game names another head."""
    true = tuple(made_game(Plan(name="replaced")))
    forged = tuple(made_game(Plan(name="replaced", start=START + timedelta(seconds=1))))
    alone = report_on(forged)
    assert not failing(alone)
    assert (alone.level, alone.outside) == ("L1", ())
    report = report_on(forged, with_receipts(receipt(true, 20)))
    assert failing(report) == {Check.RECEIPTS: 20}
    assert report.level == "L0"


@pytest.mark.attack(
    "TRUNCATION",
    "a truncated log, compared with a receipt",
    check="seal, receipts",
    needs="RECEIPT",
)
def test_a_truncated_game_passes_so_far_and_fails_with_a_receipt() -> None:
    lines = sample_lines("shithead")
    cut = lines[: sample("shithead").find("pile_picked_up", n=5)]
    alone = report_on(cut)
    assert (alone.level, alone.sealed, alone.result) == ("L1", False, Result.MISSING)
    assert alone.wording == "no evidence of tampering, level L1 so far"
    assert Check.RECEIPTS in failing(report_on(cut, with_receipts(receipt(lines, len(cut)))))


@pytest.mark.attack(
    "OWN_TRUST", "receipts signed by another key", check="receipts", needs="RECEIPT"
)
def test_a_receipt_that_another_key_signed_fails() -> None:
    lines = sample_lines("shithead")
    forged = receipt(lines, 9, NoteSigner(name=SERVER.name, key=private_key("another")))
    assert failing(report_on(lines, with_receipts(forged))) == {Check.RECEIPTS: None}


def test_a_receipt_of_another_game_fails() -> None:
    other = receipt(sample_lines("threes"), 9)
    assert Check.RECEIPTS in failing(report_on(sample_lines("shithead"), with_receipts(other)))


def test_receipts_without_the_server_key_raise_no_level() -> None:
    lines = sample_lines("shithead")
    report = report_on(lines, OutsideEvidence(receipts=(receipt(lines, 9),)))
    assert report.level == "L1"


def test_a_receipt_in_the_bundle_is_checked_and_raises_no_level() -> None:
    """Evidence in a bundle proves nothing in its favour, but must not contradict it."""
    lines = sample_lines("shithead")
    good = {"receipts/a.note": receipt(lines, 9)}
    report = verify_bundle(
        read_bundle(write_bundle(lines, files=good)),
        OutsideEvidence(server_keys=(SERVER.verifier,)),
    )
    assert (report.level, failing(report)) == ("L1", {})
    bad = {"receipts/a.note": receipt(sample_lines("threes"), 9)}
    assert Check.RECEIPTS in failing(verify_bundle(read_bundle(write_bundle(lines, files=bad))))


def test_a_receipt_raises_the_level_to_l2_up_to_its_event() -> None:
    lines = sample_lines("shithead")
    part = report_on(lines, with_receipts(receipt(lines, 9), receipt(lines, 40)))
    assert part.wording == "no evidence of tampering, level L2 up to seq 40"
    whole = report_on(lines, with_receipts(receipt(lines, len(lines) - 1)))
    assert whole.wording == "no evidence of tampering, level L2"


def test_the_keys_of_all_human_seats_raise_the_level_to_l3() -> None:
    lines = keyed_lines()
    last = receipt(lines, len(lines) - 1)
    assert report_on(lines, with_receipts(last, keys=True)).level == "L3"
    some = OutsideEvidence(
        receipts=(last,), server_keys=(SERVER.verifier,), seat_keys={0: SEAT_KEYS[0]}
    )
    report = report_on(lines, some)
    assert report.level == "L2"
    assert report.missing == (
        Sentence(code="more.seat_key", values={"seat": 1}),
        Sentence(code="more.seat_key", values={"seat": 2}),
    )


@pytest.mark.attack(
    "UNSIGNED",
    "another deal after a seat signed without seeing it",
    check="the level",
    needs="SEAT_KEY",
)
def test_a_move_signed_before_the_deal_was_seen_does_not_count_for_l3() -> None:
    """Its signature is valid with any deck, and all other moves of the seat follow time-outs."""
    clock = {"turn_seconds": 30, "swap_seconds": 60}
    plan = Plan(name="early", seats=2, keys=KEYS, clock=clock, silent=1, silent_after=2)
    forgery = Forgery(made_game(plan))
    made = [e for e in forgery.events if "auth" in e and e["data"]["seat"] == 1]
    assert {event["type"] for event in made} <= {"cards_swapped", "seat_ready"}
    for level, seen in (("L3", made[0]["auth"]["intent"]["seen"]["seq"]), ("L2", 0)):
        made[0]["auth"]["intent"]["seen"]["seq"] = seen
        lines = forgery.lines(KEYS)
        seats = {seat: SEAT_KEYS[seat] for seat in (0, 1)}
        evidence = replace(with_receipts(receipt(lines, len(lines) - 1)), seat_keys=seats)
        report = report_on(lines, evidence)
        assert (failing(report), report.level) == ({}, level)
    assert report.missing == (Sentence(code="more.no_move", values={"seat": 1}),)


def test_l3_does_not_apply_to_a_game_without_human_seats() -> None:
    lines = tuple(made_game(Plan(name="bots", bots=True)))
    report = report_on(lines, with_receipts(receipt(lines, len(lines) - 1)))
    assert report.level == "L2"
    assert report.missing == (Sentence(code="more.no_human"),)


def test_a_manifest_of_another_game_is_caught() -> None:
    bundle = Bundle(lines=sample_lines("shithead"), game=UUID(int=7))
    assert failing(verify_bundle(bundle)) == {Check.CHAIN: 0}


@pytest.mark.attack("OTHERS_OPENINGS", "a false opening in a seat's bundle", check="openings")
def test_a_false_opening_in_a_seats_bundle_is_caught() -> None:
    lines = sample_lines("shithead")
    seal = json.loads(lines[-1])["data"]
    cut = lines[: sample("shithead").find("cards_played")]
    opening = sample("shithead").shuffle(bytes.fromhex(seal["seed"])).opening(20)
    good = write_bundle(cut, profile="seat-0", files={OPENINGS: canonical([opening])})
    assert not failing(verify_bundle(read_bundle(good)))
    opening["card"] = "2h" if opening["card"] != "2h" else "3h"
    bad = write_bundle(cut, profile="seat-0", files={OPENINGS: canonical([opening])})
    assert failing(verify_bundle(read_bundle(bad))) == {Check.OPENINGS: len(cut) - 1}
