"""Public hands that are over, in the order of the public log: for dumps and ratings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NamedTuple
from uuid import UUID

from service.store.database import Repository

LEAVES: Final = 5000
"""Leaves of the public log in one read; most of them are not the end of a public hand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedSeat:
    """A seat of a logged hand: a bot by its name, or a player; neither for an erased player."""

    bot: str | None
    player: UUID | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedHand:
    """A public hand that is over, with the leaf of its last event."""

    leaf: int
    data: bytes  # of the leaf
    game: UUID
    ruleset: str
    sealed_at: datetime
    aborted: bool
    reason: str
    shithead: int | None
    places: tuple[int, ...]
    seats: tuple[LoggedSeat, ...]
    cad: bool  # whether a final ruling calls a player of it a cad


class PlayedHand(NamedTuple):
    """A public hand that ended, with its players by seat: None for a bot or an erased player."""

    leaf: int
    game: UUID
    players: tuple[UUID | None, ...]


class LoggedHandRepository(Repository):
    """Reads of logged hands."""

    def logged_hands(self, first: int, end: int) -> Sequence[LoggedHand]:
        """Return the hands whose last leaf is one of these leaves; `end` is not one of them."""
        return [_hand(row) for row in self._database.fetch("logged_hands", first, end)]

    def all_logged_hands(self, size: int) -> Iterator[Sequence[LoggedHand]]:
        """Yield batches of all logged hands in the first `size` leaves."""
        for first in range(0, size, LEAVES):
            yield self.logged_hands(first, min(size, first + LEAVES))

    def has_unlogged_hands(self, since: datetime, until: datetime, size: int) -> bool:
        """Return whether a hand that ended in this time is not in the first `size` leaves."""
        [(found,)] = self._database.fetch("has_unlogged_hands", since, until, size)
        return bool(found)

    def hands_of_pair(
        self, first: UUID, second: UUID, *, until: datetime, limit: int
    ) -> Sequence[PlayedHand]:
        """Return the last hands with one of two players, in the order of the public log."""
        rows = self._database.fetch("hands_of_pair", first, second, until, limit)
        return [PlayedHand(leaf, game, tuple(players)) for leaf, game, players in rows]


def _hand(row: tuple[Any, ...]) -> LoggedHand:
    leaf, data, game, ruleset, ended_at, status, reason, shithead, places, seats, cad = row
    return LoggedHand(
        leaf=leaf,
        data=bytes(data),
        game=game,
        ruleset=ruleset,
        sealed_at=ended_at,
        aborted=status == "aborted",
        reason=reason,
        shithead=shithead,
        places=tuple(places or ()),
        seats=tuple(
            LoggedSeat(bot=bot, player=None if player is None else UUID(player))
            for bot, player in seats or ()
        ),
        cad=cad,
    )
