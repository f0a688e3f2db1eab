"""Storage of the newest signed checkpoint, outside the database."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol

from service.runtime.atomic_files import PUBLIC, folder_lock, write_whole
from service.shx.canonical import RecordError
from service.shx.tlog.checkpoint import Checkpoint, parse_checkpoint
from service.shx.tlog.notes import parse_note

CHECKPOINT_FILE = "log.checkpoint"


@dataclass(frozen=True, slots=True, kw_only=True)
class WalPosition:
    """How far the WAL archive reached when a checkpoint was signed; it never ends before that."""

    leaves: int  # of the checkpoint
    cluster: str  # the system identifier of the database
    position: str  # as PostgreSQL writes it


def position_beside(checkpoint: Path) -> WalPosition | None:
    """Return the position stored beside a file of a checkpoint; None without one, or a bad one."""
    try:
        fields = json.loads(_beside(checkpoint).read_text())
        return WalPosition(
            leaves=int(fields["leaves"]),
            cluster=str(fields["cluster"]),
            position=str(fields["position"]),
        )
    except (OSError, ValueError, TypeError, KeyError):
        return None


def size_of(note: bytes) -> int:
    """Return the number of leaves of a checkpoint; raises RecordError if it is none."""
    return _parsed(note).size


def _beside(checkpoint: Path) -> Path:
    return checkpoint.with_name(f"{checkpoint.name}.wal")


class SignedCheckpoints(Protocol):
    """Stores the newest signed checkpoint, and a checkpoint that contradicts the current tree."""

    @property
    def path(self) -> Path | None:
        """Return the file of the checkpoint; None if it is stored in memory only."""

    def last(self) -> Checkpoint | None:
        """Return the last signed checkpoint; None if none is stored."""

    def save(self, note: bytes, wal: WalPosition | None = None) -> None:
        """Store a checkpoint before it is published, and how far the WAL archive reaches."""

    def contradiction(self) -> Checkpoint | None:
        """Return the stored checkpoint of this log that contradicts its tree; None without one."""

    def save_contradiction(self, note: bytes) -> None:
        """Store a contradicting checkpoint, unless one is stored already."""

    def clear_contradiction(self) -> None:
        """Delete the contradicting checkpoint: the tree continues it again."""


class NoCheckpoints:
    """Stores no checkpoint on disk; for logs in the memory of a process."""

    path: Path | None = None

    def __init__(self) -> None:
        self._contradiction: bytes | None = None

    def last(self) -> None:
        """Return None: no checkpoint is stored."""

    def save(self, note: bytes, wal: WalPosition | None = None) -> None:
        """Do nothing."""

    def contradiction(self) -> Checkpoint | None:
        """Return the contradicting checkpoint that a witness showed to this process, or None."""
        return None if self._contradiction is None else _parsed(self._contradiction)

    def save_contradiction(self, note: bytes) -> None:
        """Store a contradicting checkpoint in memory, unless one is stored already."""
        self._contradiction = self._contradiction or note

    def clear_contradiction(self) -> None:
        """Delete the contradicting checkpoint."""
        self._contradiction = None


class SignedFile:
    """
    The newest checkpoint in a file.

    A restored database is older than this file, unless one snapshot contains both. The content
    is public, and `shithead restore --checkpoint` reads it unchanged. A contradicting checkpoint
    is stored in a second file beside it, and the position of the WAL archive in a third, with
    which `shithead recover` compares the end of the archive.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._against = path.with_name(f"{path.name}.contradiction")

    @property
    def path(self) -> Path | None:
        """Return the file of the checkpoint."""
        return self._path

    def last(self) -> Checkpoint | None:
        """Return the last signed checkpoint; raises OSError or RecordError if it is unreadable."""
        return _read(self._path)

    def save(self, note: bytes, wal: WalPosition | None = None) -> None:
        """
        Write a checkpoint to disk before it is published, unless the file has a larger tree.

        Raises OSError, or RecordError if `note` is not a checkpoint or is another tree of the same
        size.
        """
        new = _parsed(note)
        with folder_lock(self._path.parent):
            last = self.last()
            if last is not None and last.size == new.size and last.root != new.root:
                raise RecordError(
                    "two_trees", f"another tree of {new.size} leaves was signed before"
                )
            if last is None or last.size <= new.size:
                if wal is not None:  # first: a position of a later checkpoint does no harm
                    content = json.dumps(asdict(wal)).encode()
                    write_whole(_beside(self._path), content, mode=PUBLIC)
                write_whole(self._path, note, mode=PUBLIC)

    def contradiction(self) -> Checkpoint | None:
        """Return the contradicting checkpoint; raises OSError or RecordError if unreadable."""
        return _read(self._against)

    def save_contradiction(self, note: bytes) -> None:
        """Save a checkpoint as evidence for this and later processes."""
        with folder_lock(self._path.parent):
            if not self._against.exists():
                write_whole(self._against, note, mode=PUBLIC)

    def clear_contradiction(self) -> None:
        """Remove the file of the contradicting checkpoint."""
        self._against.unlink(missing_ok=True)


def signed_checkpoints(key_file: Path | None, path: Path | None = None) -> SignedCheckpoints:
    """Return the storage of signed checkpoints: a file, or memory if both paths are None."""
    path = checkpoint_path(key_file, path)
    return NoCheckpoints() if path is None else SignedFile(path)


def checkpoint_path(key_file: Path | None, path: Path | None = None) -> Path | None:
    """Return the file of the newest checkpoint: `path`, otherwise one beside the key file."""
    if path is not None or key_file is None:
        return path
    return key_file.with_name(CHECKPOINT_FILE)


def _read(path: Path) -> Checkpoint | None:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    return _parsed(data)


def _parsed(note: bytes) -> Checkpoint:
    try:
        return parse_checkpoint(parse_note(note).text)
    except RecordError as error:
        raise RecordError(error.code, f"not a checkpoint: {error.detail}") from None
