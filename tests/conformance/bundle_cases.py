"""Cases of the reader of bundles: archives packed again, refused ones, changed files, manifests."""

from __future__ import annotations

import json
import warnings
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from io import BytesIO
from struct import pack
from typing import Any, Final

from service.shx.archives import read_zip, write_zip
from service.shx.bundle import EVENTS, MANIFEST, REFUSALS, write_bundle
from service.shx.canonical import canonical
from tests.conformance.case import Case, created, fails, passes, refused, text_of
from tests.packed_again import never_accepted, packed, packed_again

_LARGE: Final = ("33 MiB", "17 MiB")
"""Archives that would be large, or are as files of the corpus too costly to read."""


def cases() -> Iterator[Case]:
    """Yield every case of bundles."""
    lines = created().lines()
    bundle = write_bundle(lines, files={"dispute/a.json": b"{}"})
    yield passes("bundle/honest", "a bundle as the server makes it", bundle)
    for name, archive in packed_again(bundle):
        yield passes(f"bundle/{_slug(name)}", f"packed again: {name}", archive)
    for name, archive in never_accepted(bundle):
        if not any(size in name for size in _LARGE):
            yield refused(f"bundle/no-{_slug(name)}", f"refused: {name}", archive)
    files = read_zip(bundle)
    yield from _archives(bundle)
    yield from _entries(files)
    yield from _names(files)
    yield from _changed(files)
    yield from _manifests(files)


def _slug(name: str) -> str:
    return name.replace(",", "").replace(" ", "-")


def _archives(bundle: bytes) -> Iterator[Case]:
    yield refused("bundle/no-start", "bytes before the archive", b"PK" + bundle)
    yield refused("bundle/no-end", "a byte after the archive", bundle + b"\0")
    comment = bundle[:-2] + b"\1\0x"
    yield refused("bundle/no-comment", "a comment", comment)
    yield refused("bundle/no-cut", "an archive cut in half", bundle[: len(bundle) // 2])
    yield refused("bundle/no-mark", "the first two bytes alone", b"PK")


def _entries(files: Mapping[str, bytes]) -> Iterator[Case]:
    """Yield archives with an entry of an unusual kind."""
    for name, says, ok, change in (
        ("link", "a link", False, {"external_attr": 0o120777 << 16}),
        ("folder-kind", "a file that is marked as a folder", False, {"external_attr": 0x10}),
        ("no-kind", "a file of no kind", True, {"external_attr": 0}),
        ("zip64", "an extra field of ZIP64", False, {"extra": pack("<2HQ", 1, 8, 7)}),
        ("unicode", "an extra field with a name", False, {"extra": pack("<2H5s", 0x7075, 5, b"")}),
        ("path", "an extra field of type 0x554E", False, {"extra": pack("<2H4s", 0x554E, 4, b"")}),
        ("time", "an extra field with a time", True, {"extra": pack("<2H5s", 0x5455, 5, b"")}),
        ("field-cut", "an extra field longer than its place", False, {"extra": pack("<2H", 9, 9)}),
        ("remark", "a comment on an entry", True, {"comment": b"hello"}),
    ):
        archive = _archive(files, **change)
        slug = f"bundle/{'' if ok else 'no-'}entry-{name}"
        yield passes(slug, says, archive) if ok else refused(slug, says, archive)
    twice = [*files.items(), ("dispute/a.json", b"{}")]
    yield refused("bundle/no-entry-twice", "a name twice", _archive(twice))
    full = [*files.items(), ("dispute/b/", b"x")]
    yield refused("bundle/no-entry-full-folder", "a folder with content", _archive(full))
    many = [*files.items(), *((f"{n}/", b"") for n in range(4097 - len(files)))]
    yield refused("bundle/no-entries-4097", "4,097 entries", _archive(many))


def _archive(files: Mapping[str, bytes] | Sequence[tuple[str, bytes]], **fields: object) -> bytes:
    """Return an archive whose entries have other fields than a writer gives them."""
    out = BytesIO()
    with zipfile.ZipFile(out, "w") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of a name that occurs twice
        for name, content in files.items() if isinstance(files, Mapping) else files:
            entry = zipfile.ZipInfo(name)
            entry.external_attr = (0o40755 if name.endswith("/") else 0o100644) << 16
            for field, value in fields.items():
                setattr(entry, field, value)
            archive.writestr(entry, content)
    return out.getvalue()


def _names(files: Mapping[str, bytes]) -> Iterator[Case]:
    for name, says in (
        ("receipts/a/b.note", "a receipt in a folder of its own"),
        ("receipts/a.txt", "a receipt with another ending"),
        ("dispute/.hidden", "a name that begins with a dot"),
        ("dispute/é", "a name beyond ASCII"),
        ("/dispute/a", "an absolute name"),
        ("dispute/a" + "b" * 200, "a name of more than 200 characters"),
    ):
        slug = f"bundle/no-name-{sha256(name.encode()).hexdigest()[:6]}"
        yield refused(slug, says, packed({**files, name: b"x"}))
    without = {name: data for name, data in files.items() if name != EVENTS}
    yield refused("bundle/no-events", "no events.jsonl", packed(without))
    without = {name: data for name, data in files.items() if name != MANIFEST}
    yield refused("bundle/no-manifest", "no manifest.json", packed(without))


def _changed(files: Mapping[str, bytes]) -> Iterator[Case]:
    def case(name: str, says: str, others: Mapping[str, bytes], **seqs: int | None) -> Case:
        found = fails(f"bundle/{name}", says, write_zip(dict(others)), bytes=seqs["bytes"])
        return replace(found, failed=seqs)

    yield case("changed", "a file changed", {**files, "dispute/a.json": b"[]"}, bytes=None)
    yield case("added", "a file added", {**files, "dispute/b.json": b"{}"}, bytes=None)
    removed = {name: data for name, data in files.items() if name != "dispute/a.json"}
    yield case("removed", "a file removed", removed, bytes=None)
    log = files[EVENTS].replace(b'"turn_limit":8', b'"turn_limit":9')
    says = "an event changed: `chain` names it"
    yield case("event", says, {**files, EVENTS: log}, bytes=None, chain=0)
    says = "a byte of the log that makes a line no event: the line is named"
    broken = files[EVENTS].replace(b'"v":1', b'"v":7', 1)
    yield case("line", says, {**files, EVENTS: broken}, bytes=0)
    f = created()
    del f.data(1)["refusals"]
    says = "refused attempts beside a seal that does not name them, as before 0.1.0"
    unnamed = {EVENTS: text_of(f.lines()), REFUSALS: b"junk\n"}
    yield case("version-1", says, {**files, **unnamed}, bytes=1)


def _manifests(files: Mapping[str, bytes]) -> Iterator[Case]:
    def edited(change: Callable[[dict[str, Any]], Any]) -> bytes:
        manifest = json.loads(files[MANIFEST])
        change(manifest)
        return write_zip({**files, MANIFEST: canonical(manifest)})

    other = "00000000-0000-4000-8000-000000000000"
    for name, says, archive in (
        ("version", "a manifest of version 2", edited(lambda m: m.update(v=2))),
        ("field", "a manifest with a field too many", edited(lambda m: m.update(note=""))),
        ("profile", "an unknown profile", edited(lambda m: m.update(profile="seat-99"))),
        (
            "hash",
            "a hash of 63 digits",
            edited(lambda m: m["files"][EVENTS].update(sha256="0" * 63)),
        ),
        (
            "spaces",
            "a manifest that is not canonical",
            write_zip({**files, MANIFEST: _spaced(files)}),
        ),
    ):
        yield refused(f"bundle/no-manifest-{name}", says, archive)
    game = edited(lambda m: m.update(game=other))
    yield fails("chain/manifest-game", "a manifest of another game", game, chain=0)
    time = edited(lambda m: m.update(made_at="2026-01-01T00:00:00.000000Z"))
    yield fails("chain/manifest-time", "a manifest of another time", time, chain=1)
    seat = edited(lambda m: m.update(profile="seat-5"))
    yield fails("chain/manifest-seat", "a manifest of a seat that there is not", seat, chain=0)


def _spaced(files: Mapping[str, bytes]) -> bytes:
    return files[MANIFEST].replace(b",", b", ", 1)
