"""Shapes and signatures of moves, and of key changes (SHX/1, section 5)."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import (
    Ed25519PrivateKey,
    Ed25519PublicKey,
)

from service.shx.canonical import canonical
from service.shx.validators import (
    CARDS,
    HASH,
    MAX_EVENTS,
    SEAT,
    SLOT,
    SOME_CARDS,
    Check,
    base64,
    decode_base64,
    each,
    hexadecimal,
    integer,
    one_of,
    record,
    refuse,
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
}
_SHAPES: Final = {name: record({"type": one_of(name), **fields}) for name, fields in _MOVES.items()}


def check_move(move: Any, path: str = "/move") -> None:
    """Raise RecordError unless `move` is a move with exactly the fields of its type."""
    kind = move.get("type") if type(move) is dict else None
    if type(kind) is not str or kind not in _SHAPES:
        raise refuse(path, "not a move")
    _SHAPES[kind](move, path)
    if kind == "swap" and len(move["up"]) != len(move["hand"]):
        raise refuse(path, "a swap goes pair by pair")


_INTENT: Final = record(
    {
        "v": one_of(1),
        "game": uuid,
        "seat": SEAT,
        "seen": record({"seq": integer(0, MAX_EVENTS - 1), "head": HASH}),
        "move": check_move,
        "nonce": hexadecimal(16),
    }
)

check_auth: Final[Check] = record({"intent": _INTENT, "sig": base64(64)})
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
    _INTENT(value, "/intent")
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
