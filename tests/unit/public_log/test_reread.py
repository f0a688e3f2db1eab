"""The stored public log, read again: each damaged row and file is named, and nothing else is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest

from service.public_log.log import Damage, Leaf
from service.public_log.reread import LogReader
from service.public_log.signed_checkpoints import NoCheckpoints, SignedCheckpoints, SignedFile
from service.shx.tlog.checkpoint import Checkpoint, cosign, sign_checkpoint
from service.shx.tlog.notes import NoteSigner
from tests.random_games import private_key
from tests.worlds.fake_log import ORIGIN, SIGNER, WITNESS, sequencer_of
from tests.worlds.memory_log import MemoryLog

LEAVES = 256 * 2 + 9
"""Two full tiles and a part of a third."""


def log_of(
    leaves: int = LEAVES, *, batch: int = 100, signed: SignedCheckpoints | None = None
) -> MemoryLog:
    """Return a log with leaves in batches, each with a signed head."""
    log = MemoryLog()
    sequencer = sequencer_of(log, signed=signed)
    for first in range(0, leaves, batch):
        for game in range(first, min(first + batch, leaves)):
            log.request(UUID(int=game), 1, bytes(32))
        log._requested = log._requested[-batch:]
        sequencer.run_once()
    assert log.head().size == leaves
    return log


def reader_of(log: MemoryLog, signed: SignedCheckpoints | None = None) -> LogReader:
    return LogReader(
        store=log,
        keys=lambda: [SIGNER.verifier],
        witnesses=[WITNESS.verifier],
        signed=signed or NoCheckpoints(),
    )


def whole_pass(reader: LogReader) -> list[Damage]:
    """Read the checkpoint and every tile once; return what was new."""
    while reader.read_tile()[0]:  # from a random tile to the end
        pass
    found = reader.read_checkpoint()
    while True:
        width, more = reader.read_tile()
        found += more
        if not width:
            return found


def changed(line: bytes, at: int) -> bytes:
    return line[:at] + bytes([line[at] ^ 1]) + line[at + 1 :]


def entry(log: MemoryLog, index: int) -> None:
    leaf: Leaf = log._leaves[index]
    log._leaves[index] = replace(leaf, data=changed(leaf.data, 40))


def hash_at(log: MemoryLog, level: int, position: int) -> None:
    log._hashes[level, position] = changed(log._hashes[level, position], 7)


def entry_and_hash(log: MemoryLog, index: int) -> None:
    entry(log, index)
    hash_at(log, 0, index)


def root_of_head(log: MemoryLog, size: int) -> None:
    head = log._heads[size]
    log._heads[size] = replace(head, root=changed(head.root, 3))


def note_of_head(log: MemoryLog, size: int) -> None:
    head = log._heads[size]
    assert head.note is not None
    at = head.note.rindex(b" ") + 30
    letter = b"B" if head.note[at : at + 1] == b"A" else b"A"
    log._heads[size] = replace(head, note=head.note[:at] + letter + head.note[at + 1 :])


FAULTS: list[tuple[Callable[[MemoryLog], object], str, str]] = [
    (lambda log: entry(log, 7), "leaf 7", "its entry is not the one that was signed"),
    (lambda log: entry(log, 515), "leaf 515", "its entry is not the one that was signed"),
    (lambda log: log._leaves.pop(), f"leaf {LEAVES - 1}", "its entry is missing"),
    (
        lambda log: hash_at(log, 0, 300),
        "hash 0/300",
        "it is not that of its entry, which was signed",
    ),
    (
        lambda log: hash_at(log, 0, 516),
        "hash 0/516",
        "it is not that of its entry, which was signed",
    ),
    (lambda log: hash_at(log, 1, 1), "hash 1/1", "it is not that of the tile below"),
    (
        lambda log: entry_and_hash(log, 9),
        "leaf 9",
        "neither its entry nor its hash is what was signed",
    ),
    (lambda log: root_of_head(log, 300), "head 300", "it is not the tree of its leaves"),
    (
        lambda log: note_of_head(log, 200),
        "head 200, its checkpoint",
        "the signature of tests.example is wrong",
    ),
    (
        lambda log: log._hashes.pop((0, 3)),
        "hashes of tile/0/000",
        "tile/0/000 does not have 256 hashes",
    ),
]
"""A fault of the disk, and the place and reason by which it is named."""


@pytest.mark.parametrize(("harm", "place", "reason"), FAULTS, ids=[one[1] for one in FAULTS])
def test_a_damaged_row_is_named_once_and_until_it_is_whole(
    harm: Callable[[MemoryLog], object], place: str, reason: str
) -> None:
    log, whole = log_of(), log_of()
    reader = reader_of(log)
    assert whole_pass(reader) == []
    assert log.damage() == []
    harm(log)
    while whole_pass(reader):
        pass  # a head that a damaged hash contradicts is named only until that is found
    assert [(one.place, one.reason) for one in log.damage()] == [(place, reason)]
    assert whole_pass(reader_of(log)) == [], "known since, also by another process"
    log._leaves, log._hashes, log._heads = whole._leaves, whole._hashes, whole._heads
    whole_pass(reader)
    assert log.damage() == []


def test_a_damaged_checkpoint_is_named_before_the_next_leaf_hides_it() -> None:
    log = log_of(5)
    reader = reader_of(log)
    note_of_head(log, 5)
    [found] = reader.read_checkpoint()
    assert found.place == "checkpoint"
    assert found.reason == "of 5 leaves, as it is served: the signature of tests.example is wrong"
    assert reader.read_checkpoint() == []
    log.request(UUID(int=99), 1, bytes(32))
    sequencer_of(log).run_once()
    assert reader.read_checkpoint() == []
    assert log.damage() == []


def test_a_damaged_cosignature_below_the_checkpoint_is_named() -> None:
    log = log_of(5)
    note = log.published()
    assert note is not None
    line = cosign(note.note.decode().partition("\n\n")[0] + "\n", WITNESS, timestamp=1)
    log.keep_cosignature(5, str(WITNESS.verifier), line)
    assert reader_of(log).read_checkpoint() == []
    log._lines[5, str(WITNESS.verifier)] = changed(line.encode(), 60).decode()
    [found] = reader_of(log).read_checkpoint()
    assert f"the cosignature of {WITNESS.name} is wrong" in found.reason


@pytest.mark.parametrize("at", [20, 30, -20])
def test_a_damaged_file_of_the_checkpoint_is_found(tmp_path: Path, at: int) -> None:
    """In its size, its root and its signature."""
    signed = SignedFile(tmp_path / "log.checkpoint")
    log = log_of(5, signed=signed)
    reader = reader_of(log, signed)
    assert reader.file_fault() is None
    data = (tmp_path / "log.checkpoint").read_bytes()
    (tmp_path / "log.checkpoint").write_bytes(changed(data, at))
    assert reader.file_fault()
    (tmp_path / "log.checkpoint").write_bytes(data)
    assert reader.file_fault() is None


def test_a_file_with_another_tree_of_the_same_size_and_one_of_other_keys_is_found(
    tmp_path: Path,
) -> None:
    """After the key file was lost nobody can check old signatures, so the root alone counts."""
    file = tmp_path / "log.checkpoint"
    log = log_of(5)
    stranger = NoteSigner(name=ORIGIN, key=private_key("lost"))
    right = Checkpoint(origin=ORIGIN, size=5, root=log.head().root)
    file.write_bytes(sign_checkpoint(right, [stranger]))
    assert reader_of(log, SignedFile(file)).file_fault() is None
    file.write_bytes(sign_checkpoint(replace(right, root=bytes(32)), [SIGNER]))
    fault = reader_of(log, SignedFile(file)).file_fault()
    assert fault == "its root is not that of the 5 leaves here"


def test_a_newer_file_is_no_damage_and_an_empty_log_has_none(tmp_path: Path) -> None:
    file = tmp_path / "log.checkpoint"
    reader = reader_of(MemoryLog(), SignedFile(file))
    assert whole_pass(reader) == []
    assert reader.file_fault() is None
    file.write_bytes(sign_checkpoint(Checkpoint(origin=ORIGIN, size=9, root=bytes(32)), [SIGNER]))
    assert reader.file_fault() is None, "the database was set back: another word of readiness"
