"""Checkpoints (C2SP tlog-checkpoint) and the cosignatures of witnesses (tlog-cosignature)."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import (
    Ed25519PrivateKey,
    Ed25519PublicKey,
)

from service.shx.canonical import RecordError, u64
from service.shx.tlog.notes import (
    Note,
    NoteSigner,
    NoteVerifier,
    key_id,
    open_note,
    parse_key,
    sign_note,
    signature_line,
)
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


COSIGNATURE: Final = b"\x04"
"""The algorithm byte of timestamped Ed25519 cosignatures."""

_TIME_BYTES: Final = 8
_SIGNATURE_BYTES: Final = 64
_LATEST: Final = (1 << 63) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class CosignatureVerifier:
    """The public key of a witness (32 bytes) and its name."""

    name: str
    public: bytes

    @property
    def key_id(self) -> bytes:
        """Return the key id: four bytes."""
        return key_id(self.name, COSIGNATURE, self.public)

    def __str__(self) -> str:
        """Return the key as `name+id+key`, the form in which keys are published."""
        key = b64encode(COSIGNATURE + self.public).decode("ascii")
        return f"{self.name}+{self.key_id.hex()}+{key}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cosigner:
    """The private key of a witness and its name."""

    name: str
    key: Ed25519PrivateKey = field(repr=False)

    @property
    def verifier(self) -> CosignatureVerifier:
        """Return the public key, with which cosignatures of this witness are verified."""
        return CosignatureVerifier(name=self.name, public=self.key.public_key().public_bytes_raw())


@dataclass(frozen=True, slots=True, kw_only=True)
class Cosignature:
    """A valid cosignature: its witness and its time (seconds since 1970)."""

    verifier: CosignatureVerifier
    timestamp: int


def parse_cosigner(text: str) -> CosignatureVerifier:
    """
    Return the witness key that `name+id+key` describes.

    Raises RecordError for a malformed key or one of another algorithm.
    """
    name, algorithm, public = parse_key(text)
    if algorithm != COSIGNATURE:
        raise RecordError("bad_note", "not the key of a witness")
    return CosignatureVerifier(name=name, public=public)


def cosign(text: str, cosigner: Cosigner, *, timestamp: int) -> str:
    """Return a witness's signature line for the text of a checkpoint at a time in seconds."""
    signature = cosigner.key.sign(_message(text, timestamp))
    return signature_line(cosigner.name, cosigner.verifier.key_id, u64(timestamp) + signature)


def cosignatures(note: Note, known: Iterable[CosignatureVerifier]) -> list[Cosignature]:
    """
    Return the cosignatures of known witnesses under a note, the latest of each key.

    Lines of unknown keys are ignored.

    Raises RecordError if a signature of a known key is wrong.
    """
    by_name = {(verifier.name, verifier.key_id): verifier for verifier in known}
    found: dict[bytes, Cosignature] = {}
    for line in note.signatures:
        verifier = by_name.get((line.name, line.key_id))
        if verifier is None:
            continue
        timestamp = int.from_bytes(line.signature[:_TIME_BYTES], "big")
        if not _verifies(verifier.public, note.text, line.signature, timestamp):
            raise RecordError("bad_note", f"the cosignature of {line.name} is wrong")
        before = found.get(verifier.public)
        if before is None or before.timestamp < timestamp:
            found[verifier.public] = Cosignature(verifier=verifier, timestamp=timestamp)
    return list(found.values())


def _message(text: str, timestamp: int) -> bytes:
    return f"cosignature/v1\ntime {timestamp}\n{text}".encode()


def _verifies(public: bytes, text: str, signature: bytes, timestamp: int) -> bool:
    if len(signature) != _TIME_BYTES + _SIGNATURE_BYTES or timestamp > _LATEST:
        return False
    try:
        key = Ed25519PublicKey.from_public_bytes(public)
        key.verify(signature[_TIME_BYTES:], _message(text, timestamp))
    except (InvalidSignature, ValueError):
        return False
    return True
