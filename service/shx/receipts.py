"""Receipts that the server signs, and commitments to votes and statements."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from service.shx.canonical import RecordError, tagged_hash, u8, u32
from service.shx.tlog.notes import (
    NoteSigner,
    NoteVerifier,
    check_name,
    open_note,
    parse_note,
    sign_note,
)
from service.shx.validators import MAX_EVENTS, decode_base64

_BODY: Final = re.compile(
    r"(?P<origin>[^\n]+)/g/(?P<game>[0-9a-f-]{36})\n(?P<size>[1-9][0-9]{0,5})\n"
    r"(?P<head>[A-Za-z0-9+/]{43}=)\n"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """The content of a receipt: the head of `game` after the event `seq`."""

    origin: str
    game: UUID
    seq: int
    head: bytes

    @property
    def body(self) -> str:
        """Return the signed text, which is also the entry in the public log."""
        return receipt_body(self.origin, self.game, self.seq, self.head)


def receipt_body(origin: str, game: UUID, seq: int, head: bytes) -> str:
    """
    Return the text of a receipt; the number in it is the length of the log, seq + 1.

    Raises RecordError for an origin that cannot be the name of a key.

    >>> print(receipt_body("example.org", UUID(int=1), 41, bytes(32)), end="")
    example.org/g/00000000-0000-0000-0000-000000000001
    42
    AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=
    """
    check_name(origin)
    return f"{origin}/g/{game}\n{seq + 1}\n{b64encode(head).decode('ascii')}\n"


def issue_receipt(signer: NoteSigner, *, game: UUID, seq: int, head: bytes) -> bytes:
    """Return the signed receipt; the origin is the name of the server's key."""
    return sign_note(receipt_body(signer.name, game, seq, head), [signer])


def parse_receipt_body(text: str) -> Receipt:
    """
    Return the content of the text of a receipt.

    Raises RecordError if the text is malformed.
    """
    match = _BODY.fullmatch(text)
    head = decode_base64(match["head"]) if match else None
    if match is None or head is None:
        raise RecordError("bad_receipt", "not the text of a receipt")
    try:
        game = UUID(match["game"])
    except ValueError:
        raise RecordError("bad_receipt", "not the id of a game") from None
    seq = int(match["size"]) - 1
    receipt = Receipt(origin=match["origin"], game=game, seq=seq, head=head)
    if seq >= MAX_EVENTS or receipt.body != text:
        raise RecordError("bad_receipt", "not the text of a receipt")
    return receipt


def claimed_receipt(note: bytes) -> Receipt:
    """
    Return the content of a receipt whose signatures are not verified.

    Raises RecordError if the note or its text is malformed.
    """
    return parse_receipt_body(parse_note(note).text)


def check_receipt(note: bytes, verifiers: Iterable[NoteVerifier]) -> Receipt:
    """
    Return the content of a receipt that a known key of its origin signed.

    Raises RecordError for any other note.
    """
    opened, signed = open_note(note, verifiers)
    receipt = parse_receipt_body(opened.text)
    if all(verifier.name != receipt.origin for verifier in signed):
        raise RecordError("bad_receipt", "signed by a key whose name is not the origin")
    return receipt


def vote_commitment(dispute: UUID, referee: int, vote: str, salt: bytes) -> bytes:
    """Return the commitment that a referee sends before revealing the vote (api.md, section 6)."""
    return tagged_hash("shx/1/vote", dispute.bytes, u8(referee), vote.encode("ascii"), salt)


def statement_commitment(dispute: UUID, seq: int, text: str, salt: bytes) -> bytes:
    """
    Return the commitment to a statement, which the stream has instead of its text.

    The salt is stored with the text and erased with it: a plain hash would allow guessing
    the erased text.
    """
    return tagged_hash("shx/1/statement", dispute.bytes, u32(seq), text.encode("utf-8"), salt)
