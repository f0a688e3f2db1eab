"""The verifier over HTTP: on a game of ours, or on what somebody sends."""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from uuid import UUID

import orjson

from service.application.callers import Caller
from service.application.entries import Entries
from service.application.errors import Refusal, invalid
from service.application.games import Games
from service.public_log.published import PublicLog
from service.record.bundle import PROOF, Bundle, NotABundle, read_log
from service.record.canonical import RecordError
from service.record.cosignature import COSIGNATURE, CosignatureVerifier, parse_cosigner
from service.record.key_changes import KeyChange, read_key_changes
from service.record.notes import NoteVerifier, parse_key, parse_verifier
from service.record.server_keys import ListedKey, read_keys
from service.record.weak_keys import is_weak
from service.verify.finding import Check, Result
from service.verify.report import audit_object
from service.verify.verify import Given, verify_bundle

KEY_BYTES = 32
MOST_CHANGES = 100
_SEAT = re.compile("0|[1-9][0-9]?")


class Verifying:
    """Runs the offline checks; it trusts nothing that the bundle brings along."""

    def __init__(
        self,
        *,
        entries: Entries,
        games: Games,
        log: PublicLog,
        server_keys: Callable[[], Sequence[NoteVerifier]],
        witnesses: Sequence[CosignatureVerifier],
    ) -> None:
        self._entries = entries
        self._games = games
        self._log = log
        self._server_keys = server_keys
        self._witnesses = tuple(witnesses)

    def audit(self, caller: Caller, game: UUID) -> dict[str, Any]:
        """Return the audit object of a stored game; before the seal worked out without S."""
        entry = self._games.read(caller, game)
        lines = self._entries.lines(game, limit=entry.record.version)
        proof = self._log.proof(game, version=len(lines))
        files = {} if proof is None else {PROOF: proof}
        own = Given(server_keys=tuple(self._server_keys()), witness_keys=self._witnesses)
        return audit_object(verify_bundle(Bundle(lines=lines, files=files), own))

    def is_final(self, audit: Mapping[str, Any]) -> bool:
        """
        Return whether the audit object of a stored game will always say the same.

        After the seal the public log still has to take the game up, and witnesses to see it.
        """
        [anchored] = [c["result"] for c in audit["checks"] if c["check"] == Check.ANCHOR.value]
        published = anchored == Result.PASS.value
        seen = audit["witnessed"] or not self._witnesses
        return bool(audit["sealed"] and published and seen)

    def verify(
        self,
        data: bytes,
        *,
        receipts: Sequence[bytes] = (),
        keys: Sequence[str] = (),
        seat_keys: Sequence[str] = (),
        key_changes: Sequence[bytes] = (),
        proof: bytes | None = None,
    ) -> dict[str, Any]:
        """
        Return the audit object of a bundle or log that somebody sends.

        `keys` are the server's and those of witnesses, told apart by their algorithm, or
        a saved answer of `/v1/keys`; `seat_keys` those of players as `0=<base64>`,
        `key_changes` what ties later ones to them; `proof` counts instead of one in the
        bundle. Raises `not-a-bundle` where it is none, `invalid-body` for a key or change
        that is none.
        """
        try:
            bundle = read_log(data)
        except (NotABundle, RecordError) as error:
            raise Refusal("not-a-bundle", str(error)) from None
        server, listed, witnesses = _verifiers(keys)
        given = Given(
            receipts=tuple(receipts),
            server_keys=server,
            listed=listed,
            witness_keys=witnesses,
            witnessed=bool(witnesses),
            seat_keys=_seat_keys(seat_keys),
            key_changes=_key_changes(key_changes),
            proof=proof,
        )
        return audit_object(verify_bundle(bundle, given))


def _verifiers(
    words: Sequence[str],
) -> tuple[tuple[NoteVerifier, ...], tuple[ListedKey, ...], tuple[CosignatureVerifier, ...]]:
    """Return the keys of servers, those of them whose dates are known, and those of witnesses."""
    try:
        listed = [key for word in words if word.startswith("{") for key in _listed(word)]
        known = [(word, parse_key(word)[1]) for word in words if not word.startswith("{")]
        witnesses = tuple(parse_cosigner(key) for key, kind in known if kind == COSIGNATURE)
        single = (parse_verifier(key) for key, kind in known if kind != COSIGNATURE)
        return (*single, *(key.verifier for key in listed)), tuple(listed), witnesses
    except RecordError as error:
        raise invalid("/key", error.detail) from None


def _listed(word: str) -> list[ListedKey]:
    """Return the keys of a saved answer of `/v1/keys`."""
    try:
        return read_keys(orjson.loads(word)["items"])
    except (orjson.JSONDecodeError, KeyError):
        raise RecordError("bad_keys", "neither name+id+key nor an answer of /v1/keys") from None


def _seat_keys(words: Sequence[str]) -> dict[int, str]:
    keys: dict[int, str] = {}
    for word in words:
        seat, _, key = word.partition("=")
        if not _SEAT.fullmatch(seat) or not _is_key(key) or int(seat) in keys:
            raise invalid(
                "/seat_key", "is not SEAT=KEY, once a seat, with a key of 32 bytes in base64"
            )
        if is_weak(b64decode(key)):
            raise invalid("/seat_key", "is a key of small order, which proves nothing")
        keys[int(seat)] = key
    return keys


def _key_changes(files: Sequence[bytes]) -> tuple[KeyChange, ...]:
    changes: tuple[KeyChange, ...] = ()
    for data in files:
        try:
            changes += read_key_changes(data, most=MOST_CHANGES - len(changes))
        except RecordError as error:
            raise invalid("/key_change", error.detail) from None
    return changes


def _is_key(text: str) -> bool:
    try:
        return len(b64decode(text, validate=True)) == KEY_BYTES
    except ValueError:
        return False
