"""Files that are there whole or not at all: on disk before they go by their name."""

from __future__ import annotations

import fcntl
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

PRIVATE: Final = 0o600
"""For the owner alone: what holds a key, a token, or what not everybody may see."""

PUBLIC: Final = 0o644
"""For everybody on the machine to read, as far as the umask lets them."""


@contextmanager
def whole_file(path: Path, *, mode: int = PRIVATE, new: bool = False) -> Iterator[BinaryIO]:
    """
    Give a file that goes by the name `path`, and is safely on disk, once the context has ended.

    Until then it is a draft beside `path`, hidden by a leading dot. Where the context raises,
    or the machine stops, `path` is what it was before. `mode` holds from the first moment.
    With `new` nothing is replaced: raises FileExistsError where the name is taken, also by
    somebody who wrote it meanwhile. Raises OSError where the folder is not there.
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
    """Write a file as `whole_file` does, at one go."""
    with whole_file(path, mode=mode, new=new) as file:
        file.write(content)


@contextmanager
def folder_lock(folder: Path) -> Iterator[None]:
    """Hold off all others who ask for it: of two who read, then replace, one would be lost."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _name_new(draft: Path, path: Path) -> None:
    """Let a file go by a name that nobody else has; of many at once one comes first."""
    try:
        os.link(draft, path)
    except FileExistsError:
        raise
    except OSError:  # a memory stick, say, knows no links
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE))
        draft.replace(path)


def _sync_folder(folder: Path) -> None:
    """Put the names in a folder on disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
