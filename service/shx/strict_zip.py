"""Strict ZIP archives: uncompressed plain files, the same for every reader."""

from __future__ import annotations

import io
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

MAX_ENTRIES: Final = 4096
MAX_NAME: Final = 200
MAX_TOTAL: Final = 128 << 20

_EPOCH: Final = (1980, 1, 1, 0, 0, 0)
_NAME: Final = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*(?:/[A-Za-z0-9_-][A-Za-z0-9._-]*)*")
_UNIX: Final = 3

_AMBIGUOUS_FIELDS: Final = frozenset({0x0001, 0x554E, 0x7075})
"""Extra fields from which some readers take another size or name: ZIP64, Unicode names."""

_END: Final = struct.Struct("<4s4H2IH")  # the last record: position of the directory
_ENTRY: Final = struct.Struct("<4s6H3I5H2I")  # an entry of the directory
_LOCAL: Final = struct.Struct("<4s5H3I2H")  # the header before the bytes of an entry
_EXTRA: Final = struct.Struct("<2H")  # the header of an extra field


class NotABundle(ValueError):
    """The bytes are not a bundle that this reader accepts; the message gives the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    name: str
    flags: int
    crc: int
    size: int
    offset: int


def is_plain_name(name: str) -> bool:
    """
    Return whether an entry may have this name: relative, ASCII, no part begins with a dot.

    >>> is_plain_name("receipts/a.note"), is_plain_name("../etc/passwd")
    (True, False)
    """
    return len(name) <= MAX_NAME and _NAME.fullmatch(name) is not None


def write_zip(files: Mapping[str, bytes]) -> bytes:
    """
    Return an archive of the files; equal files give equal bytes on every system.

    Raises NotABundle if there are more files than a reader accepts, or more than half as many
    bytes, without headers.
    """
    if len(files) > MAX_ENTRIES or sum(map(len, files.values())) > MAX_TOTAL // 2:
        raise NotABundle("more files or bytes than a bundle may contain")
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(files):
            info = zipfile.ZipInfo(name, date_time=_EPOCH)
            info.create_system = _UNIX
            info.external_attr = (stat.S_IFREG | 0o644) << 16
            archive.writestr(info, files[name])
    return out.getvalue()


def read_zip(data: bytes) -> dict[str, bytes]:
    """
    Return the files of an archive.

    No two readers may see different files in one archive. Therefore entries must be adjacent
    from the first byte to the directory, each header must agree with the directory, and
    nothing may follow the end.

    Raises NotABundle for any other archive.
    """
    if len(data) > MAX_TOTAL:
        raise NotABundle(f"more than {MAX_TOTAL} bytes")
    entries, directory = _directory(data)
    files: dict[str, bytes] = {}
    at = 0
    for entry in sorted(entries, key=lambda entry: entry.offset):
        if entry.offset != at:
            raise NotABundle(f"{entry.name}: does not begin where the entry before ends")
        if entry.name in files:
            raise NotABundle(f"{entry.name}: occurs twice")
        files[entry.name], at = _content(data, entry, directory)
    if at != directory:
        raise NotABundle("bytes between the last entry and the directory")
    return files


def _directory(data: bytes) -> tuple[list[_Entry], int]:
    """Return the entries of the directory and where it begins."""
    last = len(data) - _END.size
    if last < 0 or data[last : last + 4] != b"PK\x05\x06":
        raise NotABundle("not a ZIP archive that ends with its directory")
    _, disk, first_disk, entries_here, total, size, start, comment = _END.unpack_from(data, last)
    if disk or first_disk or entries_here != total or comment or start + size != last:
        raise NotABundle("a ZIP archive in parts, with a comment, or with gaps")
    if total > MAX_ENTRIES:
        raise NotABundle(f"more than {MAX_ENTRIES} entries")
    entries, at = [], start
    for _ in range(total):
        entry, at = _entry(data, at, last)
        entries.append(entry)
    if at != last:
        raise NotABundle("bytes in the directory outside any entry")
    return entries, start


def _entry(data: bytes, at: int, end: int) -> tuple[_Entry, int]:
    """Return the entry of the directory at `at`, and where the next one begins."""
    if at + _ENTRY.size > end:
        raise NotABundle("the directory ends within an entry")
    fields = _ENTRY.unpack_from(data, at)
    magic, made_by, _, flags, method, _, _, crc, packed, size, long, extra, comment = fields[:13]
    disk, _, attributes, offset = fields[13:]
    begin = at + _ENTRY.size
    after = begin + long + extra + comment
    if magic != b"PK\x01\x02" or after > end:
        raise NotABundle("the directory is damaged")
    name = _name(data[begin : begin + long])
    if method or flags & ~0x0800 or packed != size:
        raise NotABundle(f"{name}: compressed, encrypted or streamed")
    mode = attributes >> 16
    if disk or (made_by >> 8 == _UNIX and mode and not _is_regular(mode)) or attributes & 0x10:
        raise NotABundle(f"{name}: not a plain file")
    _check_extra(name, data[begin + long : begin + long + extra])
    return _Entry(name=name, flags=flags, crc=crc, size=size, offset=offset), after


def _content(data: bytes, entry: _Entry, directory: int) -> tuple[bytes, int]:
    """Return the bytes of an entry, and where they end."""
    begin = entry.offset + _LOCAL.size
    if begin > directory:
        raise NotABundle(f"{entry.name}: begins within the directory")
    magic, _, flags, method, _, _, crc, packed, size, long, extra = _LOCAL.unpack_from(
        data, entry.offset
    )
    name = data[begin : begin + long]
    header = (flags, method, crc, packed, size, name)
    if magic != b"PK\x03\x04" or header != (
        entry.flags,
        0,
        entry.crc,
        entry.size,
        entry.size,
        entry.name.encode("ascii"),
    ):
        raise NotABundle(f"{entry.name}: its header and the directory differ")
    start = begin + long + extra
    _check_extra(entry.name, data[begin + long : start])
    end = start + entry.size
    if end > directory:
        raise NotABundle(f"{entry.name}: runs into the directory")
    content = data[start:end]
    if zlib.crc32(content) != entry.crc:
        raise NotABundle(f"{entry.name}: damaged")
    return content, end


def _check_extra(name: str, fields: bytes) -> None:
    """Refuse extra fields that readers interpret differently; times and owners are harmless."""
    at = 0
    while at < len(fields):
        head = fields[at : at + _EXTRA.size]
        kind, size = _EXTRA.unpack(head) if len(head) == _EXTRA.size else (0, len(fields))
        at += _EXTRA.size + size
        if at > len(fields) or kind in _AMBIGUOUS_FIELDS:
            raise NotABundle(f"{name}: an extra field that gives it another size or name")


def _name(raw: bytes) -> str:
    name = raw.decode("ascii", "replace")
    if not is_plain_name(name):
        raise NotABundle(f"{name!r}: not a name allowed in a bundle")
    return name


def _is_regular(mode: int) -> bool:
    """Return whether a mode is that of a plain file; some writers leave the type out."""
    return stat.S_IFMT(mode) in (0, stat.S_IFREG)
