"""A game as one process keeps it: its record, and its data from outside the log."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from msgspec import Struct

from service.application.games.record import GameRecord
from service.domain.commands import Seat


class GameEntry(Struct, frozen=True, kw_only=True):
    """A game's record with data from outside its log: players, visibility, table."""

    record: GameRecord
    table: UUID
    host: UUID
    public: bool
    invite_hash: bytes | None
    window_seconds: int
    players: tuple[UUID | None, ...]
    returned_seats: frozenset[Seat]  # seats whose players came back from a stand-in bot
    able_since: datetime | None = None  # the end of the service's last outage

    @property
    def version(self) -> int:
        """Return the number of events."""
        return self.record.version

    def seat_of(self, player: UUID | None) -> Seat | None:
        """Return a player's seat in this game, None if the player has none."""
        if player is None:
            return None
        wanted = player.int  # compared in C, a UUID is not
        for seat, one in enumerate(self.players):
            if one is not None and one.int == wanted:
                return seat
        return None
