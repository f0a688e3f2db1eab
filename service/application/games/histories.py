"""Cache of game histories: the game after each event, for reads of the past."""

from __future__ import annotations

import threading
from collections import OrderedDict
from enum import Enum
from uuid import UUID

from service.application.games.cache import GameCache, GameEntry
from service.application.work import work
from service.domain.cards import Card
from service.domain.commands import Seat
from service.domain.view import ALL, Viewer
from service.replay.history import History, RecordedEvent, decode_log
from service.replay.openings import masked_deck, openings_of

MOST_EVENTS = 80_000
"""The most events of all cached histories together; each takes two kilobytes at most."""

OPENINGS = 20
"""Searching so many events for openings takes as long as folding one."""


class FullView(Enum):
    """Marks the history with all cards that the service knows; views of it are masked later."""

    LOG = "whole"


class Histories:
    """
    Cache of histories: the game after each event, as far as a viewer may know it.

    A history is cached by game and viewer at the version last read, and extended when the
    game has moved on. Histories are immutable, so threads share them without locks. The
    least recently used ones are removed first.
    """

    def __init__(self, game_cache: GameCache, *, most: int = MOST_EVENTS) -> None:
        self._game_cache = game_cache
        self._most = most
        self._histories: OrderedDict[tuple[UUID, Viewer | FullView], History] = OrderedDict()
        self._lock = threading.Lock()

    def whole(self, entry: GameEntry) -> History:
        """Return the history with all cards that the service knows; mask what is shown."""
        return self._history(entry, FullView.LOG)

    def of(self, entry: GameEntry, viewer: Viewer) -> History:
        """Return the history as far as a viewer may know it, with its ruleset's statements."""
        return self._history(entry, viewer)

    def openings(self, entry: GameEntry, seat: Seat) -> tuple[int, ...]:
        """Return the deck positions that a seat may open, in order (SHX/1, section 7)."""
        history = self.whole(entry)  # only the positions are used
        key = ("openings", seat)
        with work(0 if history.is_cached(key) else len(history.log) // OPENINGS):
            steps = zip(history.games, (record.event for record in history.log[1:]), strict=False)
            return history.cached(key, lambda: openings_of(steps, seat))

    def _history(self, entry: GameEntry, viewer: Viewer | FullView) -> History:
        identity, version = entry.record.identity, entry.record.version
        kept = self._kept(identity, viewer)
        if kept is not None and _same_log(kept, entry):
            return kept
        begun = kept if kept is not None and _goes_on(kept, entry) else None
        known = 0 if begun is None else len(begun.log)
        deck = self._deck(entry, viewer)
        with work(version - known):
            log = self._log(entry, begun)
            if begun is None or not _same_deck(begun.deck, deck, viewer):
                cites = None if viewer is FullView.LOG else entry.record.game.ruleset.cites
                history = History(log, deck, cites=cites)
            else:
                history = begun.extended(log[known:], deck)
        self._keep(identity, viewer, history)
        return history

    def _deck(self, entry: GameEntry, viewer: Viewer | FullView) -> tuple[Card, ...] | None:
        """Return the deck as far as a viewer may know it; None if no card of it."""
        deck = entry.record.game.deck
        if viewer in (FullView.LOG, ALL):
            return deck or (deck if viewer is FullView.LOG else None)
        if not deck or not isinstance(viewer, int):
            return None
        return masked_deck(deck, self.openings(entry, viewer))

    def _log(self, entry: GameEntry, begun: History | None) -> tuple[RecordedEvent, ...]:
        """Return the events up to the entry's version; reads only those in no history."""
        identity, version = entry.record.identity, entry.record.version
        known = () if begun is None else begun.log
        for other in self._of(identity):
            if len(other.log) > len(known) and (_goes_on(other, entry) or _same_log(other, entry)):
                known = other.log
        if len(known) == version:
            return known
        more = self._game_cache.lines(identity, after=len(known), limit=version - len(known))
        return (*known, *decode_log(more))

    def _of(self, game: UUID) -> list[History]:
        """Return the histories of a game for all viewers: they share the events."""
        with self._lock:
            return [history for (one, _), history in self._histories.items() if one == game]

    def _kept(self, game: UUID, viewer: Viewer | FullView) -> History | None:
        with self._lock:
            history = self._histories.get((game, viewer))
            if history is not None:
                self._histories.move_to_end((game, viewer))
            return history

    def _keep(self, game: UUID, viewer: Viewer | FullView, history: History) -> None:
        with self._lock:
            self._histories[game, viewer] = history
            self._histories.move_to_end((game, viewer))
            total = sum(len(one.log) for one in self._histories.values())
            while total > self._most and len(self._histories) > 1:
                total -= len(self._histories.popitem(last=False)[1].log)


def _same_log(history: History, entry: GameEntry) -> bool:
    """Return whether a history is of the entry's log, which may differ after a restore."""
    return len(history.log) == entry.record.version and bool(
        history.log[-1].head == entry.record.head.hex()
    )


def _goes_on(history: History, entry: GameEntry) -> bool:
    """Return whether the entry's log begins with that of a history."""
    known = len(history.log)
    return (
        known < entry.record.version and history.log[-1].head == entry.record.heads[known - 1].hex()
    )


def _same_deck(
    before: tuple[Card, ...] | None, now: tuple[Card, ...] | None, viewer: Viewer | FullView
) -> bool:
    """Return whether earlier games remain valid with the present deck; a seat learns cards."""
    if isinstance(viewer, int) and before is not None and now is not None:
        return True
    return before == now
