"""Use cases of seeks: post, read, renew, withdraw; open the tables of those that match."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import islice
from typing import Any, Final
from uuid import UUID, uuid5

import orjson

from service.application.calls import Answered, Idempotency, RegisteredPlayer
from service.application.errors import Refusal, not_found
from service.application.games.commits import relayed
from service.application.handler import Accepted, Attempt, Handler, NewStream, StreamCommand
from service.application.quotas import MAX_SEEKS, check_table_quotas
from service.application.tables.commands import ChangedTable, TableChanges
from service.application.tables.dealing import table_append
from service.application.tables.matching import Apart, Match, matches
from service.application.tables.record import (
    TABLES,
    TableRequest,
    new_table_summary,
    opened_by,
)
from service.application.tables.view import clock_json
from service.domain.events import Entropy
from service.domain.table import SeatTaken
from service.shx.canonical import format_time
from service.store.directory import Directory
from service.store.events import Commit, PlayerErased, SeeksClaim, StreamConflict
from service.store.seeks import Seek, SeekConditions

TERM: Final = timedelta(minutes=10)
"""For how long a seek is open after it was posted or renewed."""

FILLED_WITH: Final = "greedy"
"""The bot that takes the seats that no player took in time."""

WINDOW_SECONDS: Final = 3
"""Seconds that bots leave people at the table of a seek, the default of other tables."""

TRIES: Final = 5
"""Searches for a match of a new seek; if others are always quicker, the sweeper finds it."""

POOL: Final = 1000
"""Maximum number of open seeks among which a new one is matched, the oldest first."""

SWEPT: Final = 5000
"""The same for the sweeper."""

LISTED: Final = 20
"""Maximum number of own seeks in a list, and of different conditions of open ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeekRequest:
    """The body of `POST /v1/seeks`, parsed but not yet validated."""

    conditions: SeekConditions
    key: str | None
    fill_after: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Seeks:
    """
    Use cases of seeks.

    A seek is stored first, and matched after that: by the request that posted it, or by the sweeper
    if that process ended, or if others were quicker. A match is one commit, which opens the table
    with its players and first hand, and ends their seeks there; if one of them is no longer open
    nothing is written.
    """

    handler: Handler
    changes: TableChanges
    directory: Directory

    def post(
        self, player: RegisteredPlayer, wanted: SeekRequest, request: Idempotency | None
    ) -> Answered:
        """
        Add a seek, match it if that is possible, and return it.

        Raises Refusal `limit-reached`, `invalid-body` for an unknown ruleset, `ruleset-refused`,
        `cannot-deal`, and those of `Handler.handle`.
        """
        command = PostSeek(player=player.id, request=request, seeks=self, by=player, wanted=wanted)
        return self.handler.handle(command)

    def of_player(self, player: UUID | None) -> list[dict[str, Any]]:
        """Return the newest seeks of a player as JSON, none for an anonymous caller."""
        if player is None:
            return []
        return [self._json(seek) for seek in self.directory.seeks_of(player, limit=LISTED)]

    def waiting(self) -> list[dict[str, Any]]:
        """Return on which conditions players wait, and how many, without their names, as JSON."""
        now = self.changes.world.now()
        found = self.directory.seeks_waiting(now=now, limit=LISTED)
        return [{**_conditions_json(conditions), "players": count} for conditions, count in found]

    def get(self, player: RegisteredPlayer, seek: UUID) -> dict[str, Any]:
        """Return a seek of a player as JSON; raises Refusal `not-found`."""
        found = self.directory.seek(seek)
        if found is None or found.player != player.id:
            raise not_found("seek")
        return self._json(found)

    def renew(self, player: RegisteredPlayer, seek: UUID) -> dict[str, Any]:
        """Begin the term of an open seek again, and return the seek; raises `not-found`."""
        now = self.changes.world.now()
        self.directory.renew_seek(seek, player.id, at=now, until=now + TERM)
        return self.get(player, seek)

    def withdraw(self, player: RegisteredPlayer, seek: UUID) -> dict[str, Any]:
        """End an open seek, and return it; it may have been matched before; raises `not-found`."""
        self.directory.withdraw_seek(seek, player.id, at=self.changes.world.now())
        return self.get(player, seek)

    def add(self, seek: Seek) -> dict[str, Any]:
        """Add a seek, unless one with its id exists, match it, and return it as it is then."""
        self.directory.add_seek(seek, most=MAX_SEEKS)
        for _ in range(TRIES):
            match = self._match_of(seek.id)
            if match is None or self._seat(match):
                break
        return self._json(self.directory.seek(seek.id) or seek)

    def sweep(self, *, limit: int) -> int:
        """Open at most `limit` tables for open seeks that match; return the number of tables."""
        now = self.changes.world.now()
        found = self._playable(self.directory.open_seeks(now=now, limit=SWEPT))
        every = matches(found, now=now, apart=self._apart(found))
        return sum(islice(filter(None, map(self._seat, every)), limit))

    def _match_of(self, seek: UUID) -> Match | None:
        """Return the match of an open seek; None if there is none now."""
        now = self.changes.world.now()
        found = self._playable(self.directory.open_seeks(now=now, beside=seek, limit=POOL))
        every = matches(found, now=now, apart=self._apart(found))
        return next((match for match in every if any(one.id == seek for one in match.seeks)), None)

    def _playable(self, seeks: Sequence[Seek]) -> list[Seek]:
        """
        Return the seeks with the rulesets that this release knows, without those that have none.

        A later release may have stored others; its processes match them.
        """
        rulebook = self.changes.rulebook
        named = {ruleset for seek in seeks for ruleset in seek.conditions.rulesets}
        known = {ruleset for ruleset in named if rulebook.find(ruleset) is not None}
        if known == named:
            return list(seeks)
        rulesets = [tuple(r for r in seek.conditions.rulesets if r in known) for seek in seeks]
        return [
            replace(seek, conditions=replace(seek.conditions, rulesets=left))
            for seek, left in zip(seeks, rulesets, strict=True)
            if left
        ]

    def _apart(self, seeks: Sequence[Seek]) -> Apart:
        """Return which of the players of some seeks may not be seated together: one blocks one."""
        players = {seek.player for seek in seeks}
        blocks = self.directory.blocks_among(players) if len(players) > 1 else frozenset()
        return lambda one, other: (one, other) in blocks or (other, one) in blocks

    def _seat(self, match: Match) -> bool:
        """
        Open the table of a match; return whether its seeks were still open.

        A Refusal is that of a ruleset which only a later release can deal.
        """
        with suppress(StreamConflict, PlayerErased, Refusal):
            commit, changed = self._opened(match)
            self.changes.store.commit(commit)
            self.changes.committed(changed)
            return True
        return False

    def _opened(self, match: Match) -> tuple[Commit, ChangedTable]:
        """Return the commit of a match; its host is the player who waited longest."""
        changes, now = self.changes, self.changes.world.now()
        identity, at = changes.world.identity(), format_time(now)
        taken = [
            SeatTaken(
                seat=seat,
                player=str(seek.player),
                entropy=seek.conditions.entropy,
                key=seek.key,
            )
            for seat, seek in enumerate(match.seeks)
        ]
        definition = changes.rulebook.definition(match.ruleset)
        conditions = match.seeks[0].conditions
        wanted = _table_request(match.ruleset, conditions, bots=match.bots)
        opened = opened_by(match.seeks[0].player, wanted, definition)
        record, first = TABLES.open(identity, [opened, *taken], at=at)
        dealt = changes.first_hand(record)
        record, lines = TABLES.write(record, dealt.events if dealt else (), at=at)
        summary = new_table_summary(record, created_at=at, invite_hash=None)
        commit = Commit(
            appends=(table_append(record, first + lines, expected=0, summary=summary),),
            outbox=(relayed(record),),
            seeks=SeeksClaim(table=identity, seeks=tuple(seek.id for seek in match.seeks), at=now),
        )
        if dealt is not None:
            commit = dealt.added_to(commit, record, changes.keyring)
        return commit, ChangedTable(record=record, dealt=dealt)

    def _json(self, seek: Seek) -> dict[str, Any]:
        return {
            "id": str(seek.id),
            "status": seek.status(self.changes.world.now()).value,
            **_conditions_json(seek.conditions),
            "key": seek.key,
            "fill_with_bots_after": seek.fill_after,
            "created_at": format_time(seek.created_at),
            "expires_at": format_time(seek.expires_at),
            "table": None if seek.table is None else str(seek.table),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class PostSeek(StreamCommand[NewStream, None]):
    """A player posts a seek, which is no stream: it is stored while it is decided."""

    seeks: Seeks
    by: RegisteredPlayer
    wanted: SeekRequest

    def load(self, _last: Attempt[NewStream] | None) -> NewStream:
        """Return the state of no stream."""
        return NewStream()

    def decide(self, _new: NewStream) -> Accepted[None]:
        """
        Store the seek, and return it, matched if possible; raises Refusal.

        A repeated request has the same id of its seek, so deciding again is harmless.
        """
        changes, wanted, request = self.seeks.changes, self.wanted, self.request
        check_table_quotas(changes.directory, self.by.id)
        for at, ruleset in enumerate(wanted.conditions.rulesets):
            definition = changes.rulebook.definition(ruleset, f"/rulesets/{at}")
            every_seat = _table_request(ruleset, wanted.conditions, bots=0)
            opened_by(self.by.id, every_seat, definition)
        now = changes.world.now()
        seek = Seek(
            id=uuid5(self.by.id, request.request_key.hex())
            if request
            else changes.world.identity(),
            player=self.by.id,
            conditions=wanted.conditions,
            key=wanted.key,
            fill_after=wanted.fill_after,
            created_at=now,
            expires_at=now + TERM,
        )
        answer = Answered(body=orjson.dumps(self.seeks.add(seek)))
        return Accepted(answer=answer, made=None, changed=True)


def _table_request(ruleset: str, conditions: SeekConditions, *, bots: int) -> TableRequest:
    """Return the request of a public table with a seat for each player, and the last for bots."""
    people = conditions.seats - bots
    return TableRequest(
        ruleset=ruleset,
        seats=(*["open"] * people, *[{"bot": FILLED_WITH}] * bots),
        options={},
        clock=conditions.clock,
        window_seconds=WINDOW_SECONDS,
        public=True,
        entropy=Entropy.NONE,
        key=None,
        turn_limit=None,
        deal=True,
    )


def _conditions_json(conditions: SeekConditions) -> dict[str, Any]:
    return {
        "rulesets": list(conditions.rulesets),
        "seats": conditions.seats,
        "clock": clock_json(conditions.clock),
        "entropy": conditions.entropy.value,
    }
