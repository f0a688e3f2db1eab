"""Players and their rulesets, and the directory of all data outside the streams."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, cast
from uuid import UUID

from service.store.challenges import ChallengeRepository
from service.store.database import Database, Repository
from service.store.disputes import DisputeRepository
from service.store.games import GameRepository
from service.store.handles import HandleRepository
from service.store.logged_hands import LoggedHandRepository
from service.store.notices import NoticeRepository
from service.store.ratings import RatingRepository
from service.store.seeks import SeekRepository
from service.store.webhooks import WebhookRepository


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredPlayer:
    """A player; the id stays when the player is erased."""

    id: UUID
    name: str | None  # None once erased
    created_at: datetime
    handle: str | None = None  # None without one
    erased_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredToken:
    """A token of a player, without its secret."""

    id: UUID
    player: UUID
    name: str
    scopes: tuple[str, ...]
    created_at: datetime
    ends_at: datetime | None
    used_on: date | None  # day of the last use in UTC, None before the first


@dataclass(frozen=True, slots=True, kw_only=True)
class Erasure:
    """The id of an erased player, and the time of the erasure."""

    player: UUID
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """How many hands a player finished."""

    games: int  # ended, not aborted
    shithead: int  # of these


@dataclass(frozen=True, slots=True, kw_only=True)
class Holdings:
    """The counts of a player's running games, open tables and rulesets."""

    running: int
    hosting: int  # tables not closed
    rulesets: int  # created by the player


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomRuleset:
    """A ruleset made by a player; `id` is the hash of its settings."""

    id: str
    name: str
    owner: UUID
    document: str  # JSON
    created_at: datetime


class PlayerRepository(Repository):
    """
    Players: their tokens, their records and their rulesets.

    What a player does to the own account takes the token or code itself, which the database hashes:
    a connection of the service alone cannot do it (sql/functions/player_of_issuer.sql).
    """

    def create_player(
        self, *, player: UUID, name: str, token_hash: bytes, recovery_hash: bytes, at: datetime
    ) -> None:
        """Add a new player, with a token that has all scopes."""
        self._write("create_player", player, name, token_hash, recovery_hash, at)

    def player(self, player: UUID) -> StoredPlayer | None:
        """Return a player, erased or not; None if the id is unknown."""
        return self._first(_player, "player_by_id", player)

    def player_by_token(self, token_hash: bytes) -> StoredPlayer | None:
        """Return the player with this token; None if no player has it."""
        return self._first(_player, "player_by_token", token_hash)

    def token(self, token_hash: bytes) -> StoredToken | None:
        """Return the token with this hash; None if it is unknown or has ended."""
        return self._first(_token, "token_by_hash", token_hash)

    def tokens_of(self, player: UUID) -> Sequence[StoredToken]:
        """Return the tokens of a player that have not ended, newest first."""
        return [_token(row) for row in self._database.fetch("tokens_of", player)]

    def issue_token(
        self, issuer: str, token: StoredToken, token_hash: bytes, *, replaces: bool, most: int
    ) -> None:
        """
        Add a token for the player of the issuing one, which ends if `replaces` is true.

        `issuer` is the token itself. Raises TokenEnded if it has ended, lacks the scope `account`,
        or if the new token would exceed it in scopes or in time; QuotaFull if the player has
        `most` tokens already.
        """
        values = token.id, token_hash, token.name, list(token.scopes), token.created_at
        self._write("issue_token", issuer, *values, token.ends_at, replaces, most)

    def end_token(self, caller: str, token: UUID) -> bool:
        """
        End a token of the caller's player; return whether the player has such a token.

        `caller` is the token of the request itself. Raises TokenEnded if it has ended or lacks the
        scope `account`.
        """
        return bool(self._write("end_token", caller, token))

    def note_token_use(self, token_hash: bytes) -> None:
        """Store today as the day of the last use of a token."""
        self._write("note_token_use", token_hash)

    def recover(self, code: str, new_hash: bytes) -> UUID | None:
        """End all tokens of the player with a recovery code, and add one; return the id or None."""
        found = self._write("recover_account", code, new_hash)
        return found if isinstance(found, UUID) else None

    def renew_recovery(self, token: str, code: str | None, new_hash: bytes) -> bool | None:
        """
        Replace the recovery code of the player with a token; return None if it is not valid.

        `code` is the present code. Returns False, and changes nothing, if it is another one, or
        without one if the token is not full.
        """
        return cast("bool | None", self._write("renew_recovery", token, code, new_hash))

    def rename(self, token: str, name: str) -> bool:
        """Set the name of the player with a token; return whether it is valid."""
        return self._write("rename_by_token", token, name) is not None

    def erase(self, token: str, at: datetime) -> bool:
        """
        Delete name, token and answers of the player with a token; return whether it is full.

        Raises HandRunning, and deletes nothing, while the player sits in a running hand.
        """
        return bool(self._write("erase_by_token", token, at))

    def erase_player(self, player: UUID, at: datetime) -> bool:
        """Erase any player, as `erase` does; return whether there was something to delete."""
        return bool(self._write("erase_player", player, at))

    def erased_players(self, *, since: datetime | None) -> Sequence[Erasure]:
        """Return the players erased since a time, or all erased players, oldest first."""
        rows = self._database.fetch("erased_players", since)
        return [Erasure(player=player, at=at) for player, at in rows]

    def names(self, players: Collection[UUID]) -> Mapping[UUID, str]:
        """Return the names of many players; erased ones have none."""
        return dict(self._database.fetch("names_of", list(players))) if players else {}

    def block(self, player: UUID, other: UUID, *, at: datetime, most: int) -> datetime:
        """
        Store that a player blocks another; return since when.

        Raises PlayerErased if one of them was erased, QuotaFull if the player blocks `most` others.
        """
        return cast("datetime", self._write("keep_block", player, other, at, most))

    def unblock(self, player: UUID, other: UUID) -> bool:
        """End a player's block of another; return whether there was one."""
        return bool(self._write("delete_block", player, other))

    def blocks(self, player: UUID) -> Mapping[UUID, datetime]:
        """Return the players whom a player blocks, and since when, newest first."""
        return dict(self._database.fetch("blocks_of", player))

    def blocks_among(self, players: Collection[UUID]) -> frozenset[tuple[UUID, UUID]]:
        """
        Return who of some players blocks whom of them.

        No invitation and no seek seats such two together, whichever of them it was.
        """
        return frozenset(self._database.fetch("blocks_among", list(players)))

    def blocks_between(self, players: Sequence[UUID]) -> Sequence[tuple[int, Sequence[int]]]:
        """Return the place of each of some players who blocks others of them, with their places."""
        rows = self._database.fetch("blocks_between", list(players))
        return [(place, blocked) for place, blocked in rows]

    def results(self, player: UUID, *, public: bool = False) -> Results:
        """Return a player's results; with `public` those at public tables only."""
        rows = self._database.fetch("results_of", player)
        games, shithead, public_games, public_shithead = rows[0] if rows else (0, 0, 0, 0)
        if public:
            return Results(games=public_games, shithead=public_shithead)
        return Results(games=games, shithead=shithead)

    def holdings(self, player: UUID) -> Holdings:
        """Return the numbers of a player's running games, open tables and rulesets."""
        [(running, hosting, rulesets)] = self._database.fetch("holdings_of", player)
        return Holdings(running=running, hosting=hosting, rulesets=rulesets)

    def purge_players(self, *, registered_before: datetime, at: datetime) -> int:
        """
        Erase unused accounts registered before a time; return their number.

        A call erases a limited number; it is repeated until it returns 0. An account is used if
        it has a seat, a table, a ruleset or a part in a dispute.
        """
        return self._count("purge_players", registered_before, at)

    def save_ruleset(self, ruleset: CustomRuleset, *, most: int | None = None) -> bool:
        """
        Store a ruleset; return False if one with its id is stored already.

        Raises PlayerErased if its owner has been erased, QuotaFull if the owner already has
        `most` rulesets.
        """
        values = (ruleset.id, ruleset.name, ruleset.owner, ruleset.document, ruleset.created_at)
        if most is None:
            return bool(self._write("save_ruleset", *values))
        return bool(self._write("save_ruleset_within", *values, most))

    def ruleset(self, identity: str) -> CustomRuleset | None:
        """Return a ruleset made by a player; None if the id is unknown."""
        return self._first(_ruleset, "ruleset_by_id", identity)

    def list_rulesets(
        self, *, owner: UUID | None = None, after: str | None = None, limit: int = 200
    ) -> Sequence[CustomRuleset]:
        """
        Return rulesets made by players, newest first.

        With `after`, the id of a ruleset, only those that follow it in the list.
        """
        rows = self._database.fetch("list_rulesets", owner, after, limit)
        return [_ruleset(row) for row in rows]


class Directory(
    PlayerRepository,
    HandleRepository,
    ChallengeRepository,
    GameRepository,
    DisputeRepository,
    NoticeRepository,
    LoggedHandRepository,
    RatingRepository,
    SeekRepository,
    WebhookRepository,
):
    """All data outside the streams; this class is also the interface, without a Protocol."""

    @property
    def database(self) -> Database:
        """Return the database, for the repository of a feature that this class does not include."""
        return self._database


def _player(row: tuple[Any, ...]) -> StoredPlayer:
    identity, name, created_at, erased_at, *handle = row
    return StoredPlayer(
        id=identity,
        name=name,
        created_at=created_at,
        handle=handle[0] if handle else None,
        erased_at=erased_at,
    )


def _token(row: tuple[Any, ...]) -> StoredToken:
    identity, player, name, scopes, created_at, ends_at, used_on = row
    return StoredToken(
        id=identity,
        player=player,
        name=name,
        scopes=tuple(scopes),
        created_at=created_at,
        ends_at=ends_at,
        used_on=used_on,
    )


def _ruleset(row: tuple[Any, ...]) -> CustomRuleset:
    return CustomRuleset(id=row[0], name=row[1], owner=row[2], document=row[3], created_at=row[4])
