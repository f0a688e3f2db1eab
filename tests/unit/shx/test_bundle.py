"""Evidence bundles: writing, reading, and hostile ZIP files."""

from __future__ import annotations

import io
import json
import stat
import struct
import tracemalloc
import warnings
import zipfile
import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from service.shx import archives
from service.shx.archives import read_zip, write_zip
from service.shx.bundle import FileChange, NotABundle, read_bundle, read_log, write_bundle
from service.shx.canonical import RecordError, canonical, sha256
from tests.packed_again import never_accepted, packed, packed_again

SAMPLE = Path(__file__).parents[2] / "golden" / "samples" / "shithead-aborted.jsonl"
LOG = SAMPLE.read_bytes()
LINES = tuple(LOG.splitlines())
FILES = {"receipts/000006.note": b"a note\n", "refusals.jsonl": b"{}\n", "dispute/1.json": b"{}"}


def manifest(files: Mapping[str, bytes], /, **change: Any) -> bytes:
    listed = {
        name: {"sha256": sha256(data).hex(), "size": len(data)} for name, data in files.items()
    }
    value = {
        "v": 1,
        "game": json.loads(LINES[0])["game"],
        "profile": "public",
        "made_at": json.loads(LINES[-1])["at"],
        "files": listed,
    }
    return canonical({**value, **change})


def refused(data: bytes, match: str) -> None:
    with pytest.raises(NotABundle, match=match):
        read_bundle(data)


def zipped(prepare: Callable[[zipfile.ZipFile], None]) -> bytes:
    """Return a ZIP with a valid log and manifest, and the entries added by `prepare`."""
    out = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(out, "w") as archive:
        warnings.simplefilter("ignore")
        archive.writestr("events.jsonl", LOG)
        archive.writestr("manifest.json", manifest({"events.jsonl": LOG}))
        prepare(archive)
    return out.getvalue()


def test_a_written_bundle_is_read_back() -> None:
    bundle = read_log(write_bundle(LINES, profile="seat-12", files=FILES))
    assert bundle.lines == LINES
    assert bundle.files == FILES
    assert bundle.receipts == (b"a note\n",)
    assert (str(bundle.game), bundle.profile) == (json.loads(LINES[0])["game"], "seat-12")
    assert bundle.made_at == json.loads(LINES[-1])["at"]


def test_equal_content_gives_equal_bytes() -> None:
    backwards = dict(reversed(FILES.items()))
    assert write_bundle(LINES, files=FILES) == write_bundle(LINES, files=backwards)


def test_the_archive_is_stored_sorted_and_without_a_date() -> None:
    with zipfile.ZipFile(io.BytesIO(write_bundle(LINES, files=FILES))) as archive:
        entries = archive.infolist()
    names = [entry.filename for entry in entries]
    assert names == sorted([*FILES, "events.jsonl", "manifest.json"])
    assert {entry.compress_type for entry in entries} == {zipfile.ZIP_STORED}
    assert {entry.date_time for entry in entries} == {(1980, 1, 1, 0, 0, 0)}


def test_a_plain_log_is_read_with_or_without_its_last_newline() -> None:
    assert read_log(LOG).lines == read_log(LOG.rstrip(b"\n")).lines == LINES
    assert read_log(LOG).game is None


@pytest.mark.parametrize("data", [b"", b"\n", b"hello", b"[]", b"PK", b"\x1f\x8b"])
def test_other_files_are_refused_as_bundles(data: bytes) -> None:
    with pytest.raises(NotABundle):
        read_log(data)


def test_an_ordinary_zip_of_the_same_files_is_read_as_well() -> None:
    assert read_bundle(zipped(lambda archive: None)).lines == LINES


@pytest.mark.attack("ZIP_TRICKS", "file names with a path", check="the reader")
@pytest.mark.parametrize(
    "name",
    [
        "../x",
        "dispute/../x",
        "/etc/passwd",
        "dispute//x",
        "dispute/./x",
        "dispute\\x",
        "c:x",
        "dispute/",
        "dispute/.x",
        "dispute/\u00e9",
        "dispute/" + "x" * 200,
    ],
)
def test_a_file_name_with_a_path_is_refused(name: str) -> None:
    refused(zipped(lambda archive: archive.writestr(name, b"")), "not a name|not a plain file")
    with pytest.raises(RecordError):
        write_bundle(LINES, files={name: b""})


@pytest.mark.attack("OWN_TRUST", "a file of keys in the bundle", check="the reader")
@pytest.mark.parametrize("name", ["extra.txt", "receipts/a.txt", "receipts/a/b.note", "log/x"])
def test_an_unknown_file_name_is_refused_even_if_listed(name: str) -> None:
    files = {"events.jsonl": LOG, name: b"x"}
    refused(write_zip({**files, "manifest.json": manifest(files)}), "not a file that a bundle may")
    with pytest.raises(RecordError):
        write_bundle(LINES, files={name: b"x"})


def test_the_log_and_the_manifest_cannot_be_added_as_files() -> None:
    for name in ("events.jsonl", "manifest.json"):
        with pytest.raises(RecordError):
            write_bundle(LINES, files={name: b""})


@pytest.mark.attack("ZIP_TRICKS", "the same name twice", check="the reader")
def test_the_same_name_twice_is_refused() -> None:
    refused(zipped(lambda archive: archive.writestr("events.jsonl", LOG)), "twice")


@pytest.mark.attack("ZIP_TRICKS", "compression, and so decompression bombs", check="the reader")
def test_compression_is_refused() -> None:
    def prepare(archive: zipfile.ZipFile) -> None:
        archive.writestr("dispute/a", b"a" * 99, compress_type=zipfile.ZIP_DEFLATED)

    refused(zipped(prepare), "compressed")


@pytest.mark.attack("ZIP_TRICKS", "links and devices", check="the reader")
@pytest.mark.parametrize("mode", [stat.S_IFLNK | 0o777, stat.S_IFIFO | 0o644, stat.S_IFDIR | 0o755])
def test_links_and_special_files_are_refused(mode: int) -> None:
    def prepare(archive: zipfile.ZipFile) -> None:
        info = zipfile.ZipInfo("dispute/a")
        info.create_system, info.external_attr = 3, mode << 16
        archive.writestr(info, b"/etc/passwd")

    refused(zipped(prepare), "not a plain file")


@pytest.mark.attack("DOWNGRADE", "a file left out that the manifest lists", check="the reader")
def test_unlisted_and_missing_files_are_refused() -> None:
    added = zipped(lambda archive: archive.writestr("dispute/a", b""))
    refused(added, "file dispute/a was added after")
    assert read_log(added).changed == (FileChange(name="dispute/a", kind="added"),)
    only = manifest({"events.jsonl": LOG, "dispute/a": b""})
    removed = write_zip({"events.jsonl": LOG, "manifest.json": only})
    refused(removed, "file dispute/a was removed after")
    assert read_log(removed).lines == LINES
    listed = manifest({"events.jsonl": LOG, "a.exe": b""})
    with pytest.raises(NotABundle, match=r"'a\.exe': not a file"):
        read_log(write_zip({"events.jsonl": LOG, "manifest.json": listed}))


def test_a_file_with_another_hash_than_listed_is_refused() -> None:
    other = LOG.replace(b"02:46", b"02:47")
    listed = manifest({"events.jsonl": LOG})
    for content in (other, LOG + b"\n"):
        changed = write_zip({"events.jsonl": content, "manifest.json": listed})
        refused(changed, "events.jsonl was changed")
        assert len(read_log(changed).changed) == 1
        assert read_log(changed).lines == tuple(content.removesuffix(b"\n").split(b"\n"))


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"v": 2}, "unknown version 2"),
        ({"v": True}, "manifest"),
        ({"v": "1"}, "version"),
        ({"profile": "seat-64"}, "profile"),
        ({"profile": "seat-01"}, "profile"),
        ({"made_at": "today"}, "made_at"),
        ({"game": "x"}, "game"),
        ({"files": []}, "files"),
        ({"more": 1}, "added"),
    ],
)
def test_a_manifest_of_another_shape_is_refused(change: dict[str, Any], match: str) -> None:
    files = {"events.jsonl": LOG}
    refused(write_zip({**files, "manifest.json": manifest(files, **change)}), match)


def test_a_manifest_must_be_a_canonical_object() -> None:
    files = {"events.jsonl": LOG}
    refused(write_zip(files), "no manifest")
    refused(write_zip({**files, "manifest.json": manifest(files) + b"\n"}), "canonical")
    refused(write_zip({**files, "manifest.json": b"[]"}), "not an object")
    refused(write_zip({"manifest.json": manifest({})}), "no events")
    refused(write_zip({}), "no manifest")


@pytest.mark.attack("ZIP_TRICKS", "bytes between the entries", check="the reader")
def test_bytes_before_after_or_between_the_entries_are_refused() -> None:
    good = write_bundle(LINES)
    for bad in (b"#!/bin/sh\n" + good, good + b"\0", good[:-1], good[:-2] + b"\x01\x00x"):
        with pytest.raises(NotABundle):
            read_bundle(bad)
    end = good.rindex(b"PK\x05\x06")
    start = struct.unpack_from("<I", good, end + 16)[0]
    moved = bytearray(good[:start] + b"gap!" + good[start:])
    struct.pack_into("<I", moved, end + 4 + 16, start + 4)
    refused(bytes(moved), "between the last entry")


def test_a_zip_directory_with_a_wrong_size_is_refused() -> None:
    good = bytearray(write_bundle(LINES))
    at = good.rindex(b"PK\x05\x06") + 12
    struct.pack_into("<I", good, at, struct.unpack_from("<I", good, at)[0] - 1)
    refused(bytes(good), "with gaps")


@pytest.mark.attack("ZIP_TRICKS", "a header that contradicts the directory", check="the reader")
def test_a_zip_header_that_contradicts_the_directory_is_refused() -> None:
    good = write_bundle(LINES)
    refused(good.replace(b"events.jsonl", b"events.jsonX", 1), "differ")
    refused(good[:14] + b"\0\0\0\0" + good[18:], "differ")


def with_extra(field: bytes) -> bytes:
    """Return a valid archive with an extra field in the entry of its log."""
    out = io.BytesIO()
    info = zipfile.ZipInfo("events.jsonl")
    info.extra = field
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(info, LOG)
        archive.writestr("manifest.json", manifest({"events.jsonl": LOG}))
    return out.getvalue()


@pytest.mark.attack("ZIP_TRICKS", "a second name or size in an extra field", check="the reader")
@pytest.mark.parametrize("kind", [0x0001, 0x7075, 0x554E], ids=["zip64", "name", "other name"])
def test_an_extra_field_that_overrides_name_or_size_is_refused(
    kind: int,
) -> None:
    """Info-ZIP uses the file name in field 0x7075; this reader would ignore it."""
    other = b"\x01" + struct.pack("<I", zlib.crc32(b"events.jsonl")) + b"another.jsonl"
    refused(with_extra(struct.pack("<2H", kind, len(other)) + other), "extra field")


@pytest.mark.parametrize("field", [b"UT", b"UT\x05\x00\x01", b"UT\xff\xff\x01\x00\x00\x00\x00"])
def test_an_extra_field_of_a_wrong_length_is_refused(field: bytes) -> None:
    refused(with_extra(field), "extra field")


def test_times_and_owners_in_extra_fields_change_nothing() -> None:
    """Common ZIP programs write such fields."""
    time = struct.pack("<2HBI", 0x5455, 5, 1, 0)
    assert read_bundle(with_extra(time)).lines == LINES


def test_a_damaged_entry_is_refused() -> None:
    good = write_bundle(LINES)
    damaged = good.replace(b"no_entropy", b"no_Entropy")
    refused(damaged, "damaged")
    assert len(read_log(damaged).changed) == 1
    assert not read_log(good).repacked
    with pytest.raises(NotABundle, match=r"manifest\.json: damaged"):
        read_log(good.replace(b'"profile"', b'"profilE"'))


def test_a_bundle_packed_again_is_read_with_the_same_content() -> None:
    listed = write_bundle(LINES, files=FILES)
    content = read_log(listed)
    assert not content.repacked
    for name, data in packed_again(listed):
        assert read_log(data) == replace(content, repacked=True), name
        with pytest.raises(NotABundle):
            read_bundle(data)


@pytest.mark.heavy
def test_an_archive_that_another_reader_reads_differently_is_refused() -> None:
    for name, data in never_accepted(write_bundle(LINES, files=FILES)):
        with pytest.raises(NotABundle):
            read_log(data)
            pytest.fail(name)


@pytest.mark.heavy
def test_a_small_archive_of_many_bytes_is_refused_before_it_is_unpacked() -> None:
    data = packed({"manifest.json": bytes(40 << 20)})
    tracemalloc.start()
    with pytest.raises(NotABundle, match="without compression"):
        read_log(data)
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()


@pytest.mark.attack("ZIP_TRICKS", "two entries over the same bytes", check="the reader")
def test_two_entries_over_the_same_bytes_are_refused() -> None:
    good = zipped(lambda archive: archive.writestr("dispute/a", b"abc"))
    end = good.rindex(b"PK\x05\x06")
    last = good.rindex(b"PK\x01\x02")
    forged = bytearray(good)
    struct.pack_into("<I", forged, last + 42, 0)
    assert end > last
    refused(bytes(forged), "does not begin where")


def test_cut_archives_are_refused_and_changed_headers_never_change_the_content() -> None:
    """A changed header is refused, or has no effect, for example in the date of an entry."""
    good = write_bundle(LINES, files=FILES)
    content = read_bundle(good)
    for end in range(0, len(good), 7):
        with pytest.raises(NotABundle):
            read_bundle(good[:end])
    directory = struct.unpack_from("<I", good, good.rindex(b"PK\x05\x06") + 16)[0]
    for at in [*range(30), *range(directory, len(good))]:
        broken = bytearray(good)
        broken[at] ^= 0xFF
        with suppress(NotABundle):
            assert read_bundle(bytes(broken)) == content
    for at in (0, directory, len(good) - 22):  # each record begins with its signature
        refused(good[:at] + b"PX" + good[at + 2 :], "differ|damaged|not a ZIP")


def test_too_many_entries_and_too_many_bytes_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    good = write_bundle(LINES, files=FILES)
    monkeypatch.setattr(archives, "MAX_ENTRIES", 4)
    refused(good, "more than 4 entries")
    with pytest.raises(NotABundle):
        write_bundle(LINES, files=FILES)
    monkeypatch.setattr(archives, "MAX_TOTAL", 100)
    with pytest.raises(NotABundle, match="more than 100 bytes"):
        read_zip(good)


def test_too_many_events_are_refused() -> None:
    with pytest.raises(NotABundle, match="100000 events"):
        read_log(b"{}\n" * 100_001)


def test_a_bundle_has_a_log_and_a_profile() -> None:
    with pytest.raises(RecordError):
        write_bundle([])
    with pytest.raises(RecordError):
        write_bundle(LINES, profile="seat-x")
