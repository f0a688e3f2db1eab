"""Commitments of disputes: a referee's sealed vote, and a statement whose words may be erased."""

from __future__ import annotations

from uuid import UUID

from service.record.hashing import th, u8, u32


def vote_commitment(dispute: UUID, referee: int, vote: str, salt: bytes) -> bytes:
    """Return what a referee sends before the vote itself (api.md, section 6)."""
    return th("shx/1/vote", dispute.bytes, u8(referee), vote.encode("ascii"), salt)


def statement_commitment(dispute: UUID, seq: int, text: str, salt: bytes) -> bytes:
    """
    Return what stands in the stream for a statement.

    The salt lies beside the text and is erased with it: a hash of the words alone would
    let anybody try out what they were.
    """
    return th("shx/1/statement", dispute.bytes, u32(seq), text.encode("utf-8"), salt)
