"""Reads the stored public log again, in slices, and names what is not as it was signed."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from service.public_log.log import Damage, LogStore, SignedHead
from service.public_log.signed_checkpoints import SignedCheckpoints
from service.runtime.plain_errors import why
from service.shx.canonical import RecordError
from service.shx.tlog.checkpoint import CosignatureVerifier, cosignatures, open_checkpoint
from service.shx.tlog.notes import NoteVerifier, parse_note
from service.shx.tlog.tiles import WIDTH, Tile, TiledTree, hashes_of
from service.shx.tlog.tree import leaf_hash, root

CHECKPOINT: Final = "checkpoint"
"""The part of the log that is its newest signed head."""

Keys = Callable[[], Sequence[NoteVerifier]]


class LogReader:
    """
    Reads one tile of the log after another, from a random one on, so that restarts skip none.

    The damage that it finds is stored, so that every process of the service knows it, and is
    removed once its part is read again without any.
    """

    def __init__(
        self,
        *,
        store: LogStore,
        keys: Keys,
        witnesses: Sequence[CosignatureVerifier] = (),
        signed: SignedCheckpoints,
    ) -> None:
        self._store = store
        self._keys = keys
        self._witnesses = witnesses
        self._signed = signed
        self._next: int | None = None  # the tile that is read next

    def read_checkpoint(self) -> list[Damage]:
        """Read the newest checkpoint as it is served; return new damage."""
        head = self._store.published()
        found = [] if head is None else _of_checkpoint(head, self._keys(), self._witnesses)
        return self._keep(CHECKPOINT, found)

    def read_tile(self) -> tuple[int, list[Damage]]:
        """
        Read the next tile with its entries, the hashes above it and the heads that end in it.

        Return the number of leaves, 0 after the last tile, and new damage.
        """
        head = self._store.published()
        tiles = 0 if head is None else -(-head.size // WIDTH)
        if self._next is None:
            self._next = random.randrange(tiles) if tiles else 0  # noqa: S311 - no secret
        if head is None or self._next >= tiles:
            self._next = 0
            return 0, []
        index, self._next = self._next, self._next + 1
        width = min(WIDTH, head.size - index * WIDTH)
        found = list(_TileOfLeaves(self._store, head, index, width).damage(self._keys()))
        return width, self._keep(f"tile {index}", found)

    def file_fault(self) -> str | None:
        """Return what is wrong with this machine's file of the newest checkpoint; None if right."""
        return file_fault(self._signed, self._store, self._keys())

    def damage(self) -> Sequence[Damage]:
        """Return all damage that is known."""
        return self._store.damage()

    def _keep(self, part: str, found: Sequence[Damage]) -> list[Damage]:
        """Store what was found in a part of the log; return what was not known."""
        known = [one for one in self._store.damage() if one.part == part]
        found = [Damage(part=part, place=one.place, reason=one.reason) for one in found]
        if set(known) != set(found):
            self._store.keep_damage(part, found)
        return [one for one in found if one not in known]


def file_fault(
    signed: SignedCheckpoints, store: LogStore, keys: Sequence[NoteVerifier]
) -> str | None:
    """
    Return what is wrong with the file of the newest checkpoint; None without a file, or if right.

    A file with more leaves than the database is right: then the database was set back.
    """
    try:
        last = signed.last()
        if last is None or signed.path is None:
            return None
        fault = _signature_fault(signed.path.read_bytes(), keys)
    except (OSError, RecordError) as error:
        return why(error)
    if fault is not None:
        return fault
    is_known = all(head.root == last.root for head in store.heads(last.size - 1, last.size))
    return None if is_known else f"its root is not that of the {last.size} leaves here"


def _of_checkpoint(
    head: SignedHead, keys: Sequence[NoteVerifier], witnesses: Sequence[CosignatureVerifier]
) -> list[Damage]:
    try:
        open_checkpoint(head.note, keys)
        cosignatures(parse_note(head.checkpoint), witnesses)
    except RecordError as error:
        reason = f"of {head.size} leaves, as it is served: {error.detail}"
        return [Damage(part=CHECKPOINT, place=CHECKPOINT, reason=reason)]
    return []


def _signature_fault(note: bytes, keys: Sequence[NoteVerifier]) -> str | None:
    """Return why a note is not what a known key signed; None for one of unknown keys alone."""
    try:
        lines = parse_note(note).signatures
        if any((line.name, line.key_id) == (k.name, k.key_id) for line in lines for k in keys):
            open_checkpoint(note, keys)
    except RecordError as error:
        return error.detail
    return None


class _TileOfLeaves:
    """The leaves of one tile as they are stored, in a signed tree."""

    def __init__(self, store: LogStore, head: SignedHead, index: int, width: int) -> None:
        self._store = store
        self._head = head
        self._tile = Tile(level=0, index=index, width=width)
        self._tree = TiledTree(head.size, store.hashes)

    def damage(self, keys: Sequence[NoteVerifier]) -> Iterator[Damage]:
        """Yield the damage of entries, hashes and heads; one fault of a hash hides later ones."""
        tile = self._tile
        try:
            hashes = hashes_of(self._store.hashes(tile), tile)
            found = [*self._of_leaves(hashes)]
            found = found or [*self._of_hashes(hashes)]
            yield from found or self._of_heads(keys)
        except (RecordError, IndexError) as error:
            detail = error.detail if isinstance(error, RecordError) else "a hash is missing"
            yield self._damage(f"hashes of {tile.path}", detail)

    def _damage(self, place: str, reason: str) -> Damage:
        return Damage(part=f"tile {self._tile.index}", place=place, reason=reason)

    def _of_leaves(self, hashes: tuple[bytes, ...]) -> Iterator[Damage]:
        """Yield each leaf whose entry and hash differ, and which of the two was signed."""
        tile = self._tile
        entries = self._store.entries(Tile(level=None, index=tile.index, width=tile.width))
        made = tuple(map(leaf_hash, entries))
        wrong = [at for at, one in enumerate(made) if one != hashes[at]]
        if len(made) < tile.width:
            missing = wrong[0] if wrong else len(made)
            yield self._damage(f"leaf {tile.first + missing}", "its entry is missing")
            return
        if not wrong:
            return
        if self._is_signed(hashes):
            place, reason = "leaf", "its entry is not the one that was signed"
        elif self._is_signed(made):
            place, reason = "hash", "it is not that of its entry, which was signed"
        else:
            place, reason = "leaf", "neither its entry nor its hash is what was signed"
        for at in wrong:
            name = str(tile.first + at) if place == "leaf" else f"0/{tile.first + at}"
            yield self._damage(f"{place} {name}", reason)

    def _is_signed(self, hashes: tuple[bytes, ...]) -> bool:
        """Return whether hashes of this tile lead to the tree that was signed."""
        tile = self._tile
        read = self._store.hashes

        def other(wanted: Tile) -> bytes:
            is_this = (wanted.level, wanted.index) == (0, tile.index)
            return b"".join(hashes) if is_this else read(wanted)

        if tile.width == WIDTH:
            return root(hashes) == self._hash(1, tile.index)
        return TiledTree(self._head.size, other).root() == self._head.root

    def _of_hashes(self, hashes: tuple[bytes, ...]) -> Iterator[Damage]:
        """Yield each hash above this tile that is not that of the full tile below it."""
        level, index = 0, self._tile.index
        while len(hashes) == WIDTH:
            if root(hashes) != self._hash(level + 1, index):
                yield self._damage(f"hash {level + 1}/{index}", "it is not that of the tile below")
                return
            level, width = level + 1, index % WIDTH + 1
            index //= WIDTH
            above = Tile(level=level, index=index, width=width)
            hashes = hashes_of(self._store.hashes(above), above)

    def _hash(self, level: int, position: int) -> bytes:
        tile = Tile(level=level, index=position // WIDTH, width=position % WIDTH + 1)
        return hashes_of(self._store.hashes(tile), tile)[-1]

    def _of_heads(self, keys: Sequence[NoteVerifier]) -> Iterator[Damage]:
        """
        Yield each head that ends in this tile and whose note no longer verifies.

        Also the first one that is not the tree of its leaves, unless a damaged hash explains that.
        """
        first, is_tree = self._tile.first, True
        for head in self._store.heads(first, first + self._tile.width):
            if is_tree and self._tree.root(head.size) != head.root:
                is_tree = False
                if not any(one.place.startswith("hash") for one in self._store.damage()):
                    yield self._damage(f"head {head.size}", "it is not the tree of its leaves")
            fault = None if head.note is None else _signature_fault(head.note, keys)
            if fault is not None:
                yield self._damage(f"head {head.size}, its checkpoint", fault)
