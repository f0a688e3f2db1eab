"""Seat keys from hand to hand: a key that the old key did not endorse is reported."""

from __future__ import annotations

import json
from base64 import b64decode
from datetime import timedelta
from functools import cache
from uuid import UUID

import pytest

from service.shx.bundle import Bundle
from service.shx.keys import KeyChange, key_follows
from service.shx.moves import sign_key_change
from service.verify.evidence import OutsideEvidence
from service.verify.finding import Check, Result
from service.verify.log import Log
from service.verify.log_summary import next_dealer
from service.verify.report import Report
from tests.changed import replace
from tests.random_games import START, TABLE, Plan, made_game, private_key, public_text
from tests.tamper import failing, report_on

OLD, NEW = private_key("old"), private_key("new")
WEAK = {"AQ" + "A" * 41 + "=", "A" * 43 + "="}
INVALID_KEYS = {
    "Ag" + "A" * 41 + "=": "a key that is no point of the curve, so no signature verifies under it",
    "8P" + "/" * 39 + "38=": "a key in a non-canonical encoding",
}


@cache
def hands() -> tuple[tuple[bytes, ...], tuple[bytes, ...]]:
    """Return two hands of a table between which seat 0 changed its key."""
    first = tuple(made_game(Plan(name="first key", keys={0: OLD})))
    plan = Plan(
        name="second key",
        keys={0: NEW},
        hand=2,
        dealer=next_dealer(Log(first)),
        prev_game=json.loads(first[0])["game"],
        start=START + timedelta(days=1),
    )
    return first, tuple(made_game(plan))


def change(signer: str = "old") -> KeyChange:
    key = b64decode(public_text(NEW))
    sig = sign_key_change(private_key(signer), table=UUID(TABLE), seat=0, key=key)
    return KeyChange(table=UUID(TABLE), seat=0, key=key, sig=sig)


def second_hand(evidence: OutsideEvidence) -> Report:
    first, second = hands()
    return report_on(second, replace(evidence, others=(Bundle(lines=first),)))


def sequence_of(report: Report) -> tuple[Result, str | None]:
    finding = next(f for f in report.findings if f.check is Check.SEQUENCE)
    return finding.result, finding.reason


def test_a_key_signed_by_the_old_key_is_reported_as_endorsed() -> None:
    report = second_hand(OutsideEvidence(key_changes=(change(),)))
    remark = "In hand 2 seat 1 has another key, signed by the previous one."
    assert sequence_of(report) == (Result.PASS, remark)


@pytest.mark.parametrize("changes", [(), (change("thief"),)], ids=["none", "another's"])
def test_a_key_not_signed_by_the_old_key_is_reported_as_new(changes: tuple[KeyChange, ...]) -> None:
    report = second_hand(OutsideEvidence(key_changes=changes))
    assert sequence_of(report) == (Result.PASS, "In hand 2 seat 1 has a new key.")


def test_the_supplied_key_of_a_seat_vouches_for_the_keys_that_it_signed() -> None:
    mine = {0: public_text(OLD)}
    _, second = hands()
    assert failing(report_on(second, OutsideEvidence(seat_keys=mine))) == {Check.SIGNATURES: 0}
    assert (
        failing(report_on(second, OutsideEvidence(seat_keys=mine, key_changes=(change(),)))) == {}
    )
    forged = OutsideEvidence(seat_keys=mine, key_changes=(change("thief"),))
    assert failing(report_on(second, forged)) == {Check.SIGNATURES: 0}


def test_a_later_key_does_not_vouch_for_an_earlier_key() -> None:
    first, _ = hands()
    evidence = OutsideEvidence(seat_keys={0: public_text(NEW)}, key_changes=(change(),))
    assert failing(report_on(first, evidence)) == {Check.SIGNATURES: 0}


@pytest.mark.parametrize("weak", sorted(WEAK))
def test_a_log_that_pins_a_weak_key_fails(weak: str) -> None:
    log = [line.replace(public_text(OLD).encode(), weak.encode()) for line in hands()[0]]
    report = report_on(log[:1])
    [finding] = [f for f in report.findings if f.check is Check.SIGNATURES]
    assert (finding.result, finding.seq) == (Result.FAIL, 0)
    assert finding.reason == "The key of seat 1 is so weak that anyone can sign with it."


@pytest.mark.attack(
    "KEY_SWAP", "a key off the curve, or in a non-canonical encoding", check="signatures"
)
@pytest.mark.parametrize("key", sorted(INVALID_KEYS))
def test_a_log_that_pins_an_invalid_key_fails(key: str) -> None:
    """Keys off the curve and non-canonical encodings."""
    log = [line.replace(public_text(OLD).encode(), key.encode()) for line in hands()[0]]
    [finding] = [f for f in report_on(log[:1]).findings if f.check is Check.SIGNATURES]
    assert (finding.result, finding.seq) == (Result.FAIL, 0)
    assert finding.code == "signatures.no_key"
    assert (finding.reason or "").endswith(f"({INVALID_KEYS[key]})")


@pytest.mark.parametrize("key", sorted(INVALID_KEYS))
def test_a_change_to_an_invalid_key_is_ignored(key: str) -> None:
    table, public = UUID(json.loads(hands()[0][0])["data"]["table"]), b64decode(key)
    sig = sign_key_change(OLD, table=table, seat=0, key=public)
    made = KeyChange(table=table, seat=0, key=public, sig=sig)
    old = b64decode(public_text(OLD))
    assert not key_follows(old, public, [made], table=table, seat=0)
