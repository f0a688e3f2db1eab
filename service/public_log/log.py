"""The published part of the public log, and the interface of its storage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol
from uuid import UUID

from service.shx.bundle import STAMP, STAMPED
from service.shx.restores import Restore, restore_in
from service.shx.tlog.notes import MAX_SIGNATURES, parse_note
from service.shx.tlog.tiles import Tile, TiledTree, write_entries
from service.shx.tlog.tree import TlogProof


class PublicLog:
    """The published part of the log; each method returns None if nothing is published yet."""

    def __init__(self, store: LogStore) -> None:
        self._store = store

    def checkpoint(self) -> bytes | None:
        """Return the newest checkpoint with the cosignatures of witnesses."""
        published = self._store.published()
        return None if published is None else published.checkpoint

    def stamps(self, limit: int) -> list[tuple[StampedHead, str]]:
        """Return the newest stamped checkpoints, each with the text that its token is over."""
        found = []
        for stamp in self._store.stamped(limit):
            [head] = self._store.heads(stamp.size - 1, stamp.size)
            if head.note is not None:
                found.append((stamp, parse_note(head.note).text))
        return found

    def tile(self, tile: Tile) -> bytes | None:
        """
        Return a tile or an entry bundle; None if it is not in the newest published tree.

        The answer never changes: the log is append-only.
        """
        published = self._store.published()
        if published is None or not tile.within(published.size):
            return None
        if tile.level is None:
            return write_entries(self._store.entries(tile))
        return self._store.hashes(tile)

    def restores(self) -> list[Restore]:
        """Return the declared restores, oldest first; also those of leaves not yet published."""
        leaves = self._store.restores()
        return [restore_in(leaf.data, leaf.index) for leaf in leaves]

    def proof(self, game: UUID, *, version: int | None = None) -> bytes | None:
        """
        Return the inclusion proof of a game's last leaf.

        None if the game has no leaf, or if its last leaf is not that of `version`.

        The proof contains the data of the leaf as extra data, so that a verifier can hash it.
        """
        published = self._store.published()
        if published is None:
            return None
        leaf = self._store.leaf_of(game, size=published.size)
        if leaf is None or version not in (None, leaf.version):
            return None
        head = self._store.early_head(leaf.index) or published
        return self._proof(leaf, head)

    def stamp(self, game: UUID, *, version: int) -> dict[str, bytes]:
        """
        Return the files of a bundle with the first time stamp over a game's last leaf.

        None of them if no stamped tree has the leaf of this version.
        """
        published = self._store.published()
        leaf = published and self._store.leaf_of(game, size=published.size)
        stamp = self._store.stamp_over(leaf.index) if leaf else None
        if not leaf or leaf.version != version or stamp is None:
            return {}
        [head] = self._store.heads(stamp.size - 1, stamp.size)
        if head.note is None:
            return {}
        signed = SignedHead(size=head.size, root=head.root, note=head.note, cosignatures=())
        return {STAMPED: self._proof(leaf, signed), STAMP: stamp.answer}

    def _proof(self, leaf: Leaf, head: SignedHead) -> bytes:
        tree = TiledTree(head.size, self._store.hashes)
        return TlogProof(
            index=leaf.index,
            hashes=tree.inclusion_proof(leaf.index),
            checkpoint=head.checkpoint,
            extra=leaf.data,
        ).text


RESTORES: Final = UUID(int=0)
"""Stands for the game of a leaf that declares a restore; its versions count the restores."""


class LogMoved(Exception):
    """The tree has grown since it was read, because another process added leaves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """The tree after a batch; `note` is its checkpoint once it is signed."""

    size: int
    root: bytes
    note: bytes | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedHead:
    """A published head with the cosignature lines of witnesses."""

    size: int
    root: bytes
    note: bytes
    cosignatures: tuple[str, ...]

    @property
    def checkpoint(self) -> bytes:
        """Return the signed note with at most MAX_SIGNATURES signatures, as it is served."""
        own = self.note.rpartition(b"\n\n")[2].count(b"\n")
        room = max(0, MAX_SIGNATURES - own)
        return self.note + "".join(self.cosignatures[:room]).encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class StampedHead:
    """The answer of a time-stamp authority for the text of a checkpoint."""

    size: int
    authority: str  # its address
    at: datetime  # the time in the token
    added_at: datetime
    answer: bytes  # a TimeStampResp in DER


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """A row of the stored log that is not as it was signed, found when `part` was read again."""

    part: str  # a tile, or the newest checkpoint
    place: str  # such as `leaf 7`
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingGame:
    """A version of a game that waits for a leaf, and the head of its stream at that version."""

    game: UUID
    version: int
    head: bytes
    in_outbox: bool  # requested by an outbox row, which is deleted with the batch
    in_log: bool  # whether the log has this leaf already


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    """A leaf of the log: the body of a receipt, or of a declaration (game RESTORES)."""

    index: int
    game: UUID
    version: int
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Leaves to append to a tree of `size`, the new hashes of levels 1 and up, and the new root."""

    size: int
    leaves: tuple[Leaf, ...]
    hashes: tuple[tuple[int, int, bytes], ...]  # level, position, hash
    root: bytes
    outbox_rows: tuple[tuple[UUID, int], ...]  # to delete: game, version
    at: datetime


class LogStore(Protocol):
    """Append-only storage of leaves, hashes, checkpoints and cosignatures."""

    def head(self) -> Head:
        """Return the size and root of the current tree, with its note if it is signed."""

    def published(self) -> SignedHead | None:
        """Return the newest signed head; None if no head is signed yet."""

    def early_head(self, index: int) -> SignedHead | None:
        """
        Return a head that was signed soon after a leaf was added; None if no head covers it.

        It is the one with most cosignatures among the first 50 signed heads that cover the leaf.
        """

    def waiting(self, *, limit: int, last_leaf_before: datetime) -> Sequence[WaitingGame]:
        """
        Return the games that wait for a leaf, at most `limit` of each of two kinds.

        First those with an outbox row, oldest first; then running games that have moved on since
        their last leaf, if it was added by `last_leaf_before`.
        """

    def append(self, batch: Batch) -> None:
        """Append a batch atomically; raises LogMoved if it was made for another tree."""

    def sign(self, size: int, note: bytes) -> None:
        """Store the signed checkpoint of a stored tree."""

    def keep_cosignature(self, size: int, witness: str, line: str) -> None:
        """Store the cosignature line of a witness under a checkpoint."""

    def cosigned_size(self, witness: str) -> int:
        """Return the size of the largest tree that a witness has cosigned."""

    def hashes(self, tile: Tile) -> bytes:
        """Return the hashes of a tile of the tree, concatenated, 32 bytes each."""

    def entries(self, tile: Tile) -> Sequence[bytes]:
        """Return the data of the leaves in an entry bundle."""

    def leaf_of(self, game: UUID, *, size: int) -> Leaf | None:
        """Return the last leaf of a game among the first `size` leaves; None if it has none."""

    def restores(self) -> Sequence[Leaf]:
        """Return the leaves that declare restores, oldest first."""

    def heads(self, above: int, end: int) -> Sequence[Head]:
        """Return the trees of more than `above` leaves, up to `end`, the smallest first."""

    def stamped(self, limit: int) -> Sequence[StampedHead]:
        """Return the newest stamped checkpoints."""

    def keep_stamp(self, stamp: StampedHead) -> None:
        """Store the token of a checkpoint, unless it has one of this authority."""

    def stamp_over(self, index: int) -> StampedHead | None:
        """Return the stamp of the smallest stamped tree that has a leaf; None without one."""

    def newest_dispute(self) -> datetime | None:
        """Return when the newest running dispute was opened; None without one."""

    def damage(self) -> Sequence[Damage]:
        """Return all damage that is stored, by part and place."""

    def keep_damage(self, part: str, found: Sequence[Damage]) -> None:
        """Replace the stored damage of a part of the log."""
