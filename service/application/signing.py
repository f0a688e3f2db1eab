"""Signing keys of the server: receipts issued and handed in, published keys, retirements."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from service.application.errors import invalid
from service.application.games.record import GameRecord
from service.keys import Keyring, Keys
from service.replay.sentences import said
from service.shx.canonical import RecordError
from service.shx.keys import retire
from service.shx.receipts import Receipt, check_receipt, issue_receipt
from service.shx.tlog.notes import NoteSigner, NoteVerifier, from_text_field, only_signed_by


class Receipts:
    """Signs receipts with the server's present key."""

    def __init__(self, origin: str, keyring: Keys) -> None:
        self._origin = origin
        self._keyring = keyring
        self._last: NoteSigner | None = None

    def issue(self, record: GameRecord) -> bytes:
        """Return a signed note that names the present head of a game."""
        return issue_receipt(
            self._signer(), game=record.identity, seq=record.version - 1, head=record.head
        )

    def _signer(self) -> NoteSigner:
        """Return the signer of the present key; cached until the key is rotated."""
        key, last = self._keyring.present.signing_key, self._last
        if last is None or last.key is not key:
            last = self._last = NoteSigner(name=self._origin, key=key)
        return last


def listed_keys(keyring: Keyring, origin: str) -> list[dict[str, str | None]]:
    """Return all keys, newest first; each newer key is signed by the key before it."""
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


def listed_retirements(keyring: Keyring, origin: str) -> list[dict[str, str]]:
    """
    Return the end of validity of every retired key, signed by the present key; newest first.

    Ed25519 signatures are deterministic, so they are computed and not stored. Keys that an earlier
    release retired without a signature are included.
    """
    signer = verifiers_of(keyring, origin)[0].key_id.hex()
    found = []
    for old in keyring.retired:
        verifier = NoteVerifier(name=origin, public=old.public)
        signature = retire(keyring.signing_key, verifier, old.since, old.until)
        found.append(
            {
                "id": verifier.key_id.hex(),
                "to": old.until,
                "signed_by": signer,
                "signature": _text(signature),
            }
        )
    return found


def signers_at(keyring: Keyring, origin: str, now: datetime) -> list[NoteSigner]:
    """Return the checkpoint signers: the present key, and the previous one while both are valid."""
    return [NoteSigner(name=origin, key=key) for key in keyring.signing_at(now)]


def verifiers_of(keyring: Keyring, origin: str) -> tuple[NoteVerifier, ...]:
    """Return the verifiers of all keys, the present one first."""
    present = keyring.signing_key.public_key().public_bytes_raw()
    publics = (present, *(old.public for old in keyring.retired))
    return tuple(NoteVerifier(name=origin, public=public) for public in publics)


def _text(data: bytes) -> str:
    return b64encode(data).decode("ascii")


def handed_in(text: str, game: UUID, keys: Sequence[NoteVerifier]) -> tuple[bytes, Receipt]:
    """
    Return a receipt of a game that a request has, with the signatures of this server alone.

    Signatures by other keys are removed, because their text cannot be checked. Raises Refusal
    `invalid-body` if none of the keys signed it as a receipt of this game.
    """
    try:
        note = only_signed_by(from_text_field(f"{text.rstrip()}\n".encode()), keys)
        receipt = check_receipt(note, keys)
    except RecordError as error:
        fault = said("request.foreign_receipt", reason=error.detail)
        raise invalid("/receipt", fault) from None
    if receipt.game != game:
        raise invalid("/receipt", said("request.receipt_of_other", game=str(receipt.game)))
    return note, receipt
