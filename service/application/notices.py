"""
Notices: what concerns one player now, for the player's own stream and long poll.

The notices of a player are computed from the present state, never from the events in between: a
reader that lost one gets it with the next look, or a newer one that replaces it. What began and
ended since a reader's look before is in neither state, so it is searched by that look's time. Each
notice has a key, so a reader recognizes what it has. A notice has an id, a version and a time that
the player may see anyway; whether it may act is all that it states of a hand.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any, Final
from uuid import UUID

from msgspec import Struct

from schemas.challenges import ChallengeStatus
from schemas.notices import NoticeType
from service.application.access import visible
from service.application.calls import Caller
from service.application.disputes.files import DisputeFiles
from service.application.disputes.record import DisputeRecord, text_of
from service.application.errors import Refusal
from service.application.games.cache import GameCache
from service.application.games.entry import GameEntry
from service.application.games.queries import Games
from service.application.games.queries import deadline as turn_deadline
from service.application.ports import World
from service.application.quotas import work
from service.application.tables.record import TableRecord
from service.domain.dispute import DisputeState
from service.domain.dispute_rules import Act, acts_of, deadline
from service.domain.legal import waits_for
from service.domain.table import TableStatus
from service.runtime.recent import Recent
from service.shx.canonical import format_time
from service.store.directory import Directory
from service.store.events import StoreError
from service.store.notices import OwnTable

ENDING: Final = timedelta(days=1)
"""How long before the end of a period `period_ending` is sent."""

_WITH_A_PERIOD: Final = frozenset({Act.VOTE, Act.REVEAL, Act.APPEAL})

OVERLAP: Final = timedelta(seconds=10)
"""How long before a look hands and tables began that it may not have seen: clocks differ."""

LONGEST: Final = timedelta(days=1)
"""For how long a reader may be away without missing what began and ended meanwhile."""

MAX_MATCHED: Final = 50
"""Maximum number of a player's seeks whose match is announced, the newest first."""

MAX_CHALLENGES: Final = 50
"""Maximum number of challenges of a player, and by a player, that are announced."""

_ANSWERED: Final = frozenset({ChallengeStatus.ACCEPTED, ChallengeStatus.DECLINED})

MAX_TABLES: Final = 2000
"""Maximum number of tables whose folded state is retained in a process."""


class Notice(Struct, frozen=True, kw_only=True):
    """An event or an open matter of a player; the fields are those of the API."""

    type: NoticeType
    id: UUID
    version: int
    table: UUID | None = None
    game: UUID | None = None
    ends_at: str | None = None
    once: bool = False  # sent once while it is open, whatever its version
    passing: bool = False  # the end of something, which is not among what is open next time

    @property
    def key(self) -> tuple[NoticeType, int]:
        """Return type and id; the version distinguishes the notices of one key."""
        return self.type, self.id.int

    @property
    def mark(self) -> int:
        """Return the number by which a notice is newer than the one before it of its key."""
        return 0 if self.once else self.version

    def json(self) -> dict[str, Any]:
        """Return the notice as JSON."""
        return {
            "type": self.type.value,
            "id": str(self.id),
            "version": self.version,
            "table": None if self.table is None else str(self.table),
            "game": None if self.game is None else str(self.game),
            "ends_at": self.ends_at,
        }


class Wanted(Struct, frozen=True, kw_only=True):
    """The notices that a reader asked for beyond its tables and disputes."""

    watched: tuple[UUID, ...] = ()
    referee: bool = False


class Open(Struct, frozen=True, kw_only=True):
    """The tables and running hands that a reader knows: their ends are reported."""

    tables: frozenset[UUID] = frozenset()
    games: frozenset[UUID] = frozenset()
    at: datetime | None = None  # when it looked; None: it has not, so nothing can be missing


class Found(Struct, frozen=True, kw_only=True):
    """The notices of a player, and what is open now."""

    notices: tuple[Notice, ...]
    open: Open


class Notices:
    """Computes the notices of a player."""

    def __init__(
        self,
        *,
        directory: Directory,
        game_cache: GameCache,
        games: Games,
        files: DisputeFiles,
        world: World,
    ) -> None:
        self.directory = directory
        self.game_cache = game_cache
        self.games = games
        self.files = files
        self.world = world
        self._tables = Recent[int, TableRecord](MAX_TABLES)

    def check(self, caller: Caller, wanted: Wanted) -> None:
        """
        Check that the caller may see the watched games, and record the reads.

        Raises Refusal `not-found`.
        """
        for game in wanted.watched:
            self.games.read(caller, game)

    def look(self, player: UUID, caller: Caller, wanted: Wanted, known: Open) -> Found:
        """
        Return all notices of the player now, with the ends of what is `known` to be open.

        `caller` is the player, with the invite to watched games. What `known` names of others is
        left out, because a reader may have made it up.
        """
        now = self.world.now()
        since = None if known.at is None else max(known.at, now - LONGEST) - OVERLAP
        rows = self.directory.own_tables(player, also=known.tables, since=since)
        own = [row for row in rows if row.own and row.status != TableStatus.CLOSED]
        closed = [row.id for row in rows if row.own and row.status == TableStatus.CLOSED]
        running = {row.game for row in own if row.game is not None}
        with work(len(rows)):  # a row takes about as long as an event
            records = {row.id: self._table(row) for row in own}
        last = {
            UUID(record.table.last_game): row.id
            for row in own
            if row.game is None and (record := records[row.id]).table.last_game is not None
        }
        new: Collection[UUID] = ()
        if since is not None:
            new = self.directory.hands_since([*records, *closed], since)
        found = [
            *self._of_seeks(player, {*records, *closed}),
            *self._of_tables(rows, records),
            *self._of_games(player, running, known.games, new=new, steady=last.keys()),
            *self._invitations(player),
            *self._of_challenges(player, now),
            *self._of_disputes(player),
            *(self._to_judge(player) if wanted.referee else ()),
            *self._watched(caller, wanted),
        ]
        open_now = Open(tables=frozenset(records), games=frozenset(running), at=now)
        return Found(notices=tuple(found), open=open_now)

    def of_game(self, entry: GameEntry, player: UUID) -> Iterator[Notice]:
        """Yield the notices about one game for its player or host."""
        game, table = entry.record.identity, entry.table
        if entry.record.sealed:
            yield _hand_sealed(game, entry.version, table)
            return
        yield _hand_dealt(game, table)
        seat = entry.seat_of(player)
        if seat is not None and waits_for(entry.record.game, seat):
            yield Notice(
                type=NoticeType.YOUR_TURN,
                id=game,
                version=entry.version,
                table=table,
                ends_at=turn_deadline(entry),
            )

    def watched(self, entry: GameEntry, caller: Caller) -> Iterator[Notice]:
        """Yield the notice about a watched game, if the caller may see it now."""
        try:
            visible(entry, caller, self.game_cache.sits_or_judges)
        except Refusal:
            return
        yield Notice(
            type=NoticeType.GAME_MOVED,
            id=entry.record.identity,
            version=entry.version,
            table=entry.table,
        )

    def _table(self, row: OwnTable) -> TableRecord:
        """Return the folded table of a row, from the memory if it is at the same version."""
        known = self._tables.get(row.id.int)
        if known is None or known.version != row.version:
            known = self.game_cache.table(row.id)
            if known is None:
                raise StoreError(f"table {row.id} is missing")
            self._tables.keep(row.id.int, known)
        return known

    def _of_seeks(self, player: UUID, open_tables: Collection[UUID]) -> Iterator[Notice]:
        if not open_tables:
            return
        for seek in self.directory.seeks_of(player, matched=True, limit=MAX_MATCHED):
            if seek.table in open_tables:
                yield Notice(type=NoticeType.SEEK_MATCHED, id=seek.id, version=1, table=seek.table)

    def _of_tables(
        self, rows: Sequence[OwnTable], records: dict[UUID, TableRecord]
    ) -> Iterator[Notice]:
        for row in rows:
            record = records.get(row.id)
            if record is not None and record.table.seated:
                yield Notice(type=NoticeType.SEAT_TAKEN, id=row.id, version=record.table.seated)
            elif row.own and row.status == TableStatus.CLOSED:
                yield Notice(
                    type=NoticeType.TABLE_CLOSED, id=row.id, version=row.version, passing=True
                )

    def _of_games(
        self,
        player: UUID,
        running: Collection[UUID],
        known: Collection[UUID],
        *,
        new: Collection[UUID],
        steady: Collection[UUID],
    ) -> Iterator[Notice]:
        positions = self.directory.game_positions(player, {*running, *known, *new, *steady})
        for game, position in positions.items():
            if position.over:
                if game in new:
                    yield _hand_dealt(game, position.table, passing=True)
                passing = game not in steady
                yield _hand_sealed(game, position.version, position.table, passing=passing)
                continue
            entry = self.game_cache.in_memory(game)
            if entry is None or entry.version < position.version:
                entry = self.game_cache.fresh(game)
            if entry is not None:
                yield from self.of_game(entry, player)

    def _invitations(self, player: UUID) -> Iterator[Notice]:
        for one in self.directory.invitations(player):
            yield Notice(type=NoticeType.INVITED, id=one.table, version=one.version, once=True)

    def _of_challenges(self, player: UUID, now: datetime) -> Iterator[Notice]:
        for one in self.directory.challenges_of(player, now=now, limit=MAX_CHALLENGES):
            yield _of_challenge(NoticeType.CHALLENGED, one.table)
        for one in self.directory.challenges_by(player, limit=MAX_CHALLENGES):
            if one.status in _ANSWERED and one.expires_at > now:
                yield _of_challenge(NoticeType.CHALLENGE_ANSWERED, one.table)

    def _of_disputes(self, player: UUID) -> Iterator[Notice]:
        limit = format_time(self.world.now() + ENDING)
        for identity in self.directory.own_disputes(player):
            record = self.files.record(identity)
            if record is not None and record.dispute.state is not DisputeState.FINAL:
                yield from _of_dispute(record, str(player), limit)

    def _to_judge(self, player: UUID) -> Iterator[Notice]:
        for identity in self.directory.disputes_to_judge(player):
            record = self.files.record(identity)
            if record is not None and Act.JUDGE in acts_of(record.dispute, str(player)):
                yield _of(record, NoticeType.REFEREE_WANTED)

    def _watched(self, caller: Caller, wanted: Wanted) -> Iterator[Notice]:
        for game in wanted.watched:
            entry = self.game_cache.fresh(game)
            if entry is not None:
                yield from self.watched(entry, caller)


def _hand_dealt(game: UUID, table: UUID | None, *, passing: bool = False) -> Notice:
    return Notice(type=NoticeType.HAND_DEALT, id=game, version=1, table=table, passing=passing)


def _hand_sealed(game: UUID, version: int, table: UUID, *, passing: bool = False) -> Notice:
    return Notice(
        type=NoticeType.HAND_SEALED, id=game, version=version, table=table, passing=passing
    )


def _of_challenge(kind: NoticeType, table: UUID) -> Notice:
    return Notice(type=kind, id=table, version=1, table=table, once=True)


def _of_dispute(record: DisputeRecord, player: str, limit: str) -> Iterator[Notice]:
    """Yield the notices about a dispute that is not final; `limit`: when near ends end."""
    dispute = record.dispute
    if dispute.side_of(player) is not None:
        yield _of(record, NoticeType.DISPUTE_OPENED)
    acts = set(acts_of(dispute, player))
    if acts & {Act.VOTE, Act.REVEAL}:
        yield _of(record, NoticeType.VOTE_OPENED)
    end = deadline(dispute, record.outside.sealed_at)
    if acts & _WITH_A_PERIOD and end is not None and text_of(end) <= limit:
        yield _of(record, NoticeType.PERIOD_ENDING, text_of(end))


def _of(record: DisputeRecord, kind: NoticeType, ends_at: str | None = None) -> Notice:
    return Notice(
        type=kind,
        id=record.identity,
        version=record.version,
        game=record.game,
        ends_at=ends_at,
        once=True,
    )


class Sent:
    """The notices that one reader has been sent, by their keys."""

    __slots__ = ("_marks",)

    def __init__(self) -> None:
        self._marks: dict[tuple[NoticeType, int], int] = {}

    def new(self, notices: Iterable[Notice]) -> list[Notice]:
        """Return those of some notices that are newer than what was sent, and note them."""
        found = []
        for notice in notices:
            if self._marks.get(notice.key, -1) < notice.mark:
                self._marks[notice.key] = notice.mark
                found.append(notice)
        return found

    def new_of_all(self, notices: Sequence[Notice]) -> list[Notice]:
        """Return those of all notices that are new; what is not among them is forgotten."""
        found = self.new(notices)
        keys = {notice.key for notice in notices}
        tables = {notice.id.int: notice.table for notice in notices}
        found += [
            _turn_over(game, mark, tables.get(game))
            for (kind, game), mark in self._marks.items()
            if kind is NoticeType.YOUR_TURN and (kind, game) not in keys
        ]
        self._marks = {key: mark for key, mark in self._marks.items() if key in keys}
        return found

    def new_of_game(self, entry: GameEntry, notices: Iterable[Notice]) -> list[Notice]:
        """Return those of all notices about a game that are new, and that its turn is over."""
        all_of_it = tuple(notices)
        found = self.new(all_of_it)
        key = NoticeType.YOUR_TURN, entry.record.identity.int
        mark = self._marks.get(key, entry.version)
        if mark < entry.version and key not in {notice.key for notice in all_of_it}:
            found.append(_turn_over(key[1], self._marks.pop(key), entry.table))
        return found


def _turn_over(game: int, version: int, table: UUID | None) -> Notice:
    return Notice(type=NoticeType.TURN_OVER, id=UUID(int=game), version=version, table=table)


MAX_NAMED: Final = 128
"""Maximum number of tables and hands whose ends a long poll reports."""

_DIGEST: Final = 8  # bytes
_TIME: Final = 6  # bytes: milliseconds
_HEAD: Final = 1 + _TIME + _DIGEST


def position_of(found: Found) -> str:
    """Return the position of a long poll: its time, a hash of the notices, and what is open."""
    steady = (notice for notice in found.notices if not notice.passing)
    marks = sorted((notice.type.value, notice.id.hex, notice.mark) for notice in steady)
    tables, games = sorted(found.open.tables), sorted(found.open.games)
    named = b"".join(one.bytes for one in [*tables, *games][:MAX_NAMED])
    count = min(len(tables), MAX_NAMED).to_bytes(1, "big")
    digest = sha256(repr(marks).encode()).digest()[:_DIGEST]
    at = 0 if found.open.at is None else int(found.open.at.timestamp() * 1000)
    data = count + at.to_bytes(_TIME, "big") + digest + named
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def is_news(position: str, before: str | None) -> bool:
    """Return whether something differs between two positions, beside their times."""
    if before is None:
        return True
    one, other = _decoded(position), _decoded(before)
    return one[0] != other[0] or one[1 + _TIME :] != other[1 + _TIME :]


def open_at(position: str | None) -> Open:
    """Return what was open at a position; raises ValueError for a text that is no position."""
    if position is None:
        return Open()
    data = _decoded(position)
    count, rest = data[0], data[_HEAD:]
    if len(data) < _HEAD or len(rest) % 16 or count * 16 > len(rest):
        raise ValueError("no position")
    ids = [UUID(bytes=rest[place : place + 16]) for place in range(0, len(rest), 16)]
    try:
        at = datetime.fromtimestamp(int.from_bytes(data[1 : 1 + _TIME], "big") / 1000, UTC)
    except (OverflowError, OSError):
        raise ValueError("no position") from None
    return Open(tables=frozenset(ids[:count]), games=frozenset(ids[count:]), at=at)


def _decoded(position: str) -> bytes:
    return urlsafe_b64decode(position + "=" * (-len(position) % 4))
