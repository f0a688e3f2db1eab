"""Dumps of several months as one series: one log, no month twice or left out, each hand once."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Never
from uuid import UUID

from service.shx.canonical import RecordError, sha256
from service.shx.dumps import (
    CHECKPOINT,
    DumpedHand,
    DumpManifest,
    month_of,
    read_index,
    read_manifest,
)
from service.shx.tar_files import members
from service.shx.tlog.checkpoint import Checkpoint, parse_checkpoint
from service.shx.tlog.notes import MAX_NOTE, parse_note
from service.shx.tlog.tiles import Tile, TiledTree
from service.shx.tlog.tree import proves_consistency


@dataclass(frozen=True, slots=True, kw_only=True)
class DumpFolder:
    """The folder of a dump, with its manifest and its checkpoint."""

    folder: Path
    manifest: DumpManifest
    checkpoint: Checkpoint

    def __str__(self) -> str:
        """Return how complaints name it."""
        return f"{self.folder} ({self.manifest.month})"


class DumpSeries:
    """
    The dumps of months that follow one another, and their hands in the order of the public log.

    A hand of one month can have a leaf after the first hands of the next, because a move has its
    time before it is committed. So the hands of all dumps are merged by their leaves.
    """

    def __init__(self, folders: Sequence[Path]) -> None:
        """
        Read the manifests of dumps, in any order, and compare them.

        Raises RecordError, which names both dumps, unless all are of one public log, none is of the
        month of another or made while its month was running, the last one excepted, and each
        continues the month before it. Also raises it for a dump that is malformed, and OSError.
        """
        self.dumps = sorted(map(_read, folders), key=lambda one: one.manifest.month)
        for before, after in pairwise(self.dumps):
            _check_months(before, after)
            _check_logs(before, after)

    @property
    def count(self) -> int:
        """Return the number of hands that the manifests state."""
        return sum(one.manifest.hands for one in self.dumps)

    @property
    def before(self) -> str | None:
        """Return the last month with hands before the first of these dumps; None without one."""
        return self.dumps[0].manifest.previous

    def hands(self) -> Iterator[tuple[DumpedHand, bytes]]:
        """
        Yield every hand with its bundle, in the order of the leaves of the public log.

        Raises RecordError for a hand that is not at its place, for one of another month, and for a
        leaf or a game that two lines of the indexes name; and OSError.
        """
        leaf, last = -1, None
        games: dict[UUID, DumpFolder] = {}
        streams = [_placed(dump) for dump in self.dumps]
        for hand, data, dump in heapq.merge(*streams, key=lambda one: one[0].leaf):
            if hand.leaf == leaf:
                _refuse(f"leaf {leaf} of the public log is in {last} and in {dump}")
            if (other := games.setdefault(hand.game, dump)) is not dump or hand.leaf < leaf:
                _refuse(f"{hand.name} is in {other} and in {dump}")
            leaf, last = hand.leaf, dump
            yield hand, data


def _read(folder: Path) -> DumpFolder:
    manifest = read_manifest(folder)
    with (folder / CHECKPOINT).open("rb") as file:
        note = file.read(MAX_NOTE + 1)
    checkpoint = parse_checkpoint(parse_note(note).text)
    found = DumpFolder(folder=folder, manifest=manifest, checkpoint=checkpoint)
    if (checkpoint.origin, checkpoint.size) != (manifest.origin, manifest.tree_size):
        _refuse(f"the checkpoint of {found} is not the one that its manifest names")
    return found


def _check_months(before: DumpFolder, after: DumpFolder) -> None:
    if before.manifest.month == after.manifest.month:
        _refuse(f"{before} and {after} are two editions of one month: name one of them")
    if not before.manifest.complete:
        _refuse(f"{before} was made while its month was running, and {after} continues it")
    previous = after.manifest.previous
    if previous != before.manifest.month:
        earlier = "no month" if previous is None else previous
        _refuse(f"{after} continues {earlier}, not {before}")


def _check_logs(before: DumpFolder, after: DumpFolder) -> None:
    """Refuse two dumps unless the larger of their trees continues the other."""
    small, large = sorted((before, after), key=lambda one: one.checkpoint.size)
    tree = TiledTree(large.checkpoint.size, partial(_tile, large))
    if small.checkpoint.origin != large.checkpoint.origin or not proves_consistency(
        old_size=small.checkpoint.size,
        old_root=small.checkpoint.root,
        size=large.checkpoint.size,
        root_hash=large.checkpoint.root,
        proof=tree.consistency_proof(small.checkpoint.size),
    ):
        _refuse(f"{before} and {after} are of two public logs")


def _tile(dump: DumpFolder, tile: Tile) -> bytes:
    data = (dump.folder / tile.path).read_bytes()
    if len(data) != 32 * tile.width:
        _refuse(f"{tile.path} of {dump} has not {tile.width} hashes")
    return data


def _placed(dump: DumpFolder) -> Iterator[tuple[DumpedHand, bytes, DumpFolder]]:
    """Yield every hand of a dump with its bundle; raises RecordError for one not at its place."""
    index, manifest = read_index(dump.folder), dump.manifest
    since, until = month_of(manifest.month)
    for tar in manifest.tars:
        path = dump.folder / tar.name
        with path.open("rb") as file, path.open("rb") as contents:
            for member in members(file):
                hand = next(index, None)
                contents.seek(member.offset)
                data = contents.read(member.size)
                if hand is None or hand.name != member.name or sha256(data).hex() != hand.sha256:
                    _refuse(f"{member.name} in {tar.name} of {dump} is not the bundle of the index")
                if not since <= hand.sealed_at < until:
                    _refuse(f"{hand.name} in {dump} is of another month")
                yield hand, data, dump
    if (missing := next(index, None)) is not None:
        _refuse(f"{missing.name} is missing in {dump}")


def _refuse(detail: str) -> Never:
    raise RecordError("bad_dump", detail)
