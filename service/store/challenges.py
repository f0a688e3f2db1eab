"""Repository of challenges: tables that were opened for one player, who is invited."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from schemas.challenges import ChallengeStatus
from service.store.database import Repository


class Challenge(Struct, frozen=True, kw_only=True):
    """A challenge of a player by the host of a table."""

    table: UUID
    challenger: UUID
    player: UUID
    status: ChallengeStatus
    created_at: datetime
    expires_at: datetime
    ruleset: str
    public: bool

    def at(self, now: datetime) -> Challenge:
        """Return the challenge at a time, at which an open one may have expired."""
        if self.status is ChallengeStatus.OPEN and self.expires_at <= now:
            return replace(self, status=ChallengeStatus.EXPIRED)
        return self


class ChallengeRepository(Repository):
    """Challenges; the commits of their tables add, accept and end them."""

    def challenge(self, table: UUID) -> Challenge | None:
        """Return the challenge for which a table was opened; None if there is none."""
        return self._first(_challenge, "challenge_at", table)

    def are_at_peace(self, one: UUID, other: UUID) -> bool:
        """Return whether neither of two players blocks the other."""
        return bool(self._database.fetch("is_shown_challenge", one, other)[0][0])

    def challenges_by(self, player: UUID, *, limit: int) -> Sequence[Challenge]:
        """Return the challenges by a player, newest first."""
        return [_challenge(row) for row in self._database.fetch("challenges_sent", player, limit)]

    def challenges_of(self, player: UUID, *, now: datetime, limit: int) -> Sequence[Challenge]:
        """Return the open challenges that a player may see, newest first."""
        rows = self._database.fetch("challenges_received", player, now, limit)
        return [_challenge(row) for row in rows]

    def expired_challenges(self, *, now: datetime, limit: int) -> Sequence[UUID]:
        """Return the tables of open challenges that have expired."""
        return [table for (table,) in self._database.fetch("expired_challenges", now, limit)]

    def purge_challenges(self, *, expired_before: datetime) -> int:
        """Delete a batch of challenges that expired before a time; return its size."""
        return self._count("purge_challenges", expired_before)


def _challenge(row: tuple[Any, ...]) -> Challenge:
    table, challenger, player, state, created_at, expires_at, ruleset, public = row
    return Challenge(
        table=table,
        challenger=challenger,
        player=player,
        status=ChallengeStatus(state),
        created_at=created_at,
        expires_at=expires_at,
        ruleset=ruleset,
        public=public,
    )
