"""Evidence: bundles to take away, the audit of a game, the check of what others bring."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from uuid import UUID

from service.application.callers import Caller
from service.application.entries import Entries, GameEntry
from service.application.errors import Refusal
from service.application.games import Games
from service.application.readings import Readings
from service.application.refusals import Refusals
from service.domain.view import ALL
from service.public_log.published import PublicLog
from service.record.bundle import OPENINGS, PROOF, REFUSALS, write_bundle
from service.record.canonical import canonical


class Evidence:
    """Makes the bundles of SHX/1, section 7."""

    def __init__(
        self,
        *,
        entries: Entries,
        games: Games,
        refusals: Refusals,
        dispute_files: Callable[[UUID], Mapping[str, bytes]],
        log: PublicLog,
        readings: Readings,
    ) -> None:
        self._log = log
        self._readings = readings
        self._dispute_files = dispute_files
        self._entries = entries
        self._games = games
        self._refusals = refusals

    def bundle(self, caller: Caller, game: UUID, profile: str) -> tuple[str, bytes]:
        """Return the name and the bytes of a game's bundle, public or of the caller's seat."""
        entry = self._games.entry(caller, game)
        lines = self._entries.lines(game, limit=entry.record.version)
        files = self._files(entry)
        seat = None
        if profile == "seat":
            seat = entry.seat_of(caller.player)
            if seat is None:
                raise Refusal("not-seated", "you do not sit in this game")
            if not entry.record.sealed:
                files[OPENINGS] = canonical(self._games.seat_openings(entry, seat))
        self._readings.note(entry, caller, ALL if entry.record.sealed else None)
        named = "public" if seat is None else f"seat-{seat}"
        return f"{game}.shx", write_bundle(lines, profile=named, files=files)

    def public(self, entry: GameEntry) -> bytes:
        """Return the public bundle of a game for whoever keeps it, without asking who may."""
        record = entry.record
        lines = self._entries.lines(record.identity, limit=record.version)
        return write_bundle(lines, files=self._files(entry))

    def _files(self, entry: GameEntry) -> dict[str, bytes]:
        record = entry.record
        files = dict(self._dispute_files(record.identity))
        proof = self._log.proof(record.identity, version=record.version)
        if proof is not None:
            files[PROOF] = proof
        if record.sealed:
            rows = self._refusals.of(record.identity)
            if rows:
                files[REFUSALS] = b"".join(canonical(row) + b"\n" for row in rows)
        return files
