"""Seeks in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from random import Random
from uuid import UUID

from schemas.seeks import SeekStatus
from service.store.events import PlayerErased, Quota, QuotaFull, QuotaKind
from service.store.seeks import Seek, SeekConditions
from tests.memory.events import MemoryStore


class MemorySeeks:
    """The directory's part for seeks, which a memory store holds."""

    _store: MemoryStore

    def add_seek(self, seek: Seek, quotas: Sequence[Quota] = ()) -> None:
        erased = self._store.is_erased(seek.player)
        with self._store.seeks() as seeks:
            if seek.id in seeks:
                return
            if erased:
                raise PlayerErased("a player has been erased")
            own = [one for one in seeks.values() if one.player == seek.player]
            is_open = sum(one.status(seek.created_at) is SeekStatus.OPEN for one in own)
            for quota in quotas:
                recent = sum(quota.since is None or one.created_at > quota.since for one in own)
                if (is_open if quota.kind is QuotaKind.SEEKS else recent) >= quota.most:
                    raise QuotaFull(quota.kind)
            seeks[seek.id] = seek

    def renew_seek(self, seek: UUID, player: UUID, *, at: datetime, until: datetime) -> bool:
        def renewed(one: Seek) -> Seek:
            return replace(one, expires_at=max(one.expires_at, until))

        return self._changed(seek, player, at, renewed)

    def withdraw_seek(self, seek: UUID, player: UUID, *, at: datetime) -> bool:
        return self._changed(seek, player, at, lambda one: replace(one, ended_at=at))

    def _changed(
        self, seek: UUID, player: UUID, at: datetime, change: Callable[[Seek], Seek]
    ) -> bool:
        with self._store.seeks() as seeks:
            one = seeks.get(seek)
            if one is None or one.player != player or one.status(at) is not SeekStatus.OPEN:
                return False
            seeks[seek] = change(one)
            return True

    def seek(self, seek: UUID) -> Seek | None:
        with self._store.seeks() as seeks:
            return seeks.get(seek)

    def seeks_of(self, player: UUID, *, matched: bool = False, limit: int) -> Sequence[Seek]:
        own = [one for one in self._by_age() if one.player == player]
        return [one for one in own[::-1] if one.table is not None or not matched][:limit]

    def open_seeks(self, *, now: datetime, limit: int) -> Sequence[Seek]:
        found = [one for one in self._by_age() if one.status(now) is SeekStatus.OPEN]
        part = Random(now.timestamp()).sample(found, min(limit, len(found)))
        return sorted(part, key=lambda one: (one.created_at, one.id))

    def seeks_waiting(self, *, now: datetime, limit: int) -> Sequence[tuple[SeekConditions, int]]:
        players: dict[SeekConditions, set[UUID]] = {}
        for one in self.open_seeks(now=now, limit=10**6):
            players.setdefault(one.conditions, set()).add(one.player)
        return [(conditions, len(some)) for conditions, some in players.items()][:limit]

    def purge_seeks(self, *, ended_before: datetime) -> int:
        return self._forget(
            lambda one: (
                one.expires_at < ended_before and (one.ended_at or one.expires_at) < ended_before
            )
        )

    def forget_seeks_of(self, player: UUID) -> None:
        """Delete the seeks of a player."""
        self._forget(lambda one: one.player == player)

    def _forget(self, gone: Callable[[Seek], bool]) -> int:
        with self._store.seeks() as seeks:
            old = [identity for identity, one in seeks.items() if gone(one)]
            for identity in old:
                del seeks[identity]
            return len(old)

    def _by_age(self) -> list[Seek]:
        with self._store.seeks() as seeks:
            return sorted(seeks.values(), key=lambda one: (one.created_at, one.id))
