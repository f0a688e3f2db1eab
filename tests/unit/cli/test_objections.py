"""Objections of receipts to single events: which events a receipt can contradict."""

from __future__ import annotations

from uuid import UUID

import orjson
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from service.cli.load_game import EventFault, against_events, marks
from service.shx.chain import head
from service.shx.receipts import issue_receipt
from service.shx.tlog.notes import NoteSigner, NoteVerifier
from service.verify.evidence import OutsideEvidence
from service.verify.finding import Check, EvidenceWeight, Finding, Result
from tests.unit.cli.conftest import SAMPLES

LINES = (SAMPLES / "leeds.jsonl").read_bytes().splitlines()
GAME = UUID(orjson.loads(LINES[0])["game"])
OTHER_GAME = UUID(int=7)
OTHER_HEAD = b"\x07" * 32
SERVER = NoteSigner(name="a.test", key=Ed25519PrivateKey.generate())
OTHER_SERVER = NoteSigner(name="b.test", key=Ed25519PrivateKey.generate())


def receipt(
    seq: int, *, of: bytes | None = None, by: NoteSigner = SERVER, game: UUID = GAME
) -> bytes:
    """Return a receipt for an event; `of` is the head, by default the true one."""
    return issue_receipt(by, game=game, seq=seq, head=of or head(LINES[seq]))


def objections_of(
    *notes: bytes, known: tuple[NoteVerifier, ...] = (SERVER.verifier,)
) -> list[EventFault]:
    """Return the objections of receipts, without the event at which the check fails."""
    failed = Finding(check=Check.RECEIPTS, result=Result.FAIL, seq=6, code="receipts.head")
    evidence = OutsideEvidence(receipts=notes, server_keys=known)
    return [one for one in against_events([failed], GAME, LINES, evidence) if one.seq != 6]


def test_every_event_after_the_last_confirmed_one_is_named() -> None:
    found = objections_of(receipt(6, of=OTHER_HEAD), receipt(3), receipt(1))
    assert [one.seq for one in found] == [4, 5]
    agreed = "receipts: A receipt agrees up to event 3, and one for event 6 shows another history"
    assert {one.line for one in found} == {f"{agreed} of this game."}


def test_without_a_confirming_receipt_every_event_from_the_first_is_named() -> None:
    found = objections_of(receipt(6, of=OTHER_HEAD))
    assert [one.seq for one in found] == [0, 1, 2, 3, 4, 5]
    assert found[0].reason == "A receipt for event 6 shows another history of this game."


def test_a_second_contradicting_receipt_concerns_events_after_the_first() -> None:
    found = objections_of(receipt(3), receipt(6, of=OTHER_HEAD), receipt(9, of=OTHER_HEAD))
    assert [one.seq for one in found] == [4, 5, 7, 8]


def test_notes_by_unknown_signers_or_of_other_games_object_to_no_event() -> None:
    assert objections_of(receipt(6, of=OTHER_HEAD, by=OTHER_SERVER)) == []
    assert objections_of(receipt(6, of=OTHER_HEAD, game=OTHER_GAME)) == []
    assert objections_of(b"no note at all") == []
    assert objections_of(receipt(len(LINES) - 1), receipt(6)) == []


def test_without_a_key_the_signer_is_stated_as_unknown() -> None:
    found = objections_of(receipt(3), receipt(6, of=OTHER_HEAD), known=())
    unsure = "if the server signed it, which is not shown."
    assert [one.reason.endswith(unsure) for one in found] == [True, True]


def test_objections_to_an_event_are_in_the_order_of_the_checks() -> None:
    fits = "legality.fits"
    legal = Finding(check=Check.LEGALITY, result=Result.FAIL, seq=4, code=fits, rule="L10")
    card = Finding(check=Check.CUSTODY, result=Result.FAIL, seq=4, code="custody.whole")
    whole = Finding(check=Check.SEAL, result=Result.FAIL, code="seal.count")
    found = against_events([legal, card, whole], GAME, LINES, OutsideEvidence())
    assert marks(found) == {
        4: [
            "custody: Cards are missing from the game, or are there twice.",
            "legality: By the rules this card fits. [L10]",
        ]
    }


def test_evidence_that_proves_nothing_is_not_an_objection_to_an_event() -> None:
    """A checkpoint without a known signature is reported by its check, not at an event."""
    unsigned = Finding(
        check=Check.ANCHOR,
        result=Result.FAIL,
        seq=4,
        code="anchor.head",
        weight=EvidenceWeight.NOTHING,
    )
    assert against_events([unsigned], GAME, LINES, OutsideEvidence()) == ()
