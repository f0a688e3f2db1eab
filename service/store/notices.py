"""Repository of what concerns one player: its tables, hands, disputes, and invitations."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from service.store.database import Repository

MAX_DISPUTES = 50
"""Maximum number of disputes that a read returns, the newest first."""

MAX_SHOWN = 50
"""Maximum number of open invitations that a read returns."""

MAX_HANDS = 200
"""Maximum number of hands that began since a look, the newest ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnTable:
    """A table that a player hosts or has a seat at, or one that was asked for by its id."""

    id: UUID
    version: int
    status: str
    game: UUID | None  # the hand being played
    own: bool  # whether the player hosts it or has a seat


@dataclass(frozen=True, slots=True, kw_only=True)
class GamePosition:
    """The version of a game."""

    id: UUID
    table: UUID
    version: int
    over: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Invitation:
    """An open invitation of a player to a table."""

    table: UUID
    player: UUID
    at: datetime
    host: UUID
    version: int  # of the table
    ruleset: str
    public: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SentInvitation:
    """An invitation as the host of the table sees it."""

    player: UUID
    at: datetime
    declined_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Concerned:
    """The players whom a game, table or dispute concerns."""

    kind: str  # game, table or dispute
    players: frozenset[UUID]


class NoticeRepository(Repository):
    """Reads of what concerns a player, and of the players whom a change concerns."""

    def own_tables(
        self, player: UUID, *, also: Collection[UUID] = (), since: datetime | None = None
    ) -> Sequence[OwnTable]:
        """
        Return the open tables of a player, newest first, and the tables `also`.

        With `since`, a time, also those that were opened after it and are closed already.
        """
        rows = self._database.fetch("own_tables", player, list(also), since)
        return [
            OwnTable(id=table, version=version, status=status, game=game, own=own)
            for table, version, status, game, own in rows
        ]

    def hands_since(self, tables: Collection[UUID], since: datetime) -> Sequence[UUID]:
        """Return the hands of some tables that were dealt after a time, the newest ones."""
        rows = self._database.fetch("hands_since", list(tables), since, MAX_HANDS) if tables else []
        return [game for (game,) in rows]

    def game_positions(self, player: UUID, games: Collection[UUID]) -> Mapping[UUID, GamePosition]:
        """Return the versions of those of some games that the player hosts or plays, by id."""
        rows = self._database.fetch("game_positions", player, list(games)) if games else []
        return {
            game: GamePosition(id=game, table=table, version=version, over=over)
            for game, table, version, over in rows
        }

    def own_disputes(self, player: UUID) -> Sequence[UUID]:
        """Return the disputes that are not final and have the player as a side or referee."""
        return [row[0] for row in self._database.fetch("own_disputes", player, MAX_DISPUTES)]

    def disputes_to_judge(self, player: UUID) -> Sequence[UUID]:
        """Return disputes about public games that may want the player as a referee."""
        return [row[0] for row in self._database.fetch("disputes_to_judge", player, MAX_DISPUTES)]

    def keep_invitation(self, table: UUID, player: UUID, *, at: datetime, most: int) -> None:
        """
        Store that the host of a table invites a player; a repeated call changes nothing.

        Nothing is stored at a closed table, nor for a player who sits there. Raises PlayerErased,
        or QuotaFull if the host has `most` open invitations.
        """
        self._write("keep_invitation", table, player, at, most)

    def end_invitation(
        self, table: UUID, player: UUID, *, declined_at: datetime | None = None
    ) -> bool:
        """Withdraw an open invitation, or with a time decline it; return whether it was open."""
        return bool(self._write("end_invitation", table, player, declined_at))

    def invitations(
        self, player: UUID, *, table: UUID | None = None, after: int = 0, limit: int = MAX_SHOWN
    ) -> Sequence[Invitation]:
        """
        Return the open invitations of a player beyond the first `after`, or the one to `table`.

        The newest of each host come first, then the next of each.

        Those are left out at whose table the host or a seat and the player block one another.
        """
        return [
            Invitation(
                table=row[0],
                player=row[1],
                at=row[2],
                host=row[3],
                version=row[4],
                ruleset=row[5],
                public=row[6],
            )
            for row in self._database.fetch("invitations_of", player, table, limit, after)
        ]

    def invitations_to(self, table: UUID) -> Sequence[SentInvitation]:
        """Return the invitations to a table, newest first, also those that were declined."""
        return [
            SentInvitation(player=player, at=at, declined_at=declined_at)
            for player, at, declined_at in self._database.fetch("invitations_to", table)
        ]

    def concerned(self, ids: Collection[UUID]) -> Mapping[UUID, Concerned]:
        """Return the players whom games, tables and disputes concern, by their ids."""
        found: dict[UUID, tuple[str, set[UUID]]] = {}
        for identity, kind, player in self._database.fetch("concerned_players", list(ids)):
            found.setdefault(identity, (kind, set()))[1].add(player)
        return {
            identity: Concerned(kind=kind, players=frozenset(players))
            for identity, (kind, players) in found.items()
        }
