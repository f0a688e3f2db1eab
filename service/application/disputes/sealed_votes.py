"""Votes sealed by the server: stored encrypted until all referees have committed."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

from service.application.disputes.record import DisputeRecord
from service.domain.dispute import Dispute, Vote
from service.domain.dispute_rules import KeptVote
from service.keys.keyring import KeyringError
from service.keys.reloading import Keys
from service.store.directory import Directory

_CODES: Final[Mapping[Vote, bytes]] = {Vote.CHEATED: b"\x01", Vote.NOT_PROVEN: b"\x00"}
"""One byte for each vote: the encryption would not hide a difference in length."""


def seal_vote(identity: UUID, referee: int, kept: KeptVote, keyring: Keys) -> dict[str, Any]:
    """Return a referee's vote, encrypted as stored with the dispute."""
    content = _CODES[kept.vote] + bytes.fromhex(kept.salt)
    key_id, sealed = keyring.seal(content, _associated(identity, referee))
    return {"referee": referee, "key_id": key_id, "sealed": sealed}


def open_votes(
    record: DisputeRecord, directory: Directory, keyring: Keys
) -> Mapping[int, KeptVote]:
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
            content = keyring.open(found.key_id, found.sealed, _associated(record.identity, number))
        except KeyringError as error:
            log = logging.getLogger(__name__)
            log.error("a vote in dispute %s cannot be decrypted: %s", record.identity, error)
            continue
        vote = next(vote for vote, code in _CODES.items() if code == content[:1])
        votes[number] = KeptVote(vote=vote, salt=content[1:].hex())
    return votes


def _waiting(dispute: Dispute) -> set[int]:
    return {n for n, r in dispute.seated.items() if r.by_server and r.vote is None}


def _associated(identity: UUID, referee: int) -> bytes:
    return b"vote" + identity.bytes + bytes([referee])
