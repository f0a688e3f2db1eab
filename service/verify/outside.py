"""The checks `receipts`, `anchor` and `witness`: what evidence from outside says about the log."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from service.record.canonical import RecordError
from service.record.checkpoint import open_checkpoint, parse_checkpoint
from service.record.cosignature import CosignatureVerifier, cosignatures
from service.record.notes import NoteVerifier, open_note, parse_note
from service.record.receipts import Receipt, check_receipt, parse_receipt_body, receipt_body
from service.record.tlog_proof import TlogProof, parse_proof
from service.verify.finding import Answer, Cursor, Failed, missing, not_applicable
from service.verify.log import Log
from service.verify.trust import Trust


def check_receipts(
    log: Log,
    given: Sequence[bytes],
    bundled: Sequence[bytes],
    trust: Trust,
    cursor: Cursor,
) -> Answer:
    """
    Every receipt names a head of this log. Return how far those from outside reach.

    Only a receipt from outside, signed by a key from outside, reaches anywhere:
    what a bundle brings along is held against the log and proves nothing for it.
    """
    cursor.seq = None
    keys = trust.keys
    _check_together(log, _readable(bundled, lambda note: _claimed(note, keys), cursor), cursor)
    receipts = _readable(given, lambda note: _read(note, keys), cursor)
    _check_together(log, receipts, cursor, signed=bool(keys))
    if not given:
        raise missing("a receipt from outside")
    if not keys:
        raise missing("the server's key, to check who signed the receipts")
    if cursor.failures:
        return Answer()
    by = [(one.seq, open_note(note, keys)[1]) for one, note in zip(receipts, given, strict=True)]
    return Answer(reach=max(receipt.seq for receipt in receipts), said=trust.remarks(log, by))


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Which witnesses count, how many of them it takes, and whether they were asked for."""

    keys: Sequence[CosignatureVerifier]
    quorum: int | None  # None: all of them
    asked: bool


def check_anchor(log: Log, proof: bytes | None, trust: Trust, cursor: Cursor) -> Answer:
    """
    The log proof leads to a checkpoint that a given server key signed.

    Return the seq of the event whose head is in the public log. The proof comes
    with the bundle; what makes it count is the key from outside.
    """
    cursor.seq = len(log.heads) - 1
    if proof is None:
        raise missing("the game is not anchored in a public log")
    parsed, seq = _anchored(log, proof)
    if not trust.keys:
        raise missing("the server's key, to check who signed the checkpoint")
    try:
        _, _, signers = open_checkpoint(parsed.checkpoint, trust.keys)
    except RecordError as error:
        raise Failed(seq, f"a checkpoint that does not hold: {error.detail}") from None
    said = [f"the public log has it up to seq {seq}"] if seq < log.end else []
    remarks = trust.remarks(log, [(seq, signers)])
    return Answer(reach=seq, said="; ".join([*said, *filter(None, [remarks])]) or None)


def check_witness(log: Log, proof: bytes | None, policy: Policy, cursor: Cursor) -> Answer:
    """
    The checkpoint of the log proof carries the cosignatures that the policy asks for.

    A witness vouches for the whole tree, so one that saw an earlier head of the
    game says nothing of the events after it.
    """
    cursor.seq = None
    if not policy.asked and not policy.keys:
        raise not_applicable("no witnesses were asked for")
    if not policy.keys:
        raise missing("the keys of witnesses, to check who cosigned")
    if policy.quorum is not None and policy.quorum < 1:
        raise missing("a number of witnesses of at least one")
    if proof is None:
        raise missing("no checkpoint of this game that a witness could have cosigned")
    parsed, seq = _anchored(log, proof)
    try:
        found = cosignatures(parse_note(parsed.checkpoint), policy.keys)
    except RecordError as error:
        raise Failed(None, f"a cosignature that does not hold: {error.detail}") from None
    wanted = len(policy.keys) if policy.quorum is None else policy.quorum
    if len(found) < wanted or seq < log.end:
        said = f"{len(found)} of {wanted} witnesses have cosigned, up to seq {seq}"
        raise missing(said) if policy.asked else not_applicable(said)
    since = datetime.fromtimestamp(min(c.timestamp for c in found), UTC)
    names = ", ".join(sorted(c.verifier.name for c in found))
    return Answer(said=f"cosigned by {names}, the first at {since:%Y-%m-%dT%H:%M:%SZ}")


def _anchored(log: Log, proof: bytes) -> tuple[TlogProof, int]:
    """
    Return a proof and the seq of the event that it is about.

    The proof's extra data says which head it is about, unauthenticated; here it
    must be a head of this log, and the hashes must lead from it to the root.
    """
    try:
        parsed = parse_proof(proof)
        checkpoint = parse_checkpoint(parse_note(parsed.checkpoint).text)
        seq = last = len(log.heads) - 1
        if parsed.extra is not None:
            seq = parse_receipt_body(parsed.extra.decode("utf-8", "replace")).seq
        head = log.heads[min(seq, last)]
        body = receipt_body(checkpoint.origin, log.game, seq, head)
    except RecordError as error:
        raise Failed(None, f"a log proof that does not hold: {error.detail}") from None
    if seq > last:
        raise Failed(last, f"the public log names seq {seq}, and this log ends before it")
    if parsed.extra not in (None, body.encode()):
        raise Failed(seq, "the public log has another game, or another head: this was changed")
    if not parsed.holds(body.encode(), checkpoint):
        raise Failed(seq, "the log proof does not lead from this log to the checkpoint")
    return parsed, seq


def receipt_game(note: bytes) -> str | None:
    """Return the game that a receipt says it is of, None where it cannot be read."""
    try:
        return str(_read(note, ()).game)
    except Failed:
        return None


def proof_game(proof: bytes) -> str | None:
    """Return the game that a log proof says it is of, None where it does not say so."""
    try:
        extra = parse_proof(proof).extra or b""
        return str(parse_receipt_body(extra.decode("utf-8", "replace")).game)
    except RecordError:
        return None


def _read(note: bytes, keys: Sequence[NoteVerifier]) -> Receipt:
    try:
        return check_receipt(note, keys) if keys else parse_receipt_body(parse_note(note).text)
    except RecordError as error:
        raise Failed(None, f"a receipt that does not hold: {error.detail}") from None


def _claimed(note: bytes, keys: Sequence[NoteVerifier]) -> Receipt:
    """Return a receipt of a bundle; a signature that claims to be a given key's must be it."""
    receipt = _read(note, ())
    lines = {(line.name, line.key_id) for line in parse_note(note).signatures}
    named = [key for key in keys if (key.name, key.key_id) in lines]
    return _read(note, named) if named else receipt


def _readable(
    notes: Sequence[bytes], read: Callable[[bytes], Receipt], cursor: Cursor
) -> list[Receipt]:
    receipts = []
    for note in notes:
        with cursor.going_on():
            receipts.append(read(note))
    return receipts


def _check_together(
    log: Log, receipts: Sequence[Receipt], cursor: Cursor, *, signed: bool = True
) -> None:
    """Note each event that a receipt contradicts, and say where one agrees last before it."""
    agreed: int | None = None
    for receipt in sorted(receipts, key=lambda receipt: receipt.seq):
        try:
            _check_receipt(log, receipt, agreed)
        except Failed as failed:
            unsure = "" if signed else " (without the server's key nobody knows who signed it)"
            cursor.note(failed.seq, failed.reason + unsure)
            continue
        agreed = receipt.seq


def _check_receipt(log: Log, receipt: Receipt, agreed: int | None) -> None:
    if receipt.game != log.game:
        raise Failed(None, f"a receipt of another game, {receipt.game}")
    if receipt.seq >= len(log.heads):
        said = f"a receipt names seq {receipt.seq}, and the log ends before it"
        raise Failed(len(log.heads) - 1, said)
    if log.heads[receipt.seq] != receipt.head:
        raise Failed(receipt.seq, _contradicted(receipt.seq, agreed))


def _contradicted(seq: int, agreed: int | None) -> str:
    if agreed is None:
        return f"a receipt names another head: something up to seq {seq} was changed"
    changed = f"seq {seq}" if agreed + 1 == seq else f"something from seq {agreed + 1} to {seq}"
    return f"a receipt names another head; they agree up to seq {agreed}: {changed} was changed"
