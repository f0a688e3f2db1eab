"""Tiles of C2SP tlog-tiles: a log's hashes in files, and trees read from them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from service.shx.canonical import RecordError, u16
from service.shx.tlog.tree import node_hash, root

WIDTH: Final = 256
HASH_BYTES: Final = 32
MAX_LEVEL: Final = 63
MAX_ENTRY: Final = 0xFFFF  # bytes

_PATH: Final = re.compile(r"(?P<index>(?:x[0-9]{3}/)*[0-9]{3})(?:\.p/(?P<width>[1-9][0-9]{0,2}))?")
_LEVEL: Final = re.compile(r"[0-9]|[1-5][0-9]|6[0-3]")
_LONGEST_INDEX: Final = 27  # digits, far beyond every tree


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """`width` hashes at `level`, 256 in a full tile; level None: the entries themselves."""

    level: int | None
    index: int
    width: int = WIDTH

    @property
    def path(self) -> str:
        """
        Return the path below the log's prefix: `tile/<L>/<N>[.p/<W>]`.

        >>> Tile(level=1, index=1234, width=7).path
        'tile/1/x001/234.p/7'
        """
        digits = f"{self.index:d}"
        digits = digits.zfill(-(-len(digits) // 3) * 3)
        parts = [digits[at : at + 3] for at in range(0, len(digits), 3)]
        index = "/".join([*(f"x{part}" for part in parts[:-1]), parts[-1]])
        level = "entries" if self.level is None else str(self.level)
        partial = "" if self.width == WIDTH else f".p/{self.width}"
        return f"tile/{level}/{index}{partial}"

    @property
    def first(self) -> int:
        """Return the position of its first hash in the level."""
        return self.index * WIDTH

    def within(self, size: int) -> bool:
        """Return whether a tree of `size` leaves has all of this tile."""
        return self.first + self.width <= size >> 8 * (self.level or 0)


def parse_tile(level: str, rest: str) -> Tile | None:
    """Return the tile at `tile/<level>/<rest>`, None if that is no canonical path of a tile."""
    match = _PATH.fullmatch(rest)
    if match is None or (level != "entries" and not _LEVEL.fullmatch(level)):
        return None
    digits = match["index"].replace("x", "").replace("/", "")
    width = int(match["width"] or WIDTH)
    if len(digits) > _LONGEST_INDEX or (match["width"] and width >= WIDTH):
        return None
    number = None if level == "entries" else int(level)
    tile = Tile(level=number, index=int(digits), width=width)
    return tile if tile.path == f"tile/{level}/{rest}" else None


def edge_tiles(size: int) -> Iterator[Tile]:
    """Yield the non-empty partial tiles at the right edge of a tree, lowest level first."""
    level = 0
    while size:
        if size % WIDTH:
            yield Tile(level=level, index=size // WIDTH, width=size % WIDTH)
        size, level = size // WIDTH, level + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeEdge:
    """
    The right edge of a tree: for each level the hashes that fill no tile yet.

    A reader who keeps the edge and adds all new leaves to it can compute every later root,
    and so check the log without consistency proofs.
    """

    size: int
    levels: tuple[tuple[bytes, ...], ...]

    @property
    def root(self) -> bytes:
        """Return the root; the root of a partial tile is the last hash of the next level."""
        below: tuple[bytes, ...] = ()
        for hashes in self.levels:
            together = (*hashes, *below)
            below = (root(together),) if together else ()
        return below[0] if below else root(())


EMPTY: Final = TreeEdge(size=0, levels=())


def read_edge(size: int, read: Callable[[Tile], bytes]) -> TreeEdge:
    """
    Return the edge of a tree of `size` leaves whose tiles `read` returns.

    Raises RecordError for a tile of the wrong size.
    """
    levels: list[tuple[bytes, ...]] = []
    for tile in edge_tiles(size):
        levels += [()] * ((tile.level or 0) - len(levels))
        levels.append(hashes_of(read(tile), tile))
    return TreeEdge(size=size, levels=tuple(levels))


def grow(edge: TreeEdge, leaves: Sequence[bytes]) -> tuple[TreeEdge, list[tuple[int, int, bytes]]]:
    """Return the edge after adding leaf hashes, and the new hashes: level, position, hash."""
    levels = [list(hashes) for hashes in edge.levels]
    added: list[tuple[int, int, bytes]] = []
    coming, level = list(leaves), 0
    while coming:
        if level == len(levels):
            levels.append([])
        position = edge.size >> 8 * level
        added += [(level, position + at, one) for at, one in enumerate(coming)]
        row = levels[level] + coming
        full = len(row) - len(row) % WIDTH
        coming = [root(row[at : at + WIDTH]) for at in range(0, full, WIDTH)]
        levels[level] = row[full:]
        level += 1
    return TreeEdge(size=edge.size + len(leaves), levels=tuple(map(tuple, levels))), added


class TiledTree:
    """A tree of `size` leaves that reads each tile when it is first needed."""

    def __init__(self, size: int, read: Callable[[Tile], bytes]) -> None:
        self.size = size
        self._read = read
        self._tiles: dict[tuple[int, int], tuple[bytes, ...]] = {}

    def root(self, size: int | None = None) -> bytes:
        """
        Return the root over all leaves, or over the first `size` of them.

        Raises IndexError if the tree has fewer leaves.
        """
        count = self.size if size is None else size
        if not 0 <= count <= self.size:
            raise IndexError("no such older tree")
        return self._hash(0, count) if count else root(())

    def inclusion_proof(self, index: int) -> tuple[bytes, ...]:
        """
        Return the path from a leaf to the root, nearest first (RFC 6962, section 2.1.1).

        Raises IndexError for a leaf that the tree does not have.
        """
        if not 0 <= index < self.size:
            raise IndexError("no such leaf")
        path: list[bytes] = []
        first, end = 0, self.size
        while end - first > 1:
            middle = first + _split(end - first)
            if index < middle:
                path.append(self._hash(middle, end))
                end = middle
            else:
                path.append(self._hash(first, middle))
                first = middle
        return tuple(reversed(path))

    def consistency_proof(self, old_size: int) -> tuple[bytes, ...]:
        """
        Return the proof that an older tree is the beginning of this one (section 2.1.2).

        Raises IndexError if the older tree is larger.
        """
        if not 0 <= old_size <= self.size:
            raise IndexError("no such older tree")
        if old_size in (0, self.size):
            return ()
        path: list[bytes] = []
        first, end = 0, self.size
        while end != old_size:
            middle = first + _split(end - first)
            if old_size <= middle:
                path.append(self._hash(middle, end))
                end = middle
            else:
                path.append(self._hash(first, middle))
                first = middle
        if first:
            path.append(self._hash(first, end))
        return tuple(reversed(path))

    def _hash(self, first: int, end: int) -> bytes:
        """Return the hash over leaves `first` to `end` (exclusive), split as in the RFC."""
        count = end - first
        if count & (count - 1):
            middle = first + _split(count)
            return node_hash(self._hash(first, middle), self._hash(middle, end))
        level, halvings = divmod(count.bit_length() - 1, 8)
        position, wanted = first >> 8 * level, 1 << halvings
        tile = self._tile(level, position // WIDTH)
        at = position % WIDTH
        return root(tile[at : at + wanted])

    def _tile(self, level: int, index: int) -> tuple[bytes, ...]:
        found = self._tiles.get((level, index))
        if found is None:
            width = min(WIDTH, (self.size >> 8 * level) - index * WIDTH)
            tile = Tile(level=level, index=index, width=width)
            found = self._tiles[level, index] = hashes_of(self._read(tile), tile)
        return found


def hashes_of(data: bytes, tile: Tile) -> tuple[bytes, ...]:
    """
    Return the hashes in a tile.

    Raises RecordError if it has another number of them.
    """
    if len(data) != tile.width * HASH_BYTES:
        raise RecordError("bad_tile", f"{tile.path} does not have {tile.width} hashes")
    return tuple(data[at : at + HASH_BYTES] for at in range(0, len(data), HASH_BYTES))


def write_entries(entries: Sequence[bytes]) -> bytes:
    """
    Return an entry bundle: each entry after its length.

    >>> write_entries([b"ab", b"c"]).hex(" ", 1)
    '00 02 61 62 00 01 63'
    """
    return b"".join(u16(len(entry)) + entry for entry in entries)


def read_entries(data: bytes, tile: Tile) -> tuple[bytes, ...]:
    """
    Return the entries of a bundle.

    Raises RecordError if it is cut short or has another number of entries.
    """
    entries, at = [], 0
    while at < len(data):
        end = at + 2 + int.from_bytes(data[at : at + 2], "big")
        if end > len(data) or at + 2 > len(data):
            raise RecordError("bad_tile", f"{tile.path} is cut short")
        entries.append(data[at + 2 : end])
        at = end
    if len(entries) != tile.width:
        raise RecordError("bad_tile", f"{tile.path} does not have {tile.width} entries")
    return tuple(entries)


def entry_tiles(first: int, end: int) -> Iterator[Tile]:
    """Yield the entry bundles of a tree of `end` leaves, from the one with the entry `first` on."""
    for index in range(first // WIDTH, -(-end // WIDTH)):
        yield Tile(level=None, index=index, width=min(WIDTH, end - index * WIDTH))


def _split(size: int) -> int:
    """Return the largest power of two below `size`."""
    return 1 << ((size - 1).bit_length() - 1)
