"""The directory in memory: players, and lists computed from the summaries of a memory store."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import orjson

from schemas.tokens import Scope
from service.application.calls import digest
from service.shx.canonical import parse_time
from service.store.database import as_json
from service.store.directory import (
    CustomRuleset,
    Directory,
    Erasure,
    Holdings,
    Results,
    StoredPlayer,
    StoredToken,
)
from service.store.disputes import DisputeRow, StatisticsInput
from service.store.events import (
    PlayerErased,
    Quota,
    QuotaFull,
    QuotaKind,
    StoreError,
    StreamKind,
    TokenEnded,
)
from service.store.games import (
    MAX_READINGS,
    READ_AGAIN,
    DueGame,
    EventNote,
    GameFilter,
    GameRow,
    IdleGame,
    LostGame,
    Reading,
    ReadyTable,
    RefusedMove,
    SeatRow,
    TableRow,
)
from service.store.logged_hands import LoggedHand, PlayedHand
from service.store.ratings import RatingRow, RatingsReached
from service.store.summaries import OLDEST, START, Cursor, Page
from tests.memory.disputes import MemoryDisputes, change_row
from tests.memory.events import MemoryStore
from tests.memory.notices import MemoryNotices
from tests.memory.seeks import MemorySeeks
from tests.memory.webhooks import MemoryWebhooks


@dataclass(frozen=True, slots=True, kw_only=True)
class _Person:
    """A player with the hash of the recovery code."""

    player: StoredPlayer
    recovery_hash: bytes | None


class MemoryPlayers(MemoryWebhooks):
    """Players by id, token and recovery code."""

    def __init__(self, store: MemoryStore) -> None:
        super().__init__()
        self._store = store
        self._people: dict[UUID, _Person] = {}
        self._tokens: dict[bytes, StoredToken] = {}
        self._people_lock = threading.Lock()

    def create_player(
        self, *, player: UUID, name: str, token_hash: bytes, recovery_hash: bytes, at: datetime
    ) -> None:
        person = _Person(
            player=StoredPlayer(id=player, name=name, created_at=at, erased_at=None),
            recovery_hash=recovery_hash,
        )
        with self._people_lock:
            taken = any(p.recovery_hash == recovery_hash for p in self._people.values())
            if player in self._people or taken or token_hash in self._tokens:
                raise StoreError("a player's id, token and recovery code must be new")
            self._people[player] = person
            self._tokens[token_hash] = _first_token(player, "registration", at)

    def player(self, player: UUID) -> StoredPlayer | None:
        found = self._people.get(player)
        return None if found is None else found.player

    def player_by_token(self, token_hash: bytes) -> StoredPlayer | None:
        token = self.token(token_hash)
        return None if token is None else self._people[token.player].player

    def _player_of(self, token: str) -> UUID | None:
        found = self.token(digest(token))
        return found.player if found is not None and "account" in found.scopes else None

    def token(self, token_hash: bytes) -> StoredToken | None:
        found = self._tokens.get(token_hash)
        return None if found is None or _has_ended(found) else found

    def tokens_of(self, player: UUID) -> Sequence[StoredToken]:
        with self._people_lock:
            found = [t for t in self._tokens.values() if t.player == player and not _has_ended(t)]
        return sorted(found, key=lambda token: (token.created_at, token.id), reverse=True)

    def issue_token(
        self, issuer: str, token: StoredToken, token_hash: bytes, *, replaces: bool, most: int
    ) -> None:
        own = self._issuer(issuer)
        exceeds = own.ends_at is not None and (token.ends_at is None or token.ends_at > own.ends_at)
        if exceeds or not set(token.scopes) <= set(own.scopes):
            raise TokenEnded("the token would exceed its issuer")
        taken = len(self.tokens_of(own.player)) - replaces
        if taken >= most:
            raise QuotaFull(QuotaKind.TOKENS)
        with self._people_lock:
            if token_hash in self._tokens:
                raise StoreError("a token must be new")
            if replaces:
                del self._tokens[digest(issuer)]
            self._tokens[token_hash] = replace(token, player=own.player)

    def end_token(self, caller: str, token: UUID) -> bool:
        own = self._issuer(caller)
        with self._people_lock:
            return self._drop(lambda one: one.player == own.player and one.id == token)

    def note_token_use(self, token_hash: bytes) -> None:
        with self._people_lock:
            token = self._tokens.get(token_hash)
            if token is not None:
                self._tokens[token_hash] = replace(token, used_on=datetime.now(UTC).date())

    def recover(self, code: str, new_hash: bytes) -> UUID | None:
        with self._people_lock:
            for player, person in self._people.items():
                if person.recovery_hash == digest(code):
                    self._drop_all(player)
                    now = datetime.now(UTC)
                    self._tokens[new_hash] = _first_token(player, "recovery", now)
                    return player
        return None

    def _issuer(self, token: str) -> StoredToken:
        found = self.token(digest(token))
        if found is None or "account" not in found.scopes:
            raise TokenEnded("the token is unknown, has ended or lacks a scope")
        return found

    def _drop_all(self, player: UUID) -> None:
        self._drop(lambda token: token.player == player)
        self._delete_webhook(player)

    def _drop(self, ends: Callable[[StoredToken], bool]) -> bool:
        """Delete tokens; return whether there was one."""
        ended = [token_hash for token_hash, token in self._tokens.items() if ends(token)]
        for token_hash in ended:
            del self._tokens[token_hash]
        return bool(ended)

    def rename(self, token: str, name: str) -> bool:
        player = self._player_of(token)
        if player is None:
            return False
        with self._people_lock:
            person = self._people[player]
            self._people[player] = replace(person, player=replace(person.player, name=name))
        return True

    def renew_recovery(self, token: str, code: str | None, new_hash: bytes) -> bool | None:
        player = self._player_of(token)
        if player is None:
            return None
        known = self._people[player].recovery_hash
        if not self._is_full(token) if code is None else digest(code) != known:
            return False
        with self._people_lock:
            self._people[player] = replace(self._people[player], recovery_hash=new_hash)
        return True

    def erase(self, token: str, at: datetime) -> bool:
        player = self._player_of(token)
        return player is not None and self._is_full(token) and self.erase_player(player, at)

    def _is_full(self, token: str) -> bool:
        found = self.token(digest(token))
        return found is not None and found.ends_at is None and len(found.scopes) == 4

    def erase_player(self, player: UUID, at: datetime) -> bool:
        self._store.mark_erased(player)
        self._store.forget_answers(lambda answer, _: answer.caller == player)
        with self._people_lock:
            person = self._people.get(player)
            if person is None or person.player.erased_at is not None:
                return False
            erased = replace(person.player, name=None, erased_at=at)
            self._people[player] = _Person(player=erased, recovery_hash=None)
            self._drop_all(player)
            self._store.blocks = {k: at for k, at in self._store.blocks.items() if player not in k}
            return True

    def block(self, player: UUID, other: UUID, *, at: datetime, most: int) -> datetime:
        if any(self._people[one].player.erased_at is not None for one in (player, other)):
            raise PlayerErased("a player has been erased")
        with self._people_lock:
            if (player, other) not in self._store.blocks and len(self.blocks(player)) >= most:
                raise QuotaFull(QuotaKind.BLOCKS)
            return self._store.blocks.setdefault((player, other), at)

    def unblock(self, player: UUID, other: UUID) -> bool:
        with self._people_lock:
            return self._store.blocks.pop((player, other), None) is not None

    def blocks(self, player: UUID) -> Mapping[UUID, datetime]:
        own = [(other, at) for (by, other), at in self._store.blocks.items() if by == player]
        own.sort(key=lambda block: block[0])
        return dict(sorted(own, key=lambda block: block[1], reverse=True))

    def blocks_among(self, players: Collection[UUID]) -> frozenset[tuple[UUID, UUID]]:
        return frozenset(pair for pair in self._store.blocks if set(pair) <= set(players))

    def blocks_between(self, players: Sequence[UUID]) -> Sequence[tuple[int, Sequence[int]]]:
        pairs = self.blocks_among(players)
        return [(players.index(one), [players.index(other)]) for one, other in sorted(pairs)]

    def erased_players(self, *, since: datetime | None) -> Sequence[Erasure]:
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
        found = (self._people.get(player) for player in players)
        return {p.player.id: p.player.name for p in found if p is not None and p.player.name}

    def named_seats(self, summary: Mapping[str, Any]) -> tuple[SeatRow, ...]:
        """Return the seats of a summary with the names of their players."""
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


def _first_token(player: UUID, name: str, at: datetime) -> StoredToken:
    """Return a token with all scopes, without an end."""
    return StoredToken(
        id=uuid4(),
        player=player,
        name=name,
        scopes=tuple(Scope),
        created_at=at,
        ends_at=None,
        used_on=None,
    )


def _has_ended(token: StoredToken) -> bool:
    return token.ends_at is not None and token.ends_at <= datetime.now(UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class _RecordedReading:
    """A reading, and the version of the game when it was recorded."""

    reading: Reading
    version: int | None


class MemoryDirectory(MemoryPlayers, MemoryDisputes, MemoryNotices, MemorySeeks, Directory):
    """The directory: players, summaries, rulesets and recorded readings, in dictionaries."""

    def __init__(self, store: MemoryStore) -> None:
        super().__init__(store)
        self._lock = threading.Lock()
        self._rulesets: dict[str, CustomRuleset] = {}
        self._seen_at: datetime | None = None
        self._able_since: datetime | None = None
        self._facts: dict[UUID, StatisticsInput] = {}
        self._readings: dict[UUID, list[_RecordedReading]] = {}
        self._notes: dict[UUID, dict[tuple[UUID, int], EventNote]] = {}

    def erase_player(self, player: UUID, at: datetime) -> bool:
        erased = super().erase_player(player, at)
        self.forget_words(player)
        self.forget_seeks_of(player)
        with self._lock:
            for game, kept in self._notes.items():
                self._notes[game] = {k: n for k, n in kept.items() if n.author != player}
        return erased

    def _sat(self, player: UUID) -> list[tuple[GameRow, int]]:
        seats = [(game, seat) for game in self._games() for seat in game.seats]
        return [(game, seat.seat) for game, seat in seats if seat.player == player]

    def results(self, player: UUID, *, public: bool = False) -> Results:
        ended = [
            (game, seat)
            for game, seat in self._sat(player)
            if game.status == "ended" and (game.public or not public)
        ]
        return Results(
            games=len(ended), shithead=sum(game.shithead == seat for game, seat in ended)
        )

    def holdings(self, player: UUID) -> Holdings:
        tables = self._tables()
        return Holdings(
            running=sum(game.status not in _OVER for game, _ in self._sat(player)),
            hosting=sum(table.host == player and table.status != "closed" for table in tables),
            rulesets=len(self.list_rulesets(owner=player)),
        )

    def tables_of(self, player: UUID) -> Sequence[UUID]:
        return [t.id for t in self._tables() if t.status != "closed" and _is_in(t, player)]

    def ratings_of_player(self, player: UUID) -> Sequence[RatingRow]:
        return ()  # nothing is rated in memory

    def ratings_reached(self) -> tuple[RatingsReached, RatingsReached]:
        reached = RatingsReached(leaves=0, erased=0, rulings=0)
        return reached, reached

    def list_ratings(self, ruleset: str, *, after: int, limit: int) -> Sequence[RatingRow]:
        return ()

    def all_logged_hands(self, size: int) -> Iterator[Sequence[LoggedHand]]:
        yield self.logged_hands(0, size)

    def logged_hands(self, first: int, end: int) -> Sequence[LoggedHand]:
        return ()

    def hands_of_pair(
        self, first: UUID, second: UUID, *, until: datetime, limit: int
    ) -> Sequence[PlayedHand]:
        return ()

    def ratings_among(self, wanted: Iterable[tuple[str, str]]) -> Sequence[RatingRow]:
        return ()

    def keep_ratings(
        self, before: int, reached: RatingsReached, found: Sequence[RatingRow], *, anew: bool
    ) -> bool:
        return False

    def game(self, game: UUID) -> GameRow | None:
        with self._store.summaries(StreamKind.GAME) as rows:
            row = rows.get(game)
            return None if row is None else game_row(game, row, self.named_seats(row))

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
        tables = {table.id: table for table in self._tables()}

        def listed(game: GameRow) -> bool:
            table = tables.get(game.table)
            own = viewer is not None and (
                _sits(game.seats, viewer)
                or (table is not None and _is_in(table, viewer))
                or self.judges(viewer, game=game.id)
            )
            own = own or (table is not None and _invites(table, invite))
            return (
                (everything or game.public or own)
                and which.table in (None, game.table)
                and (which.player is None or _sits(game.seats, which.player))
                and which.ruleset in (None, game.ruleset)
                and which.status in (None, game.status)
                and (which.since is None or game.created_at >= which.since)
                and (which.until is None or game.created_at < which.until)
                and (which.result is None or _result_is(game, which.player, which.result))
                and (which.beside is None or _sits(game.seats, which.beside))
                and (not which.over or game.status in _OVER)
            )

        after = cursor or START
        older = [game for game in self._games() if _key(game) < (after.at, after.id)]
        return Page[GameRow].of([game for game in older if listed(game)], limit)

    def list_disputes(
        self,
        *,
        viewer: UUID | None,
        invite: bytes | None = None,
        state: str | None = None,
        now: datetime,
        cursor: Cursor | None = None,
        limit: int = 50,
    ) -> Page[DisputeRow]:
        seen = self.list_games(GameFilter(), viewer=viewer, invite=invite, limit=sys.maxsize)
        games = {str(game.id): game for game in seen.items}

        def listed(row: Mapping[str, Any]) -> bool:
            game = games.get(row["game_id"])
            if game is None:
                return False
            late = row["wake_at"] is not None and datetime.fromisoformat(row["wake_at"]) <= now
            unread = game.ended_at is not None and (row.get("found_at") or 0) < game.version
            moved_on = row["state"] != "final" and (late or unread)
            return state in (None, row["state"]) or moved_on

        after = cursor or START
        found = [
            DisputeRow(id=dispute, created_at=datetime.fromisoformat(row["opened_at"]))
            for dispute, row in self._rows().items()
            if listed(row)
        ]
        older = [row for row in found if _key(row) < (after.at, after.id)]
        return Page[DisputeRow].of(sorted(older, key=_key, reverse=True), limit)

    def games_of_table(self, table: UUID, *, limit: int = 20) -> Sequence[GameRow]:
        which = GameFilter(table=table)
        return self.list_games(which, viewer=None, everything=True, limit=limit).items

    def table(self, table: UUID) -> TableRow | None:
        with self._store.summaries(StreamKind.TABLE) as rows:
            row = rows.get(table)
            return None if row is None else table_row(table, row, self.named_seats(row))

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
        after = cursor or START
        rows = [
            table
            for table in self._tables()
            if _key(table) < (after.at, after.id)
            and (
                ((table.public or _invites(table, invite)) and not mine)
                or (viewer is not None and _is_in(table, viewer))
            )
            and ruleset in (None, table.ruleset)
            and status in (None, table.status)
        ]
        return Page[TableRow].of(rows, limit)

    def lost_games(self, keys: Collection[str]) -> Sequence[LostGame]:
        """Return nothing: the keys of a test never change."""
        del keys
        return ()

    def ready_tables(self, *, since: datetime, limit: int) -> Sequence[ReadyTable]:
        with self._store.summaries(StreamKind.TABLE) as rows:
            ready = [
                ReadyTable(
                    id=table,
                    version=row["version"],
                    since=datetime.fromisoformat(row["ready_since"]),
                )
                for table, row in rows.items()
                if row.get("ready_since") is not None
            ]
        return sorted((r for r in ready if r.since <= since), key=lambda r: r.since)[:limit]

    def due_games(self, *, now: datetime, limit: int) -> Sequence[DueGame]:
        with self._store.summaries(StreamKind.GAME) as rows:
            due = [
                DueGame(
                    id=game,
                    version=row["version"],
                    kind=row["wake_kind"],
                    at=datetime.fromisoformat(row["wake_at"]),
                    seat=row.get("wake_seat"),
                )
                for game, row in rows.items()
                if row.get("wake_at") is not None
            ]
        return sorted((d for d in due if d.at <= now), key=lambda d: d.at)[:limit]

    def idle_games(
        self, *, now: datetime, untouched_since: datetime, limit: int, after: Cursor | None = None
    ) -> Sequence[IdleGame]:
        seen = after or OLDEST
        with self._store.summaries(StreamKind.GAME) as rows:
            waiting = [
                game
                for game, row in rows.items()
                if row.get("wake_at") is None or datetime.fromisoformat(row["wake_at"]) <= now
            ]
        games = [row for row in map(self.game, waiting) if row is not None]
        idle = [
            IdleGame(id=game.id, version=game.version, created_at=game.created_at)
            for game in sorted(games, key=_key)
            if _key(game) > (seen.at, seen.id)
            and game.status not in _OVER
            and game.created_at <= untouched_since
            and self._last_at(game) <= untouched_since
            and any(seat.kind == "human" for seat in game.seats)
        ]
        return idle[:limit]

    def _last_at(self, game: GameRow) -> datetime:
        found = self._store.read(game.id, after=game.version - 1)
        if found is None:
            raise ValueError("a row without a stream")
        return parse_time(orjson.loads(found.events[-1])["at"])

    def come_back(
        self,
        game: UUID,
        *,
        version: int,
        back: Collection[int],
        wake_kind: str | None,
        wake_at: datetime | None,
    ) -> bool:
        wake = {"wake_kind": wake_kind, "wake_at": as_json(wake_at)}
        with self._store.summaries(StreamKind.GAME) as rows:
            return change_row(rows, game, version, {"back": sorted(back), **wake})

    def set_next_action(
        self, game: UUID, *, version: int, wake_kind: str | None, wake_at: datetime | None
    ) -> bool:
        wake = {"wake_kind": wake_kind, "wake_at": as_json(wake_at)}
        with self._store.summaries(StreamKind.GAME) as rows:
            return change_row(rows, game, version, wake)

    def note_able(self, *, outage: timedelta) -> None:
        now = datetime.now(UTC)
        if self._seen_at is not None and now - self._seen_at > outage:
            self._able_since = now
        self._seen_at = now

    def able_since(self, *, outage: timedelta) -> datetime | None:
        now = datetime.now(UTC)
        away = self._seen_at is not None and now - self._seen_at > outage
        return now if away else self._able_since

    def record_refusal(self, game: UUID, refused: RefusedMove) -> bool:
        return self._store.record_refusal(game, refused)

    def refusals(self, game: UUID) -> Sequence[RefusedMove]:
        return self._store.refusals(game)

    def purge_refusals(self, *, ended_before: datetime) -> int:
        old = [g.id for g in self._games() if g.ended_at is not None and g.ended_at < ended_before]
        return sum(self._store.forget_refusals(game) for game in old)

    def purge_players(self, *, registered_before: datetime, at: datetime) -> int:
        games, tables = self._games(), self._tables()
        busy = {seat.player for game in games for seat in game.seats} | self.in_disputes()
        busy |= {seat.player for table in tables for seat in table.seats}
        busy |= {table.host for table in tables}
        busy |= {ruleset.owner for ruleset in self._rulesets.values()}
        with self._store.seeks() as seeks:
            busy |= {seek.player for seek in seeks.values() if seek.ended_at is None}
        unused = self.registered(before=registered_before) - busy
        return sum(self.erase_player(player, at) for player in unused)

    def record_readings(
        self, games: Sequence[UUID], *, at: datetime, reader: UUID | None, what: str
    ) -> None:
        for game in games:
            with self._store.summaries(StreamKind.GAME) as rows:
                version = rows[game]["version"] if game in rows else None
            with self._lock:
                recorded = self._readings.setdefault(game, [])
                if not any(
                    (n.reading.reader, n.reading.what, n.version) == (reader, what, version)
                    and n.reading.created_at > at - READ_AGAIN
                    for n in recorded
                ):
                    in_an_hour = [
                        n
                        for n in recorded
                        if n.reading.reader == reader
                        and n.reading.created_at > at - timedelta(hours=1)
                    ]
                    if len(in_an_hour) >= MAX_READINGS:
                        raise QuotaFull(QuotaKind.READINGS)
                    read = Reading(id=uuid4(), created_at=at, reader=reader, what=what)
                    recorded.append(_RecordedReading(reading=read, version=version))

    def keep_note(self, game: UUID, note: EventNote, quotas: Sequence[Quota] = ()) -> None:
        author = self.player(note.author)
        if author is not None and author.erased_at is not None:
            raise PlayerErased("a player has been erased")
        with self._lock:
            key = (note.author, note.seq)
            kept = self._notes.setdefault(game, {})
            own = sum(one.author == note.author for one in kept.values())
            all_own = sum(k[0] == note.author for notes in self._notes.values() for k in notes)
            taken = {
                QuotaKind.NOTES: own,
                QuotaKind.NOTES_OF_GAME: len(kept),
                QuotaKind.ALL_NOTES: all_own,
            }
            for quota in quotas:
                if key not in kept and taken[quota.kind] >= quota.most:
                    raise QuotaFull(quota.kind)
            kept[key] = note

    def delete_note(self, game: UUID, author: UUID, seq: int) -> bool:
        with self._lock:
            return self._notes.get(game, {}).pop((author, seq), None) is not None

    def notes(self, game: UUID, *, reader: UUID, shared: bool) -> Sequence[EventNote]:
        with self._lock:
            kept = list(self._notes.get(game, {}).values())
        seen = [n for n in kept if n.author == reader or (shared and n.visibility == "dispute")]
        return sorted(seen, key=lambda note: (note.seq, note.at, note.author))

    def readings(
        self, game: UUID, *, cursor: Cursor | None = None, limit: int = 50
    ) -> Page[Reading]:
        after = cursor or START
        with self._lock:
            rows = [recorded.reading for recorded in self._readings.get(game, ())]
        older = [row for row in rows if (row.created_at, row.id) < (after.at, after.id)]
        older.sort(key=lambda row: (row.created_at, row.id), reverse=True)
        return Page[Reading].of(older, limit)

    def save_ruleset(self, ruleset: CustomRuleset, *, most: int | None = None) -> bool:
        owner = self.player(ruleset.owner)
        if owner is not None and owner.erased_at is not None:
            raise PlayerErased("a player has been erased")
        with self._lock:
            own = sum(row.owner == ruleset.owner for row in self._rulesets.values())
            if most is not None and ruleset.id not in self._rulesets and own >= most:
                raise QuotaFull(QuotaKind.RULESETS)
            return self._rulesets.setdefault(ruleset.id, ruleset) is ruleset

    def ruleset(self, identity: str) -> CustomRuleset | None:
        return self._rulesets.get(identity)

    def list_rulesets(
        self, *, owner: UUID | None = None, after: str | None = None, limit: int = 200
    ) -> Sequence[CustomRuleset]:
        with self._lock:
            rows = [row for row in self._rulesets.values() if owner in (None, row.owner)]
            last = self._rulesets.get(after) if after is not None else None
        if after is not None:
            rows = [row for row in rows if last and _ruleset_key(row) < _ruleset_key(last)]
        return sorted(rows, key=_ruleset_key, reverse=True)[:limit]

    def _games(self) -> list[GameRow]:
        """Return all games, newest first."""
        with self._store.summaries(StreamKind.GAME) as rows:
            games = [game_row(game, row, self.named_seats(row)) for game, row in rows.items()]
        return sorted(games, key=_key, reverse=True)

    def _tables(self) -> list[TableRow]:
        """Return all tables, newest first."""
        with self._store.summaries(StreamKind.TABLE) as rows:
            tables = [table_row(table, row, self.named_seats(row)) for table, row in rows.items()]
        return sorted(tables, key=_key, reverse=True)


_OVER = ("ended", "aborted")


def _ruleset_key(row: CustomRuleset) -> tuple[datetime, str]:
    return row.created_at, row.id


def _key(row: GameRow | TableRow | DisputeRow) -> tuple[datetime, UUID]:
    return (row.created_at, row.id)


def _result_is(game: GameRow, player: UUID | None, wanted: str) -> bool:
    """Return whether a game ended as a filter asks, as sql/functions/result_is.sql does."""
    if wanted == "aborted" or game.status != "ended":
        return game.status == wanted
    if wanted in ("lost", "first"):
        seat = game.shithead if wanted == "lost" else next(iter(game.places or ()), None)
        return any(one.seat == seat and one.player == player for one in game.seats)
    return game.reason == wanted


def _sits(seats: Sequence[SeatRow], player: UUID) -> bool:
    return any(seat.player == player for seat in seats)


def _is_in(table: TableRow, player: UUID) -> bool:
    return table.host == player or _sits(table.seats, player)


def _invites(table: TableRow, invite: bytes | None) -> bool:
    return invite is not None and table.invite_hash == invite


def game_row(game: UUID, row: Mapping[str, Any], seats: tuple[SeatRow, ...]) -> GameRow:
    """Return the summary of a game."""
    places, ended_at = row.get("places"), row.get("ended_at")
    return GameRow(
        id=game,
        table=UUID(row["table_id"]),
        hand=row["hand"],
        ruleset=row["ruleset_id"],
        status=row["status"],
        version=row["version"],
        turn=row.get("turn"),
        dealer=row.get("dealer"),
        created_at=datetime.fromisoformat(row["created_at"]),
        ended_at=None if ended_at is None else datetime.fromisoformat(ended_at),
        reason=row.get("reason"),
        shithead=row.get("shithead"),
        places=None if places is None else tuple(places),
        public=row["public"],
        back=tuple(row.get("back") or ()),
        seats=seats,
    )


def table_row(table: UUID, row: Mapping[str, Any], seats: tuple[SeatRow, ...]) -> TableRow:
    """Return the summary of a table."""
    invite_hash, game = row.get("invite_hash"), row.get("game_id")
    return TableRow(
        id=table,
        host=UUID(row["host"]),
        version=row["version"],
        status=row["status"],
        public=row["public"],
        ruleset=row["ruleset_id"],
        invite_hash=None if invite_hash is None else bytes.fromhex(invite_hash.removeprefix("\\x")),
        created_at=datetime.fromisoformat(row["created_at"]),
        hand=row.get("hand", 0),
        game=None if game is None else UUID(game),
        seats=seats,
    )
