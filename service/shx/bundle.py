"""Evidence bundles (SHX/1, section 7): a game's log and further evidence in one ZIP archive."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final, Literal
from uuid import UUID

from service.shx.archives import (
    MAX_INFLATED,
    MAX_TOTAL,
    ArchiveFile,
    NotABundle,
    is_plain_name,
    read_archive,
    read_zip,
    write_zip,
)
from service.shx.canonical import RecordError, canonical, parse, sha256
from service.shx.chain import decode_event
from service.shx.validators import (
    HASH,
    MAX_EVENTS,
    Check,
    Shape,
    accepts,
    integer,
    record,
    schema_of,
    time,
    uuid,
)

__all__ = [
    "EVENTS",
    "MANIFEST",
    "OPENINGS",
    "PROOF",
    "REFUSALS",
    "STAMP",
    "STAMPED",
    "Bundle",
    "NotABundle",
    "read_bundle",
    "read_log",
    "write_bundle",
]

MANIFEST: Final = "manifest.json"
EVENTS: Final = "events.jsonl"
PROOF: Final = "log/proof.tlog-proof"
STAMPED: Final = "log/stamped.tlog-proof"
STAMP: Final = "log/stamped.tsr"
OPENINGS: Final = "openings.json"
REFUSALS: Final = "refusals.jsonl"

_MAX_MANIFEST: Final = 2 << 20  # room for the largest number of the longest file names
_PROFILE: Final = re.compile(r"public|seat-(?:[0-9]|[1-5][0-9]|6[0-3])")
_FOLDERS: Final = re.compile(r"receipts/[^/]+\.note|dispute/.+")
_CLUTTER: Final = re.compile(
    r"__MACOSX/.*|(?:.*/)?(?:\.DS_Store|\._[^/]*|Thumbs\.db|desktop\.ini)", re.DOTALL
)
"""Files that operating systems add to folders and archives; they are not read."""

_NO_FILES: Final[Mapping[str, bytes]] = MappingProxyType({})
_FILE: Final[Check] = record({"sha256": HASH, "size": integer(0, MAX_TOTAL)})


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """A file of a bundle that is not the one that the manifest lists."""

    name: str
    kind: Literal["changed", "removed", "added"]

    def __str__(self) -> str:
        """Return the change in words."""
        return f"the file {self.name} was {self.kind} after the bundle was made"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """
    The input of a verifier: the lines of a log, and further files by name.

    A plain `events.jsonl` has no `game`, `profile` or `made_at`. Neither the lines nor
    their agreement with these fields is checked here. `changed` has each file that is
    not the one that the manifest lists; `repacked` is whether another program packed the files.
    """

    lines: tuple[bytes, ...]
    files: Mapping[str, bytes] = field(default_factory=dict)
    game: UUID | None = None
    profile: str | None = None
    made_at: str | None = None
    changed: tuple[FileChange, ...] = ()
    repacked: bool = False

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
    return write_zip({**content, MANIFEST: canonical(manifest)})


def read_log(data: bytes) -> Bundle:
    """
    Return the content of a bundle or of a plain `events.jsonl`; the first bytes decide.

    A bundle may be packed again: compressed, in one folder, beside files that operating systems
    add, or as the only file of another archive. Its files need not be those that the manifest
    lists: `changed` names the differences.

    Raises NotABundle if the file is neither, for example other JSON.
    """
    if data.startswith(b"PK"):
        return _unpacked(read_archive(data))
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
    Return the content of a bundle that is as the server made it.

    Raises NotABundle if the archive or its manifest is malformed, if the bundle was packed again,
    or if a file is not the one that the manifest lists.
    """
    bundle = _bundle(read_zip(data), damaged=frozenset())
    if bundle.changed:
        raise NotABundle(str(bundle.changed[0]))
    return bundle


def _unpacked(files: Sequence[ArchiveFile], *, inner: bool = False) -> Bundle:
    """Return the bundle in an archive; `inner` is whether the archive was in another one."""
    own = [one for one in files if not one.name.endswith("/") and not _CLUTTER.fullmatch(one.name)]
    if not inner and len(own) == 1 and own[0].name.endswith(".shx"):
        return replace(_unpacked(read_archive(own[0].content), inner=True), repacked=True)
    folder = _folder_of([one.name for one in own])
    repacked = bool(folder) or len(own) < len(files) or not all(one.is_plain for one in own)
    if repacked and sum(len(one.content) for one in own) > MAX_INFLATED:
        raise NotABundle(f"packed again, with more than {MAX_INFLATED} bytes")
    contents, damaged = {}, set()
    for one in own:
        name = one.name.removeprefix(folder)
        if not one.name.startswith(folder) or not is_plain_name(name):
            raise NotABundle(f"{one.name!r}: not a name allowed in a bundle")
        contents[name] = one.content
        damaged |= {name} if one.damaged else set()
    return replace(_bundle(contents, damaged=frozenset(damaged)), repacked=repacked)


def _folder_of(names: Sequence[str]) -> str:
    """Return the folder of the manifest with its slash, '' if it is in none."""
    folders = {name.removesuffix(MANIFEST) for name in names if name.endswith("/" + MANIFEST)}
    folders = {folder for folder in folders if folder.count("/") == 1}
    return folders.pop() if len(folders) == 1 and MANIFEST not in names else ""


def _bundle(files: dict[str, bytes], *, damaged: frozenset[str]) -> Bundle:
    """Return the bundle with these files, of which `damaged` lack their checksum."""
    if MANIFEST in damaged:
        raise NotABundle("manifest.json: damaged")
    manifest = _manifest(files.pop(MANIFEST, None))
    if EVENTS not in files:
        raise NotABundle("no events.jsonl")
    listed = manifest["files"]
    for name in sorted({*files, *listed} - {EVENTS}):
        if not _is_permitted(name):
            raise NotABundle(f"{name!r}: not a file that a bundle may contain")
    return Bundle(
        changed=tuple(_changes(listed, files, damaged)),
        lines=_lines(files.pop(EVENTS)),
        files=MappingProxyType(files),
        game=UUID(manifest["game"]),
        profile=manifest["profile"],
        made_at=manifest["made_at"],
    )


def _changes(
    listed: Mapping[str, Any], files: Mapping[str, bytes], damaged: frozenset[str]
) -> Iterator[FileChange]:
    """Yield each file that is not the one that the manifest lists, the log first."""
    for name in sorted({*files, *listed}, key=lambda name: (name != EVENTS, name)):
        entry, content = listed.get(name), files.get(name)
        if content is None:
            yield FileChange(name=name, kind="removed")
        elif entry is None:
            yield FileChange(name=name, kind="added")
        elif name in damaged or entry != {"sha256": sha256(content).hex(), "size": len(content)}:
            yield FileChange(name=name, kind="changed")


def _manifest(data: bytes | None) -> dict[str, Any]:
    if data is None:
        raise NotABundle("no manifest.json")
    try:
        manifest = parse(data, limit=_MAX_MANIFEST)
        if type(manifest) is dict and manifest.get("v") != 1:
            raise NotABundle(f"unknown version {manifest.get('v')!r}")
        MANIFEST_SHAPE(manifest, "/manifest")
    except RecordError as error:
        raise NotABundle(f"manifest.json: {error.detail}") from None
    return dict(manifest)


def _lines(data: bytes) -> tuple[bytes, ...]:
    """Return the lines unchecked, because the verifier reports those that are no events."""
    if data.count(b"\n") + (not data.endswith(b"\n")) > MAX_EVENTS:
        raise NotABundle(f"more than {MAX_EVENTS} events")
    return tuple(data.removesuffix(b"\n").split(b"\n")) if data else ()


def _is_permitted(name: str) -> bool:
    single = name in (PROOF, STAMPED, STAMP, OPENINGS, REFUSALS)
    known = single or _FOLDERS.fullmatch(name) is not None
    return known and is_plain_name(name)


@accepts(type="string", pattern=f"^(?:{_PROFILE.pattern})$")
def _check_profile(value: Any, path: str) -> None:
    if type(value) is not str or not _PROFILE.fullmatch(value):
        raise RecordError("bad_field", f"{path}: neither public nor seat-N")


@accepts(type="object", additionalProperties=schema_of(_FILE))
def _check_files(value: Any, path: str) -> None:
    if type(value) is not dict:
        raise RecordError("bad_field", f"{path}: not an object")
    for name, item in value.items():
        _FILE(item, f"{path}/{name}")


MANIFEST_SHAPE: Final[Shape] = record(
    {
        "v": integer(1, 1),
        "game": uuid,
        "profile": _check_profile,
        "made_at": time,
        "files": _check_files,
    }
)
