"""The storage interface of the public log: leaves, tiles and signed heads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from service.shx.tlog.notes import MAX_SIGNATURES
from service.shx.tlog.proof import TlogProof
from service.shx.tlog.tiles import Tile, TiledTree, write_entries


class PublicLog:
    """Reads what has been published; None where that is nothing (yet)."""

    def __init__(self, store: LogStore) -> None:
        self._store = store

    def checkpoint(self) -> bytes | None:
        """Return the newest checkpoint with the cosignatures that witnesses gave."""
        published = self._store.published()
        return None if published is None else published.checkpoint

    def tile(self, tile: Tile) -> bytes | None:
        """
        Return a tile, or an entry bundle, as far as the newest checkpoint reaches.

        What it returns never changes: leaves are only ever added.
        """
        published = self._store.published()
        if published is None or not tile.within(published.size):
            return None
        if tile.level is None:
            return write_entries(self._store.entries(tile))
        return self._store.hashes(tile)

    def proof(self, game: UUID, *, version: int | None = None) -> bytes | None:
        """
        Return the proof that the log has the last leaf of a game; of just `version` if given.

        The data of the leaf is added as extra data: a reader who checks it hashes it.
        """
        published = self._store.published()
        if published is None:
            return None
        leaf = self._store.leaf_of(game, size=published.size)
        if leaf is None or version not in (None, leaf.version):
            return None
        head = self._store.covering(leaf.index) or published
        return self._proof(leaf, head)

    def _proof(self, leaf: Leaf, head: SignedHead) -> bytes:
        tree = TiledTree(head.size, self._store.hashes)
        return TlogProof(
            index=leaf.index,
            hashes=tree.inclusion_proof(leaf.index),
            checkpoint=head.checkpoint,
            extra=leaf.data,
        ).text


class LogMoved(Exception):
    """The tree has grown since it was read: another process added leaves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """The tree after a batch; `note` is its checkpoint once it is signed."""

    size: int
    root: bytes
    note: bytes | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedHead:
    """A head that was published, and the lines that witnesses put under it."""

    size: int
    root: bytes
    note: bytes
    cosignatures: tuple[str, ...]

    @property
    def checkpoint(self) -> bytes:
        """Return the note with all signatures, as it is served; no more than readers accept."""
        own = self.note.rpartition(b"\n\n")[2].count(b"\n")
        room = max(0, MAX_SIGNATURES - own)
        return self.note + "".join(self.cosignatures[:room]).encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A head of a game that is to become a leaf; `head` is None if it is unknown."""

    game: UUID
    version: int
    head: bytes | None
    asked: bool  # by an outbox row, which leaves with the batch
    known: bool  # whether the log has it already


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    """A leaf of the log: the body of a receipt."""

    index: int
    game: UUID
    version: int
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Leaves to add to a tree of `size`, the hashes above them, and the root that they make."""

    size: int
    leaves: tuple[Leaf, ...]
    hashes: tuple[tuple[int, int, bytes], ...]  # level, position, hash; of level 1 and above
    root: bytes
    done: tuple[tuple[UUID, int], ...]  # outbox rows that are settled by it
    at: datetime


class LogStore(Protocol):
    """Add and read; what was added stays."""

    def head(self) -> Head:
        """Return the tree as it is."""

    def published(self) -> SignedHead | None:
        """Return the newest signed head."""

    def covering(self, index: int) -> SignedHead | None:
        """Return a signed head that has a leaf: an early one, the better witnessed the better."""

    def waiting(self, *, limit: int, last_leaf_before: datetime) -> Sequence[Waiting]:
        """Return what is to become a leaf, in order."""

    def append(self, batch: Batch) -> None:
        """Add a batch whole, or raise LogMoved where it was not made for the present tree."""

    def sign(self, size: int, note: bytes) -> None:
        """Keep the signed checkpoint of a tree that is here."""

    def keep_cosignature(self, size: int, witness: str, line: str) -> None:
        """Keep what a witness put under a checkpoint."""

    def cosigned_size(self, witness: str) -> int:
        """Return the size of the largest tree that a witness is known to have cosigned."""

    def hashes(self, tile: Tile) -> bytes:
        """Return the hashes of a tile of the tree, in one row."""

    def entries(self, tile: Tile) -> Sequence[bytes]:
        """Return the leaves' data of an entry bundle."""

    def leaf_of(self, game: UUID, *, size: int) -> Leaf | None:
        """Return the last leaf of a game in the tree of the first `size` leaves."""
