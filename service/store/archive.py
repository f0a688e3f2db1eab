"""The archived games, one bundle per game."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

from service.runtime.plain_errors import why
from service.runtime.recent import Recent
from service.shx.bundle import Bundle, NotABundle, read_bundle
from service.shx.canonical import sha256
from service.store.archive_files import ArchiveFiles, files_in
from service.store.events import StreamArchived

_MAX_CACHED = 32
"""Maximum number of bundles cached in memory, of a few hundred kilobytes each."""


class Bundles:
    """Reads and writes bundles in a folder or object store; without one there are no bundles."""

    def __init__(self, place: Path | str | None) -> None:
        self._files: ArchiveFiles | None = None if place is None else files_in(place)
        self._read = Recent[tuple[UUID, bytes], Bundle](_MAX_CACHED)

    def load(self, game: UUID, digest: bytes) -> Bundle:
        """
        Return the bundle of an archived game; its SHA-256 must be `digest`.

        Raises StreamArchived if the file is missing or unreadable, or has another SHA-256.
        """
        found = self._read.get((game, digest))
        if found is not None:
            return found
        if self._files is None:
            raise StreamArchived(f"game {game} is in a bundle, and SHITHEAD_ARCHIVE is not set")
        try:
            data = self._files.read(_name(game))
        except OSError as error:
            raise StreamArchived(f"the bundle of game {game}: {why(error)}") from error
        if sha256(data) != digest:
            raise StreamArchived(f"the bundle of game {game} is not the one that was archived")
        bundle = _bundle(game, data)
        self._read.keep((game, digest), bundle)
        return bundle

    def keep(self, game: UUID, data: bytes) -> str:
        """
        Write a bundle whole, on disk or as an object, and return its path or address.

        It is read back, because the caller then deletes the only other copy. Raises OSError if it
        cannot be written or reads back differently, ValueError without an archive.
        """
        if self._files is None:
            raise ValueError("there is no archive for bundles")
        name = _name(game)
        self._files.write(name, data)
        if self._files.read(name) != data:
            raise OSError(f"{self._files.place(name)} does not read back as it was written")
        return self._files.place(name)


def _name(game: UUID) -> str:
    return f"{game}.shx"


def _bundle(game: UUID, data: bytes) -> Bundle:
    try:
        return read_bundle(data)
    except NotABundle as error:
        raise StreamArchived(f"the bundle of game {game} cannot be read: {error}") from error
