"""What was signed last, remembered outside the database: no older one may be gone on from."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from service.record.checkpoint import Checkpoint, parse_checkpoint
from service.record.notes import parse_note
from service.whole_files import PUBLIC, folder_lock, write_whole


class Signed(Protocol):
    """Remembers the largest tree that this service has put its name under."""

    def last(self) -> Checkpoint | None:
        """Return what was signed last; None where nothing is known of it."""

    def keep(self, note: bytes) -> None:
        """Remember a checkpoint that is about to be published."""


class Forgetful:
    """Knows of nothing that was signed; for logs that live no longer than their process."""

    def last(self) -> None:
        """Return that nothing is known."""

    def keep(self, note: bytes) -> None:
        """Forget it."""


class SignedFile:
    """
    The newest checkpoint in a file beside the keys.

    A database can be set back by a restore; this file is not set back with it. It holds
    what anybody may read, so `shithead restore --checkpoint` takes it as it is.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def last(self) -> Checkpoint | None:
        """Return what was signed last; raises OSError or RecordError where it cannot be read."""
        try:
            data = self._path.read_bytes()
        except FileNotFoundError:
            return None
        return parse_checkpoint(parse_note(data).text)

    def keep(self, note: bytes) -> None:
        """
        Remember a checkpoint, on disk before anybody sees it, unless a larger tree is remembered.

        Raises OSError, or RecordError where `note` is none.
        """
        size = parse_checkpoint(parse_note(note).text).size
        with folder_lock(self._path.parent):
            last = self.last()
            if last is None or last.size <= size:
                write_whole(self._path, note, mode=PUBLIC)


def beside(key_file: Path | None) -> Signed:
    """Return the memory that belongs to a key file; without one there is no place for it."""
    return Forgetful() if key_file is None else SignedFile(key_file.with_name("log.checkpoint"))

