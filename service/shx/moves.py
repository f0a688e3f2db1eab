"""Moves in SHX/1: shapes, signatures and key changes (section 5), and refused attempts."""

from __future__ import annotations

from base64 import b64encode
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import (
    Ed25519PrivateKey,
    Ed25519PublicKey,
)

from service.shx.canonical import RecordError, canonical, parse, sha256
from service.shx.validators import (
    CARDS,
    HASH,
    MAX_EVENTS,
    MAX_SEATS,
    SEAT,
    SLOT,
    SOME_CARDS,
    Check,
    base64,
    decode_base64,
    each,
    free_object,
    hexadecimal,
    integer,
    one_of,
    record,
    refuse,
    text,
    time,
    uuid,
)

_MOVE_PREFIX: Final = b"shx/1/move\n"
_KEY_PREFIX: Final = b"shx/1/key\n"

_MOVES: Final[Mapping[str, Mapping[str, Check]]] = {
    "play": {"cards": SOME_CARDS},
    "play_blind": {"slot": SLOT},
    "pick_up": {"with": CARDS},
    "try_stock": {},
    "pass": {},
    "swap": {"up": SOME_CARDS, "hand": SOME_CARDS},
    "lay": {"stacks": each(CARDS)},
    "ready": {},
    "forfeit": {},
    "agree_end": {},
    "claim_absence": {"absent": SEAT, "then": one_of("stand_in", "end")},
}
MOVE_SHAPES: Final = {
    name: record({"type": one_of(name), **fields}) for name, fields in _MOVES.items()
}


def check_move(move: Any, path: str = "/move") -> None:
    """Raise RecordError unless `move` is a move with exactly the fields of its type."""
    kind = move.get("type") if type(move) is dict else None
    if type(kind) is not str or kind not in MOVE_SHAPES:
        raise refuse(path, "not a move")
    MOVE_SHAPES[kind](move, path)
    if kind == "swap" and len(move["up"]) != len(move["hand"]):
        raise refuse(path, "a swap exchanges as many face-up cards as hand cards")


INTENT: Final = record(
    {
        "v": one_of(1),
        "game": uuid,
        "seat": SEAT,
        "seen": record({"seq": integer(0, MAX_EVENTS - 1), "head": HASH}),
        "move": check_move,
        "nonce": hexadecimal(16),
    }
)

check_auth: Final = record({"intent": INTENT, "sig": base64(64)})
"""Raises RecordError unless the value has the shape of `auth`; the signature is not checked."""


def intent(
    *, game: UUID, seat: int, seen_seq: int, seen_head: bytes, move: Mapping[str, Any], nonce: str
) -> dict[str, Any]:
    """
    Return the statement that a seat signs to make `move`; `seen_seq` is the last event it has seen.

    Raises RecordError if a value has the wrong shape.
    """
    value = {
        "v": 1,
        "game": str(game),
        "seat": seat,
        "seen": {"seq": seen_seq, "head": seen_head.hex()},
        "move": dict(move),
        "nonce": nonce,
    }
    INTENT(value, "/intent")
    return value


def intent_bytes(value: Mapping[str, Any]) -> bytes:
    """Return the bytes of an intent that are signed."""
    return _MOVE_PREFIX + canonical(dict(value))


def sign_intent(key: Ed25519PrivateKey, value: Mapping[str, Any]) -> dict[str, Any]:
    """Return the `auth` of a move: the intent and its signature."""
    return {"intent": dict(value), "sig": _sign(key, intent_bytes(value))}


def intent_is_signed(public: bytes, auth: Mapping[str, Any]) -> bool:
    """Return whether the key `public` (32 bytes) signed this intent."""
    return _verifies(public, auth["sig"], intent_bytes(auth["intent"]))


def key_change_bytes(*, table: UUID, seat: int, key: bytes) -> bytes:
    """Return the bytes that the old key of a seat signs so that `key` replaces it."""
    value = {"v": 1, "table": str(table), "seat": seat, "key": b64encode(key).decode("ascii")}
    return _KEY_PREFIX + canonical(value)


def sign_key_change(old: Ed25519PrivateKey, *, table: UUID, seat: int, key: bytes) -> str:
    """Return the signature of the old key that makes `key` its successor, in base64."""
    return _sign(old, key_change_bytes(table=table, seat=seat, key=key))


def key_change_is_signed(old: bytes, signature: str, *, table: UUID, seat: int, key: bytes) -> bool:
    """Return whether the key `old` signed that `key` is the seat's next key."""
    return _verifies(old, signature, key_change_bytes(table=table, seat=seat, key=key))


def _sign(key: Ed25519PrivateKey, message: bytes) -> str:
    return b64encode(key.sign(message)).decode("ascii")


def _verifies(public: bytes, signature: str, message: bytes) -> bool:
    """Return whether an Ed25519 signature is valid; False also if it or the key is malformed."""
    raw = decode_base64(signature)
    if raw is None:
        return False
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(raw, message)
    except (InvalidSignature, ValueError):
        return False
    return True


MAX_REFUSALS_PER_SEAT: Final = 200
"""Maximum number of refused attempts recorded for a seat in a game; later ones are dropped."""

MAX_REFUSALS_PER_GAME: Final = MAX_REFUSALS_PER_SEAT * MAX_SEATS

UNPROVEN: Final = "they rest on the file alone"
"""Why refused attempts are marked as unproven if no seal contains their hash."""

ATTEMPT: Final = record({"at": time, "move": free_object, "rule": text, "seat": SEAT})
"""The shape of a line of `refusals.jsonl`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedRefusals:
    """The refused attempts in a seal: their number and the hash of their file."""

    count: int
    sha256: str  # of the bytes of refusals.jsonl, in hex

    def as_json(self) -> dict[str, Any]:
        """Return the value of the field `refusals` in the data of a seal."""
        return {"count": self.count, "sha256": self.sha256}


def refusals_file(rows: Iterable[Mapping[str, Any]]) -> bytes:
    """
    Return the bytes of `refusals.jsonl`: one line for each attempt, in the order of `rows`.

    Raises RecordError for a value that has no canonical JSON.
    """
    return b"".join(canonical(dict(row)) + b"\n" for row in rows)


def seal_of(data: bytes) -> SealedRefusals:
    """Return the fields of a seal for the bytes of `refusals.jsonl`."""
    return SealedRefusals(count=data.count(b"\n"), sha256=sha256(data).hex())


NONE_REFUSED: Final = seal_of(b"")


def sealed_refusals(event: Mapping[str, Any]) -> SealedRefusals:
    """Return the count and hash of refused attempts in a decoded seal."""
    sealed = event["data"]["refusals"]
    return SealedRefusals(count=sealed["count"], sha256=sealed["sha256"])


def check_refusals(data: bytes, *, seats: int) -> None:
    """
    Raise RecordError unless `data` is a valid `refusals.jsonl` of a game with `seats` seats.

    Each line is canonical JSON and ends with a line feed, no line is earlier than the line
    before it, and a seat has at most MAX_REFUSALS_PER_SEAT lines.
    """
    lines = data.split(b"\n")
    if lines.pop():
        raise RecordError("bad_refusals", "the last line does not end with a line feed")
    before, of_seat = "", Counter[int]()
    for number, line in enumerate(lines, 1):
        try:
            row = parse(line)
            ATTEMPT(row, "")
        except RecordError as error:
            raise RecordError("bad_refusals", f"line {number}: {error.detail}") from None
        of_seat[row["seat"]] += 1
        if row["seat"] >= seats or of_seat[row["seat"]] > MAX_REFUSALS_PER_SEAT:
            reason = f"line {number}: /seat = {row['seat']} is absent or has too many attempts"
            raise RecordError("bad_refusals", reason)
        if row["at"] < before:
            raise RecordError("bad_refusals", f"line {number}: earlier than the line before")
        before = row["at"]
