"""Interface to accounts, lists and due games: data outside the streams."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Protocol
from uuid import UUID

from service.store.disputes import Disputes
from service.store.rows import (
    Cursor,
    CustomRuleset,
    DueGame,
    Erasure,
    GameFilter,
    GameRow,
    IdleGame,
    Page,
    Player,
    Reading,
    Refused,
    SeatRow,
    Standing,
    TableRow,
)

__all__ = [
    "Cursor",
    "CustomRuleset",
    "Directory",
    "DueGame",
    "GameFilter",
    "GameRow",
    "Page",
    "Player",
    "Reading",
    "Refused",
    "SeatRow",
    "Standing",
    "TableRow",
]


class Directory(Disputes, Protocol):
    """What stands outside the streams; every implementation passes the same contract test."""

    def create_player(
        self, *, player: UUID, name: str, token_hash: bytes, recovery_hash: bytes, at: datetime
    ) -> None:
        """Enter a new person."""

    def player(self, player: UUID) -> Player | None:
        """Return a person, erased or not."""

    def player_by_token(self, token_hash: bytes) -> Player | None:
        """Return the person a token belongs to."""

    def rotate_token(self, player: UUID, token_hash: bytes) -> bool:
        """Give a person a new token, the old one ends; return whether there is such a person."""

    def recover(self, recovery_hash: bytes, token_hash: bytes) -> UUID | None:
        """Give whoever kept the recovery code a new token; return who that is."""

    def erase_player(self, player: UUID, at: datetime) -> bool:
        """
        Forget name, token and kept answers; return whether there was something to forget.

        Raises HandRunning, and forgets nothing, while the person sits in a running hand.
        """

    def erased_players(self, *, since: datetime | None) -> Sequence[Erasure]:
        """Return who was erased since a time, oldest first; everybody erased for None."""

    def names(self, players: Collection[UUID]) -> Mapping[UUID, str]:
        """Return the names of many people; those erased have none."""

    def standing(self, player: UUID, *, public: bool = False) -> Standing:
        """Return a person's record, of `public` tables or all, and what they have going."""

    def tables_of(self, player: UUID) -> Sequence[UUID]:
        """Return the tables not closed that a person sits at or hosts, newest first."""

    def game(self, game: UUID) -> GameRow | None:
        """Return the summary of a game."""

    def list_games(
        self,
        which: GameFilter,
        *,
        viewer: UUID | None,
        invite: bytes | None = None,
        everything: bool = False,
        cursor: Cursor | None = None,
        limit: int = 50,
    ) -> Page[GameRow]:
        """
        Return a page of games: public ones, and of private tables those that the viewer may see.

        These are the hands that the viewer sat in or judges, those of tables where the viewer
        sits now or that the viewer hosts, and those of the table with the `invite` (SHA-256).
        `everything` lists all.
        """

    def games_of_table(self, table: UUID, *, limit: int = 20) -> Sequence[GameRow]:
        """Return the newest games of a table, whoever asks."""

    def table(self, table: UUID) -> TableRow | None:
        """Return the summary of a table."""

    def list_tables(
        self,
        *,
        viewer: UUID | None,
        invite: bytes | None = None,
        mine: bool = False,
        ruleset: str | None = None,
        status: str | None = None,
        cursor: Cursor | None = None,
        limit: int = 50,
    ) -> Page[TableRow]:
        """
        Return a page of tables: public ones, the viewer's, and the one with the `invite`.

        With `mine` the viewer's alone.
        """

    def due_games(self, *, now: datetime, limit: int) -> Sequence[DueGame]:
        """Return the games whose time has come, the longest waiting first."""

    def idle_games(
        self, *, now: datetime, untouched_since: datetime, limit: int, after: Cursor | None = None
    ) -> Sequence[IdleGame]:
        """
        Return running games of people without a deadline to come and with an old last event.

        The oldest first; with `after` those that follow one, so that many that stay do not
        stand before all others for ever.
        """

    def come_back(
        self,
        game: UUID,
        *,
        version: int,
        back: Collection[int],
        wake_kind: str | None,
        wake_at: datetime | None,
    ) -> bool:
        """Set which seats are back from a bot; return False where the game has moved on."""

    def put_off(
        self, game: UUID, *, version: int, wake_kind: str | None, wake_at: datetime | None
    ) -> bool:
        """Set what a game waits for next; return False where it has moved on."""

    def record_refusal(self, game: UUID, refused: Refused) -> bool:
        """
        Keep a refused move of a running game; return False, and keep nothing, if it is over.

        Of a seat in a game the first MOST_REFUSALS are kept, no more. Comes before or after the
        commit that seals the game, never beside it.
        """

    def refusals(self, game: UUID) -> Sequence[Refused]:
        """Return the refused moves of a game in order of their times, then of arrival."""

    def purge_refusals(self, *, ended_before: datetime) -> int:
        """Forget refused moves of games over before a time; return how many, 0 at the end."""

    def purge_players(self, *, registered_before: datetime, at: datetime) -> int:
        """
        Erase people who registered before a time and never did anything; return how many.

        Not all of them at a time, but some while there are any.

        Doing something is what leaves a trace: a seat, a table, a ruleset, a part in a dispute.
        """

    def record_readings(
        self, games: Sequence[UUID], *, at: datetime, reader: UUID | None, what: str
    ) -> None:
        """
        Note of games who read something not public; None for whoever cannot be named.

        The same reader who asks for the same within READ_AGAIN, of a game that has not moved
        on, saw nothing new: that is one reading, the first.
        """

    def readings(
        self, game: UUID, *, cursor: Cursor | None = None, limit: int = 50
    ) -> Page[Reading]:
        """Return a page of who read what of a game, newest first."""

    def save_ruleset(self, ruleset: CustomRuleset, *, most: int | None = None) -> bool:
        """
        Keep a ruleset; return False where one with its id is kept already.

        Raises PlayerErased where its owner has been erased, QuotaFull where a new one would be
        more than the `most` that the owner may have.
        """

    def ruleset(self, identity: str) -> CustomRuleset | None:
        """Return a ruleset of a player's own."""

    def list_rulesets(
        self, *, owner: UUID | None = None, after: str | None = None, limit: int = 200
    ) -> Sequence[CustomRuleset]:
        """Return the players' own rulesets, newest first; those that follow the one `after`."""
