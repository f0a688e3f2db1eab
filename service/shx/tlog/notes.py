"""Signed notes of C2SP: text followed by Ed25519 signature lines."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import (
    Ed25519PrivateKey,
    Ed25519PublicKey,
)

from service.shx.canonical import RecordError, sha256
from service.shx.curve import key_fault
from service.shx.validators import decode_base64

ED25519: Final = b"\x01"
MAX_NOTE: Final = 1 << 20  # bytes
MAX_SIGNATURES: Final = 100

_DASH: Final = "\u2014 "
_CONTROL: Final = re.compile(r"[\x00-\x09\x0b-\x1f]")
_VERIFIER: Final = re.compile(r"([^+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/]+=*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteSignature:
    """A signature line: the name and id of the key, and the signature."""

    name: str
    key_id: bytes
    signature: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A parsed note; its signatures are not verified yet."""

    text: str
    signatures: tuple[NoteSignature, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteVerifier:
    """A public key (32 bytes) and its name."""

    name: str
    public: bytes

    @property
    def key_id(self) -> bytes:
        """Return the key id: four bytes."""
        return key_id(self.name, ED25519, self.public)

    def __str__(self) -> str:
        """Return the verifier key `name+id+key`, the form in which keys are published."""
        key = b64encode(ED25519 + self.public).decode("ascii")
        return f"{self.name}+{self.key_id.hex()}+{key}"


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteSigner:
    """A private key and its name."""

    name: str
    key: Ed25519PrivateKey = field(repr=False)
    verifier: NoteVerifier = field(init=False, repr=False)  # derived once from the key

    def __post_init__(self) -> None:
        public = self.key.public_key().public_bytes_raw()
        object.__setattr__(self, "verifier", NoteVerifier(name=self.name, public=public))


def key_id(name: str, algorithm: bytes, public: bytes) -> bytes:
    """
    Return the key id that C2SP recommends: it distinguishes keys and proves nothing.

    Raises RecordError for an invalid name.
    """
    check_name(name)
    return sha256(name.encode() + b"\n" + algorithm + public)[:4]


def parse_verifier(text: str) -> NoteVerifier:
    """
    Return the verifier that a key `name+id+key` describes.

    Raises RecordError for a malformed or weak key, or one of another algorithm.
    """
    name, algorithm, public = parse_key(text)
    if algorithm != ED25519:
        raise _bad("not an Ed25519 key")
    return NoteVerifier(name=name, public=public)


def parse_key(text: str) -> tuple[str, bytes, bytes]:
    """
    Return the name, the algorithm byte and the 32 bytes of a key `name+id+key`.

    Raises RecordError if it is malformed, or a weak key.
    """
    match = _VERIFIER.fullmatch(text)
    if match is None:
        raise _bad("not a verifier key: name+id+key")
    name, key_hash, key = match.groups()
    check_name(name)
    raw = decode_base64(key)
    if raw is None or len(raw) != 33:
        raise _bad("not an Ed25519 key")
    if key_id(name, raw[:1], raw[1:]).hex() != key_hash:
        raise _bad("the key id does not match the name and key")
    if fault := key_fault(raw[1:]):
        raise _bad(fault)
    return name, raw[:1], raw[1:]


def sign_note(text: str, signers: Sequence[NoteSigner]) -> bytes:
    """
    Return `text` as a note with one signature of each signer.

    Raises RecordError without signers, or for a text that a note cannot have.
    """
    if not signers:
        raise _bad("a note needs a signature")
    _check_text(text)
    lines = (
        signature_line(signer.name, signer.verifier.key_id, signer.key.sign(text.encode()))
        for signer in signers
    )
    return (text + "\n" + "".join(lines)).encode()


def signature_line(name: str, key: bytes, signature: bytes) -> str:
    """
    Return the line of a note for one signature; `key` is the key id.

    Raises RecordError for an invalid name.
    """
    check_name(name)
    return f"{_DASH}{name} {b64encode(key + signature).decode('ascii')}\n"


def from_text_field(text: bytes) -> bytes:
    """
    Return the note that the text field of a form carried: forms send CR LF for each line feed.

    Files are not changed like this: a note has no CR, and a file with one is refused.
    """
    return text.replace(b"\r\n", b"\n")


def parse_note(data: bytes) -> Note:
    """
    Return the text and the signature lines of a note; the signatures are not verified.

    Raises RecordError if the note is malformed.
    """
    if len(data) > MAX_NOTE:
        raise _bad(f"more than {MAX_NOTE} bytes")
    if b"\r" in data:
        raise _bad("a carriage return, which some text editors add and a signed note never has")
    try:
        whole = data.decode()
    except UnicodeDecodeError:
        raise _bad("not UTF-8") from None
    text, blank, below = whole.rpartition("\n\n")
    if not blank or not below.endswith("\n"):
        raise _bad("no signature lines below a blank line")
    text += "\n"
    _check_text(text)
    lines = below.removesuffix("\n").split("\n")
    if len(lines) > MAX_SIGNATURES:
        raise _bad(f"more than {MAX_SIGNATURES} signatures")
    return Note(text=text, signatures=tuple(map(_parse_line, lines)))


def open_note(data: bytes, verifiers: Iterable[NoteVerifier]) -> tuple[Note, list[NoteVerifier]]:
    """
    Return the note and the known keys that signed it, at least one.

    Lines of unknown keys are ignored, even if their name or id alone is known.

    Raises RecordError if no known key signed the note, or a signature of one is wrong.
    """
    note = parse_note(data)
    known = {(verifier.name, verifier.key_id): verifier for verifier in verifiers}
    signed: list[NoteVerifier] = []
    for line in note.signatures:
        verifier = known.get((line.name, line.key_id))
        if verifier is None:
            continue
        if not _verifies(verifier.public, line.signature, note.text.encode()):
            raise _bad(f"the signature of {line.name} is wrong")
        if verifier not in signed:
            signed.append(verifier)
    if not signed:
        raise _bad("not signed by a known key")
    return note, signed


def only_signed_by(data: bytes, verifiers: Iterable[NoteVerifier]) -> bytes:
    """
    Return a note without the signature lines of unknown keys, which are unchecked text.

    Raises RecordError as `open_note` does.
    """
    note, signed = open_note(data, verifiers)
    known = {(key.name, key.key_id) for key in signed}
    lines = {
        signature_line(line.name, line.key_id, line.signature): None
        for line in note.signatures
        if (line.name, line.key_id) in known
    }
    return f"{note.text}\n{''.join(lines)}".encode()


@lru_cache(maxsize=64)  # of valid names: a server signs every receipt with the same one
def check_name(name: str) -> None:
    """Raise RecordError unless `name` can be the name of a key."""
    if not name or "+" in name or _CONTROL.search(name) or any(map(str.isspace, name)):
        raise _bad("the name of a key is not empty and has no space, control character or +")
    _check_unicode(name)


def _parse_line(line: str) -> NoteSignature:
    name, space, encoded = line.removeprefix(_DASH).partition(" ")
    raw = decode_base64(encoded)
    if not line.startswith(_DASH) or not space or raw is None or len(raw) < 5:
        raise _bad("a malformed signature line")
    check_name(name)
    return NoteSignature(name=name, key_id=raw[:4], signature=raw[4:])


def _check_text(text: str) -> None:
    if not text.endswith("\n"):
        raise _bad("the text does not end with a newline")
    if _CONTROL.search(text):
        raise _bad("a control character in the text")
    _check_unicode(text)


def _check_unicode(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise _bad("not Unicode text") from None


def _verifies(public: bytes, signature: bytes, message: bytes) -> bool:
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


def _bad(reason: str) -> RecordError:
    return RecordError("bad_note", reason)
