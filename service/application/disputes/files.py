"""Stored disputes: frozen evidence, encrypted votes, and files in a game's bundle."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final
from uuid import UUID

from schemas.disputes import LONGEST_REASON
from schemas.visible_text import BYTES_A_CHARACTER
from service.application.disputes.record import (
    DISPUTES,
    DisputeRecord,
    advance,
    dispute_json,
    moment_of,
)
from service.application.games.cache import GameCache
from service.application.games.entry import GameEntry
from service.application.games.refused_moves import Refusals
from service.application.ports import World
from service.application.quotas import work
from service.domain.dispute import Dispute, Vote
from service.domain.dispute_rules import OutsideFacts, Reason, StoredVote
from service.keys import KeyringError, Keys
from service.public_log.log import PublicLog
from service.shx.bundle import PROOF, write_bundle
from service.shx.canonical import canonical, format_time, parse
from service.shx.receipts import statement_commitment
from service.store.directory import Directory
from service.store.disputes import SealedVote
from service.store.events import EventStore, StreamKind
from service.verify.stored_findings import in_words

MAX_FINDINGS_BYTES = 1 << 20
MAX_IN_A_BUNDLE = 20
"""Maximum number of disputes in a game's bundle, newest first: each has a copy of the log."""

MAX_COPIED = 16 << 20
"""Maximum number of bytes of frozen evidence in a bundle: readers limit a bundle's size."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DisputeFiles:
    """Reads disputes and the data stored with them."""

    store: EventStore
    directory: Directory
    keyring: Keys
    game_cache: GameCache
    refusals: Refusals
    log: PublicLog
    world: World

    def record(self, identity: UUID) -> DisputeRecord | None:
        """Return a dispute with the periods that have ended by now; None if there is none."""
        found = self.stored(identity)
        return None if found is None else advance(found, now=format_time(self.world.now()))[0]

    def stored(self, identity: UUID) -> DisputeRecord | None:
        """Return a dispute as stored, with the facts outside its stream; None if there is none."""
        found = self.store.read(identity)
        if found is None or found.kind is not StreamKind.DISPUTE:
            return None
        with work(len(found.events)):
            return self.with_outside(DISPUTES.load(identity, found.events))

    def with_outside(self, record: DisputeRecord) -> DisputeRecord:
        """Return a dispute with the facts outside its stream: time of the seal, stored votes."""
        game = self.directory.game(record.game)
        ended = None if game is None else game.ended_at
        sealed_at = None if ended is None else moment_of(format_time(ended))
        votes = open_votes(record, self.directory, self.keyring)
        return replace(record, outside=OutsideFacts(sealed_at=sealed_at, votes=votes))

    def findings(self, identity: UUID) -> list[dict[str, Any]]:
        """
        Return the latest findings, each with a plain sentence; empty if there are none yet.

        Raises KeyringError if they cannot be decrypted.
        """
        found = self.directory.dispute_findings(identity)
        if found is None:
            return []
        opened = self.keyring.open(found.key_id, found.sealed, findings_associated(identity))
        return [
            {**finding, "plain": in_words(finding)}
            for finding in parse(opened, limit=MAX_FINDINGS_BYTES)
        ]

    def additional(self, entry: GameEntry, version: int) -> Mapping[str, bytes]:
        """
        Return the files of a public bundle in addition to its log of `version` events.

        These are the proof that the public log contains this version, if there is one, and after
        the seal the refused attempts.
        """
        proof = self.log.proof(entry.record.identity, version=version)
        files = {} if proof is None else {PROOF: proof}
        files |= self.log.stamp(entry.record.identity, version=version)
        return {**files, **self.refusals.file(entry.record)}

    def frozen(self, entry: GameEntry) -> bytes:
        """Return the public bundle of a game at its present version, without other disputes."""
        record = entry.record
        lines = self.game_cache.lines(record.identity, limit=record.version)
        return write_bundle(lines, files=self.additional(entry, record.version))

    def of_game(self, game: UUID) -> Mapping[str, bytes]:
        """
        Return the files about disputes for a game's bundle.

        They omit the statements: a statement in a bundle could not be erased.
        """
        files: dict[str, bytes] = {}
        left = MAX_COPIED
        for row in self.directory.disputes_of(game, limit=MAX_IN_A_BUNDLE).items:
            record, bundle = self.record(row.id), self.directory.dispute_bundle(row.id)
            if record is None or bundle is None:
                continue
            shown = dispute_json(record, findings=self.findings(row.id), words=None)
            files[f"dispute/{row.id}.json"] = canonical(shown)
            if len(bundle) <= left:
                files[f"dispute/{row.id}.shx"] = bundle
                left -= len(bundle)
        return files


def findings_associated(identity: UUID) -> bytes:
    """Return the associated data of the encrypted findings of a dispute."""
    return b"findings" + identity.bytes


_CODES: Final[Mapping[Vote, bytes]] = {Vote.CHEATED: b"\x01", Vote.NOT_PROVEN: b"\x00"}
"""One byte for each vote: the encryption would not hide a difference in length."""


_SALT_BYTES: Final = 32
_LENGTH_BYTES: Final = 2


def seal_vote(identity: UUID, referee: int, vote: StoredVote, keyring: Keys) -> dict[str, Any]:
    """Return a referee's vote and its reason, encrypted as stored with the dispute."""
    content = _CODES[vote.vote] + bytes.fromhex(vote.salt)
    key_id, sealed = keyring.seal(content, _associated(identity, referee))
    reason_key_id, reason = keyring.seal(
        _padded(vote.reason), _associated_reason(identity, referee)
    )
    return {
        "referee": referee,
        "key_id": key_id,
        "sealed": sealed,
        "reason_key_id": reason_key_id,
        "reason": reason,
    }


def _padded(reason: Reason | None) -> bytes:
    """Return salt, length and text of a reason, of one length whether or not there is a reason."""
    text = b"" if reason is None else reason.text.encode()
    salt = bytes(_SALT_BYTES) if reason is None else bytes.fromhex(reason.salt)
    longest = BYTES_A_CHARACTER * LONGEST_REASON
    return salt + len(text).to_bytes(_LENGTH_BYTES) + text.ljust(longest, b"\0")


def _unpadded(content: bytes, identity: UUID, seq: int) -> Reason | None:
    """Return the reason in a result of `_padded`, None if it has none."""
    salt, content = content[:_SALT_BYTES], content[_SALT_BYTES:]
    length = int.from_bytes(content[:_LENGTH_BYTES])
    if not length:
        return None
    text = content[_LENGTH_BYTES:][:length].decode()
    commit = statement_commitment(identity, seq, text, salt).hex()
    return Reason(text=text, salt=salt.hex(), commit=commit)


def open_votes(
    record: DisputeRecord, directory: Directory, keyring: Keys
) -> Mapping[int, StoredVote]:
    """
    Return the stored votes that are not yet revealed, by the numbers of their referees.

    A vote whose key is lost is left out, and its referee times out.
    """
    waiting = _waiting(record.dispute)
    if not waiting:
        return {}
    votes = {}
    for number, found in directory.dispute_votes(record.identity).items():
        if number not in waiting:
            continue
        try:
            votes[number] = _open_vote(record, number, found, keyring)
        except KeyringError as error:
            log = logging.getLogger(__name__)
            log.error("a vote in dispute %s cannot be decrypted: %s", record.identity, error)
    return votes


def _open_vote(record: DisputeRecord, number: int, found: SealedVote, keyring: Keys) -> StoredVote:
    """Return a vote with its reason; the reason of an erased referee is gone."""
    identity = record.identity
    content = keyring.open(found.key_id, found.sealed, _associated(identity, number))
    vote = next(vote for vote, code in _CODES.items() if code == content[:1])
    reason = None
    seq = record.dispute.referees[number].voted_seq
    if found.reason is not None and found.reason_key_id is not None and seq is not None:
        padded = keyring.open(
            found.reason_key_id, found.reason, _associated_reason(identity, number)
        )
        reason = _unpadded(padded, identity, seq)
    return StoredVote(vote=vote, salt=content[1:].hex(), reason=reason)


def _waiting(dispute: Dispute) -> set[int]:
    return {n for n, r in dispute.seated.items() if r.by_server and r.vote is None}


def _associated(identity: UUID, referee: int) -> bytes:
    return b"vote" + identity.bytes + bytes([referee])


def _associated_reason(identity: UUID, referee: int) -> bytes:
    return b"reason" + identity.bytes + bytes([referee])
