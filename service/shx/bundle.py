"""Evidence bundles (SHX/1, section 7): a game's log and further evidence in one strict ZIP."""

from __future__ import annotations

import io
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final
from uuid import UUID

from service.shx.canonical import RecordError, canonical, parse, sha256
from service.shx.chain import decode_event
from service.shx.validators import HASH, MAX_EVENTS, Check, integer, record, time, uuid

MAX_ENTRIES: Final = 4096
MAX_NAME: Final = 200  # characters
MAX_TOTAL: Final = 128 << 20  # bytes of the archive

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
    name = _name(data[begin : begin + long])
    if method or flags & ~0x0800 or packed != size:
        raise NotABundle(f"{name}: compressed, encrypted or streamed")
    # Whichever system made the entry: some readers know links of other systems than Unix.
    if disk or not _is_regular(attributes >> 16) or attributes & 0x10:
        raise NotABundle(f"{name}: not a plain file")
    _check_extra(name, data[begin + long : begin + long + extra])
    return _Entry(name=name, flags=flags, crc=crc, size=size, offset=offset), after


def _content(data: bytes, entry: _Entry, directory: int) -> tuple[bytes, int]:
    """Return the bytes of an entry, and the offset after them."""
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


__all__ = [
    "EVENTS",
    "OPENINGS",
    "PROOF",
    "REFUSALS",
    "Bundle",
    "NotABundle",
    "read_bundle",
    "read_log",
    "write_bundle",
]

EVENTS: Final = "events.jsonl"
PROOF: Final = "log/proof.tlog-proof"
OPENINGS: Final = "openings.json"
REFUSALS: Final = "refusals.jsonl"

_MANIFEST: Final = "manifest.json"
_MAX_MANIFEST: Final = 2 << 20  # room for the largest number of the longest file names
_PROFILE: Final = re.compile(r"public|seat-(?:[0-9]|[1-5][0-9]|6[0-3])")
_FOLDERS: Final = re.compile(r"receipts/[^/]+\.note|dispute/.+")
_NO_FILES: Final[Mapping[str, bytes]] = MappingProxyType({})
_FILE: Final[Check] = record({"sha256": HASH, "size": integer(0, MAX_TOTAL)})


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """
    The input of a verifier: the lines of a log, and further files by name.

    A plain `events.jsonl` has no `game`, `profile` or `made_at`. Neither the lines nor
    their agreement with these fields is checked here.
    """

    lines: tuple[bytes, ...]
    files: Mapping[str, bytes] = field(default_factory=dict)
    game: UUID | None = None
    profile: str | None = None
    made_at: str | None = None

    @property
    def receipts(self) -> tuple[bytes, ...]:
        """Return the receipts in the bundle, by name; they cannot raise the level of a report."""
        names = sorted(name for name in self.files if name.startswith("receipts/"))
        return tuple(self.files[name] for name in names)


def write_bundle(
    lines: Sequence[bytes], *, profile: str = "public", files: Mapping[str, bytes] = _NO_FILES
) -> bytes:
    """
    Return the bundle of a game's log; equal content gives equal bytes.

    `files` are added under their names: `receipts/<name>.note`, `PROOF`, `OPENINGS`,
    `REFUSALS`, `dispute/…`.

    Raises RecordError for an empty log, a last line that is no event, an unknown profile or
    another file name, and NotABundle if the result would be too large.
    """
    if not lines or not _PROFILE.fullmatch(profile):
        raise RecordError("bad_bundle", "a bundle needs a log, and the profile public or seat-N")
    for name in files:
        if not _is_permitted(name):
            raise RecordError("bad_bundle", f"{name}: not a file that a bundle may contain")
    content = {**files, EVENTS: b"".join(line + b"\n" for line in lines)}
    last = decode_event(lines[-1])
    manifest = {
        "v": 1,
        "game": last["game"],
        "profile": profile,
        "made_at": last["at"],
        "files": {
            name: {"sha256": sha256(data).hex(), "size": len(data)}
            for name, data in content.items()
        },
    }
    return write_zip({**content, _MANIFEST: canonical(manifest)})


def read_log(data: bytes) -> Bundle:
    """
    Return the content of a bundle or of a plain `events.jsonl`; the first bytes decide.

    Raises NotABundle if the file is neither, for example other JSON.
    """
    if data.startswith(b"PK"):
        return read_bundle(data)
    if not data.startswith(b"{"):
        raise NotABundle("neither a ZIP archive nor a log")
    lines = _lines(data)
    if not any(_EVENT_FIELDS.issubset(_EVENT_FIELD.findall(line)) for line in lines):
        raise NotABundle("neither a ZIP archive nor a log: no line is an event")
    return Bundle(lines=lines)


_EVENT_FIELDS: Final = frozenset({b"prev", b"seq", b"type"})
"""Fields by which a line of a log is recognised, also if it was edited or damaged."""

_EVENT_FIELD: Final = re.compile(rb'"(prev|seq|type)"')


def read_bundle(data: bytes) -> Bundle:
    """
    Return the content of a bundle.

    Raises NotABundle if the archive or its manifest is malformed.
    """
    files = read_zip(data)
    manifest = _manifest(files.pop(_MANIFEST, None))
    listed = manifest["files"]
    if listed.keys() != files.keys():
        raise NotABundle("the manifest does not list the files of the archive")
    for name, content in files.items():
        if name != EVENTS and not _is_permitted(name):
            raise NotABundle(f"{name}: not a file that a bundle may contain")
        entry = listed[name]
        if entry["size"] != len(content) or entry["sha256"] != sha256(content).hex():
            raise NotABundle(f"{name}: size or hash differs from the manifest")
    if EVENTS not in files:
        raise NotABundle("no events.jsonl")
    return Bundle(
        lines=_lines(files.pop(EVENTS)),
        files=MappingProxyType(files),
        game=UUID(manifest["game"]),
        profile=manifest["profile"],
        made_at=manifest["made_at"],
    )


def _manifest(data: bytes | None) -> dict[str, Any]:
    if data is None:
        raise NotABundle("no manifest.json")
    try:
        manifest = parse(data, limit=_MAX_MANIFEST)
        if type(manifest) is dict and manifest.get("v") != 1:
            raise NotABundle(f"unknown version {manifest.get('v')!r}")
        _SHAPE(manifest, "/manifest")
    except RecordError as error:
        raise NotABundle(f"manifest.json: {error.detail}") from None
    return dict(manifest)


def _lines(data: bytes) -> tuple[bytes, ...]:
    """Return the lines unchecked, because the verifier reports those that are no events."""
    if data.count(b"\n") + (not data.endswith(b"\n")) > MAX_EVENTS:
        raise NotABundle(f"more than {MAX_EVENTS} events")
    return tuple(data.removesuffix(b"\n").split(b"\n")) if data else ()


def _is_permitted(name: str) -> bool:
    known = name in (PROOF, OPENINGS, REFUSALS) or _FOLDERS.fullmatch(name) is not None
    return known and is_plain_name(name)


def _check_profile(value: Any, path: str) -> None:
    if type(value) is not str or not _PROFILE.fullmatch(value):
        raise RecordError("bad_field", f"{path}: neither public nor seat-N")


def _check_files(value: Any, path: str) -> None:
    if type(value) is not dict:
        raise RecordError("bad_field", f"{path}: not an object")
    for name, item in value.items():
        _FILE(item, f"{path}/{name}")


_SHAPE: Final = record(
    {
        "v": integer(1, 1),
        "game": uuid,
        "profile": _check_profile,
        "made_at": time,
        "files": _check_files,
    }
)
