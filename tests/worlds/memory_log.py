"""The public log in memory, for tests and for services without a database."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from service.public_log.log import (
    RESTORES,
    Batch,
    Damage,
    Head,
    Leaf,
    LogMoved,
    SignedHead,
    StampedHead,
    WaitingGame,
)
from service.shx.tlog.tiles import Tile
from service.shx.tlog.tree import leaf_hash, root


class MemoryLog:
    """The public log as lists; `request` adds a row that a database would have in its outbox."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requested: list[WaitingGame] = []
        self._leaves: list[Leaf] = []
        self._hashes: dict[tuple[int, int], bytes] = {}
        self._heads = {0: Head(size=0, root=root(()), note=None)}
        self._lines: dict[tuple[int, str], str] = {}
        self._damage: dict[str, Sequence[Damage]] = {}
        self._stamps: list[StampedHead] = []
        self.disputed_at: datetime | None = None

    def request(self, game: UUID, version: int, head: bytes) -> None:
        """Request a leaf for a head of a game."""
        in_log = any((leaf.game, leaf.version) == (game, version) for leaf in self._leaves)
        waiting = WaitingGame(game=game, version=version, head=head, in_outbox=True, in_log=in_log)
        self._requested.append(waiting)

    def head(self) -> Head:
        return self._heads[max(self._heads)]

    def published(self) -> SignedHead | None:
        signed = self._signed()
        return signed[-1] if signed else None

    def early_head(self, index: int) -> SignedHead | None:
        later = [head for head in self._signed() if head.size > index]
        return max(later, key=lambda head: (len(head.cosignatures), -head.size), default=None)

    def waiting(self, *, limit: int, last_leaf_before: datetime) -> Sequence[WaitingGame]:
        del last_leaf_before
        return self._requested[:limit]

    def append(self, batch: Batch) -> None:
        with self._lock:
            if batch.size != self.head().size:
                raise LogMoved(f"the public log has {self.head().size} leaves, not {batch.size}")
            done = set(batch.outbox_rows)
            self._requested = [
                one for one in self._requested if (one.game, one.version) not in done
            ]
            if not batch.leaves:
                return
            for leaf in batch.leaves:
                self._hashes[0, leaf.index] = leaf_hash(leaf.data)
            self._hashes |= {(level, position): one for level, position, one in batch.hashes}
            self._leaves += batch.leaves
            size = batch.size + len(batch.leaves)
            self._heads[size] = Head(size=size, root=batch.root, note=None)

    def sign(self, size: int, note: bytes) -> None:
        self._heads[size] = replace(self._heads[size], note=note)

    def keep_cosignature(self, size: int, witness: str, line: str) -> None:
        self._lines.setdefault((size, witness), line)

    def cosigned_size(self, witness: str) -> int:
        return max((size for size, name in self._lines if name == witness), default=0)

    def hashes(self, tile: Tile) -> bytes:
        level = tile.level or 0
        places = range(tile.first, tile.first + tile.width)
        return b"".join(self._hashes.get((level, place), b"") for place in places)

    def entries(self, tile: Tile) -> Sequence[bytes]:
        return [leaf.data for leaf in self._leaves[tile.first : tile.first + tile.width]]

    def leaf_of(self, game: UUID, *, size: int) -> Leaf | None:
        own = [leaf for leaf in self._leaves[:size] if leaf.game == game]
        return max(own, key=lambda leaf: leaf.version, default=None)

    def heads(self, above: int, end: int) -> Sequence[Head]:
        return [head for size, head in sorted(self._heads.items()) if above < size <= end]

    def stamped(self, limit: int) -> Sequence[StampedHead]:
        return self._stamps[: -limit - 1 : -1]

    def keep_stamp(self, stamp: StampedHead) -> None:
        self._stamps.append(stamp)

    def stamp_over(self, index: int) -> StampedHead | None:
        later = [stamp for stamp in self._stamps if stamp.size > index]
        return min(later, key=lambda stamp: stamp.size, default=None)

    def newest_dispute(self) -> datetime | None:
        return self.disputed_at

    def damage(self) -> Sequence[Damage]:
        return [one for part in sorted(self._damage) for one in self._damage[part]]

    def keep_damage(self, part: str, found: Sequence[Damage]) -> None:
        self._damage[part] = found

    def restores(self) -> Sequence[Leaf]:
        return [leaf for leaf in self._leaves if leaf.game == RESTORES]

    def _signed(self) -> list[SignedHead]:
        return [
            SignedHead(
                size=size,
                root=head.root,
                note=head.note,
                cosignatures=tuple(
                    self._lines[key] for key in sorted(self._lines) if key[0] == size
                ),
            )
            for size, head in sorted(self._heads.items())
            if head.note is not None
        ]
