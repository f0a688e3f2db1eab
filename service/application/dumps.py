"""Writes dumps: the sealed public hands of a month as files that anybody can verify."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, Self

from service.application.errors import Refusal, not_found
from service.application.games.cache import GameCache
from service.application.games.refused_moves import Refusals
from service.application.ports import World
from service.public_log.log import LogStore, SignedHead
from service.replay.sentences import said
from service.runtime.atomic_files import PUBLIC, whole_file, write_whole
from service.shx.bundle import PROOF, write_bundle
from service.shx.canonical import sha256
from service.shx.dumps import (
    CHECKPOINT,
    INDEX,
    MANIFEST,
    MAX_TAR,
    DumpedHand,
    DumpManifest,
    TarFile,
    month_of,
    tar_name,
)
from service.shx.tar_files import BLOCK, END, member
from service.shx.tlog.checkpoint import parse_checkpoint
from service.shx.tlog.notes import parse_note
from service.shx.tlog.tiles import WIDTH, Tile, TiledTree
from service.shx.tlog.tree import TlogProof
from service.store.directory import Directory
from service.store.logged_hands import LoggedHand

SETTLED: Final = timedelta(minutes=1)
"""Time after the end of a month in which a move of this month can still be committed."""

Progress = Callable[[Iterator[LoggedHand], int], Iterator[LoggedHand]]
"""Shows that hands are written one after the other; the number is that of all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dumps:
    """Writes the dump of a month; equal stored data gives equal bytes."""

    directory: Directory
    log: LogStore
    game_cache: GameCache
    refusals: Refusals
    world: World

    def write(
        self,
        month: str,
        folder: Path,
        progress: Progress = lambda hands, _: hands,
    ) -> DumpManifest:
        """
        Write the dump of a month like 2026-11 to a folder, and return its manifest, written last.

        It has the hands sealed in this month, as far as a signed checkpoint covers them. The
        checkpoint is the one of the proofs of the last of them, so that later checkpoints change
        nothing.

        Raises ValueError for another text than a month, Refusal `not-found` for a month without
        such a hand, Refusal `unavailable` for a hand that cannot be read, and OSError.
        """
        since, until = month_of(month)
        is_over = self.world.now() >= until + SETTLED
        published = self.log.published()
        size = 0 if published is None else published.size
        count, last, previous = 0, -1, None
        for hand in self._hands(size, None, until):
            if hand.sealed_at >= since:
                count, last = count + 1, hand.leaf
            elif previous is None or previous < hand.sealed_at:
                previous = hand.sealed_at
        head = self.log.early_head(last) if count else None
        if head is None:
            raise not_found("hands", month=month)
        folder.mkdir(parents=True, exist_ok=True)
        proofs = _Proofs(head, self.log)
        with _Writer(folder) as writer:
            for hand in progress(self._hands(last + 1, since, until), count):
                writer.add(hand, self._bundle(hand, proofs.of(hand)))
        write_whole(folder / CHECKPOINT, head.checkpoint, mode=PUBLIC)
        self._write_tiles(folder, head.size)
        manifest = DumpManifest(
            month=month,
            previous=None if previous is None else f"{previous.astimezone(UTC):%Y-%m}",
            complete=is_over and not self.directory.has_unlogged_hands(since, until, size),
            origin=parse_checkpoint(parse_note(head.checkpoint).text).origin,
            tree_size=head.size,
            hands=count,
            index=writer.index.sha256,
            tars=tuple(writer.tars),
        )
        write_whole(folder / MANIFEST, manifest.content, mode=PUBLIC)
        return manifest

    def _hands(self, size: int, since: datetime | None, until: datetime) -> Iterator[LoggedHand]:
        for hands in self.directory.all_logged_hands(size):
            for hand in hands:
                if hand.sealed_at < until and (since is None or since <= hand.sealed_at):
                    yield hand

    def _bundle(self, hand: LoggedHand, proof: bytes) -> bytes:
        """Return the public bundle of a hand with a proof, and without files about disputes."""
        entry = self.game_cache.fresh(hand.game)
        if entry is None:
            raise Refusal("unavailable", said("operator.unreadable", game=str(hand.game)))
        lines = self.game_cache.lines(hand.game, limit=entry.record.version)
        files = {**self.refusals.file(entry.record), PROOF: proof}
        return write_bundle(lines, files=files)

    def _write_tiles(self, folder: Path, size: int) -> None:
        """Write the tiles of the tree, from which proofs of consistency can be computed."""
        for tile in tiles_of(size):
            path = folder / tile.path
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, self.log.hashes(tile), mode=PUBLIC)


def tiles_of(size: int) -> Iterator[Tile]:
    """Yield all tiles of a tree, full ones and those at its right edge."""
    level = 0
    while size:
        for index in range(size // WIDTH):
            yield Tile(level=level, index=index)
        if size % WIDTH:
            yield Tile(level=level, index=size // WIDTH, width=size % WIDTH)
        size, level = size // WIDTH, level + 1


class _Proofs:
    """Inclusion proofs of leaves in one tree; of the tiles only some are in memory."""

    def __init__(self, head: SignedHead, log: LogStore) -> None:
        self._head = head
        self._log = log
        self._made = 0
        self._tree = TiledTree(head.size, log.hashes)

    def of(self, hand: LoggedHand) -> bytes:
        """Return the proof of the last leaf of a hand."""
        self._made += 1
        if self._made % MAX_PROOFS == 0:
            self._tree = TiledTree(self._head.size, self._log.hashes)
        return TlogProof(
            index=hand.leaf,
            hashes=self._tree.inclusion_proof(hand.leaf),
            checkpoint=self._head.checkpoint,
            extra=hand.data,
        ).text


MAX_PROOFS: Final = 1000
"""Proofs after which the tiles in memory are dropped."""


class _HashedFile:
    """A file that is written from its beginning to its end, with its hash."""

    def __init__(self, path: Path) -> None:
        self.name = path.name
        self.size = 0
        self._hash = hashlib.sha256()
        self._whole = whole_file(path, mode=PUBLIC)
        self._file = self._whole.__enter__()

    def write(self, content: bytes) -> None:
        """Write the next bytes."""
        self._file.write(content)
        self._hash.update(content)
        self.size += len(content)

    @property
    def sha256(self) -> str:
        """Return the hash of what has been written."""
        return self._hash.hexdigest()

    def close(self, *error: Any) -> None:
        """Give the file its name, unless there was an error."""
        self._whole.__exit__(*(error or (None, None, None)))


class _Writer:
    """Writes bundles to tar files of at most MAX_TAR bytes, and the index beside them."""

    def __init__(self, folder: Path) -> None:
        self.tars: list[TarFile] = []
        self._folder = folder
        self.index = _HashedFile(folder / INDEX)
        self._tar: _HashedFile | None = None

    def __enter__(self) -> Self:
        """Return the writer."""
        return self

    def __exit__(self, *error: object) -> None:
        """Name the last files; after an error they are removed."""
        if error[0] is None:
            self._end()
        elif self._tar is not None:
            self._tar.close(*error)
        self.index.close(*error)

    def add(self, hand: LoggedHand, bundle: bytes) -> None:
        """Write a bundle and its line."""
        tar = self._tar
        room = len(bundle) + 2 * BLOCK + len(END)
        if tar is None or tar.size + room > MAX_TAR:
            self._end()
            tar = self._tar = _HashedFile(self._folder / tar_name(len(self.tars) + 1))
        dumped = DumpedHand(
            game=hand.game,
            leaf=hand.leaf,
            tar=tar.name,
            sha256=sha256(bundle).hex(),
            size=len(bundle),
            sealed_at=hand.sealed_at,
            players=tuple(seat.player for seat in hand.seats),
            cad=hand.cad,
        )
        tar.write(member(dumped.name, bundle, at=int(hand.sealed_at.timestamp())))
        self.index.write(dumped.line + b"\n")

    def _end(self) -> None:
        """End the present tar file."""
        if self._tar is not None:
            self._tar.write(END)
            self._tar.close()
            done = TarFile(name=self._tar.name, sha256=self._tar.sha256, size=self._tar.size)
            self.tars.append(done)
            self._tar = None
