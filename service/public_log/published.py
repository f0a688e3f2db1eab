"""The public log as everybody reads it: checkpoint, tiles, proofs; nothing unsigned is shown."""

from __future__ import annotations

from uuid import UUID

from service.public_log.store import Leaf, LogStore, SignedHead
from service.record.tiles import Tile, TiledTree, write_entries
from service.record.tlog_proof import TlogProof


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

        The data of the leaf comes along as extra data: whoever checks hashes it.
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
