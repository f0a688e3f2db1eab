"""Checkpoints of C2SP tlog-checkpoint: signed size and root of a log."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from service.shx.canonical import RecordError
from service.shx.tlog.notes import Note, NoteSigner, NoteVerifier, open_note, sign_note
from service.shx.validators import decode_base64

MAX_SIZE: Final = (1 << 63) - 1
"""Leaves of the largest tree: larger sizes do not fit into a signed 64-bit integer."""

_BODY: Final = re.compile(
    r"(?P<origin>[^\n]+)\n(?P<size>0|[1-9][0-9]{0,18})\n(?P<root>[A-Za-z0-9+/]{43}=)\n"
    r"(?P<more>(?:[^\n]+\n)*)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """The head of a log's tree: its origin, the number of leaves, the root over them."""

    origin: str
    size: int
    root: bytes
    extensions: tuple[str, ...] = ()  # further lines, not interpreted

    @property
    def body(self) -> str:
        """Return the text that the log signs."""
        root = b64encode(self.root).decode("ascii")
        return "".join(f"{line}\n" for line in (self.origin, self.size, root, *self.extensions))


def parse_checkpoint(text: str) -> Checkpoint:
    """
    Return the checkpoint in the text of a note.

    Raises RecordError if the text is malformed.
    """
    match = _BODY.fullmatch(text)
    root = decode_base64(match["root"]) if match else None
    if match is None or root is None or int(match["size"]) > MAX_SIZE:
        raise RecordError("bad_checkpoint", "not the text of a checkpoint")
    return Checkpoint(
        origin=match["origin"],
        size=int(match["size"]),
        root=root,
        extensions=tuple(match["more"].split("\n")[:-1]),
    )


def sign_checkpoint(checkpoint: Checkpoint, signers: Sequence[NoteSigner]) -> bytes:
    """
    Return the checkpoint as a note with the signatures of `signers`.

    Raises RecordError for a signer whose name is not the origin.
    """
    if any(signer.name != checkpoint.origin for signer in signers):
        raise RecordError("bad_checkpoint", "a key whose name is not the origin")
    return sign_note(checkpoint.body, signers)


def open_checkpoint(
    data: bytes, verifiers: Iterable[NoteVerifier]
) -> tuple[Checkpoint, Note, list[NoteVerifier]]:
    """
    Return a checkpoint, its note, and the known keys of its origin that signed it.

    Keys of other names do not count: a signature in the name of one log proves nothing
    about another.

    Raises RecordError if no known key of the origin signed it, or a signature is wrong.
    """
    note, signed = open_note(data, verifiers)
    checkpoint = parse_checkpoint(note.text)
    own = [verifier for verifier in signed if verifier.name == checkpoint.origin]
    if not own:
        raise RecordError("bad_checkpoint", "signed by a key whose name is not the origin")
    return checkpoint, note, own
