"""Keys of the server (list, endorsements, retirements) and key changes of players."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import orjson
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import (
    Ed25519PrivateKey,
    Ed25519PublicKey,
)

from service.shx.canonical import RecordError, canonical, parse_time
from service.shx.curve import key_fault
from service.shx.moves import key_change_is_signed
from service.shx.tlog.notes import NoteVerifier
from service.shx.validators import (
    SEAT,
    Check,
    base64,
    decode_base64,
    each,
    one_of,
    record,
    uuid,
)

MAX_KEYS: Final = 10_000
"""Maximum number of keys, and of retirements, in a list."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedKey:
    """A key as `/v1/keys` lists it; `endorsement` is the signature by the previous key."""

    verifier: NoteVerifier
    since: str
    until: str | None
    endorsement: bytes | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Retirement:
    """The end of a key, signed by another key of the same server."""

    key: ListedKey  # the key that ends, with its listed dates
    until: str
    signer: bytes  # the id of the key that signed
    signature: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyList:
    """An answer of `/v1/keys`: keys, newest first, and signed retirements."""

    keys: tuple[ListedKey, ...]
    retirements: tuple[Retirement, ...] = ()
    restores: tuple[str, ...] = ()  # signed declarations, not verified

    def retired(self, known: Iterable[NoteVerifier]) -> dict[NoteVerifier, str]:
        """
        Return the end of each key that a key in `known` has validly retired.

        The signer must be newer than the retired key: otherwise the thief of an old key
        could retire a newer one. Of several times the earliest counts.
        """
        ends: dict[NoteVerifier, str] = {}
        trusted = {(key.name, key.key_id): key for key in known}
        chain = self._chain()
        for retirement in self.retirements:
            old = retirement.key.verifier
            signer = trusted.get((old.name, retirement.signer))
            if signer is None or signer not in chain:
                continue
            line, place = chain[old]
            follows = chain[signer][0] == line and chain[signer][1] > place
            if follows and _signed_end(signer, retirement):
                before = ends.get(old, retirement.until)
                ends[old] = min(before, retirement.until, key=parse_time)
        return ends

    def _chain(self) -> dict[NoteVerifier, tuple[int, int]]:
        """Return the number of each key's chain of endorsements, and its place, oldest first."""
        places: dict[NoteVerifier, tuple[int, int]] = {}
        line, older = 0, None
        for place, key in enumerate(reversed(self.keys)):
            if older is not None and not is_endorsed(older.verifier.public, key):
                line += 1
            places[key.verifier] = (line, place)
            older = key
        return places


def retire(signer: Ed25519PrivateKey, old: NoteVerifier, since: str, until: str) -> bytes:
    """Return the signature by which a newer key retires a key that was used from `since` on."""
    return signer.sign(_end_message(old, since, until))


def is_over(until: str, now: datetime) -> bool:
    """
    Return whether a key that ends at `until` has ended by `now`.

    Raises RecordError if `until` is not a time of SHX/1.
    """
    return parse_time(until) <= now


def endorse(previous: Ed25519PrivateKey, public: bytes, since: str) -> bytes:
    """Return the signature by which the previous key endorses a key in use from `since` on."""
    return previous.sign(_message(public, since))


def is_endorsed(previous: bytes, key: ListedKey) -> bool:
    """Return whether the key with the public bytes `previous` has endorsed `key`."""
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
    """
    Return the keys of an answer of `/v1/keys`.

    Raises RecordError if it is malformed.
    """
    try:
        return [_read_key(item) for item in items]
    except (KeyError, TypeError, AttributeError):
        raise RecordError("bad_keys", "not a list of keys") from None


def read_key_list(answer: Any) -> KeyList:
    """
    Return the content of an answer of `/v1/keys`.

    Raises RecordError if it is malformed.
    """
    try:
        items, signed = answer["items"], answer.get("retirements") or ()
        restores = answer.get("restores") or ()
    except (KeyError, TypeError, AttributeError):
        raise RecordError("bad_keys", "not a list of keys") from None
    lists = items, signed, restores
    if not all(isinstance(one, list | tuple) for one in lists):
        raise RecordError("bad_keys", "not a list of keys")
    if max(map(len, lists)) > MAX_KEYS:
        raise RecordError("bad_keys", f"more than {MAX_KEYS} keys")
    keys = tuple(read_keys(items))
    by_id = {key.verifier.key_id.hex(): key for key in keys}
    return KeyList(
        keys=keys,
        retirements=tuple(_read_retirement(one, by_id) for one in signed),
        restores=tuple(str(note) for note in restores),
    )


def followed(trusted: Iterable[NoteVerifier], listed: Iterable[ListedKey]) -> list[NoteVerifier]:
    """
    Return the trusted keys and those listed keys that a chain of endorsements leads to.

    A key is added if a trusted or added key endorsed it. The list itself proves nothing, so a
    server cannot add a key that no earlier key signed.
    """
    known = list(dict.fromkeys(trusted))
    waiting = [key for key in listed if key.verifier not in known]
    for old in known:  # grows while it is read: added keys may endorse further ones
        new = [
            key for key in waiting if key.verifier.name == old.name and is_endorsed(old.public, key)
        ]
        known += dict.fromkeys(key.verifier for key in new)
        waiting = [key for key in waiting if key not in new]
    return known


def _message(public: bytes, since: str) -> bytes:
    value = {"v": 1, "public": b64encode(public).decode("ascii"), "from": since}
    return b"shx/1/server-key\n" + canonical(value)


def _end_message(old: NoteVerifier, since: str, until: str) -> bytes:
    value = {
        "v": 1,
        "name": old.name,
        "public": b64encode(old.public).decode("ascii"),
        "from": since,
        "to": until,
    }
    return b"shx/1/server-key-end\n" + canonical(value)


def _signed_end(signer: NoteVerifier, end: Retirement) -> bool:
    try:
        message = _end_message(end.key.verifier, end.key.since, end.until)
        Ed25519PublicKey.from_public_bytes(signer.public).verify(end.signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


def _read_retirement(item: Any, keys: Mapping[str, ListedKey]) -> Retirement:
    try:
        key, until = keys[item["id"]], item["to"]
        signer, signature = bytes.fromhex(item["signed_by"]), decode_base64(item["signature"])
        parse_time(until)
    except (KeyError, TypeError, ValueError):
        raise RecordError("bad_keys", "a malformed retirement") from None
    if signature is None:
        raise RecordError("bad_keys", "a retirement without a signature")
    return Retirement(key=key, until=until, signer=signer, signature=signature)


def _read_key(item: Mapping[str, Any]) -> ListedKey:
    public, signed = decode_base64(item["public"]), item["signed_by_previous"]
    endorsement = None if signed is None else decode_base64(signed)
    if public is None or len(public) != 32 or (signed is not None and endorsement is None):
        raise RecordError("bad_keys", "a malformed key")
    if fault := key_fault(public):
        raise RecordError("bad_keys", fault)
    verifier = NoteVerifier(name=item["name"], public=public)
    if verifier.key_id.hex() != item["id"]:
        raise RecordError("bad_keys", "the id does not match the name and key")
    until = item["to"]
    try:
        if until is not None:
            parse_time(until)
    except (RecordError, TypeError):
        raise RecordError("bad_keys", "a key whose end is not a time") from None
    return ListedKey(
        verifier=verifier, since=str(item["from"]), until=until, endorsement=endorsement
    )


MAX_CHANGES: Final = 1000
"""Maximum number of key changes in a file."""

_CHANGE: Final[Check] = record(
    {
        "change": record({"v": one_of(1), "table": uuid, "seat": SEAT, "key": base64(32)}),
        "sig": base64(64),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyChange:
    """A statement that `key` replaces the key of a seat; its signature is not checked yet."""

    table: UUID
    seat: int
    key: bytes
    sig: str  # standard base64

    def as_json(self) -> dict[str, Any]:
        """Return the change as a JSON object: the signed statement, and the signature."""
        key = b64encode(self.key).decode("ascii")
        change = {"v": 1, "table": str(self.table), "seat": self.seat, "key": key}
        return {"change": change, "sig": self.sig}


def read_key_changes(data: bytes, *, most: int = MAX_CHANGES) -> tuple[KeyChange, ...]:
    """
    Return the key changes in a file: one object, a list, or a saved answer of the service.

    The JSON need not be canonical: the signed bytes are encoded again from the values.

    Raises RecordError if it is malformed or has more than `most` changes.
    """
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError:
        raise RecordError("bad_key_change", "not JSON") from None
    if type(value) is dict and "items" in value:
        value = value["items"]
    items = value if type(value) is list else [value]
    if len(items) > most:
        raise RecordError("bad_key_change", f"more than {most} changes")
    each(_CHANGE)(items, "/changes")
    return tuple(_change(item) for item in items)


def key_follows(
    old: bytes, new: bytes, changes: Iterable[KeyChange], *, table: UUID, seat: int
) -> bool:
    """
    Return whether signed changes lead from one key of a seat to another.

    The source of the changes need not be trusted: a change counts only if the key before
    it signed it. A weak key leads nowhere, because any signature could be valid under it.
    """
    own = [change for change in changes if (change.table, change.seat) == (table, seat)]
    known, reached = [old], {old}
    for key in known:
        for change in own:
            if change.key in reached or key_fault(key) or key_fault(change.key):
                continue
            if key_change_is_signed(key, change.sig, table=table, seat=seat, key=change.key):
                reached.add(change.key)
                known.append(change.key)  # may have signed further changes
    return new in reached


def _change(item: dict[str, Any]) -> KeyChange:
    change = item["change"]
    return KeyChange(
        table=UUID(change["table"]),
        seat=change["seat"],
        key=b64decode(change["key"]),
        sig=item["sig"],
    )
