"""Reading games: views of now and then, the log, replays, openings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import orjson

from service.application.access import visible
from service.application.callers import Caller
from service.application.entries import Entries, GameEntry
from service.application.errors import Refusal, invalid
from service.application.game_record import load
from service.application.names import Names
from service.application.readings import Readings
from service.application.receipts import Receipts
from service.application.showing import shown
from service.domain.commands import Seat
from service.domain.game import Game
from service.domain.view import ALL, Viewer, seen_by
from service.event_store.protocol import EventStore
from service.replay.items import past_view, replay_items
from service.replay.openings import seat_openings
from service.replay.rebuild import Recorded, rebuild
from service.replay.transcript import transcript

MOST_FRAMES = 1000
MOST_EVENTS = 1000


class Games:
    """What people read of games; nothing here changes one."""

    def __init__(
        self,
        *,
        store: EventStore,
        entries: Entries,
        receipts: Receipts,
        names: Names,
        readings: Readings,
    ) -> None:
        self._readings = readings
        self._store = store
        self._entries = entries
        self._receipts = receipts
        self._names = names

    def entry(self, caller: Caller, game: UUID) -> GameEntry:
        """
        Return a game as it is now, if the caller may know of it.

        For deciding what to tell: nothing is noted. Whatever is told of it comes from
        `read`, or says by `Readings.note` whose it is.
        """
        return visible(self._entries.fresh(game), caller, self._entries.lets_judge)

    def read(self, caller: Caller, game: UUID) -> GameEntry:
        """Return a game as it is now, to tell of what all its seats share; noted."""
        entry = self.entry(caller, game)
        self._readings.note(entry, caller)
        return entry

    def view(self, caller: Caller, game: UUID, *, public: bool = False) -> tuple[bytes, int]:
        """Return the view of the present as JSON, and the version it shows."""
        entry = self.read(caller, game)
        seat = None if public else entry.seat_of(caller.player)
        return orjson.dumps(shown(entry, seat, self._names)), entry.record.version

    def view_as(self, caller: Caller, game: UUID, viewer: str) -> tuple[bytes, int]:
        """Return the present as somebody else sees it, after the seal, and the version."""
        entry = self.entry(caller, game)
        as_ = self.viewer(entry, caller, viewer)
        self._readings.note(entry, caller, as_)
        return orjson.dumps(shown(entry, as_, self._names)), entry.record.version

    def view_at(self, caller: Caller, game: UUID, at: int, viewer: str | None) -> bytes:
        """Return the view at a version of the past, as JSON."""
        entry = self.entry(caller, game)
        self.check_range(entry, at, at)
        as_ = self.viewer(entry, caller, viewer)
        self._readings.note(entry, caller, as_)
        log = rebuild(self._entries.lines(game, limit=at))
        seen = seen_by(self._folded(entry, [r.line for r in log]), as_)
        return orjson.dumps(past_view(log, seen, as_))

    def lines(
        self, caller: Caller, game: UUID, *, after: int, limit: int | None
    ) -> tuple[tuple[bytes, ...], int]:
        """
        Return the stored lines from seq `after` on, and the game's version.

        The last line of a game that is over shows every card. To those who are not its
        seats every line is a reading, which a stream notes once (`read`).
        """
        entry = visible(self._entries.cached(game), caller, self._entries.lets_judge)
        found = self._store.read(game, after=after, limit=limit)
        if found is None:
            return (), 0
        seated = entry.seat_of(caller.player) is not None
        if seated and found.events and _shows_all(found.events[-1]):
            self._readings.note(entry, caller, ALL)
        return found.events, found.version

    def openings(self, caller: Caller, game: UUID) -> list[dict[str, Any]]:
        """Return the openings that the caller may have, in order of p; all after the seal."""
        entry = self.entry(caller, game)
        self._readings.note(entry, caller, ALL if entry.record.sealed else None)
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
        log = rebuild(self._entries.lines(entry.record.identity, limit=entry.record.version))
        return [shuffle.opening(p) for p in seat_openings((r.event for r in log), seat)]

    def receipt(self, caller: Caller, game: UUID) -> bytes:
        """Return a receipt for the present head."""
        return self._receipts.issue(self.read(caller, game).record)

    def frames(
        self, caller: Caller, game: UUID, viewer: str | None, first: int, last: int | None
    ) -> tuple[list[dict[str, Any]], int | None]:
        """Return the frames from version `first` to `last`, and the version to go on from."""
        entry = self.entry(caller, game)
        version = entry.record.version
        wanted = version if last is None else last
        self.check_range(entry, first, wanted, named=("/from", "/to"))
        as_, end = self.viewer(entry, caller, viewer), min(wanted, first + MOST_FRAMES - 1)
        self._readings.note(entry, caller, as_)
        log = self._log(entry, end)
        items = replay_items(log, deck=entry.record.game.deck, viewer=as_, first=first, last=end)
        return items, end + 1 if end < wanted else None

    def transcript(self, caller: Caller, game: UUID, viewer: str | None) -> str:
        """Return the game as text."""
        entry = self.entry(caller, game)
        as_ = self.viewer(entry, caller, viewer)
        self._readings.note(entry, caller, as_)
        log = self._log(entry, entry.record.version)
        return transcript((r.event for r in log), deck=entry.record.game.deck, viewer=as_)

    def viewer(self, entry: GameEntry, caller: Caller, viewer: str | None) -> Viewer:
        """
        Return as whom to look; raises `sealed` where that is not for the caller yet.

        Without a word the caller's own seat is meant, else the public.
        """
        own = entry.seat_of(caller.player)
        if viewer is None:
            return own
        if viewer == "public":
            return None
        seats = {str(seat): seat for seat in range(len(entry.players))}
        if viewer != ALL and viewer not in seats:
            raise invalid("/as", "is public, all, or a seat of the game")
        if not entry.record.sealed and seats.get(viewer, ALL) != own:
            raise Refusal("sealed", "this is shown after the seal")
        return ALL if viewer == ALL else seats[viewer]

    def check_range(
        self, entry: GameEntry, first: int, last: int, *, named: tuple[str, str] = ("/at", "/at")
    ) -> None:
        """Raise unless `first` to `last`, in the query as `named`, are versions in order."""
        version = entry.record.version
        for value, name in zip((first, last), named, strict=True):
            if not 1 <= value <= version:
                raise invalid(name, f"versions go from 1 to {version}")
        if first > last:
            raise invalid(named[0], "is greater than the version to end with")

    def _log(self, entry: GameEntry, end: int) -> Sequence[Recorded]:
        return rebuild(self._entries.lines(entry.record.identity, limit=end))

    def _folded(self, entry: GameEntry, lines: Sequence[bytes]) -> Game:
        return load(entry.record.identity, lines, seed=entry.record.seed).game


def _shows_all(line: bytes) -> bool:
    """Return whether a line is the last of a game that is over: it has the seed and the deck."""
    return orjson.loads(line)["type"] in ("game_sealed", "game_aborted")
