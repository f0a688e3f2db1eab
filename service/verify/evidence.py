"""Evidence from outside a bundle, parsed: receipts, keys, key changes and proofs."""

from __future__ import annotations

import json
import re
from base64 import b64decode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from service.replay.sentences import Sentence, said
from service.shx.bundle import Bundle
from service.shx.canonical import RecordError, parse_time
from service.shx.curve import key_fault
from service.shx.keys import KeyChange, ListedKey, read_key_changes, read_keys
from service.shx.restores import MAX_RESTORES
from service.shx.tlog.checkpoint import COSIGNATURE, CosignatureVerifier, parse_cosigner
from service.shx.tlog.notes import NoteVerifier, parse_key, parse_verifier
from service.shx.validators import decode_base64

KEY_BYTES: Final = 32
MAX_CHANGES: Final = 100
_SEAT: Final = re.compile("0|[1-9][0-9]?")
_LISTED: Final = frozenset({"id", "name", "public", "from", "to", "signed_by_previous"})


class BadEvidence(Exception):
    """
    A piece of evidence that cannot be read.

    `field` is the field of an upload to the API: `key`, `seat_key` or `key_change`; the command
    line names its option instead. `what` is the reason, and `detail` its text.
    """

    def __init__(self, field: str, what: Sentence) -> None:
        super().__init__(what.text)
        self.field = field
        self.what = what
        self.detail = what.text


Name = str | Sentence
"""The name of a receipt: that of its file, or a sentence on its origin."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicKeys:
    """Public keys of servers and witnesses, with the dates of server keys that are listed."""

    server: tuple[NoteVerifier, ...] = ()
    listed: tuple[ListedKey, ...] = ()  # the server keys with known dates
    restores: tuple[bytes, ...] = ()  # declarations of the server, not verified yet
    witnesses: tuple[CosignatureVerifier, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OutsideEvidence:
    """Evidence from other sources than the bundle: only this raises a level above L1."""

    receipts: tuple[bytes, ...] = ()
    files: Mapping[bytes, Name] = field(default_factory=dict)  # of each receipt its file, or a name
    server_keys: tuple[NoteVerifier, ...] = ()
    listed: tuple[ListedKey, ...] = ()  # the server keys with known dates
    restores: tuple[bytes, ...] = ()  # signed declarations of restores
    seat_keys: Mapping[int, str] = field(default_factory=dict)  # standard base64, by seat
    key_changes: tuple[KeyChange, ...] = ()  # of seats, between hands
    proof: bytes | None = None  # of the public log; replaces the proof in the bundle
    witnessed: bool = False  # whether cosignatures of witnesses are required
    witness_keys: tuple[CosignatureVerifier, ...] = ()
    quorum: int | None = None  # number of witnesses that must have cosigned; None: all
    authorities: bytes = b""  # certificates (PEM) to which a time stamp has to lead
    others: tuple[Bundle, ...] = ()  # further logs of the same table


def parse_evidence(
    *,
    receipts: Sequence[bytes] = (),
    keys: Sequence[str] = (),
    seat_keys: Sequence[str] = (),
    key_changes: Sequence[bytes] = (),
    proof: bytes | None = None,
) -> OutsideEvidence:
    """
    Return the evidence sent beside a bundle.

    A witness key requires the cosignature of that witness. Receipts and the proof are read
    by the checks: a fault in one is a finding.

    Raises BadEvidence for a key or key change that cannot be read.
    """
    found = parse_keys(keys)
    return OutsideEvidence(
        receipts=tuple(receipts),
        server_keys=found.server,
        listed=found.listed,
        restores=found.restores,
        witness_keys=found.witnesses,
        witnessed=bool(found.witnesses),
        seat_keys=parse_seat_keys(seat_keys),
        key_changes=parse_key_changes(key_changes),
        proof=proof,
    )


def parse_keys(texts: Iterable[str]) -> PublicKeys:
    """
    Return the keys in `texts`, sorted by their algorithm into server and witness keys.

    A text is a saved answer of `/v1/keys`, or keys of the form name+id+key with white space
    between them.

    Raises BadEvidence for a text without a valid key.
    """
    server: list[NoteVerifier] = []
    listed: list[ListedKey] = []
    restores: list[bytes] = []
    witnesses: list[CosignatureVerifier] = []
    try:
        for text in texts:
            if text.lstrip().startswith("{"):
                for key in _saved(text):
                    listed += [key] if isinstance(key, ListedKey) else []
                    server.append(key.verifier if isinstance(key, ListedKey) else key)
                restores += _saved_restores(text)
                continue
            for word in re.findall(r"[^ \t\r\n]+", text) or [text]:
                if parse_key(word)[1] == COSIGNATURE:
                    witnesses.append(parse_cosigner(word))
                else:
                    server.append(parse_verifier(word))
    except RecordError as error:
        raise BadEvidence("key", said("request.key", reason=error.detail)) from None
    return PublicKeys(
        server=tuple(server),
        listed=tuple(listed),
        restores=tuple(restores),
        witnesses=tuple(witnesses),
    )


def parse_seat_keys(words: Iterable[str]) -> dict[int, str]:
    """
    Return public keys by seat, from words like `0=<base64>`.

    Raises BadEvidence for a word of another form, a seat named twice, or a weak key.

    >>> parse_seat_keys(["2=11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="])
    {2: '11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo='}
    """
    keys: dict[int, str] = {}
    for word in words:
        seat, _, key = word.partition("=")
        raw = decode_base64(key)
        valid = raw is not None and len(raw) == KEY_BYTES
        if not _SEAT.fullmatch(seat) or not valid or int(seat) in keys:
            raise BadEvidence("seat_key", said("request.seat_key"))
        if fault := key_fault(b64decode(key)):
            raise BadEvidence("seat_key", said("request.weak_key", reason=fault))
        keys[int(seat)] = key
    return keys


def parse_key_changes(files: Iterable[bytes]) -> tuple[KeyChange, ...]:
    """
    Return the key changes in saved answers of `/v1/tables/ID/keys`.

    Raises BadEvidence for a file without valid changes, or if there are too many.
    """
    changes: tuple[KeyChange, ...] = ()
    for data in files:
        try:
            changes += read_key_changes(data, most=MAX_CHANGES - len(changes))
        except RecordError as error:
            raise BadEvidence(
                "key_change", said("request.key_change", reason=error.detail)
            ) from None
    return changes


def _saved(text: str) -> list[ListedKey | NoteVerifier]:
    """
    Return the keys of a saved answer of `/v1/keys`, with their dates if it has them.

    Raises RecordError for a malformed key, BadEvidence for another text.
    """
    try:
        items = json.loads(text, parse_constant=_no_number)["items"]
        keys = [_saved_key(item) for item in items] if isinstance(items, list) else []
    except RecordError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        keys = []
    if not keys:
        raise BadEvidence("key", said("request.no_key"))
    return keys


def _no_number(word: str) -> None:
    """Refuse NaN and Infinity, which are no JSON."""
    raise ValueError(word)


def _saved_restores(text: str) -> list[bytes]:
    """Return the declarations of restores in a saved answer; those of another form are left out."""
    found = json.loads(text).get("restores")
    notes = found if isinstance(found, list) else []
    return [note.encode() for note in notes[:MAX_RESTORES] if isinstance(note, str)]


def _saved_key(item: Mapping[str, Any]) -> ListedKey | NoteVerifier:
    """Return a key of a saved list; a list written by hand may have only name and key."""
    for name in ("from", "to"):
        if item.get(name) is not None:
            parse_time(item[name])
    signed = item.get("signed_by_previous")
    if signed is not None and decode_base64(signed) is None:
        raise RecordError("bad_keys", "a malformed signature of the previous key")
    if item.keys() >= _LISTED:
        return read_keys([item])[0]
    public = decode_base64(item["public"])
    made = NoteVerifier(name=item["name"], public=public or b"")
    if item.get("id", made.key_id.hex()) != made.key_id.hex():
        raise RecordError("bad_keys", "the id is not that of the name and key")
    return parse_verifier(str(made))  # checks name, length and curve
