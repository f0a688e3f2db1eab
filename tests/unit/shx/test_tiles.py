"""Tiles: their paths, their content, and trees read from tiles."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.shx.canonical import RecordError
from service.shx.tlog import tree
from service.shx.tlog.tiles import (
    EMPTY,
    WIDTH,
    Tile,
    TiledTree,
    edge_tiles,
    entry_tiles,
    grow,
    parse_tile,
    read_edge,
    read_entries,
    write_entries,
)
from tests.examples import examples

# Published proofs of Certificate Transparency, over the eight leaves of test_tree.py.
LEAVES = [
    tree.leaf_hash(bytes.fromhex(leaf))
    for leaf in (
        *("", "00", "10", "2021", "3031", "40414243", "5051525354555657"),
        "606162636465666768696a6b6c6d6e6f",
    )
]
A = "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7"
B = "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e"
C = "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4"
D = "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b"
E = "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0"
F = "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7"
G = "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125"
H = "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"
I = "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a"  # noqa: E741 - a row of names
INCLUSION = [(0, 1, []), (0, 8, [A, B, C]), (5, 8, [D, E, F]), (2, 3, [G]), (1, 5, [H, B, D])]
CONSISTENCY = [(1, 1, []), (1, 8, [A, B, C]), (6, 8, [I, E, F]), (2, 5, [B, D])]


class Tiles:
    """A tree whose tiles are written batch by batch, as by a log."""

    def __init__(self, leaves: list[bytes], batches: list[int]) -> None:
        self.hashes: dict[tuple[int, int], bytes] = {}
        self.edge = EMPTY
        at = 0
        for batch in [*batches, len(leaves)]:
            self.edge, added = grow(self.edge, leaves[at : at + batch])
            at = min(len(leaves), at + batch)
            for level, position, one in added:
                assert (level, position) not in self.hashes, "written twice"
                self.hashes[level, position] = one

    def read(self, tile: Tile) -> bytes:
        assert tile.level is not None
        places = range(tile.first, tile.first + tile.width)
        return b"".join(self.hashes[tile.level, place] for place in places)


def leaves_of(size: int) -> list[bytes]:
    return [tree.leaf_hash(number.to_bytes(4, "big")) for number in range(size)]


@pytest.mark.parametrize(("index", "size", "proof"), INCLUSION)
def test_inclusion_proofs_are_the_published_ones(index: int, size: int, proof: list[str]) -> None:
    tiled = TiledTree(size, Tiles(LEAVES[:size], []).read)
    assert [item.hex() for item in tiled.inclusion_proof(index)] == proof
    assert [item.hex() for item in tree.inclusion_proof(LEAVES[:size], index)] == proof


@pytest.mark.parametrize(("old", "size", "proof"), CONSISTENCY)
def test_consistency_proofs_are_the_published_ones(old: int, size: int, proof: list[str]) -> None:
    tiled = TiledTree(size, Tiles(LEAVES[:size], []).read)
    assert [item.hex() for item in tiled.consistency_proof(old)] == proof
    assert [item.hex() for item in tree.consistency_proof(LEAVES[:size], old)] == proof


def test_the_tiles_of_70000_leaves_are_those_of_the_specification() -> None:
    """The example of tlog-tiles."""
    widths = {tile.level: (tile.index, tile.width) for tile in edge_tiles(70_000)}
    assert widths == {0: (273, 112), 1: (1, 17), 2: (0, 1)}
    assert [(t.level, t.width) for t in edge_tiles(256)] == [(1, 1)]
    assert list(edge_tiles(0)) == []


@pytest.mark.parametrize(
    ("tile", "path"),
    [
        (Tile(level=0, index=0), "tile/0/000"),
        (Tile(level=1, index=1234067), "tile/1/x001/x234/067"),
        (Tile(level=63, index=999, width=1), "tile/63/999.p/1"),
        (Tile(level=None, index=1000, width=255), "tile/entries/x001/000.p/255"),
    ],
)
def test_tile_paths_are_those_of_the_specification(tile: Tile, path: str) -> None:
    assert tile.path == path
    _, level, rest = path.split("/", 2)
    assert parse_tile(level, rest) == tile


@pytest.mark.parametrize(
    ("level", "rest"),
    [
        *(("0", rest) for rest in ("", "0", "0000", "00a", "x000/001", "x001", "001/002")),
        *(("0", rest) for rest in ("000.p/0", "000.p/256", "000.p/01", "000.p/", "000.p", "-01")),
        *(("0", rest) for rest in ("000/", "/000", "001.p/300", "\u0660\u0660\u0661", "000\n")),
        *((level, "000") for level in ("64", "00", "-1", "entry", "", "1\n")),
        ("0", "x999/" * 9 + "999"),
    ],
)
def test_an_invalid_tile_path_is_not_parsed(level: str, rest: str) -> None:
    assert parse_tile(level, rest) is None


SIZES = st.one_of(
    st.integers(0, 40), st.sampled_from([255, 256, 257, 511, 512, 513, 65_535, 65_536, 65_793])
)


@pytest.mark.heavy
@examples(25)
@given(SIZES, st.data())
def test_a_tree_read_from_tiles_is_the_tree_over_its_leaves(size: int, data: st.DataObject) -> None:
    """Batches of any sizes give the same tiles, each written once."""
    leaves = leaves_of(size)
    tiles = Tiles(leaves, data.draw(st.lists(st.integers(0, 300), max_size=6)))
    tiled = TiledTree(size, tiles.read)
    top = tiles.edge.root
    assert tiled.root() == top == tree.root(leaves)
    old = data.draw(st.integers(0, size))
    assert tiled.root(old) == tree.root(leaves[:old])
    assert tree.proves_consistency(
        old_size=old,
        old_root=tiled.root(old),
        size=size,
        root_hash=top,
        proof=tiled.consistency_proof(old),
    )
    if size:
        index = data.draw(st.integers(0, size - 1))
        assert tree.proves_inclusion(
            leaf=leaves[index],
            index=index,
            size=size,
            proof=tiled.inclusion_proof(index),
            root_hash=top,
        )


@given(st.integers(0, 1000))
def test_the_right_edge_of_a_tree_is_read_from_its_tiles(size: int) -> None:
    tiles = Tiles(leaves_of(size), [])
    found = read_edge(size, tiles.read)
    assert found.root == tiles.edge.root
    more = leaves_of(size + 300)
    assert grow(found, more[size:])[0].root == tree.root(more)


def test_tiles_outside_a_tree_are_recognized() -> None:
    size = 70_000
    assert all(tile.within(size) for tile in edge_tiles(size))
    assert Tile(level=1, index=0).within(size)
    assert not Tile(level=1, index=1, width=18).within(size)
    assert not Tile(level=0, index=273).within(size)
    assert Tile(level=None, index=273, width=112).within(size)
    assert not Tile(level=None, index=273, width=113).within(size)
    assert not Tile(level=63, index=0, width=1).within(size)


def test_entries_are_written_with_their_lengths() -> None:
    entries = [b"", b"one", b"x" * 300]
    data = write_entries(entries)
    assert data == b"\0\0" + b"\0\3one" + b"\x01\x2c" + b"x" * 300
    tile = Tile(level=None, index=0, width=3)
    assert read_entries(data, tile) == tuple(entries)
    for wrong in (data[:-1], data + b"\0", data + b"\0\0", b""):
        with pytest.raises(RecordError):
            read_entries(wrong, tile)


def test_the_entry_tiles_that_contain_new_entries_are_listed() -> None:
    def tiles(first: int, end: int) -> list[tuple[int, int]]:
        return [(tile.index, tile.width) for tile in entry_tiles(first, end)]

    assert tiles(0, 3) == [(0, 3)]
    assert tiles(255, 257) == [(0, WIDTH), (1, 1)]
    assert tiles(256, 512) == [(1, WIDTH)]
    assert tiles(512, 512) == []
