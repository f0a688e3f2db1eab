"""What the public log is kept in: leaves, tiles and heads that only grow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from service.record.tiles import Tile


class LogMoved(Exception):
    """The tree has grown since it was read: somebody else added leaves."""


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
        """Return the note with all signatures, as it is served."""
        return self.note + "".join(self.cosignatures).encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A head of a game that is to become a leaf; `head` None where nobody can know it any more."""

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
