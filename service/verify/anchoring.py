"""Checks `anchor` and `witness`: the game in the public log, and the witnesses' cosignatures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from service.shx.canonical import RecordError
from service.shx.receipts import parse_receipt_body, receipt_body
from service.shx.tlog.checkpoint import (
    Checkpoint,
    CosignatureVerifier,
    cosignatures,
    open_checkpoint,
    parse_checkpoint,
)
from service.shx.tlog.notes import NoteVerifier, parse_note
from service.shx.tlog.tree import TlogProof, parse_proof
from service.verify.finding import Answer, Cursor, EvidenceWeight, Failed, missing, not_applicable
from service.verify.log import Log
from service.verify.receipts import Trust

_LAST_SECOND: Final = 253_402_300_799
"""The end of the year 9999. A cosignature may have a later time, for which no date can be shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The accepted witnesses, and how many of them must have cosigned."""

    keys: Sequence[CosignatureVerifier]
    quorum: int | None  # None: all of them
    required: bool  # with too few cosignatures the result is MISSING, else NOT_APPLICABLE


def check_anchor(log: Log, proof: bytes | None, trust: Trust, cursor: Cursor) -> Answer:
    """
    Check that the log proof leads to a checkpoint signed with a trusted server key.

    The answer's `reach` is the seq of the last event that the public log contains. The proof may
    come from the bundle, but the key must not: only a key from outside makes the proof valid.

    Raises Failed for an invalid proof, Unanswered without a proof or the server's key.
    """
    cursor.seq = len(log.heads) - 1
    if proof is None:
        raise missing(
            "no proof from the public log was supplied: it would show that the server published"
            " this record"
        )
    parsed, seq = _anchored(log, proof, trust.keys, cursor)
    if not trust.keys:
        raise missing(
            "the server's key was not supplied: it would show that the server signed the public log"
        )
    try:
        _, _, signers = open_checkpoint(parsed.checkpoint, trust.keys)
    except RecordError as error:
        text = f"an invalid checkpoint: {error.detail}"
        raise Failed(seq, text, weight=EvidenceWeight.NOTHING) from None
    cursor.signed = [seq]
    remark = trust.remarks(log, [(seq, signers)])
    return Answer(
        reach=seq,
        text=f"the public log has it up to seq {seq}" if seq < log.end else None,
        remarks=() if remark is None else (remark,),
    )


def check_witness(log: Log, proof: bytes | None, policy: Policy, cursor: Cursor) -> Answer:
    """
    Check that the checkpoint of the log proof has the cosignatures that the policy requires.

    A witness confirms a whole tree, so a cosignature of a tree with an earlier head of the
    game confirms nothing about later events.

    Raises Failed for an invalid proof or cosignature. Raises Unanswered if no witnesses are
    required, or if the proof, a key or enough cosignatures of the last event are missing.
    """
    cursor.seq = None
    if not policy.required and not policy.keys:
        raise not_applicable("no witnesses were required")
    if not policy.keys:
        raise missing(
            "no key of a witness was supplied: it would show that the witness saw this public log"
        )
    if policy.quorum is not None and policy.quorum < 1:
        raise missing("the required number of witnesses is less than one")
    if proof is None:
        raise missing(
            "no proof from the public log was supplied: it would have the witnesses' signatures"
        )
    parsed, seq = _anchored(log, proof, (), cursor)
    try:
        found = cosignatures(parse_note(parsed.checkpoint), policy.keys)
    except RecordError as error:
        text = f"an invalid cosignature: {error.detail}"
        raise Failed(None, text, weight=EvidenceWeight.NOTHING) from None
    wanted = len(set(policy.keys)) if policy.quorum is None else policy.quorum
    if len(found) < wanted or seq < log.end:
        text = f"{len(found)} of {wanted} witnesses have cosigned, up to seq {seq}"
        raise missing(text) if policy.required else not_applicable(text)
    since = datetime.fromtimestamp(min(_LAST_SECOND, *(c.timestamp for c in found)), UTC)
    names = ", ".join(sorted(c.verifier.name for c in found))
    return Answer(text=f"cosigned by {names}, the first at {since:%Y-%m-%dT%H:%M:%SZ}")


def _anchored(
    log: Log, proof: bytes, keys: Sequence[NoteVerifier], cursor: Cursor
) -> tuple[TlogProof, int]:
    """
    Return the parsed proof and the seq of its event.

    The extra data of the proof names a head, without authentication. It must be a head of
    this log, and the hashes must lead from it to the root. A failure is evidence against the
    log if one of `keys` signed a public log with another head.
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
        text = f"an invalid log proof: {error.detail}"
        raise Failed(None, text, weight=EvidenceWeight.NOTHING) from None
    other = parsed.extra not in (None, body.encode())
    if seq > last or other:
        text = "the public log has another game, or another head: this record was changed"
        if seq > last:
            text = f"the public log names seq {seq}, and this log ends before it"
        weight = _weight(parsed, checkpoint, keys)
        if weight is EvidenceWeight.AGAINST and (log.seal is not None or seq <= last):
            cursor.contradicted = "the public log that the server signed has another history"
        raise Failed(min(seq, last), text, weight=weight)
    if not parsed.proves(body.encode(), checkpoint):
        text = "the log proof does not lead from this log to the checkpoint"
        raise Failed(seq, text, weight=EvidenceWeight.NOTHING)
    return parsed, seq


def _weight(
    parsed: TlogProof, checkpoint: Checkpoint, keys: Sequence[NoteVerifier]
) -> EvidenceWeight:
    """Return the weight of a proof of another head: against the log only if a key signed it."""
    try:
        open_checkpoint(parsed.checkpoint, keys)
    except RecordError:
        return EvidenceWeight.UNSIGNED
    leads = parsed.extra is not None and parsed.proves(parsed.extra, checkpoint)
    return EvidenceWeight.AGAINST if leads else EvidenceWeight.NOTHING


def proof_game(proof: bytes) -> str | None:
    """Return the game in the extra data of a log proof; None if none can be read from it."""
    try:
        extra = parse_proof(proof).extra or b""
        return str(parse_receipt_body(extra.decode("utf-8", "replace")).game)
    except RecordError:
        return None
