"""The people of a directory in memory."""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from service.store.events import StoreError
from service.store.rows import Erasure, Player, SeatRow
from tests.memory.events import MemoryStore


@dataclass(frozen=True, slots=True, kw_only=True)
class _Person:
    """A person with the hashes by which they are known."""

    player: Player
    token_hash: bytes | None
    recovery_hash: bytes | None


class People:
    """Who there is, by number, token and recovery code."""

    def __init__(self, store: MemoryStore) -> None:
        self._answers = store
        self._people: dict[UUID, _Person] = {}
        self._people_lock = threading.Lock()

    def create_player(
        self, *, player: UUID, name: str, token_hash: bytes, recovery_hash: bytes, at: datetime
    ) -> None:
        """Enter a new person."""
        person = _Person(
            player=Player(id=player, name=name, created_at=at, erased_at=None),
            token_hash=token_hash,
            recovery_hash=recovery_hash,
        )
        with self._people_lock:
            taken = any(
                p.token_hash == token_hash or p.recovery_hash == recovery_hash
                for p in self._people.values()
            )
            if player in self._people or taken:
                raise StoreError("a player's number, token and recovery code are new")
            self._people[player] = person

    def player(self, player: UUID) -> Player | None:
        """Return a person, erased or not."""
        found = self._people.get(player)
        return None if found is None else found.player

    def player_by_token(self, token_hash: bytes) -> Player | None:
        """Return the person a token belongs to."""
        with self._people_lock:
            return next(
                (p.player for p in self._people.values() if p.token_hash == token_hash), None
            )

    def rotate_token(self, player: UUID, token_hash: bytes) -> bool:
        """Give a person a new token, the old one ends; return whether there is such a person."""
        with self._people_lock:
            person = self._people.get(player)
            if person is None or person.player.erased_at is not None:
                return False
            self._people[player] = replace(person, token_hash=token_hash)
            return True

    def recover(self, recovery_hash: bytes, token_hash: bytes) -> UUID | None:
        """Replace the token of the player with this recovery code; return the player."""
        with self._people_lock:
            for player, person in self._people.items():
                if person.recovery_hash == recovery_hash:
                    self._people[player] = replace(person, token_hash=token_hash)
                    return player
        return None

    def erase_player(self, player: UUID, at: datetime) -> bool:
        """Forget name, token and kept answers; return whether there was something to forget."""
        self._answers.let_go(player)
        self._answers.forget_answers(lambda answer, _: answer.caller == player)
        with self._people_lock:
            person = self._people.get(player)
            if person is None or person.player.erased_at is not None:
                return False
            erased = replace(person.player, name=None, erased_at=at)
            self._people[player] = _Person(player=erased, token_hash=None, recovery_hash=None)
            return True

    def erased_players(self, *, since: datetime | None) -> Sequence[Erasure]:
        """Return who was erased since a time, oldest first; everybody erased for None."""
        with self._people_lock:
            people = [person.player for person in self._people.values()]
        found = [Erasure(player=p.id, at=p.erased_at) for p in people if p.erased_at is not None]
        return sorted(
            (one for one in found if since is None or one.at >= since),
            key=lambda one: (one.at, one.player),
        )

    def registered(self, *, before: datetime) -> set[UUID]:
        """Return the people who registered before a time and were not erased."""
        with self._people_lock:
            people = [person.player for person in self._people.values()]
        return {p.id for p in people if p.erased_at is None and p.created_at < before}

    def names(self, players: Collection[UUID]) -> Mapping[UUID, str]:
        """Return the names of many people; those erased have none."""
        found = (self._people.get(player) for player in players)
        return {p.player.id: p.player.name for p in found if p is not None and p.player.name}

    def named_seats(self, summary: Mapping[str, Any]) -> tuple[SeatRow, ...]:
        """Return the seats of a summary with the names of those who sit there."""
        seats = []
        for seat in sorted(summary["seats"], key=lambda seat: int(seat["seat"])):
            player = None if seat["player_id"] is None else UUID(seat["player_id"])
            found = None if player is None else self._people.get(player)
            seats.append(
                SeatRow(
                    seat=seat["seat"],
                    kind=seat["kind"],
                    bot=seat["bot"],
                    player=player,
                    name=None if found is None else found.player.name,
                )
            )
        return tuple(seats)
