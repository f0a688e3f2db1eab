"""The checks `receipts`, `anchor` and `witness`: what evidence from outside says about the log."""

from __future__ import annotations

from collections.abc import Sequence

from service.record.canonical import RecordError
from service.record.notes import NoteVerifier, parse_note
from service.record.receipts import Receipt, check_receipt, parse_receipt_body
from service.verify.finding import Cursor, Failed, missing, not_applicable
from service.verify.log import Log


def check_receipts(
    log: Log,
    given: Sequence[bytes],
    bundled: Sequence[bytes],
    keys: Sequence[NoteVerifier],
    cursor: Cursor,
) -> int | None:
    """
    Every receipt names a head of this log. Return how far those from outside reach.

    Only a receipt from outside, signed by a key from outside, reaches anywhere:
    what a bundle brings along is held against the log and proves nothing for it.
    """
    cursor.seq = None
    proven: int | None = None
    for note in bundled:
        _check_receipt(log, _read(note, ()))
    for note in given:
        receipt = _read(note, keys)
        _check_receipt(log, receipt)
        if keys:
            proven = receipt.seq if proven is None else max(proven, receipt.seq)
    if given and proven is None:
        raise missing("the server's key, to check who signed the receipts")
    if not given:
        raise missing("a receipt from outside")
    return proven


def check_anchor(log: Log, cursor: Cursor) -> None:
    """There is no public log yet that a game could be anchored in."""
    cursor.seq = log.end
    raise missing("the game is not anchored in a public log")


def check_witness(*, asked: bool, cursor: Cursor) -> None:
    """Without a checkpoint there is nothing that a witness could have signed."""
    cursor.seq = None
    if asked:
        raise missing("no witness has cosigned a checkpoint of this game")
    raise not_applicable("no witnesses were asked for")


def receipt_game(note: bytes) -> str | None:
    """Return the game that a receipt says it is of, None where it cannot be read."""
    try:
        return str(_read(note, ()).game)
    except Failed:
        return None


def _read(note: bytes, keys: Sequence[NoteVerifier]) -> Receipt:
    try:
        return check_receipt(note, keys) if keys else parse_receipt_body(parse_note(note).text)
    except RecordError as error:
        raise Failed(None, f"a receipt that does not hold: {error.detail}") from None


def _check_receipt(log: Log, receipt: Receipt) -> None:
    if receipt.game != log.game:
        raise Failed(None, f"a receipt of another game, {receipt.game}")
    if receipt.seq > log.end:
        raise Failed(log.end, f"a receipt names seq {receipt.seq}, and the log ends before it")
    if log.heads[receipt.seq] != receipt.head:
        raise Failed(receipt.seq, "a receipt names another head: this part of the log was changed")
