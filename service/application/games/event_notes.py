"""Notes of players on events: outside the record, and never evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from service.application.calls import Caller
from service.application.errors import Refusal, not_found
from service.application.games.cache import Names
from service.application.games.entry import GameEntry
from service.application.games.queries import Games
from service.application.ports import World
from service.application.quotas import of_notes
from service.replay.sentences import said
from service.shx.canonical import format_time
from service.store.directory import Directory
from service.store.games import EventNote

ME, DISPUTE = "me", "dispute"
"""The readers of a note: its author; also the seats and the referees of disputes of the game."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventNotes:
    """Writes, lists and deletes the notes of players on events (api.md, section 5)."""

    games: Games
    directory: Directory
    names: Names
    world: World

    def keep(
        self, caller: Caller, game: UUID, seq: int, text: str, visibility: str
    ) -> Mapping[str, Any]:
        """
        Write the caller's note on an event, or replace it; return it.

        Raises Refusal `not-found`, also for an unknown event; for a note that others see `sealed`
        before the seal and `not-seated` unless the caller has a seat or judges; `limit-reached`.
        """
        entry, author = self._entry(caller, game)
        if seq >= entry.record.version:
            raise not_found("event")
        if visibility == DISPUTE:
            if not entry.record.sealed:
                raise Refusal("sealed", said("request.sealed.notes"))
            if not self._takes_part(entry, author):
                raise Refusal("not-seated", said("request.notes_of_others"))
        note = EventNote(
            author=author, seq=seq, text=text, visibility=visibility, at=self.world.now()
        )
        self.directory.keep_note(game, note, of_notes(author, game))
        return self._json([note])[0]

    def delete(self, caller: Caller, game: UUID, seq: int) -> None:
        """Delete the caller's note on an event; raises Refusal `not-found`."""
        _, author = self._entry(caller, game)
        if not self.directory.delete_note(game, author, seq):
            raise not_found("note")

    def of_game(self, caller: Caller, game: UUID) -> Sequence[Mapping[str, Any]]:
        """Return the notes that the caller may see, in the order of the events."""
        entry, reader = self._entry(caller, game)
        self.games.access_log.note(entry, caller)
        shared = entry.record.sealed and self._takes_part(entry, reader)
        return self._json(self.directory.notes(game, reader=reader, shared=shared))

    def _entry(self, caller: Caller, game: UUID) -> tuple[GameEntry, UUID]:
        entry = self.games.entry(caller, game)
        if caller.player is None:
            raise Refusal("unauthorized", said("request.notes_token"))
        return entry, caller.player

    def _takes_part(self, entry: GameEntry, player: UUID) -> bool:
        return entry.seat_of(player) is not None or self.directory.judges(
            player, game=entry.record.identity
        )

    def _json(self, notes: Sequence[EventNote]) -> list[dict[str, Any]]:
        names = self.names.of([note.author for note in notes])
        return [
            {
                "seq": note.seq,
                "author": str(note.author),
                "name": name,
                "text": note.text,
                "visibility": note.visibility,
                "at": format_time(note.at),
            }
            for note, name in zip(notes, names, strict=True)
        ]
