"""Repository of seeks: wishes of players for a table with anybody."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import orjson

from schemas.seeks import SeekStatus, Standing
from service.domain.events import Clock, Entropy
from service.store.database import Repository, as_json, quota_values
from service.store.events import Quota


@dataclass(frozen=True, slots=True, kw_only=True)
class SeekConditions:
    """The terms that the players of a table agree on: any of the rulesets, and all of the rest."""

    rulesets: tuple[str, ...]  # the preferred one first
    seats: int
    clock: Clock | None
    entropy: Entropy
    only_stayers: bool = False  # the others have the standing `stays`


@dataclass(frozen=True, slots=True, kw_only=True)
class Seek:
    """A seek of a player."""

    id: UUID
    player: UUID
    conditions: SeekConditions
    key: str | None
    standing: Standing = Standing.MIXED
    fill_after: int | None  # seconds after which bots may take the empty seats
    keep: bool = False  # stays open if another seek of the player is matched
    created_at: datetime
    expires_at: datetime
    ended_at: datetime | None = None  # matched or withdrawn
    table: UUID | None = None

    def status(self, now: datetime) -> SeekStatus:
        """Return the state at a time."""
        if self.table is not None:
            return SeekStatus.MATCHED
        if self.ended_at is not None:
            return SeekStatus.WITHDRAWN
        return SeekStatus.OPEN if self.expires_at > now else SeekStatus.EXPIRED

    @property
    def fills_at(self) -> datetime | None:
        """Return when bots may take the empty seats; None: never."""
        if self.fill_after is None:
            return None
        return self.created_at + timedelta(seconds=self.fill_after)


class SeekRepository(Repository):
    """Seeks; the commit that opens a table ends the seeks of its players (`Commit.seeks`)."""

    def add_seek(self, seek: Seek, quotas: Sequence[Quota] = ()) -> UUID:
        """
        Add an open seek, and return its id; one with this id is left as it is.

        If the player has an equal one that is open, that is renewed, and its id returned.

        Raises PlayerErased, and QuotaFull for a new one above one of the quotas.
        """
        clock = seek.conditions.clock
        columns = {
            "seek_id": str(seek.id),
            "player_id": str(seek.player),
            "rulesets": list(seek.conditions.rulesets),
            "seats": seek.conditions.seats,
            "turn_seconds": None if clock is None else clock.turn_seconds,
            "swap_seconds": None if clock is None else clock.swap_seconds,
            "reserve_seconds": None if clock is None else clock.reserve_seconds,
            "entropy": seek.conditions.entropy.value,
            "only_stayers": seek.conditions.only_stayers,
            "standing": seek.standing.value,
            "key": seek.key,
            "fill_after": seek.fill_after,
            "keep": seek.keep,
            "created_at": as_json(seek.created_at),
            "expires_at": as_json(seek.expires_at),
        }
        added = self._write(
            "add_seek", orjson.dumps(columns).decode(), orjson.dumps(quota_values(quotas)).decode()
        )
        return UUID(str(added))

    def renew_seek(self, seek: UUID, player: UUID, *, at: datetime, until: datetime) -> bool:
        """Let an open seek of a player expire later; return whether it was open."""
        return bool(self._write("renew_seek", seek, player, at, until))

    def renew_seeks(self, seeks: Sequence[UUID], *, at: datetime, until: datetime) -> None:
        """Let those of some seeks that are open expire later."""
        self._write("renew_seeks", list(seeks), at, until)

    def withdraw_seek(self, seek: UUID, player: UUID, *, at: datetime) -> bool:
        """End an open seek of a player without a table; return whether it was open."""
        return bool(self._write("withdraw_seek", seek, player, at))

    def seek(self, seek: UUID) -> Seek | None:
        """Return a seek; None if it is unknown or was deleted."""
        return self._first(_seek, "seek_by_id", seek)

    def seeks_of(self, player: UUID, *, matched: bool = False, limit: int) -> Sequence[Seek]:
        """Return the seeks of a player, newest first; with `matched` those that led to a table."""
        return [_seek(row) for row in self._database.fetch("seeks_of", player, matched, limit)]

    def open_seeks(self, *, now: datetime, limit: int) -> Sequence[Seek]:
        """
        Return the open seeks, oldest first.

        If there are more than `limit`, those of some players, others at each moment.
        """
        part = int(now.timestamp() * 1000)
        return [_seek(row) for row in self._database.fetch("open_seeks", now, part, limit)]

    def seeks_waiting(
        self, *, expire_after: datetime, limit: int
    ) -> Sequence[tuple[SeekConditions, Mapping[Standing, int]]]:
        """
        Return on which conditions players wait, and how many of each standing.

        Most players come first.
        """
        rows = self._database.fetch("seeks_waiting", expire_after, limit)
        return [(_conditions(*row[:7]), _standings(*row[7:])) for row in rows]

    def hands_left(self, player: UUID, *, newest: int) -> tuple[int, int]:
        """
        Return how many hands a player ended with other people, and how many of them it left.

        Only the newest hands count; those against bots are among them, and do not count.
        """
        [(hands, left)] = self._database.fetch("hands_left", player, newest)
        return hands, left

    def purge_seeks(self, *, ended_before: datetime) -> int:
        """Delete a batch of seeks that ended or expired before a time; return its size."""
        return self._count("purge_seeks", ended_before)


def _seek(row: tuple[Any, ...]) -> Seek:
    identity, player, rulesets, seats, turn, swap, reserve, entropy, only = row[:9]
    standing, key, fill, keep, created, expires, ended, table = row[9:]
    return Seek(
        id=identity,
        player=player,
        conditions=_conditions(rulesets, seats, turn, swap, reserve, entropy, only),
        standing=Standing(standing),
        key=key,
        fill_after=fill,
        keep=keep,
        created_at=created,
        expires_at=expires,
        ended_at=ended,
        table=table,
    )


def _standings(players: int, stays: int, leaves: int) -> Mapping[Standing, int]:
    mixed = players - stays - leaves
    return {Standing.STAYS: stays, Standing.MIXED: max(0, mixed), Standing.LEAVES: leaves}


def _conditions(
    rulesets: Sequence[str],
    seats: int,
    turn: int | None,
    swap: int | None,
    reserve: int | None,
    entropy: str,
    only_stayers: bool,
) -> SeekConditions:
    clock = None
    if turn is not None and swap is not None and reserve is not None:
        clock = Clock(turn_seconds=turn, swap_seconds=swap, reserve_seconds=reserve)
    return SeekConditions(
        rulesets=tuple(rulesets),
        seats=seats,
        clock=clock,
        entropy=Entropy(entropy),
        only_stayers=only_stayers,
    )
