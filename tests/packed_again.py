"""Bundles as ordinary programs pack them again, and archives that must be refused."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping

from service.shx.archives import read_zip


class _Stream(io.RawIOBase):
    """An output that cannot seek, as a pipe: sizes then follow the content of each entry."""

    def __init__(self) -> None:
        self.data = b""

    def writable(self) -> bool:
        return True

    def write(self, data: bytes, /) -> int:  # type: ignore[override] # only bytes are written
        self.data += bytes(data)
        return len(data)


def packed(files: Mapping[str, bytes], *, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return an archive of the files, by default compressed; a name with a slash is a folder."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(_entry(name), content, method)
    return out.getvalue()


def streamed(files: Mapping[str, bytes]) -> bytes:
    """Return a compressed archive whose headers leave out checksum and sizes, as on macOS."""
    out = _Stream()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(_entry(name), content, zipfile.ZIP_DEFLATED)
    return out.data


def _entry(name: str) -> zipfile.ZipInfo:
    """Return the entry of a file, with a fixed time."""
    entry = zipfile.ZipInfo(name)
    entry.external_attr = (0o40775 << 16 | 0x10) if name.endswith("/") else 0o600 << 16
    return entry


def in_folder(files: Mapping[str, bytes], folder: str = "game") -> dict[str, bytes]:
    """Return the files under the name of a folder."""
    return {f"{folder}/": b""} | {f"{folder}/{name}": data for name, data in files.items()}


CLUTTER = {
    "__MACOSX/game/._events.jsonl": b"\0\5\x16\7",
    "game/.DS_Store": b"Bud1",
    "game/Thumbs.db": b"",
    "game/receipts/._a.note": b"",
}


def packed_again(bundle: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield archives with the files of a bundle that a reader accepts, each with a name."""
    files = read_zip(bundle)
    yield "deflated", packed(files)
    yield "streamed", streamed(files)
    yield "in a folder", packed(in_folder(files))
    yield "in a folder, stored", packed(in_folder(files), method=zipfile.ZIP_STORED)
    yield "in a folder of any name", packed(in_folder(files, "Spiel é (1)"))
    yield "streamed in a folder with files of macOS", streamed({**in_folder(files), **CLUTTER})
    yield "the bundle in an archive", packed({"game.shx": bundle})
    yield "the bundle in an archive of macOS", packed({"game.shx": bundle, "__MACOSX/._a": b""})
    yield "packed again in an archive", packed({"x/game.shx": packed(in_folder(files))})


def never_accepted(bundle: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield archives that some readers would read differently, or not at all."""
    files = read_zip(bundle)
    good = packed(files)
    yield "two folders", packed({**in_folder(files, "a"), **in_folder(files, "b")})
    yield "a file beside the folder", packed({**in_folder(files), "events.jsonl": b""})
    yield "two folders deep", packed(in_folder(in_folder(files)))
    yield "an archive in an archive in an archive", packed({"a.shx": packed({"b.shx": bundle})})
    yield "two bundles", packed({"a.shx": bundle, "b.shx": bundle})
    yield "another file", packed({**files, "notes.txt": b""})
    yield "a path", packed({**files, "receipts/../../x": b""})
    yield "another compression", packed(files, method=zipfile.ZIP_BZIP2)
    yield "33 MiB", packed({**files, "dispute/a": bytes(33 << 20)})
    yield "twice 17 MiB", packed({**files, "dispute/a": bytes(17 << 20), "._b": bytes(17 << 20)})
    yield (
        "stored in a folder, 33 MiB",
        packed(in_folder({**files, "dispute/a": bytes(33 << 20)}), method=zipfile.ZIP_STORED),
    )
    yield "bytes after the compressed ones", _one_entry(extra=b"\0")
    yield "compressed bytes cut", _one_entry(cut=1)
    yield "another size in the header", _with_local(good, 22, struct.pack("<I", 7))
    yield "another size in both", _with_both(good, 22, 24, struct.pack("<I", 7))
    yield "another method in the header", _with_local(good, 8, b"\0\0")
    yield "no sizes in the header", _with_local(good, 14, bytes(12))
    yield "other sizes behind", _behind(streamed(files))
    yield "encrypted", _with_both(good, 6, 8, b"\1\0")


def _directory(data: bytes) -> int:
    return int(struct.unpack_from("<I", data, len(data) - 6)[0])


def _with_local(data: bytes, at: int, value: bytes) -> bytes:
    """Return an archive with other bytes in the first header."""
    return data[:at] + value + data[at + len(value) :]


def _with_both(data: bytes, local: int, central: int, value: bytes) -> bytes:
    """Return an archive with other bytes in the first header and in the directory."""
    return _with_local(_with_local(data, local, value), _directory(data) + central, value)


def _behind(data: bytes) -> bytes:
    """Return a streamed archive with another size behind its first entry."""
    at = data.index(b"PK\x07\x08") + 12
    return _with_local(data, at, b"\0")


def _one_entry(*, extra: bytes = b"", cut: int = 0) -> bytes:
    """Return an archive of one entry, with bytes added to or cut from its compressed bytes."""
    name, content = b"manifest.json", b"a" * 99
    stream = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    deflated = stream.compress(content) + stream.flush()
    deflated = deflated[: len(deflated) - cut] + extra
    sums = struct.pack("<3I", zlib.crc32(content), len(deflated), len(content))
    local = struct.pack("<4s5H", b"PK\3\4", 20, 0, 8, 0, 33) + sums + struct.pack("<2H", 13, 0)
    body = local + name + deflated
    entry = struct.pack("<4s6H", b"PK\1\2", 20, 20, 0, 8, 0, 33) + sums
    entry += struct.pack("<5H2I", 13, 0, 0, 0, 0, 0, 0) + name
    return body + entry + struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, 1, 1, len(entry), len(body), 0)
