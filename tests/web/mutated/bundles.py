"""Mutated bundles: the structure of the archive, its manifest, notes, keys and other files."""

from __future__ import annotations

import json
import struct
import zlib
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from random import Random
from typing import Any, Final

from service.shx.archives import read_zip, write_zip
from service.shx.bundle import MANIFEST, OPENINGS, PROOF, REFUSALS, write_bundle
from service.shx.canonical import canonical
from service.shx.moves import refusals_file, seal_of
from tests.conformance.case import (
    KEYS,
    Case,
    Evidence,
    created,
    passes,
    played,
    signed,
)
from tests.conformance.evidence_cases import (
    OTHER,
    SERVER,
    SERVER_KEY,
    WITNESS_KEY,
    proof_of,
    receipt_of,
)
from tests.packed_again import CLUTTER, in_folder, packed, streamed
from tests.tamper import Forgery
from tests.web.mutated.records import PIECES
from tests.web.mutated.values import mutate


@dataclass(frozen=True, kw_only=True)
class Base:
    """The files of an honest bundle without its manifest, and its evidence from outside."""

    lines: tuple[bytes, ...]
    profile: str
    files: Mapping[str, bytes]
    evidence: Evidence

    @property
    def bundle(self) -> bytes:
        """Return the bundle as the server makes it."""
        return write_bundle(self.lines, profile=self.profile, files=self.files)


@cache
def bases() -> tuple[Base, ...]:
    """Return bundles with every kind of file and of evidence."""
    return (_aborted(), _signed(), _of_a_seat())


def _aborted() -> Base:
    """Return the bundle of a game that was aborted at once, with refused attempts."""
    rows = [
        {"at": f"2026-11-21T02:46:0{n}.000000Z", "move": {"type": "pass"}, "rule": "L1", "seat": n}
        for n in (0, 1)
    ]
    attempts = refusals_file(rows)
    f = created()
    f.data(1)["refusals"] = seal_of(attempts).as_json()
    lines = f.lines()
    files = {REFUSALS: attempts, PROOF: proof_of(lines), "dispute/a.json": b"{}"}
    files["receipts/a.note"] = receipt_of(lines, seq=0)
    keys = Evidence(server_keys=(SERVER_KEY,), witness_keys=(WITNESS_KEY,), quorum=1)
    return Base(lines=lines, profile="public", files=files, evidence=keys)


def _signed() -> Base:
    lines = signed().lines(KEYS)
    files = {"receipts/a.note": receipt_of(lines), "receipts/b.note": receipt_of(lines, seq=3)}
    evidence = Evidence(
        receipts=(receipt_of(lines, seq=4), receipt_of(lines)), server_keys=(SERVER_KEY,)
    )
    return Base(lines=lines, profile="seat-1", files=files, evidence=evidence)


def _of_a_seat() -> Base:
    """Return the bundle of a seat in a hand that is not over, with the cards that it was dealt."""
    f = played()
    shuffle = f.shuffle(bytes.fromhex(f.events[-1]["data"]["seed"]))
    dealt = f.data(f.find("cards_dealt"))
    first = (dealt["dealer"] + 1) % 2  # of two seats
    opened = [
        {"card": shuffle.deck[p], "p": p, "salt": shuffle.salt(p).hex()}
        for p in sorted(12 + 2 * turn + (0 - first) % 2 for turn in range(3))
    ]
    lines = f.lines()[: f.find("play_started") + 1]
    files = {OPENINGS: canonical(opened), "receipts/a.note": receipt_of(lines)}
    return Base(lines=lines, profile="seat-0", files=files, evidence=Evidence())


def bundles(count: int, *, start: int = 0) -> Iterator[Case]:
    """Yield mutated bundles; each follows from its number alone."""
    for number in range(start, start + count):
        chance = Random(f"bundle {number}")
        base = chance.choice(bases())
        content, evidence = chance.choice(_WAYS)(base, chance)
        yield passes(f"bundle-{number}", "a mutated bundle", content, evidence=evidence)


Mutation = tuple[bytes, Evidence]


def _archive(base: Base, chance: Random) -> Mutation:
    """Return an archive with changed fields or bytes of its structure."""
    files = read_zip(base.bundle)
    made = chance.choice((base.bundle, base.bundle, packed(files), streamed(files)))
    data = bytearray(made)
    for _ in range(chance.choice((1, 1, 1, 2))):
        chance.choice(_STRUCTURES)(data, chance)
    return bytes(data), base.evidence


def _marks(data: bytes, mark: bytes) -> list[int]:
    found, at = [], data.find(mark)
    while at >= 0:
        found.append(at)
        at = data.find(mark, at + 1)
    return found


_FIELDS: Final = {
    b"PK\3\4": ((4, 2), (6, 2), (8, 2), (10, 4), (14, 4), (18, 4), (22, 4), (26, 2), (28, 2)),
    b"PK\1\2": (
        (4, 2), (6, 2), (8, 2), (10, 2), (12, 4), (16, 4), (20, 4), (24, 4), (28, 2), (30, 2),
        (32, 2), (34, 2), (36, 2), (38, 4), (42, 4),
    ),
    b"PK\5\6": ((4, 2), (6, 2), (8, 2), (10, 2), (12, 4), (16, 4), (20, 2)),
    b"PK\7\x08": ((4, 4), (8, 4), (12, 4)),
}  # fmt: skip
"""For each record of an archive the offsets of its fields and their lengths."""


def _field(data: bytearray, chance: Random) -> None:
    """Change a field of a record, of the entry's two headers alike now and then."""
    mark = chance.choice([mark for mark in _FIELDS if mark in data] or [b""])
    if not mark:
        return
    at = chance.choice(_marks(bytes(data), mark))
    offset, size = chance.choice(_FIELDS[mark])
    before = int.from_bytes(data[at + offset : at + offset + size], "little")
    most = (1 << 8 * size) - 1
    near = (before + 1, before - 1, before ^ (1 << chance.randrange(8 * size)))
    value = chance.choice((*near, *near, 0, 1, 8, 0x800, most)) & most
    data[at + offset : at + offset + size] = value.to_bytes(size, "little")


def _extra(data: bytearray, chance: Random) -> None:
    """Add an extra field, or a comment, to an entry of the directory or to a header."""
    field_ = chance.choice(
        (
            struct.pack("<2HQ", 0x0001, 8, 7),  # ZIP64
            struct.pack("<2HB4s", 0x7075, 5, 1, b"name"),  # a Unicode name
            struct.pack("<2H5s", 0x5455, 5, b"\3\0\0\0\0"),  # a time
            struct.pack("<2H4s", 0x554E, 4, b"path"),
            struct.pack("<2H", 0xCAFE, 9),  # it is longer than the field
            b"abc",
        )
    )
    mark, offset = chance.choice(((b"PK\3\4", 28), (b"PK\1\2", 30), (b"PK\1\2", 32)))
    at = chance.choice(_marks(bytes(data), mark) or [0])
    fixed = {b"PK\3\4": 30, b"PK\1\2": 46}[mark]
    name = int.from_bytes(data[at + fixed - (4 if fixed == 30 else 18) :][:2], "little")
    place = at + fixed + name
    old = int.from_bytes(data[at + offset : at + offset + 2], "little")
    data[at + offset : at + offset + 2] = (old + len(field_)).to_bytes(2, "little")
    data[place:place] = field_
    if chance.random() < 0.9:
        _mend(data, len(field_), moved=mark == b"PK\3\4", after=at)


def _mend(data: bytearray, by: int, *, moved: bool, after: int) -> None:
    """Correct the offsets in an archive after bytes were inserted."""
    end = data.rfind(b"PK\5\6")
    if not 0 <= end <= len(data) - 22:
        return  # an earlier mutation changed the record
    size, start = struct.unpack_from("<2I", data, end + 12)
    struct.pack_into("<2I", data, end + 12, size + by * (not moved), start + by * moved)
    for at in _marks(bytes(data[: end - 4]), b"PK\1\2") if moved else ():
        (offset,) = struct.unpack_from("<I", data, at + 42)
        struct.pack_into("<I", data, at + 42, offset + by * (offset > after))


def _name(data: bytearray, chance: Random) -> None:
    """Change bytes of a name, in both places or one."""
    old = chance.choice((b"events.jsonl", b"manifest.json", b"receipts/a.note", b"openings.json"))
    new = bytearray(old)
    new[chance.randrange(len(new))] = chance.choice(b"/.\\\0AZ\xe9: _-~")
    places = _marks(bytes(data), old)
    for at in places if chance.random() < 0.7 else places[:1]:
        data[at : at + len(old)] = new


def _any_byte(data: bytearray, chance: Random) -> None:
    at = chance.randrange(len(data))
    data[at] ^= 1 << chance.randrange(8)


def _cut(data: bytearray, chance: Random) -> None:
    if chance.random() < 0.5:
        del data[chance.randrange(len(data)) :]
    else:
        at = chance.randrange(len(data))
        data[at:at] = chance.choice((b"\0", b"PK", b"PK\3\4", b"PK\5\6", bytes(22), b"\n"))


_STRUCTURES: Final[Sequence[Callable[[bytearray, Random], None]]] = (
    *(_field, _field, _field, _extra, _extra, _name, _any_byte, _cut),
)


def _entries(base: Base, chance: Random) -> Mutation:
    """Return an archive whose entries were made by hand: order, names, methods and descriptors."""
    files = list(read_zip(base.bundle).items())
    match chance.randrange(8):
        case 0:
            chance.shuffle(files)
        case 1:
            files.append(chance.choice(files))
        case 2:
            folder = chance.choice(("a", "b c", "é", ".a", ".."))
            files = list(in_folder(dict(files), folder).items())
        case 3:
            files += list(CLUTTER.items())[: chance.randrange(4)]
        case 4:
            files.append((chance.choice(_NAMES), chance.choice((b"", b"x", b"{}"))))
        case 5:
            files.append((chance.choice(("receipts/", "a/", "dispute/a/", "/", "a//")), b""))
        case 6:
            files = [("game.shx", base.bundle)]
        case _:
            files.pop(chance.randrange(len(files)))
    entries = [_Entry.of(name, data, chance) for name, data in files]
    order = sorted(range(len(entries)), key=lambda _: chance.random())
    keep = chance.random() < 0.7
    return _joined(entries, list(range(len(entries))) if keep else order), base.evidence


_NAMES: Final = (
    "Events.jsonl", "events.jsonl ", "./events.jsonl", "../a", "/a", "receipts//a.note", "C:a",
    "receipts/é.note", "receipts/a.NOTE", "receipts/.note", "receipts/a b.note", "dispute/a",
    "dispute/a/b/c", "dispute/" + "a" * 192, "dispute/" + "a" * 193, "log/proof.tlog-proof",
    "openings.json", "refusals.jsonl", "__MACOSX/x", "._x", "x/._x", ".DS_Store", "x/.DS_Store",
    "thumbs.db", "Thumbs.db", "desktop.ini", "x/desktop.ini", "", "\n", "__MACOSX/\n", "a\n._b",
    "constructor", "__proto__", "manifest.json/", "receipts/__proto__.note", "receipts/-.note",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class _Entry:
    """An entry of an archive: its name, content, flags, method and attributes."""

    name: bytes
    content: bytes
    packed: bytes
    flags: int
    method: int
    attributes: int
    marked: bool  # whether the sums behind a streamed entry have their mark

    @classmethod
    def of(cls, name: str, content: bytes, chance: Random) -> _Entry:
        deflated = chance.random() < 0.4
        stream = zlib.compressobj(chance.choice((0, 1, 9)), wbits=-zlib.MAX_WBITS)
        compressed = stream.compress(content) + stream.flush()
        kind = chance.choice((0o100644, 0o100644, 0o100644, 0, 0o120777, 0o40755))
        if name.endswith("/"):
            kind = chance.choice((0o40755, 0o40755, 0, 0o100644))
        encoded = name.encode(chance.choice(("utf-8", "utf-8", "cp437")), "replace")
        return cls(
            name=encoded,
            content=content,
            packed=compressed if deflated else content,
            flags=chance.choice((0, 0, 0, 8, 8, 0x800, 2, 6, 1, 0x40)),
            method=8 if deflated else 0,
            attributes=kind << 16 | chance.choice((0, 0, 0, 0x10, 0x20, 1)),
            marked=chance.random() < 0.5,
        )

    @property
    def sums(self) -> bytes:
        return struct.pack("<3I", zlib.crc32(self.content), len(self.packed), len(self.content))

    @property
    def local(self) -> bytes:
        streamed_ = bool(self.flags & 8)
        sums = bytes(12) if streamed_ and self.marked else self.sums
        head = struct.pack("<4s5H", b"PK\3\4", 20, self.flags, self.method, 0, 33) + sums
        behind = (b"PK\7\x08" if self.marked else b"") + self.sums if streamed_ else b""
        return head + struct.pack("<2H", len(self.name), 0) + self.name + self.packed + behind

    def central(self, offset: int) -> bytes:
        head = struct.pack("<4s6H", b"PK\1\2", 20, 20, self.flags, self.method, 0, 33) + self.sums
        rest = struct.pack("<5H2I", len(self.name), 0, 0, 0, 0, self.attributes, offset)
        return head + rest + self.name


def _joined(entries: Sequence[_Entry], order: Sequence[int]) -> bytes:
    """Return the archive of entries, whose directory has them in an order of its own."""
    body, offsets = b"", []
    for entry in entries:
        offsets.append(len(body))
        body += entry.local
    directory = b"".join(entries[n].central(offsets[n]) for n in order)
    count = len(order)
    end = struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, count, count, len(directory), len(body), 0)
    return body + directory + end


def _manifest(base: Base, chance: Random) -> Mutation:
    """Return a bundle with values or bytes of its manifest changed."""
    files = read_zip(base.bundle)
    manifest = json.loads(files[MANIFEST])
    if chance.random() < 0.7:
        mutate(manifest, chance)
    try:
        data = canonical(manifest)
    except (ValueError, TypeError):
        data = json.dumps(manifest, sort_keys=True, separators=(",", ":")).encode()
    if chance.random() < 0.4:
        data = _text(data, chance)
    return write_zip({**files, MANIFEST: data}), base.evidence


def _file(base: Base, chance: Random) -> Mutation:
    """Return a bundle with a file changed; in most of them its manifest lists the changed file."""
    name = chance.choice(sorted(base.files))
    data = base.files[name]
    if name in (OPENINGS, REFUSALS) and chance.random() < 0.6:
        data = _json_lines(data, chance)
    else:
        data = _text(data, chance)
    files = {**base.files, name: data}
    lines = base.lines
    if name == REFUSALS and chance.random() < 0.7:  # sealed as it is
        f = Forgery(lines)
        f.data(len(lines) - 1)["refusals"] = {
            "count": data.count(b"\n"), "sha256": sha256(data).hexdigest(),
        }  # fmt: skip
        lines = f.lines()
    if chance.random() < 0.2:
        return write_zip({**read_zip(base.bundle), name: data}), base.evidence
    return write_bundle(lines, profile=base.profile, files=files), base.evidence


def _json_lines(data: bytes, chance: Random) -> bytes:
    """Return lines of JSON with a value changed, canonical again if that is possible."""
    values: list[Any] = [json.loads(line) for line in data.splitlines()]
    tree = deepcopy(values)
    mutate(tree, chance)
    try:
        return b"".join(canonical(value) + b"\n" for value in tree)[: None if b"\n" in data else -1]
    except (ValueError, TypeError):
        return json.dumps(tree).encode()


def _text(data: bytes, chance: Random) -> bytes:
    """Return a text with lines or bytes changed."""
    changed = bytearray(data)
    lines = data.split(b"\n")
    match chance.randrange(8):
        case 0:
            del lines[chance.randrange(len(lines))]
            return b"\n".join(lines)
        case 1:
            lines.insert(chance.randrange(len(lines) + 1), chance.choice(lines))
            return b"\n".join(lines)
        case 2:
            chance.shuffle(lines)
            return b"\n".join(lines)
        case 3:
            at = chance.randrange(len(lines))
            lines[at] = _mangled(lines[at], chance)
            return b"\n".join(lines)
        case 4:
            return data.replace(b"\n", b"\r\n") if chance.random() < 0.5 else data.rstrip(b"\n")
        case 5:
            at = chance.randrange(len(changed) + 1)
            changed[at:at] = chance.choice(PIECES)
        case 6:
            at = chance.randrange(len(changed) + 1)
            del changed[at : at + chance.choice((1, 5))]
        case _ if changed:
            changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
    return bytes(changed)


def _mangled(line: bytes, chance: Random) -> bytes:
    """Return a line of a note or key with a number, a name or base64 in another form."""
    words = line.split(b" ")
    at = chance.randrange(len(words))
    word = words[at]
    words[at] = chance.choice(
        (
            b"0" + word, b"-" + word, b"+" + word, word + b"=", word.rstrip(b"="), b" " + word,
            word + b" ", word.replace(b"/", b"_"), word.upper(), word + b"\xc2\xa0", b"",
            b"9223372036854775807", b"9223372036854775808", b"100000", b"100001", b"0", b"1e1",
            word[: len(word) // 2], word + word, b"\xe2\x80\x94", word + b"\x0b", word + b"\x7f",
        )
    )  # fmt: skip
    return b" ".join(words)


def _notes(base: Base, chance: Random) -> Mutation:
    """Return a bundle with a changed receipt from outside."""
    evidence = base.evidence
    receipts = list(evidence.receipts) or [receipt_of(base.lines)]
    at = chance.randrange(len(receipts))
    receipts[at] = chance.choice(
        (
            _text(receipts[at], chance),
            _text(receipts[at], chance),
            _text(receipts[at], chance),
            receipt_of(base.lines, signer=OTHER),
            receipts[at] + receipt_of(base.lines, signer=OTHER).rpartition(b"\n\n")[2],
            receipts[at] + receipts[at].rpartition(b"\n\n")[2] * chance.choice((1, 99, 100)),
        )
    )
    both = (SERVER_KEY, str(OTHER.verifier))
    keys = chance.choice((evidence.server_keys, (SERVER_KEY,), (), both))
    given = Evidence(
        receipts=tuple(receipts), server_keys=keys, witness_keys=evidence.witness_keys,
        quorum=evidence.quorum,
    )  # fmt: skip
    return base.bundle, given


def _keys(base: Base, chance: Random) -> Mutation:
    """Return a bundle with keys of the server or of witnesses that were changed."""
    evidence = base.evidence
    listed = json.dumps({"items": [_listed()]})
    one = chance.choice((SERVER_KEY, SERVER_KEY, listed, f"{SERVER_KEY}\n{OTHER.verifier}"))
    if one is listed and chance.random() < 0.7:
        tree = json.loads(listed)
        mutate(tree, chance)
        one = json.dumps(tree)
    elif chance.random() < 0.8:
        one = _text(one.encode(), chance).decode("utf-8", "replace") or "x"
    witnesses = evidence.witness_keys
    if witnesses and chance.random() < 0.3:
        witnesses = (_text(witnesses[0].encode(), chance).decode("utf-8", "replace") or "x",)
        one = SERVER_KEY
    given = Evidence(
        receipts=evidence.receipts or (receipt_of(base.lines),), server_keys=(one,),
        witness_keys=witnesses, quorum=evidence.quorum,
    )  # fmt: skip
    return base.bundle, given


def _listed() -> dict[str, Any]:
    key = SERVER.verifier
    _, _, public = SERVER_KEY.rpartition("+")
    return {
        "name": key.name, "id": key.key_id.hex(), "from": "2026-01-01T00:00:00.000000Z",
        "to": None, "public": _public(public), "signed_by_previous": None,
    }  # fmt: skip


def _public(tagged: str) -> str:
    """Return the 32 bytes of a key `name+id+key` in base64."""
    return b64encode(b64decode(tagged)[1:]).decode()


_WAYS: Final[Sequence[Callable[[Base, Random], Mutation]]] = (
    *(_archive, _archive, _entries, _entries, _manifest, _file, _file, _notes, _keys),
)
