"""A small disk that can be filled completely, for the data of a service."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

_IMAGE_BYTES = 1536 * 1024 * 1024
_LEFT = 16 * 1024  # bytes that a full disk still has


@contextlib.contextmanager
def small_disk(folder: Path) -> Iterator[Path | None]:
    """Yield a folder on an ext4 file system of its own; None if it cannot be made or mounted."""
    image, mounted = folder / "disk.img", folder / "disk"
    mounted.mkdir()
    with image.open("wb") as file:
        file.truncate(_IMAGE_BYTES)
    made = _runs("mkfs.ext4", "-q", "-m", "0", str(image))
    if not made or not _runs("mount", "-o", "loop", str(image), str(mounted)):
        image.unlink()
        yield None
        return
    try:
        yield mounted
    finally:
        _runs("umount", "-l", str(mounted))
        image.unlink()


@contextlib.contextmanager
def filled(disk: Path) -> Iterator[None]:
    """Keep a small disk full while the block runs."""
    ballast = disk / "ballast"
    try:
        with ballast.open("wb") as file:
            for _ in range(8):  # after a write the file system may have free space again
                free = os.statvfs(disk)
                size = free.f_bavail * free.f_frsize - _LEFT
                if size <= 0:
                    break
                with contextlib.suppress(OSError):
                    os.posix_fallocate(file.fileno(), os.fstat(file.fileno()).st_size, size)
        yield
    finally:
        ballast.unlink(missing_ok=True)


def _runs(*command: str) -> bool:
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        return False
