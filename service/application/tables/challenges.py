"""Challenges: a table opened for one player, who accepts or declines it with one call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final
from uuid import UUID

from schemas.challenges import ChallengeStatus
from service.application.calls import Answered, Idempotency, RegisteredPlayer
from service.application.errors import Refusal, invalid, not_found
from service.application.handles import people_json
from service.application.quotas import QUOTAS
from service.application.tables.commands import TableChanges
from service.application.tables.record import TableRequest
from service.application.tables.tables import Tables, challenge_over
from service.domain.events import Entropy
from service.replay.sentences import said
from service.shx.canonical import format_time
from service.store.challenges import Challenge
from service.store.directory import Directory
from service.store.events import QuotaKind

SENT: Final = 20
"""Maximum number of own challenges in a list."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Challenges:
    """
    Use cases of challenges.

    Nothing that the challenger reads depends on blocks: while one of the two blocks the other, the
    challenge is stored, counted and expires as any other, and its player does not see it.
    """

    tables: Tables
    changes: TableChanges
    directory: Directory

    def request(self, host: RegisteredPlayer, wanted: TableRequest, player: str) -> TableRequest:
        """
        Return the request for a table for a player, who is named by a handle or an id.

        Raises Refusal `invalid-body` for an unknown or erased player, or the caller.
        """
        is_id = len(player) == len(str(host.id))
        found = UUID(player) if is_id else self.directory.player_by_handle(player)
        if found is None or found == host.id or not self.directory.names([found]):
            raise invalid("/player", said("request.no_other_player"))
        return replace(wanted, invited=(found,), challenged=found)

    def accept(
        self,
        player: RegisteredPlayer,
        identity: UUID,
        *,
        entropy: Entropy,
        key: str | None,
        request: Idempotency | None,
    ) -> Answered:
        """
        Take the seat at the table of a challenge of the player; return the table. Safe to repeat.

        Raises Refusal `not-found`, `challenge-over`, and those of `Tables.sit`.
        """
        found = self._seen(player.id, identity)
        if found.player != player.id:
            raise not_found("challenge")
        if found.status not in (ChallengeStatus.OPEN, ChallengeStatus.ACCEPTED):
            raise challenge_over()
        try:
            return self.tables.sit(
                player, identity, seat=None, entropy=entropy, key=key, invite=None, request=request
            )
        except Refusal:
            now = self.directory.challenge(identity)
            if now is None or now.status in (ChallengeStatus.OPEN, ChallengeStatus.ACCEPTED):
                raise
            raise challenge_over() from None  # it ended at the same moment

    def end(self, player: RegisteredPlayer, identity: UUID) -> None:
        """
        Decline a challenge, or withdraw it as its challenger; its table is closed.

        Raises Refusal `not-found`, or `challenge-over`.
        """
        found = self._seen(player.id, identity)
        if found.status is not ChallengeStatus.OPEN:
            raise challenge_over()
        declines = found.player == player.id
        ended = ChallengeStatus.DECLINED if declines else ChallengeStatus.WITHDRAWN
        self.tables.shut(identity, ends=ended)
        self.changes.notifier.player_changed(found.challenger if declines else found.player)

    def expire(self, identity: UUID) -> None:
        """End a challenge that has expired, with its table. Safe to repeat; raises Refusal."""
        self.tables.shut(identity, ends=ChallengeStatus.EXPIRED)

    def get(self, player: RegisteredPlayer, identity: UUID) -> dict[str, Any]:
        """Return a challenge of or by a player as JSON; raises Refusal `not-found`."""
        return self._json([self._seen(player.id, identity)])[0]

    def of_player(self, player: RegisteredPlayer) -> dict[str, Any]:
        """Return the open challenges of a player, and the newest ones by the player, as JSON."""
        now = self.changes.world.now()
        most = QUOTAS[QuotaKind.CHALLENGED].most
        received = self.directory.challenges_of(player.id, now=now, limit=most)
        sent = [one.at(now) for one in self.directory.challenges_by(player.id, limit=SENT)]
        made = self._json([*received, *sent])
        return {"received": made[: len(received)], "sent": made[len(received) :], "next": None}

    def _seen(self, player: UUID, identity: UUID) -> Challenge:
        """Return a challenge as one of its two players may see it; raises Refusal `not-found`."""
        found = self.directory.challenge(identity)
        if found is None or player not in (found.challenger, found.player):
            raise not_found("challenge")
        if player == found.player and not self.directory.are_at_peace(player, found.challenger):
            raise not_found("challenge")
        return found.at(self.changes.world.now())

    def _json(self, some: Sequence[Challenge]) -> list[dict[str, Any]]:
        ids = {player for one in some for player in (one.challenger, one.player)}
        people = {one.id: one for one in self.directory.known_players(ids)}
        return [
            {
                "id": str(one.table),
                "challenger": people_json([people[one.challenger]])[0],
                "player": people_json([people[one.player]])[0],
                "status": one.status.value,
                "ruleset": one.ruleset,
                "visibility": "public" if one.public else "private",
                "created_at": format_time(one.created_at),
                "expires_at": format_time(one.expires_at),
            }
            for one in some
        ]
