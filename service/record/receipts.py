"""Receipts (section 6): signed notes that say what the head of a game was at a length."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from service.record.canonical import RecordError
from service.record.notes import NoteSigner, NoteVerifier, check_name, open_note, sign_note
from service.record.shapes import MAX_EVENTS, decode_base64

_BODY: Final = re.compile(
    r"(?P<origin>[^\n]+)/g/(?P<game>[0-9a-f-]{36})\n(?P<size>[1-9][0-9]{0,5})\n"
    r"(?P<head>[A-Za-z0-9+/]{43}=)\n"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What a receipt states: the head of `game` after the event `seq`."""

    origin: str
    game: UUID
    seq: int
    head: bytes

    @property
    def body(self) -> str:
        """Return the text that is signed, which is also the data of a leaf of the public log."""
        return receipt_body(self.origin, self.game, self.seq, self.head)


def receipt_body(origin: str, game: UUID, seq: int, head: bytes) -> str:
    """Return the text of a receipt; the number in it is the length of the log, seq + 1."""
    check_name(origin)
    return f"{origin}/g/{game}\n{seq + 1}\n{b64encode(head).decode('ascii')}\n"


def issue_receipt(signer: NoteSigner, *, game: UUID, seq: int, head: bytes) -> bytes:
    """Return the signed receipt; the origin is the name of the server's key."""
    return sign_note(receipt_body(signer.name, game, seq, head), [signer])


def parse_receipt_body(text: str) -> Receipt:
    """Return what the text of a receipt states; raise RecordError where it is none."""
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


def check_receipt(note: bytes, verifiers: Iterable[NoteVerifier]) -> Receipt:
    """Return what a receipt states, if a known key of just that origin signed it."""
    opened, signed = open_note(note, verifiers)
    receipt = parse_receipt_body(opened.text)
    if all(verifier.name != receipt.origin for verifier in signed):
        raise RecordError("bad_receipt", "signed by a key of another name than its origin")
    return receipt
