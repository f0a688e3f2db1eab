"""The server's signing keys as they are listed, and those that sign at a time."""

from __future__ import annotations

from base64 import b64encode
from datetime import datetime

from service.keyring import Keyring
from service.record.notes import NoteSigner, NoteVerifier


def listed_keys(keyring: Keyring, origin: str) -> list[dict[str, str | None]]:
    """Return every key that ever signed, newest first; each but the first is signed by the next."""
    present = keyring.signing_key.public_key().public_bytes_raw()
    rows: list[tuple[bytes, str, str | None, bytes | None]] = [
        (present, keyring.signing_since, None, keyring.endorsement),
        *((old.public, old.since, old.until, old.endorsement) for old in keyring.retired),
    ]
    return [
        {
            "id": NoteVerifier(name=origin, public=public).key_id.hex(),
            "name": origin,
            "public": _text(public),
            "from": since,
            "to": until,
            "signed_by_previous": None if endorsement is None else _text(endorsement),
        }
        for public, since, until, endorsement in rows
    ]


def signers_at(keyring: Keyring, origin: str, now: datetime) -> list[NoteSigner]:
    """Return who signs checkpoints: the present key, and the last one while both are good."""
    return [NoteSigner(name=origin, key=key) for key in keyring.signing_at(now)]


def verifiers_of(keyring: Keyring, origin: str) -> tuple[NoteVerifier, ...]:
    """Return what checks whatever any of the keys signed."""
    present = keyring.signing_key.public_key().public_bytes_raw()
    publics = (present, *(old.public for old in keyring.retired))
    return tuple(NoteVerifier(name=origin, public=public) for public in publics)


def _text(data: bytes) -> str:
    return b64encode(data).decode("ascii")
