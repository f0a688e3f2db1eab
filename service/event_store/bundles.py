"""The folder of bundles in which archived games live on, a file a game."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from pathlib import Path
from typing import BinaryIO
from uuid import UUID

from service.event_store.protocol import StreamArchived
from service.record.bundle import Bundle, NotABundle, read_bundle
from service.record.hashing import sha256
from service.whole_files import whole_file

_KEPT = 32
"""Bundles kept in memory once they were read; one has some hundred kilobytes."""

_MODE = 0o640
"""For whoever archives and the service's group: a game of a private table is not for all."""


class Bundles:
    """Reads and writes the bundles of a folder; without one it has none."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._read: OrderedDict[tuple[UUID, bytes], Bundle] = OrderedDict()
        self._lock = threading.Lock()

    def load(self, game: UUID, digest: bytes) -> Bundle:
        """
        Return the bundle of an archived game; `digest` is the hash that the database keeps of it.

        Raises StreamArchived where the folder has no such file, or another than was archived: a
        game is read as it was, or not at all.
        """
        with self._lock:
            found = self._read.get((game, digest))
        if found is not None:
            return found
        if self._folder is None:
            raise StreamArchived(f"game {game} is in a bundle, and SHITHEAD_ARCHIVE is not set")
        try:
            data = self.path(game).read_bytes()
        except OSError as error:
            raise StreamArchived(f"the bundle of game {game}: {error.strerror}") from error
        if sha256(data) != digest:
            raise StreamArchived(f"the bundle of game {game} is not the one that was archived")
        bundle = _read(game, data)
        with self._lock:
            self._read[game, digest] = bundle
            while len(self._read) > _KEPT:
                self._read.popitem(last=False)
        return bundle

    def keep(self, game: UUID, data: bytes) -> Path:
        """
        Write a bundle so that it outlasts a crash of the machine, and return its path.

        Whole or not at all under its name. It is read back before this returns: what follows is
        the removal of the only other copy. Raises OSError where that cannot be done.
        """
        path = self.path(game)
        path.parent.mkdir(mode=0o750, parents=True, exist_ok=True)
        with whole_file(path, mode=_MODE) as file:
            _hand_over(file, path.parent)
            file.write(data)
        if path.read_bytes() != data:
            raise OSError(f"{path} does not read back as it was written")
        return path

    def path(self, game: UUID) -> Path:
        """Return where the bundle of a game lies; raises ValueError where there is no folder."""
        if self._folder is None:
            raise ValueError("there is no folder for bundles")
        return self._folder / f"{game}.shx"


def _read(game: UUID, data: bytes) -> Bundle:
    try:
        return read_bundle(data)
    except NotABundle as error:
        raise StreamArchived(f"the bundle of game {game} cannot be read: {error}") from error


def _hand_over(file: BinaryIO, folder: Path) -> None:
    """Make a file whoever's the folder is, though root may be at work."""
    owner = folder.stat()
    if os.geteuid() == 0:
        os.fchown(file.fileno(), owner.st_uid, owner.st_gid)
