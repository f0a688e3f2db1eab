"""Evidence from outside: keys with their dates, and notes without a known key."""

from __future__ import annotations

import json
from uuid import UUID

import pytest

from service.shx.bundle import Bundle
from service.shx.chain import head
from service.shx.keys import ListedKey
from service.shx.receipts import issue_receipt, receipt_body
from service.shx.tlog.checkpoint import Checkpoint, Cosigner, cosign, sign_checkpoint
from service.shx.tlog.notes import NoteSigner
from service.shx.tlog.tree import TlogProof, inclusion_proof, leaf_hash, root
from service.verify.evidence import OutsideEvidence
from service.verify.files import status_of
from service.verify.finding import Check, Finding, Result
from service.verify.report import Report
from service.verify.verify import verify_bundle
from tests.changed import replace
from tests.random_games import Plan, made_game, private_key
from tests.tamper import Forgery, failing, report_on, sample_lines, with_short_sentences

SERVER = NoteSigner(name="example.org/shithead", key=private_key("server"))
THIEF = NoteSigner(name=SERVER.name, key=private_key("thief"))
WITNESS = Cosigner(name="witness.example/w", key=private_key("witness"))
LINES = sample_lines("shithead")
GAME = UUID(json.loads(LINES[0])["game"])
TIMES = [json.loads(line)["at"] for line in LINES]
LAST = len(LINES) - 1
BODY = receipt_body(SERVER.name, GAME, LAST, head(LINES[LAST])).encode()
LONG_AGO, LATER = "2020-01-01T00:00:00.000000Z", "2099-01-01T00:00:00.000000Z"


def receipt(seq: int, signer: NoteSigner = SERVER) -> bytes:
    return issue_receipt(signer, game=GAME, seq=seq, head=head(LINES[seq]))


def proof(seq: int = LAST, *, extra: bool = True) -> bytes:
    """Return a proof that leads from a leaf of the game to a cosigned checkpoint."""
    body = receipt_body(SERVER.name, GAME, seq, head(LINES[seq])).encode()
    leaves = [leaf_hash(b"another"), leaf_hash(body)]
    checkpoint = Checkpoint(origin=SERVER.name, size=2, root=root(leaves))
    note = sign_checkpoint(checkpoint, [SERVER])
    note += cosign(checkpoint.body, WITNESS, timestamp=1_790_000_000).encode()
    return TlogProof(
        index=1,
        hashes=tuple(inclusion_proof(leaves, 1)),
        checkpoint=note,
        extra=body if extra else None,
    ).text


def listed(since: str, until: str | None = None) -> ListedKey:
    return ListedKey(verifier=SERVER.verifier, since=since, until=until, endorsement=None)


def report(evidence: OutsideEvidence, *, bundled: dict[str, bytes] | None = None) -> Report:
    return with_short_sentences(verify_bundle(Bundle(lines=LINES, files=bundled or {}), evidence))


def finding_of(evidence: OutsideEvidence, check: Check = Check.RECEIPTS) -> Finding:
    return next(one for one in report(evidence).findings if one.check is check)


def with_dates(seq: int, key: ListedKey) -> OutsideEvidence:
    return OutsideEvidence(receipts=(receipt(seq),), server_keys=(SERVER.verifier,), listed=(key,))


@pytest.mark.attack(
    "BACK_DATING",
    "a receipt signed outside the period of its key",
    check="the report",
    needs="RECEIPT",
)
@pytest.mark.parametrize(
    ("seq", "key", "words"),
    [
        (LAST, listed(LATER), f"begins at {LATER}, after the last event ({TIMES[LAST]})"),
        (40, listed(TIMES[80]), f"begins at {TIMES[80]}, after the next event ({TIMES[41]})"),
        (40, listed(LONG_AGO, LONG_AGO), f"ended at {LONG_AGO}, before that event ({TIMES[40]})"),
        (40, listed(LONG_AGO, TIMES[20]), f"ended at {TIMES[20]}, before that event ({TIMES[40]})"),
    ],
)
def test_a_signature_outside_the_period_of_its_key_gets_a_remark_and_passes(
    seq: int, key: ListedKey, words: str
) -> None:
    receipts = finding_of(with_dates(seq, key))
    assert receipts.result is Result.PASS
    [remark] = receipts.remarks
    key_id = SERVER.verifier.key_id.hex()
    assert remark.text.startswith(f"Key {key_id}, which signed event {seq}")
    assert words in remark.text
    assert remark.text.endswith("So its time proves nothing; the signature remains valid.")


@pytest.mark.parametrize(
    "key",
    [
        listed(LONG_AGO),
        listed(LONG_AGO, LATER),
        listed(TIMES[40], TIMES[40]),
        listed("not a time", "nor this"),
    ],
)
def test_a_signature_within_the_period_of_its_key_gets_no_remark(key: ListedKey) -> None:
    assert finding_of(with_dates(40, key)).remarks == ()


def test_many_receipts_of_one_key_are_counted_in_its_remark() -> None:
    key = listed(LATER)
    seqs = range(0, LAST, 10)
    evidence = OutsideEvidence(
        receipts=tuple(receipt(seq) for seq in seqs),
        server_keys=(SERVER.verifier,),
        listed=(key,),
    )
    remarks = finding_of(evidence).remarks
    assert [one.code for one in remarks] == ["key.begins", "key.others"]
    assert remarks[1].values == {"n": len(seqs) - 1}


def test_the_key_of_the_public_log_gets_the_same_remark() -> None:
    evidence = OutsideEvidence(server_keys=(SERVER.verifier,), listed=(listed(LONG_AGO, LONG_AGO),))
    anchor = finding_of(
        OutsideEvidence(proof=proof(), server_keys=evidence.server_keys, listed=evidence.listed),
        Check.ANCHOR,
    )
    assert anchor.result is Result.PASS
    assert [one.code for one in anchor.remarks] == ["key.ended"]


def test_during_an_overlap_one_key_within_its_period_suffices() -> None:
    """A checkpoint in the overlap has the signatures of both keys."""
    checkpoint = Checkpoint(origin=SERVER.name, size=1, root=root([leaf_hash(BODY)]))
    note = sign_checkpoint(checkpoint, [SERVER, THIEF])
    both = TlogProof(index=0, hashes=(), checkpoint=note, extra=BODY).text
    young = replace(listed(LATER), verifier=THIEF.verifier)
    keys = (SERVER.verifier, THIEF.verifier)
    evidence = OutsideEvidence(proof=both, server_keys=keys, listed=(listed(LONG_AGO), young))
    assert finding_of(evidence, Check.ANCHOR).remarks == ()
    alone = finding_of(replace(evidence, listed=(listed(LATER), young)), Check.ANCHOR)
    assert [one.code for one in alone.remarks] == ["key.begins_last"] * 2


@pytest.mark.attack("OTHERS_OPENINGS", "a bundle for a seat that does not exist", check="chain")
def test_a_bundle_for_an_unknown_seat_is_caught() -> None:
    bundle = Bundle(lines=LINES, profile="seat-9")
    assert failing(verify_bundle(bundle)) == {Check.CHAIN: 0}


def test_an_anchor_of_an_earlier_head_states_its_range() -> None:
    anchor = finding_of(
        OutsideEvidence(proof=proof(40), server_keys=(SERVER.verifier,)), Check.ANCHOR
    )
    assert (anchor.result, anchor.reason) == (
        Result.PASS,
        "The public log covers the record up to event 40.",
    )


@pytest.mark.attack(
    "OWN_TRUST", "witnesses without the server's key", check="the exit status", needs="WITNESS"
)
@pytest.mark.parametrize(
    "evidence",
    [
        OutsideEvidence(receipts=(receipt(40),)),
        OutsideEvidence(proof=proof()),
        OutsideEvidence(witnessed=True, witness_keys=(WITNESS.verifier,), proof=proof()),
    ],
    ids=["receipt", "proof", "witnesses"],
)
def test_evidence_without_the_server_key_is_reported_as_missing(
    evidence: OutsideEvidence,
) -> None:
    """Supplied evidence counts as requested, so the report is incomplete without it."""
    assert report(evidence).result is Result.MISSING
    assert status_of(report(evidence)) == 2
    assert not report(evidence).witnessed


def test_unrequested_evidence_in_a_bundle_is_allowed() -> None:
    bundled = {"receipts/a.note": receipt(40), "log/proof.tlog-proof": proof()}
    assert report(OutsideEvidence(), bundled=bundled).result is Result.PASS


def test_a_contradicting_receipt_without_a_key_has_an_unknown_signer() -> None:
    other = issue_receipt(THIEF, game=GAME, seq=40, head=bytes(32))
    reason = finding_of(OutsideEvidence(receipts=(other,))).reason
    assert reason is not None and "its signer is unknown" in reason


def test_every_contradicting_receipt_is_named() -> None:
    notes = [issue_receipt(SERVER, game=GAME, seq=seq, head=bytes(32)) for seq in (50, 40, 60)]
    finding = finding_of(
        OutsideEvidence(receipts=(receipt(30), *notes), server_keys=(SERVER.verifier,))
    )
    assert finding.others is not None
    assert (finding.seq, finding.others.text) == (40, "2 more, at event 50, 60.")
    assert (finding.code, finding.values) == ("receipts.head_after", {"at": 30})


@pytest.mark.attack(
    "OWN_TRUST",
    "a bundled receipt in the server's name, not signed",
    check="receipts",
    needs="RECEIPT",
)
def test_a_bundled_receipt_with_a_false_signature_of_the_given_key_fails() -> None:
    """It names the right head, but its signature is forged."""
    true = receipt(40).decode()
    false = true[:-10] + ("A" if true[-10] != "A" else "B") + true[-9:]
    forged = {"receipts/a.note": false.encode()}
    evidence = OutsideEvidence(server_keys=(SERVER.verifier,))
    assert failing(report(evidence, bundled=forged)) == {Check.RECEIPTS: None}
    other = {"receipts/a.note": receipt(40, THIEF)}  # possibly an earlier key of the server
    assert failing(report(evidence, bundled=other)) == {}


@pytest.mark.attack(
    "WRONG_DEALER", "a dealer other than the named one in a running game", check="shuffle"
)
def test_a_false_dealer_is_found_before_the_seal() -> None:
    lines = made_game(Plan(name="dealt", dealer=1, hand=2, prev_game=str(GAME), stop=6))
    assert failing(report_on(lines)) == {}
    forgery = Forgery(lines)
    forgery.data(0)["dealer"] = 2
    dealt = forgery.find("cards_dealt")
    assert failing(report_on(forgery.lines())) == {Check.SHUFFLE: dealt}


@pytest.mark.parametrize(
    ("quorum", "since"), [(1, "00:00:00"), (2, "00:00:20"), (3, "00:00:30"), (4, None)]
)
def test_of_several_witnesses_the_quorum_sets_the_time_and_a_liar_does_not(
    quorum: int, since: str | None
) -> None:
    """Strangers' lines without a key that the verifier has count for nothing."""
    named = [Cosigner(name=f"w{n}.example", key=private_key(f"witness {n}")) for n in range(5)]
    checkpoint = Checkpoint(origin=SERVER.name, size=1, root=leaf_hash(BODY))
    note = sign_checkpoint(checkpoint, [SERVER])
    for witness, time in zip((named[0], named[1], named[2], named[4]), (30, 20, 0, 1), strict=True):
        note += cosign(checkpoint.body, witness, timestamp=time).encode()
    evidence = OutsideEvidence(
        proof=TlogProof(index=0, hashes=(), checkpoint=note, extra=BODY).text,
        witness_keys=tuple(one.verifier for one in named[:4]),
        witnessed=True,
        quorum=quorum,
    )
    found = finding_of(evidence, Check.WITNESS)
    said = str(found.reason)
    if since is None:
        assert found.result is Result.MISSING
        assert "3 of the witnesses signed, but 4 are required" in said
        return
    assert found.result is Result.PASS
    names = "w0.example, w1.example, w2.example"
    assert f"3 of 4 witnesses signed the public log with this game: {names}. " in said
    assert f"{quorum} of them did by 1970-01-01T{since}Z" in said


@pytest.mark.parametrize("time", [253_402_300_799, 253_402_300_800, 2**63 - 1])
def test_a_cosignature_with_a_time_after_the_year_9999_is_valid(time: int) -> None:
    """C2SP permits every time below 2^63; the date that is shown ends with the year 9999."""
    checkpoint = Checkpoint(origin=SERVER.name, size=1, root=leaf_hash(BODY))
    note = sign_checkpoint(checkpoint, [SERVER])
    note += cosign(checkpoint.body, WITNESS, timestamp=time).encode()
    evidence = OutsideEvidence(
        proof=TlogProof(index=0, hashes=(), checkpoint=note, extra=BODY).text,
        witness_keys=(WITNESS.verifier,),
        witnessed=True,
    )
    found = finding_of(evidence, Check.WITNESS)
    assert found.result is Result.PASS
    assert "9999-12-31T23:59:59Z" in str(found.reason)
