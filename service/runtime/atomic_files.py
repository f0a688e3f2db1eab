"""Atomic file writes: write to a temporary file, fsync, rename."""

from __future__ import annotations

import fcntl
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

PRIVATE: Final = 0o600
"""Mode of files that contain keys, tokens or other private data."""

PUBLIC: Final = 0o644
"""Mode of files that every user may read, subject to the umask."""


@contextmanager
def whole_file(path: Path, *, mode: int = PRIVATE, new: bool = False) -> Iterator[BinaryIO]:
    """
    Yield a file that replaces `path`, synced to disk, when the context ends.

    Until then it is a temporary file beside `path`, with a leading dot. If the context raises
    or the machine stops, `path` is unchanged. `mode` applies from the start. With `new`,
    nothing is replaced: raises FileExistsError if `path` exists, also if another process
    created it meanwhile. Raises OSError if the folder does not exist.
    """
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if new:
            _name_new(draft, path)
        else:
            draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    _sync_folder(path.parent)


def write_whole(path: Path, content: bytes, *, mode: int = PRIVATE, new: bool = False) -> None:
    """Write a file atomically; see `whole_file`."""
    with whole_file(path, mode=mode, new=new) as file:
        file.write(content)


@contextmanager
def folder_lock(folder: Path) -> Iterator[None]:
    """Lock a folder against other callers, so that no read-modify-write is lost."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _name_new(draft: Path, path: Path) -> None:
    """Rename a file to a new name; raises FileExistsError if another process was faster."""
    try:
        os.link(draft, path)
    except FileExistsError:
        raise
    except OSError:  # the file system has no hard links (FAT)
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE))
        draft.replace(path)


def _sync_folder(folder: Path) -> None:
    """Sync the entries of a folder to disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
