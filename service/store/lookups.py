"""Lookups: data of several tables that a request reads in one query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any
from uuid import UUID

from msgspec import Struct

from service.store.database import Database
from service.store.events import (
    SealedSecret,
    StoredAnswer,
    StreamKind,
    StreamSlice,
)
from service.store.games import RefusedMove
from service.store.postgres_events import PostgresStore


class Lookup(Struct, frozen=True, kw_only=True):
    """The keys of one lookup; nothing is read for a key that is None."""

    token: bytes | None = None  # hash of the bearer token
    request_key: bytes | None = None  # of an answer stored for the player with this token
    game: UUID | None = None
    after: int = 0  # events with seq ≥ after are read
    names: Sequence[UUID] = ()  # players whose names are read
    metadata: bool = False  # whether the data outside the game's log is read


def lookup_of(game: UUID, known: int | None) -> Lookup:
    """Return the lookup of a game's events after version `known`; None: of all its data."""
    if known is None:
        return Lookup(game=game, metadata=True)
    return Lookup(game=game, after=known)


class FoundPlayer(Struct, frozen=True, kw_only=True):
    """The player with the token of a lookup."""

    id: UUID
    name: str
    token: UUID | None = None  # id of the token
    scopes: frozenset[str] = frozenset()  # of the token
    is_first_use: bool = False  # of the token today


class GameMetadata(Struct, frozen=True, kw_only=True):
    """Data of a game that is not in its log."""

    secret: SealedSecret | None  # None once the game is sealed
    table: UUID
    host: UUID
    public: bool
    invite_hash: bytes | None
    players: tuple[UUID | None, ...]  # by seat, None for a bot
    opened: bytes  # the first event of the table


class LookupResult(Struct, frozen=True, kw_only=True):
    """The result of a lookup."""

    player: FoundPlayer | None = None
    answer: StoredAnswer | None = None
    log: StreamSlice | None = None
    back: frozenset[int] = frozenset()  # seats that players took back from a bot
    metadata: GameMetadata | None = None
    # Of the players in `Lookup.names`; PostgreSQL adds the game's players to its metadata.
    names: Mapping[UUID, str | None] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class SealData:
    """The data for the last event of a hand: its refused moves, and its table's new events."""

    refused: Sequence[RefusedMove]
    table: StreamSlice | None


class Lookups:
    """Combined reads: each is one query with one snapshot."""

    def __init__(self, database: Database, store: PostgresStore) -> None:
        self._database = database
        self._store = store

    def find(self, lookup: Lookup) -> LookupResult:
        """Return the data that the keys of a lookup select; an archived log costs further reads."""
        if lookup.game is not None and not (lookup.request_key or lookup.metadata or lookup.names):
            found = self._find_game(lookup.token, lookup.game, lookup.after)
            if found is not None:
                return found
        [row] = self._database.fetch(
            "look_up",
            lookup.token,
            lookup.request_key,
            lookup.game,
            lookup.after,
            list(lookup.names),
            lookup.metadata,
        )
        caller, row = row[:5], row[5:]
        log = None if lookup.game is None else self._slice(lookup.game, row[2:6], lookup.after)
        metadata = _metadata(lookup.game, row) if lookup.metadata else None
        names: dict[UUID, str | None] = dict.fromkeys(lookup.names)
        names |= {UUID(player): name for player, name in (row[7] or {}).items()}
        names |= {UUID(player): name for player, name in row[14] or () if player is not None}
        return LookupResult(
            player=_player(caller),
            answer=_answer(lookup, caller[0], row),
            log=log,
            back=frozenset(row[6] or ()),
            metadata=metadata,
            names=names,
        )

    def _find_game(self, token: bytes | None, game: UUID, after: int) -> LookupResult | None:
        """Return the player of a token and the events of a game; None if there is no such game."""
        rows = self._database.fetch("look_up_game", token, game, after)
        if not rows:
            return None
        [(*caller, kind, version, head, back, lines)] = rows
        return LookupResult(
            player=_player(caller),
            log=self._slice(game, (kind, version, head, lines or ()), after),
            back=frozenset(back or ()),
        )

    def find_seal(self, game: UUID, table: UUID, *, after: int) -> SealData:
        """Return a game's refused moves and its table's events with seq ≥ `after`."""
        [row] = self._database.fetch("look_up_seal", game, table, after)
        return SealData(
            refused=[
                _refused_move(*one)
                for one in zip(*(column or () for column in row[4:]), strict=True)
            ],
            table=self._slice(table, row[:4], after),
        )

    def _slice(self, stream: UUID, columns: Sequence[Any], after: int) -> StreamSlice | None:
        kind, version, head, lines = columns
        if kind is None:
            return None
        if len(lines) != max(0, version - after):
            return self._store.read(stream, after=after)  # archived
        return StreamSlice(
            stream=stream, kind=StreamKind(kind), version=version, head=head, events=tuple(lines)
        )


def _player(caller: Sequence[Any]) -> FoundPlayer | None:
    player, name, token, scopes, is_first_use = caller
    if player is None:
        return None
    return FoundPlayer(
        id=player,
        name=name or "",
        token=token,
        scopes=frozenset(scopes),
        is_first_use=is_first_use,
    )


def _answer(lookup: Lookup, caller: UUID, row: Sequence[Any]) -> StoredAnswer | None:
    if lookup.request_key is None or row[0] is None:
        return None
    return StoredAnswer(
        caller=caller, request_key=lookup.request_key, body_hash=row[0], sealed=row[1]
    )


def _metadata(game: UUID | None, row: Sequence[Any]) -> GameMetadata | None:
    key_id, ciphertext, table, host, public, invite_hash, seats, opened = row[8:16]
    if game is None or table is None or seats is None or opened is None:
        return None
    secret = None
    if key_id is not None:
        secret = SealedSecret(game=game, key_id=key_id, ciphertext=ciphertext)
    return GameMetadata(
        secret=secret,
        table=table,
        host=host,
        public=public,
        invite_hash=invite_hash,
        players=tuple(None if player is None else UUID(player) for player, _ in seats),
        opened=opened,
    )


def _refused_move(
    identity: UUID, at: datetime, seat: int, key_id: str, sealed: bytes
) -> RefusedMove:
    return RefusedMove(id=identity, at=at, seat=seat, key_id=key_id, sealed=sealed)
