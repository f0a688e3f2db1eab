"""Matches open seeks, oldest first, and opens the tables of those that match."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from schemas.seeks import Standing
from service.application.errors import Refusal
from service.application.games.commits import relayed
from service.application.quotas import Slice
from service.application.tables.commands import ChangedTable, TableChanges
from service.application.tables.dealing import table_append
from service.application.tables.record import (
    TABLES,
    TableRequest,
    new_table_summary,
    opened_by,
)
from service.domain.events import Entropy
from service.domain.table import SeatTaken
from service.shx.canonical import format_time
from service.store.directory import Directory
from service.store.events import Commit, PlayerErased, SeeksClaim, StreamConflict
from service.store.seeks import Seek, SeekConditions

FILLED_WITH: Final = "greedy"
"""The bot that takes the seats that no player took in time."""

WINDOW_SECONDS: Final = 3
"""Seconds that bots leave people at the table of a seek, the default of other tables."""

SWEPT: Final = 5000
"""Maximum number of open seeks in one round; of more, those of a random part of the players."""

TERM: Final = timedelta(minutes=10)
"""For how long a seek is open after it was posted or renewed."""

PRESENT: Final = timedelta(seconds=30)
"""For how long a seek is matched after that; a stream of its player renews it."""

ASKED: Final = timedelta(seconds=20)
"""After how long without renewal it is asked whether the player has a stream."""

SERVED: Final = 100
"""Seeks that a round serves even if its time is over: reading them may take all of it."""

LEFT_OUT: Final = timedelta(minutes=1)
"""For how long seeks are left out after the rules refused their table: others come first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """Seeks that get a table together; bots take the seats that are left."""

    ruleset: str
    seeks: tuple[Seek, ...]  # the oldest first

    @property
    def bots(self) -> int:
        """Return the number of seats for bots."""
        return self.seeks[0].conditions.seats - len(self.seeks)


class Pool:
    """
    Open seeks, oldest first, and which of them may be seated together.

    A set of seeks is an integer whose bit n stands for seek n. So the search for the players of one
    seek takes a few operations for each of its rulesets and seats, however many seeks there are and
    whichever players block one another.
    """

    def __init__(self, seeks: Sequence[Seek], blocks: Iterable[tuple[int, Sequence[int]]]) -> None:
        """`blocks`: places of players, in the order of `players_of`, who block others of them."""
        self._seeks = seeks
        self._open = (1 << len(seeks)) - 1
        self._with_bots = 0  # those that accept bots
        self._staying = self._choosy = 0  # of players who stay; those that want such players alone
        self._wanting: dict[tuple[object, ...], int] = defaultdict(int)
        places = {player: place for place, player in enumerate(players_of(seeks))}
        self._player = [places[seek.player] for seek in seeks]
        own, self._kept = [0] * len(places), 0
        for number, seek in enumerate(seeks):
            bit = 1 << number
            own[self._player[number]] |= bit
            self._with_bots |= 0 if seek.fill_after is None else bit
            self._kept |= bit if seek.keep else 0
            self._staying |= bit if seek.standing is Standing.STAYS else 0
            self._choosy |= bit if seek.conditions.only_stayers else 0
            agreed = _agreed(seek)
            for ruleset in seek.conditions.rulesets:
                self._wanting[ruleset, agreed] |= bit
        self._own = tuple(own)
        self._apart = own  # for each player, the seeks beside which it may not sit
        for one, others in blocks:
            for other in others:
                self._apart[one] |= self._own[other]
                self._apart[other] |= self._own[one]

    def take(self, number: int, now: datetime) -> Match | None:
        """
        Return the match of seek `number`; None if there is none.

        Its seeks are no longer open, nor are others of its players, but those to keep.

        It has the first of its rulesets for which there are enough others, the oldest first. If the
        time for bots has come, and there are not enough, it has those others that accept bots at
        any time; a seek that never accepts bots is not seated with them. No player sits twice at a
        table, and none beside a player of whom one blocks the other.
        """
        seek, agreed = self._seeks[number], _agreed(self._seeks[number])
        if not self._open >> number & 1:
            return None
        fills = seek.fills_at is not None and seek.fills_at <= now
        found = []
        for ruleset in seek.conditions.rulesets:
            wanting = self._wanting[ruleset, agreed]
            members = self._beside(number, wanting)
            if len(members) == seek.conditions.seats:
                return self._taken(ruleset, members)
            if fills:
                found.append((ruleset, self._beside(number, wanting & self._with_bots)))
        if not fills:
            return None
        return self._taken(*max(found, key=lambda one: len(one[1])))  # the first of several

    def _beside(self, number: int, wanting: int) -> list[int]:
        """Return the number of a seek, and those of the oldest others for the seats beside it."""
        members, seats = [number], self._seeks[number].conditions.seats
        free = wanting & self._open & self._accepted_by(number)
        while free and len(members) < seats:
            oldest = (free & -free).bit_length() - 1
            members.append(oldest)
            free &= self._accepted_by(oldest)
        return members

    def _accepted_by(self, number: int) -> int:
        """Return the seeks that may sit beside one, by blocks and by who stays."""
        bit, free = 1 << number, ~self._apart[self._player[number]]
        if self._choosy & bit:
            free &= self._staying
        return free if self._staying & bit else free & ~self._choosy

    def _taken(self, ruleset: str, members: Iterable[int]) -> Match:
        numbers = sorted(members)
        for number in numbers:
            self._open &= ~(1 << number | self._own[self._player[number]] & ~self._kept)
        return Match(ruleset=ruleset, seeks=tuple(self._seeks[number] for number in numbers))


def players_of(seeks: Iterable[Seek]) -> list[UUID]:
    """Return the players of some seeks, each once."""
    return list(dict.fromkeys(seek.player for seek in seeks))


def _agreed(seek: Seek) -> tuple[object, ...]:
    """Return what all players of a table agree on, beside its ruleset."""
    return seek.conditions.seats, seek.conditions.clock, seek.conditions.entropy


class Matchmaker:
    """
    Opens the tables of open seeks that match; several processes may do so at once.

    A match is one commit, which opens the table with its players and first hand, and ends their
    seeks there; if one of them is no longer open nothing is written.
    """

    def __init__(
        self,
        *,
        changes: TableChanges,
        directory: Directory,
        following: Callable[[Sequence[UUID]], Collection[UUID]],
    ) -> None:
        self._changes = changes
        self._directory = directory
        self._following = following
        self._served: tuple[datetime, UUID] | None = None  # the last one, if seeks were left
        self._left_out: dict[UUID, datetime] = {}

    def sweep(self, part: Slice) -> int:
        """
        Open tables for open seeks, the oldest seek first; return the number of tables.

        If the slice ends before all seeks were served, the next call begins with the one after.
        """
        now = self._changes.world.now()
        waiting = self._present(self._directory.open_seeks(now=now, limit=SWEPT), now)
        seeks = self._playable(waiting, now)
        players = players_of(seeks)
        blocks = self._directory.blocks_between(players) if len(players) > 1 else ()
        pool, tables = Pool(seeks, blocks), 0
        for count, number in enumerate(self._in_turn(seeks)):
            if part.is_over(tables) and (count >= SERVED or tables):
                return tables
            self._served = seeks[number].created_at, seeks[number].id
            match = pool.take(number, now)
            if match is not None:
                tables += self._seat(match)
        self._served = None
        return tables

    def _in_turn(self, seeks: Sequence[Seek]) -> Iterator[int]:
        """Yield the number of each seek once, beginning after the last that was served."""
        after, first = self._served, 0
        if after is not None:
            first = sum((one.created_at, one.id) <= after for one in seeks)
        yield from range(first, len(seeks))
        yield from range(first)

    def _present(self, seeks: Sequence[Seek], now: datetime) -> Sequence[Seek]:
        """Return the seeks whose players are there; those that a stream keeps are renewed."""
        silent = [seek for seek in seeks if seek.expires_at < now + TERM - ASKED]
        following = self._following(players_of(silent)) if silent else ()
        kept = [seek.id for seek in silent if seek.player in following]
        if kept:
            self._directory.renew_seeks(kept, at=now, until=now + TERM)
        away = {seek.id for seek in silent if seek.expires_at < now + TERM - PRESENT}
        return [seek for seek in seeks if seek.id not in away or seek.player in following]

    def _playable(self, seeks: Sequence[Seek], now: datetime) -> list[Seek]:
        """
        Return the seeks with the rulesets that this release knows, without those that have none.

        A later release may have stored others; its processes match them. Seeks whose table was
        refused are left out for a while.
        """
        self._left_out = {seek: until for seek, until in self._left_out.items() if until > now}
        rulebook = self._changes.rulebook
        named = {ruleset for seek in seeks for ruleset in seek.conditions.rulesets}
        known = {ruleset for ruleset in named if rulebook.find(ruleset) is not None}
        found = [seek for seek in seeks if seek.id not in self._left_out]
        if known == named:
            return found
        rulesets = [tuple(r for r in seek.conditions.rulesets if r in known) for seek in found]
        return [
            replace(seek, conditions=replace(seek.conditions, rulesets=left))
            for seek, left in zip(found, rulesets, strict=True)
            if left
        ]

    def _seat(self, match: Match) -> bool:
        """
        Open the table of a match; return whether its seeks were still open.

        A Refusal is that of a ruleset which only a later release can deal.
        """
        with suppress(StreamConflict, PlayerErased):
            try:
                commit, changed = self._opened(match)
            except Refusal:
                until = self._changes.world.now() + LEFT_OUT
                self._left_out.update((seek.id, until) for seek in match.seeks)
                return False
            self._changes.store.commit(commit)
            self._changes.committed(changed)
            return True
        return False

    def _opened(self, match: Match) -> tuple[Commit, ChangedTable]:
        """Return the commit of a match; its host is the player who waited longest."""
        changes, now = self._changes, self._changes.world.now()
        identity, at = changes.world.identity(), format_time(now)
        taken = [
            SeatTaken(
                seat=seat,
                player=str(seek.player),
                entropy=seek.conditions.entropy,
                key=seek.key,
            )
            for seat, seek in enumerate(match.seeks)
        ]
        definition = changes.rulebook.definition(match.ruleset)
        wanted = table_request(match.ruleset, match.seeks[0].conditions, bots=match.bots)
        opened = opened_by(match.seeks[0].player, wanted, definition)
        record, first = TABLES.open(identity, [opened, *taken], at=at)
        dealt = changes.first_hand(record)
        record, lines = TABLES.write(record, dealt.events if dealt else (), at=at)
        summary = new_table_summary(record, created_at=at, invite_hash=None)
        commit = Commit(
            appends=(table_append(record, first + lines, expected=0, summary=summary),),
            outbox=(relayed(record),),
            seeks=SeeksClaim(table=identity, seeks=tuple(seek.id for seek in match.seeks), at=now),
        )
        if dealt is not None:
            commit = dealt.added_to(commit, record, changes.keyring)
        return commit, ChangedTable(record=record, dealt=dealt)


def table_request(ruleset: str, conditions: SeekConditions, *, bots: int) -> TableRequest:
    """Return the request of a public table with a seat for each player, and the last for bots."""
    people = conditions.seats - bots
    return TableRequest(
        ruleset=ruleset,
        seats=(*["open"] * people, *[{"bot": FILLED_WITH}] * bots),
        options={},
        clock=conditions.clock,
        window_seconds=WINDOW_SECONDS,
        public=True,
        entropy=Entropy.NONE,
        key=None,
        turn_limit=None,
        deal=True,
    )
