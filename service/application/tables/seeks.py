"""Use cases of seeks: post, read, renew, withdraw."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID, uuid5

import orjson

from schemas.seeks import Standing
from schemas.views import clock_json
from service.application.calls import Answered, Idempotency, RegisteredPlayer
from service.application.errors import Refusal, not_found
from service.application.handler import Handler
from service.application.quotas import check_table_quotas, of_seeks
from service.application.tables.commands import TableChanges
from service.application.tables.matching import PRESENT, SWEPT, TERM, table_request
from service.application.tables.record import opened_by
from service.replay.sentences import said
from service.shx.canonical import format_time
from service.store.directory import Directory
from service.store.seeks import Seek, SeekConditions

LISTED: Final = 20
"""Maximum number of own seeks in a list."""

MANY: Final = 100
"""Number of different conditions from which on their list is retained for KEPT_SECONDS."""

KEPT_SECONDS: Final = 2.0

COUNTED: Final = 50
"""Number of a player's newest hands that its standing follows from."""

Waiting = Sequence[tuple[SeekConditions, Mapping[Standing, int]]]
"""Conditions, and how many players of each standing wait on them."""


def standing_of(hands: int, left: int) -> Standing:
    """
    Return the standing of a player who left some of the newest hands.

    >>> [str(standing_of(*one)) for one in ((4, 0), (5, 0), (10, 1), (10, 2), (1, 1), (5, 2))]
    ['mixed', 'stays', 'stays', 'mixed', 'mixed', 'leaves']
    """
    if left >= 2 and 3 * left > hands:
        return Standing.LEAVES
    return Standing.STAYS if hands >= 5 and 10 * left <= hands else Standing.MIXED


@dataclass(frozen=True, slots=True, kw_only=True)
class SeekRequest:
    """The body of `POST /v1/seeks`, parsed but not yet validated."""

    conditions: SeekConditions
    key: str | None
    fill_after: int | None
    keep: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Seeks:
    """Use cases of seeks; the sweeper matches them (`matching`), so a request takes no search."""

    handler: Handler
    changes: TableChanges
    directory: Directory
    known: list[tuple[float, Waiting]] = field(default_factory=list)

    def post(
        self, player: RegisteredPlayer, wanted: SeekRequest, request: Idempotency | None
    ) -> Answered:
        """
        Add a seek, and return it.

        Raises Refusal `limit-reached`, `invalid-body` for an unknown ruleset, `ruleset-refused`,
        `cannot-deal`, and those of `Handler.once`.
        """

        def act() -> tuple[Answered, bool]:
            seek = self.add(self._wanted(player, wanted, request))
            return Answered(body=orjson.dumps(seek)), True

        return self.handler.once(player.id, request, act)

    def of_player(self, player: UUID | None) -> list[dict[str, Any]]:
        """Return the newest seeks of a player as JSON, none for an anonymous caller."""
        if player is None:
            return []
        return [self._json(seek) for seek in self.directory.seeks_of(player, limit=LISTED)]

    def waiting(self, *, after: int, limit: int) -> tuple[list[dict[str, Any]], int | None]:
        """
        Return a page of the conditions on which players wait now, and where the next one begins.

        Without names, as JSON. A long list is the same for KEPT_SECONDS: each call would read all
        open seeks.
        """
        until, found = self.known[0] if self.known else (0.0, ())
        if time.monotonic() >= until:
            present = self.changes.world.now() + TERM - PRESENT
            found = self.directory.seeks_waiting(expire_after=present, limit=SWEPT)
            until = time.monotonic() + (KEPT_SECONDS if len(found) >= MANY else 0)
            self.known[:] = [(until, found)]
        items = [
            {
                **_conditions_json(conditions),
                "players": sum(counts.values()),
                "standings": {standing.value: count for standing, count in counts.items()},
            }
            for conditions, counts in found[after : after + limit]
        ]
        return items, after + limit if len(found) > after + limit else None

    def get(self, player: RegisteredPlayer, seek: UUID) -> dict[str, Any]:
        """Return a seek of a player as JSON; raises Refusal `not-found`."""
        found = self.directory.seek(seek)
        if found is None or found.player != player.id:
            raise not_found("seek")
        return self._json(found)

    def renew(self, player: RegisteredPlayer, seek: UUID) -> dict[str, Any]:
        """
        Begin the term of an open seek again, and return the seek.

        Raises Refusal `not-found`, or `seek-over` with the seek as it ended.
        """
        now = self.changes.world.now()
        done = self.directory.renew_seek(seek, player.id, at=now, until=now + TERM)
        return self._changed(player, seek, done=done)

    def withdraw(self, player: RegisteredPlayer, seek: UUID) -> dict[str, Any]:
        """
        End an open seek, and return it.

        Raises Refusal `not-found`, or `seek-over` with the seek as it ended before.
        """
        done = self.directory.withdraw_seek(seek, player.id, at=self.changes.world.now())
        return self._changed(player, seek, done=done)

    def _changed(self, player: RegisteredPlayer, seek: UUID, *, done: bool) -> dict[str, Any]:
        """Return a seek that was changed; raises `seek-over` for one that was over before."""
        found = self.get(player, seek)
        if not done:
            raise Refusal("seek-over", said("request.seek_over"), seek=found)
        return found

    def _wanted(
        self, player: RegisteredPlayer, wanted: SeekRequest, request: Idempotency | None
    ) -> Seek:
        """
        Return the seek that is wanted, which the repetition of a request wants as well.

        Raises Refusal.
        """
        check_table_quotas(self.changes.directory, player.id)
        for at, ruleset in enumerate(wanted.conditions.rulesets):
            definition = self.changes.rulebook.definition(ruleset, f"/rulesets/{at}")
            every_seat = table_request(ruleset, wanted.conditions, bots=0)
            opened_by(player.id, every_seat, definition)
        now, identity = self.changes.world.now(), self.changes.world.identity()
        return Seek(
            id=uuid5(player.id, request.request_key.hex()) if request else identity,
            player=player.id,
            conditions=wanted.conditions,
            standing=standing_of(*self.changes.directory.hands_left(player.id, newest=COUNTED)),
            key=wanted.key,
            fill_after=wanted.fill_after,
            keep=wanted.keep,
            created_at=now,
            expires_at=now + TERM,
        )

    def add(self, seek: Seek) -> dict[str, Any]:
        """Add a seek, unless it or an equal one exists, and return it as it is then."""
        added = self.directory.add_seek(seek, of_seeks(seek.player, seek.created_at))
        return self._json(self.directory.seek(added) or seek)

    def _json(self, seek: Seek) -> dict[str, Any]:
        return {
            "id": str(seek.id),
            "status": seek.status(self.changes.world.now()).value,
            **_conditions_json(seek.conditions),
            "standing": seek.standing.value,
            "key": seek.key,
            "fill_with_bots_after": seek.fill_after,
            "keep": seek.keep,
            "created_at": format_time(seek.created_at),
            "expires_at": format_time(seek.expires_at),
            "table": None if seek.table is None else str(seek.table),
        }


def _conditions_json(conditions: SeekConditions) -> dict[str, Any]:
    return {
        "rulesets": list(conditions.rulesets),
        "seats": conditions.seats,
        "clock": clock_json(conditions.clock),
        "entropy": conditions.entropy.value,
        "only_stayers": conditions.only_stayers,
    }
