"""Receipts: those that agree, those that contradict, and those that prove nothing."""

from __future__ import annotations

import json
from uuid import UUID

from service.shx.bundle import Bundle
from service.shx.chain import head
from service.shx.receipts import issue_receipt
from service.shx.tlog.notes import NoteSigner
from service.verify.claims import Claim
from service.verify.evidence import OutsideEvidence
from service.verify.finding import Check, Finding, Result
from service.verify.report import Report, report_text
from service.verify.verify import verify_bundle
from tests.changed import replace
from tests.random_games import private_key
from tests.tamper import sample_lines, with_short_sentences
from tests.unit.verify.test_anchoring import LATER, listed

SERVER = NoteSigner(name="example.org/shithead", key=private_key("server"))
THIEF = NoteSigner(name=SERVER.name, key=private_key("thief"))
LINES = sample_lines("shithead")
GAME = UUID(json.loads(LINES[0])["game"])


def note(seq: int, signer: NoteSigner = SERVER, *, changed: bool = False) -> bytes:
    named = bytes(32) if changed else head(LINES[seq])
    return issue_receipt(signer, game=GAME, seq=seq, head=named)


def with_notes(*notes: bytes, keys: bool = True) -> OutsideEvidence:
    names = {data: f"{number}.note" for number, data in enumerate(notes)}
    server = (SERVER.verifier,) if keys else ()
    return OutsideEvidence(receipts=notes, files=names, server_keys=server)


def report(evidence: OutsideEvidence, **files: bytes) -> Report:
    bundled = {f"receipts/{name}": data for name, data in files.items()}
    return with_short_sentences(verify_bundle(Bundle(lines=LINES, files=bundled), evidence))


def receipts(of: Report) -> Finding:
    return next(found for found in of.findings if found.check is Check.RECEIPTS)


def history(of: Report) -> tuple[Result, str]:
    return next((one.result, one.text) for one in of.claims if one.claim is Claim.HISTORY)


def test_a_note_of_an_unknown_signer_does_not_count_against_the_history() -> None:
    found = report(with_notes(note(30), note(40, THIEF, changed=True)))
    assert receipts(found).result is Result.FAIL
    assert "the history does not hold" not in found.wording
    assert "the supplied evidence proves nothing, for or against" in found.wording
    assert "nothing against the deck, the history or the actions" in found.wording
    assert history(found)[0] is not Result.FAIL


def test_a_damaged_note_is_named_and_does_not_count_against_the_history() -> None:
    found = report(with_notes(note(30), note(40)[:-20]))
    reason = receipts(found).reason or ""
    assert reason.startswith("A receipt cannot be read. (")
    assert "Its name: 1.note." in reason
    assert history(found)[0] is not Result.FAIL


def test_a_note_of_another_game_does_not_count_against_this_one() -> None:
    other = issue_receipt(SERVER, game=UUID(int=7), seq=3, head=bytes(32))
    found = report(with_notes(other))
    assert receipts(found).code == "receipts.game"
    assert "Its name: 0.note." in (receipts(found).reason or "")
    assert history(found)[0] is not Result.FAIL


def test_without_the_key_a_contradiction_counts_only_if_the_server_signed_the_note() -> None:
    found = report(with_notes(note(40, changed=True), keys=False))
    assert receipts(found).result is Result.FAIL
    sentence = "the history is contradicted if the server signed it, which is not shown"
    assert sentence in found.wording
    assert history(found)[0] is Result.MISSING


def test_the_contradicting_note_is_named_with_its_signer() -> None:
    found = report(with_notes(note(10), note(20), note(40, changed=True)))
    reason = receipts(found).reason or ""
    assert (receipts(found).code, receipts(found).values) == ("receipts.head_after", {"at": 20})
    assert "Its name: 2.note." in reason
    assert f"by {SERVER.name}+{SERVER.verifier.key_id.hex()}, is valid" in reason
    assert history(found)[0] is Result.FAIL


def test_the_number_of_agreeing_receipts_is_stated_beside_the_contradicting_one() -> None:
    found = report(with_notes(note(10), note(20), note(40, changed=True), b"x"))
    assert found.outside[0].values == {"n": 2, "at": 20}
    assert [one.text for one in found.outside[1:]] == [
        "The receipt 2.note contradicts, at event 40.",
        "1 of 4 receipts proves nothing: the check says why.",
    ]
    assert "from outside: 2 receipts that the server signed agree" in report_text(found)


def test_a_change_in_an_unsigned_log_is_not_attributed_to_the_server() -> None:
    """Anyone who has the file can rewrite it; the server signed only the history of its note."""
    reason = receipts(report(with_notes(note(10), note(40, changed=True)))).reason or ""
    assert "can have made both" not in reason
    assert "If the operator gave out this record" in reason


def test_two_histories_signed_by_one_key_are_attributed_to_the_server() -> None:
    both = "The same key signed this history too, at event 60: only its holder, the operator,"
    contradicting = with_notes(note(40, changed=True))
    assert both in (receipts(report(with_notes(note(60), note(40, changed=True)))).reason or "")
    evidence = report(contradicting, **{"a.note": note(60)})
    assert both in (receipts(evidence).reason or ""), "a bundle's note counts by its signature"
    stranger = report(contradicting, **{"a.note": note(60, THIEF)})
    assert both not in (receipts(stranger).reason or "")


def test_a_receipt_for_an_event_after_an_open_log_is_not_a_second_history() -> None:
    """An earlier copy ends before the receipt: it is not a second history."""
    evidence = with_notes(note(59), note(80))
    found = verify_bundle(Bundle(lines=LINES[:60]), evidence)
    reason = receipts(found).reason or ""
    assert receipts(found).code == "receipts.beyond"
    assert reason.endswith("this record was cut short or is an earlier copy.")


def test_a_receipt_for_an_event_after_the_seal_shows_another_history() -> None:
    last = len(LINES) - 1
    after = issue_receipt(SERVER, game=GAME, seq=last + 1, head=bytes(32))
    reason = receipts(report(with_notes(note(last), after))).reason or ""
    assert f"The same key signed this history too, at event {last}: only its holder" in reason


def test_a_contradicting_note_of_the_bundle_is_named() -> None:
    found = report(with_notes(note(10)), **{"a.note": note(40, changed=True)})
    assert "Its name: receipts/a.note." in (receipts(found).reason or "")


def test_remarks_on_keys_are_separate_lines_even_with_a_contradicting_receipt() -> None:
    evidence = replace(with_notes(note(10), note(40, changed=True)), listed=(listed(LATER),))
    found = report(evidence)
    lines = [line for line in report_text(found).splitlines() if line.startswith("remark: ")]
    assert lines[0].endswith("So its time proves nothing; the signature remains valid.")
    assert "begins at" not in (receipts(found).reason or "")
    assert "Remark: Key " in (receipts(found).text or "")
