"""Reads of games: views as JSON, events, frames, transcripts and lists."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any
from uuid import UUID

import orjson

from schemas.views import ViewFacts, view_json
from schemas.visible_text import told_apart
from service.application.access import AccessLog, visible, visible_table
from service.application.calls import Caller, digest
from service.application.errors import Refusal, invalid
from service.application.games.cache import GameCache, Histories, Names
from service.application.games.entry import GameEntry
from service.application.games.pictures import Pictures
from service.application.games.record import GameRecord
from service.application.games.schedule import (
    clock_wake,
    entropy_wake,
    reserve_from,
    reserve_left,
    stands_in,
    window_until,
)
from service.application.quotas import listing, rows_of, work
from service.application.signing import Receipts
from service.application.tables.view import ruleset_json, table_json
from service.domain.commands import Move, Seat
from service.domain.game import Status
from service.domain.legal import legal_moves, waits_for
from service.domain.view import ALL, Viewer, seen_by
from service.replay.captions import caption
from service.replay.frames import frames_of, items_of, past_view, transcript_of
from service.replay.history import History, Step, decode_line
from service.replay.picture import picture, spelled
from service.replay.sentences import ENGLISH, LANGUAGES, prose, said
from service.shx.canonical import format_time
from service.store.directory import Directory
from service.store.events import EventStore, StoreError
from service.store.games import GameFilter, GameRow
from service.store.summaries import Cursor, ListName


def present_view(entry: GameEntry, viewer: Viewer, names: Names) -> dict[str, Any]:
    """
    Return the present view of a game for `viewer`, as JSON.

    Raises Refusal `rate-limited` or `unavailable` if a request may not list the moves of a very
    large hand.
    """
    record, game = entry.record, entry.record.game
    moves: tuple[Move, ...] = ()
    if isinstance(viewer, int):
        with work(listing(game, viewer)):
            moves = legal_moves(game, viewer)
    window = window_until(record, window_seconds=entry.window_seconds, able_since=entry.able_since)
    begins = reserve_from(record, able_since=entry.able_since)
    facts = ViewFacts(
        id=str(record.identity),
        head=record.head.hex(),
        ruleset_hash=record.created["ruleset_hash"],
        names=told_apart(names.of(entry.players), entry.players),
        stand_ins=stand_ins(entry),
        deadline=deadline(entry),
        reserve_from=format_time(begins) if begins else None,
        reserves=_reserves(record),
        window_until=format_time(window) if window else None,
    )
    return view_json(seen_by(game, viewer), viewer, facts, moves)


def move_answer(
    entry: GameEntry, lines: Sequence[bytes], seat: Seat, names: Names, receipts: Receipts
) -> bytes:
    """
    Return the answer to a move as JSON (api.md, section 4).

    `entry` is the game after the move, `lines` are its new events.
    """
    record = entry.record
    return b"".join(
        (
            b'{"version":%d,"events":[' % record.version,
            b",".join(lines),
            b'],"receipt":',
            orjson.dumps(receipts.issue(record).decode()),
            b',"game":',
            orjson.dumps(present_view(entry, seat, names)),
            b"}",
        )
    )


def stand_ins(entry: GameEntry) -> frozenset[Seat]:
    """Return the seats for which a bot stands in."""
    game = entry.record.game
    if game.over:
        return frozenset()
    seats = range(len(game.seats))
    return frozenset(s for s in seats if stands_in(game, s, back=entry.returned_seats))


def deadline(entry: GameEntry) -> str | None:
    """
    Return the next deadline; None if there is none. After an outage it is later than in the log.

    Before the deal it is the time limit for entropy, which applies also without a clock.
    """
    record, game = entry.record, entry.record.game
    if game.over:
        return None
    if game.status is Status.SHUFFLING:
        wake = entropy_wake(record, able_since=entry.able_since)
    else:
        wake = clock_wake(record, able_since=entry.able_since)
    return None if wake is None else format_time(wake.at)


def _reserves(record: GameRecord) -> Sequence[int]:
    """Return the whole seconds that each seat has left of its reserve; none without a reserve."""
    clock = record.game.setup.clock
    if clock is None or not clock.reserve_seconds:
        return ()
    seats = range(len(record.game.seats))
    return [int(reserve_left(record, clock, seat).total_seconds()) for seat in seats]


def cursor_of(text: str | None, name: str) -> Cursor | None:
    """Return the cursor of a list, None for its beginning; raises Refusal `invalid-body`."""
    if text is None:
        return None
    try:
        return Cursor.decode(text, name)
    except ValueError:
        raise invalid("/cursor", said("request.no_cursor")) from None


MAX_FRAMES = 1000
MAX_EVENTS = 1000
EVENTS_PER_FRAME = 4
"""Number of events that take as long to process as one frame with its view."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Games:
    """Reads of single games."""

    store: EventStore
    game_cache: GameCache
    histories: Histories
    receipts: Receipts
    names: Names
    access_log: AccessLog
    pictures: Pictures = field(default_factory=Pictures)

    def entry(self, caller: Caller, game: UUID) -> GameEntry:
        """
        Return the present version of a game, if the caller may see it.

        This read is not recorded in the access log: before data of the game is returned,
        call `read`, or `AccessLog.note`. Raises Refusal `not-found`.
        """
        found = self.game_cache.fresh(game) if caller.read is None else caller.read.take(game)
        return visible(found, caller, self.game_cache.sits_or_judges)

    def unread(self, caller: Caller, game: UUID) -> GameEntry | None:
        """
        Return the cached version of a game, for a request that has read nothing yet; else None.

        Before data of the game is returned, `entry` has to check the token. Raises Refusal
        `not-found`.
        """
        read = caller.read
        found = None if read is None or read.confirmed else read.entry(game)
        return None if found is None else visible(found, caller, self.game_cache.sits_or_judges)

    def read(self, caller: Caller, game: UUID) -> GameEntry:
        """Return a game and record a read of shared data; raises Refusal `not-found`."""
        entry = self.entry(caller, game)
        self.access_log.note(entry, caller)
        return entry

    def view(self, caller: Caller, game: UUID, viewer: str | None = None) -> tuple[bytes, int]:
        """
        Return the present view as JSON, and its version.

        Raises Refusal `not-found`, and those of the method `viewer`.
        """
        return self.view_of(self.entry(caller, game), caller, viewer)

    def view_of(self, entry: GameEntry, caller: Caller, viewer: str | None) -> tuple[bytes, int]:
        """Return the view of a game that `entry` returned; raises Refusal as `viewer`."""
        as_ = self.viewer(entry, caller, viewer)
        self.access_log.note(entry, caller, as_)
        return orjson.dumps(present_view(entry, as_, self.names)), entry.record.version

    def view_at(self, caller: Caller, game: UUID, at: int, viewer: str | None) -> bytes:
        """
        Return the view at a past version, as JSON.

        Raises Refusal `not-found`, `invalid-body` for an unknown version, and those of the method
        `viewer`.
        """
        entry = self.entry(caller, game)
        self.check_range(entry, at, at)
        as_ = self.viewer(entry, caller, viewer)
        self.access_log.note(entry, caller, as_)
        history = self.histories.full(entry)
        return orjson.dumps(past_view(history.log, seen_by(history.games[at - 1], as_), as_))

    def lines(
        self, caller: Caller, game: UUID, *, after: int, limit: int | None
    ) -> tuple[tuple[bytes, ...], int]:
        """
        Return the stored lines from seq `after` on, and the game's version.

        The last line of a finished game shows every card, so a seat's read of it is recorded in
        the access log. For callers without a seat the request calls `read` once, which records
        all lines. Raises Refusal `not-found`.
        """
        entry = self._visible(caller, game)
        lines, version = self.stored_lines(game, after=after, limit=limit)
        if lines and _shows_all(lines[-1]):
            self._note_seal(entry, caller)
        return lines, version

    def stored_lines(
        self, game: UUID, *, after: int, limit: int | None
    ) -> tuple[tuple[bytes, ...], int]:
        """
        Return what `lines` returns, without access control, so that callers can share one read.

        An unknown game has no lines and version 0.
        For a private game `check_lines` has to be called for each caller afterwards. At a public
        table every caller may see the lines, and no read of them is recorded.
        """
        found = self.store.read(game, after=after, limit=limit)
        return ((), 0) if found is None else (found.events, found.version)

    def check_lines(self, caller: Caller, game: UUID, *, with_seal: bool) -> None:
        """
        Check and record a caller's read of lines that `stored_lines` has returned.

        `with_seal` is true if the last line of a finished game is among them. Raises Refusal
        `not-found`.
        """
        entry = self._visible(caller, game)
        if with_seal:
            self._note_seal(entry, caller)

    def _visible(self, caller: Caller, game: UUID) -> GameEntry:
        return visible(self.game_cache.cached(game), caller, self.game_cache.sits_or_judges)

    def _note_seal(self, entry: GameEntry, caller: Caller) -> None:
        """Record that a seat reads the last line; other callers have been recorded already."""
        if entry.seat_of(caller.player) is not None:
            self.access_log.note(entry, caller, ALL)

    def openings(self, caller: Caller, game: UUID) -> list[dict[str, Any]]:
        """
        Return the openings that the caller may see, in order of p; all after the seal.

        Raises Refusal `not-found`.
        """
        entry = self.entry(caller, game)
        self.access_log.note(entry, caller, ALL if entry.record.sealed else None)
        shuffle = entry.record.shuffle
        if shuffle is None:
            return []
        if entry.record.sealed:
            return [shuffle.opening(p) for p in range(len(shuffle.deck))]
        seat = entry.seat_of(caller.player)
        if seat is None:
            return []
        return self.seat_openings(entry, seat)

    def seat_openings(self, entry: GameEntry, seat: Seat) -> list[dict[str, Any]]:
        """Return the openings of the cards dealt to or drawn by a seat (SHX/1, section 7)."""
        shuffle = entry.record.shuffle
        if shuffle is None:
            return []
        return [shuffle.opening(p) for p in self.histories.openings(entry, seat)]

    def receipt(self, caller: Caller, game: UUID) -> bytes:
        """Return a receipt for the present head; raises Refusal `not-found`."""
        return self.receipts.issue(self.read(caller, game).record)

    def frames(
        self, caller: Caller, game: UUID, viewer: str | None, first: int, last: int | None
    ) -> tuple[list[dict[str, Any]], int | None]:
        """
        Return the frames of versions `first` to `last`, at most MAX_FRAMES.

        The second value is the version at which the next page begins, None on the last page.
        Raises Refusal `not-found`, and those of `check_range` and `viewer`.
        """
        entry = self.entry(caller, game)
        version = entry.record.version
        wanted = version if last is None else last
        self.check_range(entry, first, wanted, named=("/from", "/to"))
        as_, end = self.viewer(entry, caller, viewer), min(wanted, first + MAX_FRAMES - 1)
        self.access_log.note(entry, caller, as_)
        history = self.histories.full(entry)
        start = max(first - 1, 1)
        with work(EVENTS_PER_FRAME * (end - first)):
            frames = frames_of(_steps(history, start, end), viewer=as_, first=first)
            items = items_of(history.log, frames, as_)
        return items, end + 1 if end < wanted else None

    def picture(
        self, caller: Caller, game: UUID, at: int | None, viewer: str, language: str
    ) -> str:
        """
        Return the table at a version, by default the present one, as SVG without names.

        Raises Refusal `not-found`, and those of `check_range` and `viewer`.
        """
        entry, version, as_ = self._moment(caller, game, at, viewer)
        return self._drawn(entry, version, as_, language if language in LANGUAGES else ENGLISH)

    def pixels(self, caller: Caller, game: UUID, at: int | None, viewer: str) -> bytes:
        """Return what `picture` draws as PNG, with English words; raises Refusal as it does."""
        entry, version, as_ = self._moment(caller, game, at, viewer)
        drawn = partial(self._drawn, entry, version, as_, ENGLISH)
        return self.pictures.of((game, version, as_), drawn)

    def _moment(
        self, caller: Caller, game: UUID, at: int | None, viewer: str
    ) -> tuple[GameEntry, int, Viewer]:
        """Return the version and the viewer of a picture, and record that they are read."""
        entry = self.entry(caller, game)
        version = entry.record.version if at is None else at
        self.check_range(entry, version, version)
        as_ = self.viewer(entry, caller, viewer)
        self.access_log.note(entry, caller, as_)
        return entry, version, as_

    def _drawn(self, entry: GameEntry, version: int, viewer: Viewer, language: str) -> str:
        history = self.histories.full(entry)
        steps = _steps(history, max(version - 1, 1), version)
        (frame,) = frames_of(steps, viewer=viewer, first=version, say=spelled(language))
        return picture(frame, language)

    def sentence(self, entry: GameEntry, seq: int | None) -> str | None:
        """
        Return an event as a sentence of what everybody could see, with seats as numbers.

        By default the event that ended the hand: None while it is played. One line is read, and no
        game is folded. An event that the log does not have counts as the default.
        """
        record = entry.record
        after = seq if seq is not None and seq < record.version else None
        if after is None and not record.game.over:
            return None
        is_aborted = record.game.status is Status.ABORTED
        after = record.version - (1 if is_aborted else 2) if after is None else after
        (line,) = self.game_cache.lines(record.identity, after=after, limit=1)
        return prose([caption(decode_line(line).event)])

    def transcript(self, caller: Caller, game: UUID, viewer: str | None) -> str:
        """Return the game as text; raises Refusal `not-found`, and those of `viewer`."""
        entry = self.entry(caller, game)
        as_ = self.viewer(entry, caller, viewer)
        self.access_log.note(entry, caller, as_)
        history, key = self.histories.full(entry), ("transcript", as_)
        with work(0 if history.is_cached(key) else len(history.log)):
            frames = frames_of(_steps(history, 1, len(history.log)), viewer=as_)
            return history.cached(key, lambda: transcript_of(frames))

    def viewer(self, entry: GameEntry, caller: Caller, viewer: str | None) -> Viewer:
        """
        Return the viewer of a query; by default the caller's own seat, or the public.

        Raises Refusal `sealed` for another viewer before the seal, `invalid-body` for an
        unknown one.
        """
        own = entry.seat_of(caller.player)
        if viewer is None:
            return own
        if viewer == "public":
            return None
        seats = {str(seat): seat for seat in range(len(entry.players))}
        if viewer != ALL and viewer not in seats:
            raise invalid("/as", said("request.view"))
        if not entry.record.sealed and seats.get(viewer, ALL) != own:
            raise Refusal("sealed", said("request.sealed.views"))
        return ALL if viewer == ALL else seats[viewer]

    def check_range(
        self, entry: GameEntry, first: int, last: int, *, named: tuple[str, str] = ("/at", "/at")
    ) -> None:
        """
        Raise Refusal `invalid-body` unless `first` to `last` are versions of the game, in order.

        `named` are the pointers to both values in the request.
        """
        version = entry.record.version
        for value, name in zip((first, last), named, strict=True):
            if not 1 <= value <= version:
                raise invalid(name, said("request.version_range", most=version))
        if first > last:
            other = named[1].removeprefix("/")
            raise invalid(named[0], said("request.not_greater", name=other))


def _steps(history: History, first: int, last: int) -> Iterator[tuple[int, Step]]:
    """Yield the steps that led to versions `first` to `last`, each with its version."""
    for version in range(first, last + 1):
        seq = version - 1
        event, game = history.log[seq].event, history.games[seq]
        yield version, Step(event=event, game=game, known=history.known[seq])


def _shows_all(line: bytes) -> bool:
    """Return whether a line is the last of a finished game: it has the seed and the deck."""
    return orjson.loads(line)["type"] in ("game_sealed", "game_aborted")


OF_A_PLAYER = ("lost", "first")
"""Results in a filter that are those of a player, not of a hand."""

RUNNING = ("shuffling", "swapping", "playing")
RULESETS_KEPT = 2000
Items = tuple[list[dict[str, Any]], str | None]
"""The items of a page and the cursor of the next, None on the last."""


class Lists:
    """Lists of the games and tables that a caller may see."""

    def __init__(
        self, *, directory: Directory, game_cache: GameCache, names: Names, access_log: AccessLog
    ) -> None:
        self._access_log = access_log
        self._directory = directory
        self._game_cache = game_cache
        self._names = names
        # A table never changes its ruleset, so it is read once.
        self._ruleset = lru_cache(maxsize=RULESETS_KEPT)(self._ruleset_of)

    def games(
        self,
        caller: Caller,
        *,
        which: GameFilter,
        limit: int,
        cursor: str | None,
    ) -> Items:
        """
        Return a page of the games that the caller may see, newest first.

        Raises Refusal `not-found` for a hidden or unknown table, `invalid-body` for a cursor of
        another list, and for a result that needs a player if `which` names none.
        """
        if which.result in OF_A_PLAYER and which.player is None:
            raise invalid("/result", said("request.result_of_player", result=which.result))
        if which.table is not None:
            self._refuse_unseen(which.table, caller)
        page = self._directory.list_games(
            which,
            viewer=caller.player,
            invite=_digest(caller.invite),
            cursor=cursor_of(cursor, ListName.GAMES),
            limit=limit,
        )
        self._access_log.note_listed(page.items, caller)
        with work(rows_of(sum(len(row.seats) for row in page.items))):
            items = [self._game(row, caller) for row in page.items]
        return items, page.following(ListName.GAMES)

    def _refuse_unseen(self, table: UUID, caller: Caller) -> None:
        """Raise `not-found` for a table if the caller may see neither it nor a hand of it."""
        try:
            visible_table(self._directory.table(table), caller)
        except Refusal:
            which, invite = GameFilter(table=table), _digest(caller.invite)
            seen = self._directory.list_games(which, viewer=caller.player, invite=invite, limit=1)
            if not seen.items:
                raise

    def tables(
        self,
        caller: Caller,
        *,
        status: str | None,
        ruleset: str | None,
        mine: bool,
        limit: int,
        cursor: str | None,
    ) -> Items:
        """
        Return a page of the tables that the caller may see, newest first.

        Raises Refusal `invalid-body` for a cursor of another list.
        """
        page = self._directory.list_tables(
            viewer=caller.player,
            invite=_digest(caller.invite),
            mine=mine,
            ruleset=ruleset,
            status=status,
            cursor=cursor_of(cursor, ListName.TABLES),
            limit=limit,
        )
        with work(rows_of(sum(len(row.seats) for row in page.items))):
            found = [(row, self._directory.games_of_table(row.id)) for row in page.items]
            self._access_log.note_tables(found, caller)
            records = [(self._game_cache.table(row.id), games) for row, games in found]
            items = [
                table_json(record, caller, self._names, games=games)
                for record, games in records
                if record is not None
            ]
        return items, page.following(ListName.TABLES)

    def _game(self, row: GameRow, caller: Caller) -> dict[str, Any]:
        seats = row.seats
        names = told_apart([seat.name for seat in seats], [seat.player for seat in seats])
        return {
            "id": str(row.id),
            "table": str(row.table),
            "hand": row.hand,
            "ruleset": self._ruleset(row.table),
            "status": row.status,
            "version": row.version,
            "created_at": format_time(row.created_at),
            "ended_at": format_time(row.ended_at) if row.ended_at else None,
            "seats": [
                {
                    "seat": seat.seat,
                    "name": name,
                    "kind": seat.kind,
                    "player": str(seat.player) if seat.player else None,
                }
                for seat, name in zip(seats, names, strict=True)
            ],
            "result": {
                "reason": row.reason,
                "shithead": row.shithead,
                "places": list(row.places or ()),
            }
            if row.status == "ended"
            else None,
            **self._of_own(row, caller),
        }

    def _ruleset_of(self, identity: UUID) -> dict[str, Any]:
        record = self._game_cache.table(identity)
        if record is None:
            raise StoreError(f"table {identity} is missing")
        return ruleset_json(record.table.conditions)

    def _of_own(self, row: GameRow, caller: Caller) -> dict[str, Any]:
        """Return whether the caller may act, and the deadline of a hand of the caller."""
        own = [seat.seat for seat in row.seats if seat.player and seat.player == caller.player]
        entry = self._game_cache.fresh(row.id) if own and row.status in RUNNING else None
        return {
            "your_turn": entry is not None and waits_for(entry.record.game, own[0]),
            "deadline": None if entry is None else deadline(entry),
        }


def _digest(invite: str | None) -> bytes | None:
    return None if invite is None else digest(invite)
