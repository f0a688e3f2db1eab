"""The public log against the games it speaks of, and against what was signed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final
from uuid import UUID

from service.event_store.database import Database
from service.event_store.protocol import EventStore, StoreError, StoreUnavailable
from service.keeping.faults import Fault, Progress
from service.record.canonical import RecordError
from service.record.chain import head
from service.record.checkpoint import open_checkpoint, parse_checkpoint
from service.record.notes import NoteVerifier, parse_note
from service.record.receipts import receipt_body
from service.record.tiles import grow
from service.record.tree import leaf_hash

BATCH: Final = 500
MOST_UNLOGGED: Final = 1000


class LogCheck:
    """
    Builds the tree again from the leaves, and compares whatever is stored of it.

    Every leaf is the head of its game at that version; every hash in a tile, every head
    and every signed checkpoint is what the leaves make. `keys` are the service's, where
    they are at hand; without them no signature is looked at.
    """

    def __init__(
        self, database: Database, store: EventStore, keys: Sequence[NoteVerifier] | None
    ) -> None:
        self._database = database
        self._store = store
        self._keys = keys

    def run(self, progress: Progress) -> Iterator[Progress]:
        """Check the leaves after those in `progress`; yield it after some at a time."""
        while rows := self._database.fetch("check_leaves", progress.edge.size, BATCH):
            heads = self._database.fetch(
                "check_heads", progress.edge.size, progress.edge.size + len(rows)
            )
            for row in rows:
                progress = progress.found(*self._leaf(progress.edge.size, row))
                progress = self._grown(progress, row[3])
                while heads and heads[0][0] <= progress.edge.size:
                    progress = progress.found(*self._head(progress, *heads.pop(0)))
            yield progress
        yield progress.found(*self._end(progress))

    def _leaf(self, index: int, row: tuple[Any, ...]) -> Iterator[Fault]:
        found, game, version, data, stored, line = row
        where = f"leaf {index}"
        if found != index:
            yield Fault(where=where, check="leaf", reason="there is none with this number")
        if stored != leaf_hash(data):
            yield Fault(where=where, check="tile", reason="its hash in the tile is another")
        line = line or self._line(game, version)
        origin = data.partition(b"/g/")[0].decode(errors="replace")
        try:
            expected = line and receipt_body(origin, game, version - 1, head(line)).encode()
        except RecordError as error:
            expected = error.detail.encode()
        if expected is None:
            reason = f"game {game} has no version {version}"
            yield Fault(where=where, check="leaf", reason=reason)
        elif expected != data:
            reason = f"it is not the head of game {game} at version {version}"
            yield Fault(where=where, check="leaf", reason=reason)

    def _line(self, game: UUID, version: int) -> bytes | None:
        """Return the event of a game that is no longer in the database."""
        try:
            found = self._store.read(game, after=version - 1, limit=1)
        except StoreUnavailable:
            raise
        except StoreError:
            return None
        return found.events[0] if found is not None and found.events else None

    def _grown(self, progress: Progress, data: bytes) -> Progress:
        edge, added = grow(progress.edge, [leaf_hash(data)])
        faults = []
        for level, position, made in added:
            if level and self._database.fetch("check_hash", level, position) != [(made,)]:
                where = f"tile level {level}, position {position}"
                faults.append(Fault(where=where, check="tile", reason="not what its leaves make"))
        return replace(progress, edge=edge).found(*faults)

    def _head(
        self, progress: Progress, size: int, root: bytes, note: bytes | None
    ) -> Iterator[Fault]:
        where = f"head of {size} leaves"
        if size != progress.edge.size or root != progress.edge.root:
            yield Fault(where=where, check="root", reason="not the tree that its leaves make")
        if note is None:
            return
        try:
            signed = parse_checkpoint(parse_note(note).text)
            if self._keys is not None:
                open_checkpoint(note, self._keys)
        except RecordError as error:
            yield Fault(where=where, check="signature", reason=error.detail)
            return
        if (signed.size, signed.root) != (progress.edge.size, progress.edge.root):
            yield Fault(where=where, check="signature", reason="signed under another tree")

    def _end(self, progress: Progress) -> Iterator[Fault]:
        """Nothing is signed beyond the leaves, and no game's end is forgotten."""
        for size, _, _ in self._database.fetch("check_heads", progress.edge.size, 2**62):
            reason = f"there are only {progress.edge.size} leaves"
            yield Fault(where=f"head of {size} leaves", check="root", reason=reason)
        for (game,) in self._database.fetch("check_unlogged", MOST_UNLOGGED):
            reason = "its end is neither in the public log nor on its way there"
            yield Fault(where=f"game {game}", check="leaf", reason=reason)
