"""
Hashes and signatures of a player with a key: a model for clients in other languages.

The module needs SHA-256, Ed25519, base64 and JSON, and imports nothing of this project (SHX/1,
sections 1 to 5):

1. the head after an event is SHA-256(0x00 ‖ its bytes), and each event contains the head before it;
2. entropy: choose 32 random bytes R, post `client_commit`, wait until the log has every
   commitment, post R, and check that the log has your commitment and R before signing anything;
3. a move is signed together with the game, the seat, and the last head that the player saw.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from base64 import b64encode
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


def canonical(value: Any) -> bytes:
    """Return the canonical JSON of a value without fractions: sorted keys, no spaces, UTF-8."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text.encode("utf-8")


def tagged_hash(tag: str, *parts: bytes) -> bytes:
    """Return SHA-256 over the tag and the parts, each after its length (4 bytes, big-endian)."""
    fields = (tag.encode("ascii"), *parts)
    return hashlib.sha256(b"".join(len(p).to_bytes(4, "big") + p for p in fields)).digest()


def genesis(game: UUID) -> bytes:
    """Return the `prev` of the first event of a game, which has no event before it."""
    return tagged_hash("shx/1/genesis", game.bytes)


def head(line: bytes) -> bytes:
    """Return the head after an event, given its bytes as the server sends them, without newline."""
    return hashlib.sha256(b"\x00" + line).digest()


def client_commit(game: UUID, seat: int, value: bytes) -> str:
    """Return the commitment of a seat, posted before it reveals its entropy `value`."""
    return tagged_hash("shx/1/client-seed", game.bytes, bytes([seat]), value).hex()


def signed_move(
    key: Ed25519PrivateKey,
    *,
    game: UUID,
    seat: int,
    seen_seq: int,
    seen_head: bytes,
    move: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the body to post: the move, and the intent that binds it to the last seen event."""
    intent = {
        "v": 1,
        "game": str(game),
        "seat": seat,
        "seen": {"seq": seen_seq, "head": seen_head.hex()},
        "move": dict(move),  # complete: a pick-up always has its `with`
        "nonce": secrets.token_hex(16),
    }
    sig = key.sign(b"shx/1/move\n" + canonical(intent))
    return {**move, "auth": {"intent": intent, "sig": b64encode(sig).decode("ascii")}}


def signed_key_change(old: Ed25519PrivateKey, *, table: UUID, seat: int, key: str) -> str:
    """Return the signature of the old key on the new key (base64) of a seat at a table."""
    change = {"v": 1, "table": str(table), "seat": seat, "key": key}
    return b64encode(old.sign(b"shx/1/key\n" + canonical(change))).decode("ascii")


def public_text(key: Ed25519PrivateKey) -> str:
    """Return the public key in the format of the API: base64 of its 32 bytes."""
    return b64encode(key.public_key().public_bytes_raw()).decode("ascii")
