"""Checks `anchor` and `witness`: the game in the public log, and the witnesses' cosignatures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from service.replay.sentences import Sentence
from service.shx.canonical import RecordError
from service.shx.receipts import parse_receipt_body, receipt_body
from service.shx.time_stamps import StampRefused, read_certificates, read_token
from service.shx.tlog.checkpoint import (
    Checkpoint,
    CosignatureVerifier,
    cosignatures,
    open_checkpoint,
    parse_checkpoint,
)
from service.shx.tlog.notes import NoteVerifier, parse_note
from service.shx.tlog.tree import TlogProof, parse_proof
from service.verify.finding import (
    Answer,
    EvidenceWeight,
    Failed,
    Position,
    Result,
    Unanswered,
    missing,
    not_applicable,
)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeStamp:
    """The answer of a time-stamp authority in a bundle, the proof that leads to what it is over."""

    proof: bytes | None = None
    answer: bytes | None = None
    roots: bytes = b""  # certificates (PEM)

    def note(self, log: Log) -> tuple[Sentence, ...]:
        """
        Return what the token shows; nothing without one.

        Raises Failed for one that does not hold, or leads to none of the named certificates.
        """
        if self.answer is None or self.proof is None:
            return ()
        if not self.roots:
            return (Sentence(code="stamp.unchecked"),)
        parsed, seq = _anchored(log, self.proof, (), Position())
        try:
            text, roots = parse_note(parsed.checkpoint).text, read_certificates(self.roots)
            time = read_token(self.answer, text, roots)
        except StampRefused as refused:
            weight, detail = EvidenceWeight.NOTHING, str(refused)
            raise Failed(None, "anchor.stamp", weight=weight, detail=detail) from None
        values: dict[str, int | str] = {"seq": seq, "since": f"{time:%Y-%m-%dT%H:%M:%SZ}"}
        return (Sentence(code="stamp.signed", values=values),)


def check_anchor(
    log: Log,
    proof: bytes | None,
    trust: Trust,
    position: Position,
    stamp: TimeStamp = TimeStamp(),
) -> Answer:
    """
    Check that the log proof leads to a checkpoint signed with a trusted server key.

    The answer's `reach` is the seq of the last event that the public log contains. The proof may
    come from the bundle, but the key must not: only a key from outside makes the proof valid.

    Raises Failed for an invalid proof, Unanswered without a proof or the server's key.
    """
    position.seq = len(log.heads) - 1
    if proof is None:
        raise missing("open.not_anchored")
    parsed, seq = _anchored(log, proof, trust.keys, position)
    if not trust.keys:
        raise missing("open.no_server_key")
    try:
        _, _, signers = open_checkpoint(parsed.checkpoint, trust.keys)
    except RecordError as error:
        weight, detail = EvidenceWeight.NOTHING, error.detail
        raise Failed(seq, "anchor.signature", weight=weight, detail=detail) from None
    stamped = stamp.note(log)
    position.signed = [seq]
    up_to = Sentence(code="anchor.up_to", values={"seq": seq})
    return Answer(
        reach=seq,
        notes=(*((up_to,) if seq < log.end else ()), *stamped),
        remarks=trust.remarks(log, [(seq, signers)]),
    )


def check_witness(log: Log, proof: bytes | None, policy: Policy, position: Position) -> Answer:
    """
    Check that the checkpoint of the log proof has the cosignatures that the policy requires.

    A witness confirms a whole tree, so a cosignature of a tree with an earlier head of the
    game confirms nothing about later events.

    Raises Failed for an invalid proof or cosignature. Raises Unanswered if no witnesses are
    required, or if the proof, a key or enough cosignatures of the last event are missing.
    """
    position.seq = None
    if not policy.required and not policy.keys:
        raise not_applicable("open.no_witness_asked")
    if not policy.keys:
        raise missing("open.no_witness_key")
    if policy.quorum is not None and policy.quorum < 1:
        raise missing("open.no_quorum")
    if proof is None:
        raise missing("open.not_anchored")
    parsed, seq = _anchored(log, proof, (), position)
    try:
        found = cosignatures(parse_note(parsed.checkpoint), policy.keys)
    except RecordError as error:
        weight, detail = EvidenceWeight.NOTHING, error.detail
        raise Failed(None, "witness.signature", weight=weight, detail=detail) from None
    wanted = len(set(policy.keys)) if policy.quorum is None else policy.quorum
    if len(found) < wanted or seq < log.end:
        code, values = "open.witnessed_part", {"seq": seq}
        if len(found) < wanted:
            code, values = "open.too_few_witnesses", {"count": len(found), "quorum": wanted}
        result = Result.MISSING if policy.required else Result.NOT_APPLICABLE
        raise Unanswered(result, code, values=values)
    # A witness may state any time, so the time is the one by which the quorum had signed.
    by = sorted(one.timestamp for one in found)[wanted - 1]
    signed: dict[str, int | str] = {
        "count": len(found),
        "of": len({key.public for key in policy.keys}),
        "names": ", ".join(sorted(one.verifier.name for one in found)),
        "quorum": wanted,
        "since": f"{datetime.fromtimestamp(min(_LAST_SECOND, by), UTC):%Y-%m-%dT%H:%M:%SZ}",
    }
    return Answer(notes=(Sentence(code="witness.signed", values=signed),))


def _anchored(
    log: Log, proof: bytes, keys: Sequence[NoteVerifier], position: Position
) -> tuple[TlogProof, int]:
    """
    Return the parsed proof and the seq of its event.

    The extra data of the proof names a head, without authentication. It must be a head of
    this log, and the hashes must lead from it to the root. A failure is evidence against the
    log if one of `keys` signed a public log with another head.
    """
    elsewhere = False  # whether the proof is of another game or server
    try:
        parsed = parse_proof(proof)
        checkpoint = parse_checkpoint(parse_note(parsed.checkpoint).text)
        seq = last = len(log.heads) - 1
        if parsed.extra is not None:
            named = parse_receipt_body(parsed.extra.decode("utf-8", "replace"))
            seq, elsewhere = named.seq, (named.origin, named.game) != (checkpoint.origin, log.game)
        head = log.heads[min(seq, last)]
        body = receipt_body(checkpoint.origin, log.game, seq, head)
    except RecordError as error:
        weight, detail = EvidenceWeight.NOTHING, error.detail
        raise Failed(None, "anchor.malformed", weight=weight, detail=detail) from None
    other = parsed.extra not in (None, body.encode())
    if seq > last or other:
        weight = _weight(parsed, checkpoint, keys)
        if weight is EvidenceWeight.AGAINST and (log.seal is not None or seq <= last):
            position.contradicted = Sentence(code="denied.anchor")
        if elsewhere:
            raise Failed(None, "anchor.other", weight=weight)
        if seq > last:
            raise Failed(last, "anchor.beyond", weight=weight, at=seq)
        raise Failed(seq, "anchor.head", weight=weight)
    if not parsed.proves(body.encode(), checkpoint):
        raise Failed(seq, "anchor.proof", weight=EvidenceWeight.NOTHING)
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
