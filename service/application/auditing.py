"""The audit of single moves, cards and seats: what it says, to whom, and who has looked."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from service.application.callers import Caller
from service.application.entries import Entries, GameEntry
from service.application.errors import Refusal, invalid, not_found
from service.application.games import Games
from service.application.paging import cursor_of
from service.application.readings import Readings
from service.application.refusals import Refusals
from service.audit.custody import custody
from service.audit.decision import decision
from service.audit.knowledge import knowledge
from service.audit.story import Story
from service.domain.cards import Card
from service.domain.commands import Seat
from service.domain.errors import UnknownCard
from service.domain.events import Event
from service.domain.view import ALL, Viewer
from service.event_store.directory import Directory
from service.record.times import format_time
from service.replay.openings import masked_deck, seat_openings
from service.replay.rebuild import rebuild


class Auditing:
    """
    Answers for moves, cards and seats of a game (api.md, section 6).

    Before the seal every answer is made from the public log and what the caller's
    own seat was dealt and drew, so that nothing else can be in it.
    """

    def __init__(
        self,
        *,
        entries: Entries,
        games: Games,
        refusals: Refusals,
        directory: Directory,
        readings: Readings,
    ) -> None:
        self._entries = entries
        self._games = games
        self._refusals = refusals
        self._directory = directory
        self._readings = readings

    def move(self, caller: Caller, game: UUID, seq: int) -> dict[str, Any]:
        """Return the decision that an event belongs to; raises `not-found` for no event."""
        entry = self._games.entry(caller, game)
        if seq >= entry.record.version:
            raise not_found("event")
        story, viewer = self._story(entry, caller)
        found = decision(story, seq, viewer=viewer, refused=self._refusals.of(game))
        self._readings.note(entry, caller, found["seat"] if entry.record.sealed else None)
        return found

    def card(self, caller: Caller, game: UUID, card: str) -> dict[str, Any]:
        """Return the path of a card; raises `unknown-card` for one that is not in the game."""
        entry = self._games.entry(caller, game)
        story, viewer = self._story(entry, caller)
        try:
            found = custody(story, card, viewer=viewer)
        except UnknownCard as error:
            raise Refusal("unknown-card", str(error)) from None
        own = entry.seat_of(caller.player)
        hidden = [part for part in found["path"] if part["seen_by"] != "all"]
        others = entry.record.sealed and any(part["seat"] != own for part in hidden)
        self._readings.note(entry, caller, ALL if others else None)
        return found

    def knowledge(
        self, caller: Caller, game: UUID, seat: Seat | None, at: int | None
    ) -> dict[str, Any]:
        """Return what a seat could know; raises `sealed` for another's before the seal."""
        entry = self._games.entry(caller, game)
        own = entry.seat_of(caller.player)
        asked = own if seat is None else seat
        if asked is None:
            raise invalid("/seat", "say whose: you have no seat in this game")
        if asked >= len(entry.players):
            raise invalid("/seat", f"there is no seat {asked}")
        version = entry.record.version if at is None else at
        self._games.check_range(entry, version, version)
        if not entry.record.sealed and asked != own:
            raise Refusal("sealed", "what another seat knows is shown after the seal")
        story, _ = self._story(entry, caller)
        self._readings.note(entry, caller, asked)
        return knowledge(story, asked, version)

    def readings(
        self, caller: Caller, game: UUID, *, limit: int, cursor: str | None
    ) -> tuple[list[dict[str, Any]], str | None]:
        """
        Return a page of who read what of a game that is neither public nor theirs, newest first.

        It is for the game's seats and for referees of its disputes; raises `not-seated`.
        """
        entry = self._games.entry(caller, game)
        seated = entry.seat_of(caller.player) is not None
        judges = caller.player is not None and self._directory.judges(caller.player, game=game)
        if not seated and not judges:
            raise Refusal("not-seated", "this is for the seats of the game and its referees")
        page = self._directory.readings(game, cursor=cursor_of(cursor), limit=limit)
        items = [
            {
                "at": format_time(row.at),
                "reader": None if row.reader is None else str(row.reader),
                "what": row.what,
            }
            for row in page.items
        ]
        self._readings.note(entry, caller)
        return items, page.next.encode() if page.next else None

    def _story(self, entry: GameEntry, caller: Caller) -> tuple[Story, Viewer]:
        record = entry.record
        log = rebuild(self._entries.lines(record.identity, limit=record.version))
        viewer: Viewer = ALL if record.sealed else entry.seat_of(caller.player)
        deck = deck_for((r.event for r in log), record.game.deck, viewer)
        return Story(log, deck, cites=record.game.ruleset.cites), viewer


def deck_for(
    events: Iterable[Event], deck: tuple[Card, ...], viewer: Viewer
) -> tuple[Card, ...] | None:
    """Return the deck as far as a viewer may know it; None where that is nothing of it."""
    if not deck or viewer is None:
        return None
    if viewer == ALL:
        return deck
    return masked_deck(deck, seat_openings(events, viewer))
