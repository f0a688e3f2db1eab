"""Deck, history and actions are separate claims, and a report names every event that fails."""

from __future__ import annotations

import json
from uuid import UUID

import pytest

from service.shx.bundle import Bundle
from service.shx.chain import head
from service.shx.receipts import issue_receipt
from service.shx.tlog.notes import NoteSigner
from service.verify.claims import Claim, asserts
from service.verify.evidence import OutsideEvidence
from service.verify.finding import MAX_SEQS, Check, Finding, Result
from service.verify.report import Report, audit_object, report_html, report_text
from service.verify.verify import verify_bundle
from tests.random_games import Plan, made_game, private_key
from tests.tamper import Forgery, failing, report_on, sample, sample_lines


def failed_claims(report: Report) -> set[Claim]:
    return {one.claim for one in report.claims if one.result is Result.FAIL}


def finding(report: Report, check: Check) -> Finding:
    return next(found for found in report.findings if found.check is check)


def with_a_false_burn() -> Forgery:
    forgery = sample("shithead")
    forgery.data(forgery.find("pile_burned", lambda e: e["data"]["cause"] == "rank"))["cause"] = (
        "set"
    )
    return forgery


def with_another_seed() -> Forgery:
    forgery = sample("shithead")
    forgery.reseed(b"\x07" * 32, commit=False)
    return forgery


def without_a_line() -> Bundle:
    lines = sample_lines("shithead")
    return Bundle(lines=(*lines[:40], *lines[41:]))


def test_a_broken_rule_is_not_reported_as_a_forged_history() -> None:
    report = report_on(with_a_false_burn().lines())
    assert failed_claims(report) == {Claim.ACTIONS}
    assert report.wording.endswith("; nothing against the deck or the history")


def test_a_false_deck_is_reported_under_deck() -> None:
    report = report_on(with_another_seed().lines())
    assert Claim.DECK in failed_claims(report)
    assert report.wording.startswith("the deck does not hold: commitments fails at seq ")


def test_a_history_with_a_gap_is_reported_under_history() -> None:
    report = verify_bundle(without_a_line())
    assert Claim.HISTORY in failed_claims(report)
    assert "the history does not hold: chain fails at seq 40" in report.wording


def test_text_page_and_json_name_the_failed_claim() -> None:
    report = report_on(with_a_false_burn().lines())
    text, page = report_text(report), report_html([("game", report)])
    for claim in Claim:
        assert f"{asserts(claim)}: " in text
        assert asserts(claim) in page
    assert f"{asserts(Claim.ACTIONS)}: does not hold: legality fails at seq" in text
    assert audit_object(report)["wording"] == report.wording


def test_a_valid_log_alone_states_that_outside_evidence_is_missing() -> None:
    report = report_on(sample_lines("shithead"))
    claims = {one.claim: (one.result, one.text) for one in report.claims}
    nothing = (Result.PASS, "nothing against it")
    assert claims[Claim.DECK] == claims[Claim.ACTIONS] == nothing
    assert claims[Claim.HISTORY] == (
        Result.MISSING,
        "nothing against it, and nothing from outside for it",
    )


def test_a_running_game_names_the_checks_that_must_wait() -> None:
    report = report_on(made_game(Plan(name="open", stop=9)))
    claims = {one.claim: one.text for one in report.claims}
    assert claims[Claim.DECK].endswith("Not checked yet: commitments and shuffle")
    assert claims[Claim.HISTORY].endswith("Not checked yet: seal")


def test_no_claim_passes_for_a_log_that_is_partly_unreadable() -> None:
    lines = sample_lines("shithead")
    report = report_on((*lines[:60], b"{}", *lines[60:]))
    assert {one.result for one in report.claims} == {Result.FAIL, Result.MISSING}
    assert report.wording.endswith("as far as the log can be read")


def test_every_illegal_move_is_named_with_its_own_rule() -> None:
    forgery = sample("shithead")
    burns = [forgery.find("pile_burned", n=n) for n in range(3)]
    for seq in burns:
        forgery.data(seq)["cause"] = "set" if forgery.data(seq)["cause"] == "rank" else "rank"
    legality = finding(report_on(forgery.lines()), Check.LEGALITY)
    assert [legality.seq, *(one.seq for one in legality.further)] == burns
    assert legality.others is not None
    assert legality.others.text == f"2 more, at event {burns[1]}, {burns[2]}."
    assert all(one.rule for one in legality.further)


def test_further_failures_fit_the_schema_of_the_api() -> None:
    forgery = sample("shithead")
    for seq in (forgery.find("pile_burned", n=n) for n in range(2)):
        forgery.data(seq)["cause"] = "set" if forgery.data(seq)["cause"] == "rank" else "rank"
    report = report_on(forgery.lines())
    checks = {check["check"]: check for check in audit_object(report)["checks"]}
    legality = checks["legality"]
    assert set(legality) == {"check", "result", "seq", "code", "values", "reason", "rule"}
    assert (legality["code"], legality["values"]) == ("legality.cause_set", {})
    for text in (legality["reason"], report_text(report), report_html([("game", report)])):
        assert " 1 more, at event " in text


def test_all_invalid_lines_are_counted() -> None:
    """For example if a program changed the line endings of the file."""
    lines = tuple(line + b"\r" for line in sample_lines("shithead"))
    report = report_on(lines)
    unreadable = finding(report, Check.BYTES)
    assert unreadable.seq == 0
    assert unreadable.reason is not None and "carriage return" in unreadable.reason
    assert report.wording == "the history does not hold: bytes fails at seq 0"
    assert len(unreadable.further) == len(lines) - 1
    named = ", ".join(map(str, range(1, MAX_SEQS + 1)))
    beyond = len(lines) - 1 - MAX_SEQS
    first = f"{len(lines) - 1} more, at event {named}"
    assert unreadable.others is not None
    assert unreadable.others.text == f"{first} and {beyond} other events."


def test_a_gap_in_the_numbers_is_one_failure() -> None:
    assert finding(verify_bundle(without_a_line()), Check.CHAIN).further == ()


def test_an_early_time_out_does_not_count_towards_the_stand_in() -> None:
    """All time-outs of a seat come a second too early; none of them justifies the next."""
    clock = {"turn_seconds": 30, "swap_seconds": 60}
    lines = made_game(Plan(name="silent", clock=clock, silent=1, stop=60))
    assert not failing(report_on(lines))
    forgery = Forgery(lines)
    forgery.data(0)["clock"]["turn_seconds"] = 31
    legality = finding(report_on(forgery.lines()), Check.LEGALITY)
    started = forgery.find("play_started")
    turns = [
        seq
        for seq, event in enumerate(forgery.events)
        if event["type"] == "turn_timed_out" and seq > started
    ]
    assert len(turns) > 3
    assert [legality.seq, *(one.seq for one in legality.further)] == turns


@pytest.mark.parametrize("name", ["shithead", "leeds", "threes-time-outs", "reverse"])
def test_a_valid_log_has_no_further_failures(name: str) -> None:
    report = report_on(sample_lines(name))
    assert failing(report) == {}
    assert all(not found.further for found in report.findings)


def test_an_unreadable_line_breaks_no_rule() -> None:
    """The unreadable line may contain the rest of a move, so no seat is blamed for its absence."""
    lines = sample_lines("shithead")
    for kind in ("cards_drawn", "pile_burned", "play_started", "game_sealed"):
        seq = sample("shithead").find(kind)
        report = report_on((*lines[:seq], b"{}", *lines[seq + 1 :]))
        assert failing(report) == {Check.BYTES: seq}


def test_receipts_are_compared_with_unreadable_lines() -> None:
    """A receipt for a later line agrees; one for the unreadable line does not."""
    lines = sample_lines("shithead")
    signer = NoteSigner(name="example.org", key=private_key("server"))
    game = UUID(json.loads(lines[0])["game"])
    notes = [
        issue_receipt(signer, game=game, seq=seq, head=head(lines[seq])) for seq in (40, 60, 80)
    ]
    damaged = (*lines[:60], lines[60] + b" ", *lines[61:])
    evidence = OutsideEvidence(receipts=tuple(notes), server_keys=(signer.verifier,))
    assert failing(report_on(damaged, evidence)) == {Check.BYTES: 60, Check.RECEIPTS: 60}
    assert failing(report_on((*lines[:60], lines[60][:-1], *lines[61:]))) == {Check.BYTES: 60}
