"""A declared restore beside a receipt that contradicts: shown, and never enough for a pass."""

from __future__ import annotations

import json
from base64 import b64encode
from dataclasses import replace
from datetime import datetime, timedelta

from service.shx.bundle import Bundle
from service.shx.canonical import parse_time
from service.shx.restores import new_restore
from service.shx.tlog.notes import NoteSigner, sign_note
from service.verify.evidence import parse_keys
from service.verify.finding import Finding, Result
from service.verify.verify import verify_bundle
from tests.unit.verify.test_receipts import (
    LINES,
    SERVER,
    THIEF,
    note,
    receipts,
    with_notes,
)

RESTORED = "receipts.restored"


def time_of(seq: int) -> datetime:
    return parse_time(json.loads(LINES[seq])["at"])


def declaration(at: datetime, signer: NoteSigner = SERVER) -> bytes:
    since = at - timedelta(seconds=3)
    return sign_note(new_restore(SERVER.name, leaf=9, since=since, at=at).body, [signer])


def found(seq: int, restore: bytes) -> Finding:
    evidence = replace(with_notes(note(seq, changed=True)), restores=(restore,))
    return receipts(verify_bundle(Bundle(lines=LINES), evidence))


def is_shown(finding: Finding) -> bool:
    return RESTORED in {one.code for one in finding.notes}


def test_a_receipt_of_a_lost_move_fails_and_the_declaration_is_shown_beside_it() -> None:
    """The event in the place of the lost move was recorded after the restore."""
    finding = found(40, declaration(time_of(40)))
    assert finding.result is Result.FAIL
    assert is_shown(finding)
    text = finding.reason or ""
    assert "The server has declared a restore at" in text
    assert "the receipt contradicts this record all the same" in text


def test_a_declaration_does_not_explain_another_event_from_before_the_restore() -> None:
    """What the log had recorded before the restore was not lost by it."""
    finding = found(40, declaration(time_of(40) + timedelta(microseconds=1)))
    assert finding.result is Result.FAIL
    assert not is_shown(finding)


def test_a_move_beyond_the_end_is_explained_unless_the_game_was_over_before() -> None:
    last = len(LINES) - 1
    late = declaration(time_of(last) + timedelta(seconds=1))
    evidence = replace(with_notes(note(last)), restores=(late,))
    unsealed = receipts(verify_bundle(Bundle(lines=LINES[:-1]), evidence))
    assert unsealed.code == "receipts.beyond"
    assert is_shown(unsealed)


def test_a_declaration_that_no_known_key_signed_is_not_shown() -> None:
    assert not is_shown(found(40, declaration(time_of(40), THIEF)))


def test_a_declaration_comes_with_the_saved_keys() -> None:
    keys = [{"name": SERVER.name, "public": b64encode(SERVER.verifier.public).decode()}]
    answer = {"items": keys, "restores": [declaration(time_of(40)).decode(), 7]}
    read = parse_keys([json.dumps(answer)])
    assert read.restores == (declaration(time_of(40)),)
    assert read.server == (SERVER.verifier,)
