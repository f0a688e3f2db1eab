"""Callers of the service, idempotency keys, answers, and hashes of secrets."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from uuid import UUID

if TYPE_CHECKING:
    from service.application.first_read import FirstRead


@dataclass(frozen=True, slots=True, kw_only=True)
class Player:
    """A registered person."""

    id: UUID
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """The sender of a request: a player or an anonymous caller, with or without an invite."""

    player: UUID | None = None
    invite: str | None = None
    what: str = "the game"  # the data requested, for the access log
    read: FirstRead | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Idempotency:
    """Identifies a repeated request: its key within its path, and its body."""

    key: str
    path: str
    body_hash: bytes

    @property
    def request_key(self) -> bytes:
        """Return the hash under which the answer is stored; two paths may use the same key."""
        return hashlib.sha256(f"{self.path}\n{self.key}".encode()).digest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """The answer to a request, as sent."""

    body: bytes
    version: int | None = None
    replayed: bool = False


def digest(secret: str) -> bytes:
    """Return the hash of a token, recovery code or invite, which is stored instead of it."""
    return hashlib.sha256(secret.encode()).digest()


def matches(secret: str | None, stored: bytes | None) -> bool:
    """Return whether the hash of a secret is the stored one; compared in constant time."""
    if secret is None or stored is None:
        return False
    return hmac.compare_digest(digest(secret), stored)
