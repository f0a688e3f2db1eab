"""The server's signing keys over time: a new one is signed by the one before it."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import (
    Ed25519PrivateKey,
    Ed25519PublicKey,
)

from service.record.canonical import RecordError, canonical
from service.record.notes import NoteVerifier
from service.record.shapes import decode_base64


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedKey:
    """A key as `/v1/keys` lists it; `endorsement` is the signature of the key before it."""

    verifier: NoteVerifier
    since: str
    until: str | None
    endorsement: bytes | None


def endorse(previous: Ed25519PrivateKey, public: bytes, since: str) -> bytes:
    """Return the old key's signature under a new one that is in use from `since` on."""
    return previous.sign(_message(public, since))


def is_endorsed(previous: bytes, key: ListedKey) -> bool:
    """Return whether a key carries the signature of the public key `previous`."""
    if key.endorsement is None:
        return False
    try:
        Ed25519PublicKey.from_public_bytes(previous).verify(
            key.endorsement, _message(key.verifier.public, key.since)
        )
    except (InvalidSignature, ValueError):
        return False
    return True


def read_keys(items: Iterable[Mapping[str, Any]]) -> list[ListedKey]:
    """Return the keys of an answer of `/v1/keys`; raise RecordError where it is none."""
    try:
        return [_read_key(item) for item in items]
    except (KeyError, TypeError, AttributeError):
        raise RecordError("bad_keys", "not a list of keys") from None


def followed(trusted: Iterable[NoteVerifier], listed: Iterable[ListedKey]) -> list[NoteVerifier]:
    """
    Return the trusted keys with those listed that can be followed from them.

    A key follows if one that is trusted signed it. What the list says of itself
    counts for nothing, so a server cannot slip in a key that its old one never saw.
    """
    known, waiting = list(dict.fromkeys(trusted)), list(listed)
    while True:
        new = [
            key.verifier
            for key in waiting
            if key.verifier not in known
            and any(k.name == key.verifier.name and is_endorsed(k.public, key) for k in known)
        ]
        if not new:
            return known
        known += new


def _message(public: bytes, since: str) -> bytes:
    said = {"v": 1, "public": b64encode(public).decode("ascii"), "from": since}
    return b"shx/1/server-key\n" + canonical(said)


def _read_key(item: Mapping[str, Any]) -> ListedKey:
    public, signed = decode_base64(item["public"]), item["signed_by_previous"]
    endorsement = None if signed is None else decode_base64(signed)
    if public is None or len(public) != 32 or (signed is not None and endorsement is None):
        raise RecordError("bad_keys", "a key that is none")
    verifier = NoteVerifier(name=item["name"], public=public)
    if verifier.key_id.hex() != item["id"]:
        raise RecordError("bad_keys", "the id is not that of the name and key")
    return ListedKey(
        verifier=verifier, since=str(item["from"]), until=item["to"], endorsement=endorsement
    )
