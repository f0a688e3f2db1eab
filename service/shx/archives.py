"""ZIP archives of evidence: written in one form, read if every reader sees the same files."""

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
MAX_NAME: Final = 200  # characters
MAX_TOTAL: Final = 128 << 20  # bytes of the archive
MAX_INFLATED: Final = 32 << 20  # bytes of all compressed entries, without compression

_EPOCH: Final = (1980, 1, 1, 0, 0, 0)
_NAME: Final = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*(?:/[A-Za-z0-9_-][A-Za-z0-9._-]*)*")
_UNIX: Final = 3
_STORED: Final = 0
_DEFLATED: Final = 8
_STREAMED: Final = 0x0008  # checksum and sizes follow the content
_UTF8: Final = 0x0800
_HARMLESS: Final = _UTF8 | _STREAMED | 0x0006  # and the effort of the compression

_AMBIGUOUS_FIELDS: Final = frozenset({0x0001, 0x554E, 0x7075})
"""Extra fields from which some readers take another size or name: ZIP64, Unicode names."""

_END: Final = struct.Struct("<4s4H2IH")  # the last record: position of the directory
_ENTRY: Final = struct.Struct("<4s6H3I5H2I")  # an entry of the directory
_LOCAL: Final = struct.Struct("<4s5H3I2H")  # the header before the bytes of an entry
_EXTRA: Final = struct.Struct("<2H")  # the header of an extra field
_SUMS: Final = struct.Struct("<3I")  # checksum, packed size, size
_SUMS_FOLLOW: Final = b"PK\x07\x08"  # before these three behind a streamed entry, often left out


class NotABundle(ValueError):
    """The bytes are not a bundle that this reader accepts; the message gives the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveFile:
    """A file of an archive, under the name that the archive gives it (as Latin-1)."""

    name: str
    content: bytes
    damaged: bool  # the content does not have the checksum that the archive names
    is_plain: bool  # stored as `write_zip` stores it, not compressed or streamed


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    name: str
    flags: int
    method: int
    crc: int
    packed: int
    size: int
    offset: int

    @property
    def sums(self) -> tuple[int, int, int]:
        """Return what the local header, or the record behind the content, repeats."""
        return self.crc, self.packed, self.size


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

    Raises NotABundle for more than MAX_ENTRIES files, or for more than MAX_TOTAL / 2 bytes in
    all files together; headers are not counted.
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
    Return the files of an archive that is written as a bundle is: stored, under plain names.

    Raises NotABundle for any other archive.
    """
    files: dict[str, bytes] = {}
    for file in read_archive(data):
        if not file.is_plain:
            raise NotABundle(f"{file.name!r}: compressed, encrypted or streamed")
        if not is_plain_name(file.name):
            raise NotABundle(f"{file.name!r}: not a name allowed in a bundle")
        if file.damaged:
            raise NotABundle(f"{file.name}: damaged")
        files[file.name] = file.content
    return files


def read_archive(data: bytes) -> list[ArchiveFile]:
    """
    Return the files and folders of an archive in their order, also of one packed by a program.

    No two readers may see different files in one archive. Therefore entries must be adjacent
    from the first byte to the directory, each header must agree with the directory, no name may
    occur twice, and nothing may follow the end. Content is stored, or deflated to at most
    MAX_INFLATED bytes in all, counted while it is inflated.

    Raises NotABundle for any other archive.
    """
    if len(data) > MAX_TOTAL:
        raise NotABundle(f"more than {MAX_TOTAL} bytes")
    entries, directory = _directory(data)
    files: dict[str, ArchiveFile] = {}
    at, left = 0, MAX_INFLATED
    for entry in sorted(entries, key=lambda entry: entry.offset):
        if entry.offset != at:
            raise NotABundle(f"{entry.name!r}: does not begin where the entry before ends")
        if entry.name in files:
            raise NotABundle(f"{entry.name!r}: occurs twice")
        packed, at = _packed(data, entry, directory)
        content = packed if entry.method == _STORED else _inflated(packed, entry, left)
        left -= len(content) if entry.method == _DEFLATED else 0
        files[entry.name] = ArchiveFile(
            name=entry.name,
            content=content,
            damaged=zlib.crc32(content) != entry.crc,
            is_plain=entry.method == _STORED and not entry.flags & ~_UTF8,
        )
    if at != directory:
        raise NotABundle("bytes between the last entry and the directory")
    return list(files.values())


def _directory(data: bytes) -> tuple[list[_Entry], int]:
    """Return the entries of the directory, and its offset."""
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
    """Return the directory's entry at offset `at`, and the offset of the next one."""
    if at + _ENTRY.size > end:
        raise NotABundle("the directory ends within an entry")
    fields = _ENTRY.unpack_from(data, at)
    magic, _, _, flags, method, _, _, crc, packed, size, long, extra, comment = fields[:13]
    disk, _, attributes, offset = fields[13:]
    begin = at + _ENTRY.size
    after = begin + long + extra + comment
    if magic != b"PK\x01\x02" or after > end:
        raise NotABundle("the directory is damaged")
    name = data[begin : begin + long].decode("latin-1")
    if method not in (_STORED, _DEFLATED) or flags & ~_HARMLESS:
        raise NotABundle(f"{name!r}: encrypted, or compressed otherwise than by deflate")
    if method == _STORED and packed != size:
        raise NotABundle(f"{name!r}: stored, but with another size")
    # Whichever system made the entry: some readers know links of other systems than Unix.
    is_folder = name.endswith("/") and not size
    kinds = (0, stat.S_IFDIR) if is_folder else (0, stat.S_IFREG)  # some writers leave it out
    if disk or stat.S_IFMT(attributes >> 16) not in kinds or (attributes & 0x10 and not is_folder):
        raise NotABundle(f"{name!r}: not a plain file")
    _check_extra(name, data[begin + long : begin + long + extra])
    return _Entry(
        name=name,
        flags=flags,
        method=method,
        crc=crc,
        packed=packed,
        size=size,
        offset=offset,
    ), after


def _packed(data: bytes, entry: _Entry, directory: int) -> tuple[bytes, int]:
    """Return the bytes of an entry as they are stored, and the offset of the next entry."""
    begin = entry.offset + _LOCAL.size
    if begin > directory:
        raise NotABundle(f"{entry.name!r}: begins within the directory")
    magic, _, flags, method, _, _, *sums, long, extra = _LOCAL.unpack_from(data, entry.offset)
    name = data[begin : begin + long].decode("latin-1")
    streamed = bool(entry.flags & _STREAMED)
    pairs = zip(sums, entry.sums, strict=True)
    agree = all(own == listed or (streamed and not own) for own, listed in pairs)
    agree = agree and (flags, method, name) == (entry.flags, entry.method, entry.name)
    if magic != b"PK\x03\x04" or not agree:
        raise NotABundle(f"{entry.name!r}: its header and the directory differ")
    start = begin + long + extra
    _check_extra(entry.name, data[begin + long : start])
    end = start + entry.packed
    after = _after_sums(data, entry, end) if streamed else end
    if after > directory:
        raise NotABundle(f"{entry.name!r}: runs into the directory")
    return data[start:end], after


def _after_sums(data: bytes, entry: _Entry, at: int) -> int:
    """Return the offset after the checksum and sizes that follow a streamed entry."""
    if data[at : at + len(_SUMS_FOLLOW)] == _SUMS_FOLLOW:
        at += len(_SUMS_FOLLOW)
    if data[at : at + _SUMS.size] != _SUMS.pack(*entry.sums):
        raise NotABundle(f"{entry.name!r}: the sizes behind it and the directory differ")
    return at + _SUMS.size


def _inflated(packed: bytes, entry: _Entry, left: int) -> bytes:
    """Return the content of a deflated entry; raises NotABundle beyond `left` bytes."""
    if entry.size > left:
        raise NotABundle(f"more than {MAX_INFLATED} bytes without compression")
    stream = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        content = stream.decompress(packed, entry.size + 1)
    except zlib.error:
        raise NotABundle(f"{entry.name!r}: cannot be decompressed") from None
    if len(content) != entry.size or not stream.eof or stream.unused_data:
        raise NotABundle(f"{entry.name!r}: decompressed, it has another size")
    return content


def _check_extra(name: str, fields: bytes) -> None:
    """Refuse extra fields that readers interpret differently; times and owners are harmless."""
    at = 0
    while at < len(fields):
        head = fields[at : at + _EXTRA.size]
        kind, size = _EXTRA.unpack(head) if len(head) == _EXTRA.size else (0, len(fields))
        at += _EXTRA.size + size
        if at > len(fields) or kind in _AMBIGUOUS_FIELDS:
            raise NotABundle(f"{name!r}: an extra field that gives it another size or name")
