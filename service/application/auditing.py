"""The audit of single moves, cards and seats: what it says, to whom, and who has looked."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any
from uuid import UUID

from service.application.callers import Caller
from service.application.entries import Entries, GameEntry
from service.application.errors import Refusal, invalid, not_found
from service.application.games import Games
from service.application.ports import World
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
        world: World,
    ) -> None:
        self._entries = entries
        self._games = games
        self._refusals = refusals
        self._directory = directory
        self._world = world

    def move(self, caller: Caller, game: UUID, seq: int) -> dict[str, Any]:
        """Return the decision that an event belongs to; raises `not-found` for no event."""
        what = f"the decision at {seq}"
        entry = self._entry(caller, game, what)
        if seq >= entry.record.version:
            raise not_found("event")
        story, viewer = self._story(entry, caller)
        found = decision(story, seq, viewer=viewer, refused=self._refusals.of(game))
        if found["seat"] is not None:
            self._note(entry, caller, what, of=found["seat"])
        return found

    def card(self, caller: Caller, game: UUID, card: str) -> dict[str, Any]:
        """Return the path of a card; raises `unknown-card` for one that is not in the game."""
        what = f"the custody of {card[:8]}"
        entry = self._entry(caller, game, what)
        story, viewer = self._story(entry, caller)
        try:
            found = custody(story, card, viewer=viewer)
        except UnknownCard as error:
            raise Refusal("unknown-card", str(error)) from None
        if any(part["seen_by"] != "all" for part in found["path"]):
            self._note(entry, caller, what)
        return found

    def knowledge(
        self, caller: Caller, game: UUID, seat: Seat | None, at: int | None
    ) -> dict[str, Any]:
        """Return what a seat could know; raises `sealed` for another's before the seal."""
        what = "the knowledge of a seat" if seat is None else f"the knowledge of seat {seat}"
        entry = self._entry(caller, game, what)
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
        self._note(entry, caller, what, of=asked)
        return knowledge(story, asked, version)

    def readings(self, caller: Caller, game: UUID) -> list[dict[str, Any]]:
        """
        Return who read what of a game that is neither public nor theirs, newest first.

        It is for the game's seats and for referees of its disputes; raises `not-seated`.
        """
        entry = self._entry(caller, game, "the readings")
        seated = entry.seat_of(caller.player) is not None
        judges = caller.player is not None and self._directory.judges(caller.player, game=game)
        if not seated and not judges:
            raise Refusal("not-seated", "this is for the seats of the game and its referees")
        return [
            {"at": format_time(row.at), "reader": str(row.reader), "what": row.what}
            for row in reversed(self._directory.readings(game))
        ]

    def _entry(self, caller: Caller, game: UUID, what: str) -> GameEntry:
        return self._games.entry(replace(caller, what=what), game)

    def _story(self, entry: GameEntry, caller: Caller) -> tuple[Story, Viewer]:
        record = entry.record
        log = rebuild(self._entries.lines(record.identity, limit=record.version))
        viewer: Viewer = ALL if record.sealed else entry.seat_of(caller.player)
        deck = deck_for((r.event for r in log), record.game.deck, viewer)
        return Story(log, deck, cites=record.game.ruleset.cites), viewer

    def _note(self, entry: GameEntry, caller: Caller, what: str, *, of: Seat | None = None) -> None:
        """
        Note that somebody read what is of a seat and not public: of a private game.

        A referee's way in is noted at the door already, and before the seal nobody
        is told what is another's.
        """
        if entry.public or not entry.record.sealed or caller.player is None:
            return
        own = entry.seat_of(caller.player)
        if own is not None and own == of:
            return
        if own is None and self._directory.judges(caller.player, game=entry.record.identity):
            return
        self._directory.record_reading(
            game=entry.record.identity, at=self._world.now(), reader=caller.player, what=what
        )


def deck_for(
    events: Iterable[Event], deck: tuple[Card, ...], viewer: Viewer
) -> tuple[Card, ...] | None:
    """Return the deck as far as a viewer may know it; None where that is nothing of it."""
    if not deck or viewer is None:
        return None
    if viewer == ALL:
        return deck
    return masked_deck(deck, seat_openings(events, viewer))
