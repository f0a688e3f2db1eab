"""Tar files (ustar) written in one form, and read only in this form, file by file."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, Final

BLOCK: Final = tarfile.BLOCKSIZE
END: Final = bytes(2 * BLOCK)
"""The end of a tar file."""


class NotATarFile(ValueError):
    """A tar file that is damaged, or not in the form that `member` writes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A file in a tar file, and where its content begins."""

    name: str
    size: int
    at: int  # seconds since 1970
    offset: int


def member(name: str, content: bytes, *, at: int) -> bytes:
    """
    Return a file of a tar file: header, content and padding.

    `at` is its time, in seconds since 1970. The same arguments give the same bytes.
    """
    return header(name, len(content), at) + content + bytes(-len(content) % BLOCK)


def header(name: str, size: int, at: int) -> bytes:
    """Return the header of a file."""
    info = tarfile.TarInfo(name)
    info.size, info.mtime, info.mode = size, at, 0o644
    return info.tobuf(tarfile.USTAR_FORMAT, "ascii", "strict")


def members(file: BinaryIO) -> Iterator[Member]:
    """
    Yield the files of a tar file, without their content, one after the other.

    Raises NotATarFile for a header, a padding or an end in another form, and OSError.
    """
    while True:
        block = file.read(BLOCK)
        if block == bytes(BLOCK):
            if block + file.read(BLOCK + 1) != END:
                raise NotATarFile("there is more after its end")
            return
        found = _member(block, file.tell())
        yield found
        file.seek(found.offset + found.size)
        padding = -found.size % BLOCK
        if file.read(padding) != bytes(padding):
            raise NotATarFile(f"{found.name} is cut off, or followed by other bytes")


def _member(block: bytes, offset: int) -> Member:
    try:
        info = tarfile.TarInfo.frombuf(block, "ascii", "strict")
        found = Member(name=info.name, size=info.size, at=int(info.mtime), offset=offset)
        plain = header(found.name, found.size, found.at) == block
    except (tarfile.HeaderError, ValueError):
        plain = False
    if not plain:
        raise NotATarFile("a header that this format does not have, or no end")
    return found
