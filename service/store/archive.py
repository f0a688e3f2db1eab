"""The folder of archived games, one bundle per game."""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO
from uuid import UUID

from service.runtime.atomic_files import whole_file
from service.runtime.recent import Recent
from service.shx.bundle import Bundle, NotABundle, read_bundle
from service.shx.canonical import sha256
from service.store.events import StreamArchived

_MAX_CACHED = 32
"""Maximum number of bundles cached in memory, of a few hundred kilobytes each."""

_MODE = 0o640
"""Readable by owner and group of the service only: bundles of private tables are not public."""


class Bundles:
    """Reads and writes the bundles in a folder; without a folder there are no bundles."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._read = Recent[tuple[UUID, bytes], Bundle](_MAX_CACHED)

    def load(self, game: UUID, digest: bytes) -> Bundle:
        """
        Return the bundle of an archived game; its SHA-256 must be `digest`.

        Raises StreamArchived if the file is missing or unreadable, or has another SHA-256.
        """
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
        self._read.keep((game, digest), bundle)
        return bundle

    def keep(self, game: UUID, data: bytes) -> Path:
        """
        Write a bundle atomically, sync it to disk, and return its path.

        It is read back, because the caller then deletes the only other copy. Raises OSError if it
        cannot be written or reads back differently, ValueError without a folder.
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
        """Return the path of a game's bundle; raises ValueError without a folder."""
        if self._folder is None:
            raise ValueError("there is no folder for bundles")
        return self._folder / f"{game}.shx"


def _read(game: UUID, data: bytes) -> Bundle:
    try:
        return read_bundle(data)
    except NotABundle as error:
        raise StreamArchived(f"the bundle of game {game} cannot be read: {error}") from error


def _hand_over(file: BinaryIO, folder: Path) -> None:
    """Give a file written by root the owner and group of its folder."""
    owner = folder.stat()
    if os.geteuid() == 0:
        os.fchown(file.fileno(), owner.st_uid, owner.st_gid)
