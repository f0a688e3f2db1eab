"""Values of a call: the caller, the versions that it expects, and the answer."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Collection
from typing import Protocol
from uuid import UUID

from msgspec import Struct

from schemas.tokens import ALL_SCOPES
from service.application.games.entry import GameEntry
from service.domain.commands import Seat
from service.replay.sentences import sentence


class RegisteredPlayer(Struct, frozen=True, kw_only=True):
    """A registered person, with the scopes of the token of the request."""

    id: UUID
    name: str
    scopes: frozenset[str] = ALL_SCOPES


class ReadOnce(Protocol):
    """The first database read of a request (`request.py`)."""

    @property
    def token(self) -> bytes | None:
        """Return the hash of the caller's token, None for an anonymous caller."""

    @property
    def confirmed(self) -> bool:
        """Return whether the token, if any, was read from the database for this request."""

    def first_answer(self) -> Answered | None:
        """Return the first answer to this request, None if it has none."""

    def entry(self, game: UUID) -> GameEntry | None:
        """Return the game as this request read it, before that as cached."""

    def take(self, game: UUID) -> GameEntry | None:
        """Return the present version of a game."""


class Caller(Struct, frozen=True, kw_only=True):
    """The sender of a request: a player or an anonymous caller, with or without an invite."""

    player: UUID | None = None
    invite: str | None = None
    what: Callable[[], str] = lambda: sentence(
        "access.game"
    )  # names the data requested, for the access log
    read: ReadOnce | None = None


Expected = Callable[[], Collection[int] | None]
"""
Returns the versions in If-Match of a request, None for any version.

It raises `malformed` for a header that cannot be read, so it is called when the version is
checked: the faults before it, such as `not-seated`, are reported first.
"""


def any_version() -> None:
    """Return the versions of a request without If-Match: any."""


class Idempotency(Struct, frozen=True, kw_only=True):
    """Identifies a request, so that a repetition is recognized: key, path and hash of the body."""

    key: str
    path: str
    body_hash: bytes

    @property
    def request_key(self) -> bytes:
        """Return the hash under which the answer is stored; two paths may use the same key."""
        return hashlib.sha256(f"{self.path}\n{self.key}".encode()).digest()


class Answered(Struct, frozen=True, kw_only=True):
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


class MadeMove(Struct, frozen=True, kw_only=True):
    """The public data, besides the log, from which the answer to a move is rebuilt."""

    game: UUID
    seat: Seat
    before: int  # the version before the move
    version: int  # the version after it
    back: tuple[Seat, ...]  # seats that had come back from a bot, which no event records
