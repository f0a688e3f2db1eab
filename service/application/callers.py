"""Who asks, and what a request that may be repeated is known by."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from uuid import UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class Player:
    """A registered person."""

    id: UUID
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Somebody who asks for something: a player, or anybody, perhaps with an invite."""

    player: UUID | None = None
    invite: str | None = None
    what: str = "the game"  # what is asked for; noted where it is a reading


@dataclass(frozen=True, slots=True, kw_only=True)
class Idempotency:
    """What a repeated request is known by: its key within its path, and its body."""

    key: str
    path: str
    body_hash: bytes

    @property
    def request_key(self) -> bytes:
        """Return the hash under which the answer is kept; keys belong to the path."""
        return hashlib.sha256(f"{self.path}\n{self.key}".encode()).digest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """The answer to a request as it goes out."""

    body: bytes
    version: int | None = None
    replayed: bool = False


def digest(secret: str) -> bytes:
    """Return the form in which tokens, recovery codes and invites are stored."""
    return hashlib.sha256(secret.encode()).digest()


def matches(secret: str | None, stored: bytes | None) -> bool:
    """Return whether a secret is the one stored, in constant time."""
    if secret is None or stored is None:
        return False
    return hmac.compare_digest(digest(secret), stored)
