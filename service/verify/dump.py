"""Verify a dump: every bundle, none missing or foreign, and the tree of the public log."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final, TextIO

from service.replay.sentences import Value, said, sentence
from service.runtime.plain_errors import why
from service.runtime.worker_processes import WorkerProcesses
from service.shx.bundle import PROOF, Bundle, NotABundle, read_bundle
from service.shx.canonical import RecordError, format_time, sha256
from service.shx.dumps import (
    CHECKPOINT,
    INDEX,
    MANIFEST,
    TESTIMONY,
    DumpedHand,
    DumpManifest,
    month_of,
    read_index,
    read_manifest,
)
from service.shx.tar_files import NotATarFile, members
from service.shx.tlog.checkpoint import (
    Checkpoint,
    cosignatures,
    open_checkpoint,
    parse_checkpoint,
)
from service.shx.tlog.notes import MAX_NOTE, parse_note
from service.shx.tlog.tiles import EMPTY, WIDTH, Tile, TiledTree, grow, hashes_of
from service.shx.tlog.tree import parse_proof, proves_consistency
from service.verify.evidence import OutsideEvidence
from service.verify.file_work import sequence_check
from service.verify.files import FAILED, MISSING, NOT_A_BUNDLE, PASSED, Progress, VerifyOptions
from service.verify.finding import Result
from service.verify.log import Log
from service.verify.report import failure_text, printable
from service.verify.verify import verify_log

MAX_FAULTS: Final = 20
"""Faults that are named; after them the search ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Packed:
    """A bundle in a tar file of a dump, with the line of the index about it."""

    tar: Path
    offset: int
    size: int
    hand: DumpedHand
    checkpoint: bytes
    month: str


def main_verify_dump(
    folder: Path,
    options: VerifyOptions,
    older: Sequence[Path] = (),
    *,
    out: TextIO | None = None,
    errors: TextIO | None = None,
    progress: Progress[Any] = lambda items, _: items,
) -> int:
    """
    Verify a dump and return the exit status: 0, 1 for a fault, 2 for missing evidence, 3.

    `older` are files with earlier checkpoints, with which the tree has to be consistent. Each
    fault is printed, and the last lines name the first one. Memory does not depend on the number
    of hands.
    """
    out, errors = out or sys.stdout, errors or sys.stderr
    try:
        manifest = read_manifest(folder)
        checkpoint = _read(folder / CHECKPOINT)
        index = _hash_of(folder / INDEX)
    except (RecordError, OSError) as error:
        fault = said("dump.not_whole", folder=str(folder), reason=why(error))
        print(sentence("input.complaint", {"fault": fault}), file=errors)
        return NOT_A_BUNDLE
    try:
        signed, lacking = _check_tree(folder, manifest, checkpoint, options, older)
        if index != manifest.index:
            raise _Fault("dump.other_index", file=INDEX, manifest=MANIFEST)
    except _Fault as fault:
        out.write(f"{_summary(manifest, [str(fault)])}\n{TESTIMONY}\n")
        return FAILED
    faults: list[str] = []
    with WorkerProcesses(options.jobs, __name__) as processes:
        found = processes.results(_check, _packed(folder, manifest, checkpoint))
        for text in filter(None, progress(found, manifest.hands)):
            faults.append(text)
            out.write(printable(sentence("dump.fails", {"fault": text})) + "\n")
            if len(faults) == MAX_FAULTS:
                break
    summary = " ".join([f"{_summary(manifest, faults)}.", printable(signed), *lacking])
    out.write(f"{summary}\n{TESTIMONY}\n")
    return FAILED if faults else MISSING if lacking else PASSED


def _summary(manifest: DumpManifest, faults: Sequence[str]) -> str:
    """Return the size of a dump, and the number of its faults with the first of them."""
    month, leaves = manifest.month, manifest.tree_size
    hands = said("dump.hands", n=manifest.hands, month=month, leaves=leaves)
    if faults:
        found = said("dump.faults", n=len(faults), fault=faults[0])
    elif manifest.complete and datetime.now(UTC) >= month_of(month)[1]:
        found = said("dump.intact")
    else:
        found = said("dump.running", month=month)
    return printable(sentence("dump.summary", {"hands": hands, "what": found}))


class _Fault(Exception):
    """A fault of a dump that makes further checks useless; the sentence names the file."""

    def __init__(self, code: str, **values: Value) -> None:
        super().__init__(sentence(code, values))


def _check_tree(
    folder: Path,
    manifest: DumpManifest,
    note: bytes,
    options: VerifyOptions,
    older: Sequence[Path],
) -> tuple[str, tuple[str, ...]]:
    """
    Check the checkpoint, the tiles and older checkpoints.

    Returns who signed the checkpoint, in a sentence, and the evidence that is missing. Raises
    _Fault.
    """
    checkpoint, signed = _opened(note, CHECKPOINT, options)
    if (checkpoint.origin, checkpoint.size) != (manifest.origin, manifest.tree_size):
        raise _Fault("dump.other_checkpoint", file=CHECKPOINT, manifest=MANIFEST)
    _check_tiles(folder, checkpoint)
    tree = TiledTree(checkpoint.size, partial(_tile, folder))
    for path in older:
        try:
            before, _ = _opened(_read(path), str(path), options)
        except OSError as error:
            raise _Fault("dump.reason", reason=why(error)) from None
        if before.origin != checkpoint.origin or before.size > checkpoint.size:
            raise _Fault("dump.other_log", file=str(path))
        if not proves_consistency(
            old_size=before.size,
            old_root=before.root,
            size=checkpoint.size,
            root_hash=checkpoint.root,
            proof=tree.consistency_proof(before.size),
        ):
            raise _Fault("dump.two_histories", file=str(path))
    return signed, tuple(_lacking(note, options))


def _opened(note: bytes, name: str, options: VerifyOptions) -> tuple[Checkpoint, str]:
    """Return a checkpoint, and who signed it; raises _Fault."""
    try:
        if not options.keys.server:
            checkpoint = parse_checkpoint(parse_note(note).text)
            return checkpoint, sentence("dump.unchecked")
        checkpoint, _, signers = open_checkpoint(note, options.keys.server)
    except RecordError as error:
        raise _Fault("dump.file", file=name, reason=error.detail) from None
    return checkpoint, sentence("dump.signed", {"name": signers[0].name})


def _lacking(note: bytes, options: VerifyOptions) -> Iterator[str]:
    """Yield the cosignatures that are missing; raises _Fault for a wrong one."""
    witnesses = options.keys.witnesses
    if not witnesses and not options.witnessed:
        return
    try:
        found = cosignatures(parse_note(note), witnesses)
    except RecordError as error:
        raise _Fault("dump.file", file=CHECKPOINT, reason=error.detail) from None
    wanted = len(set(witnesses)) if options.quorum is None else options.quorum
    if not witnesses or len(found) < wanted:
        yield sentence("dump.cosigned", {"found": len(found), "needed": max(1, wanted)})


def _check_tiles(folder: Path, checkpoint: Checkpoint) -> None:
    """Check that the tiles are those of the tree of a checkpoint; raises _Fault."""
    edge, above = EMPTY, dict[int, list[bytes]]()
    for index in range(-(-checkpoint.size // WIDTH)):
        width = min(WIDTH, checkpoint.size - index * WIDTH)
        tile = Tile(level=0, index=index, width=width)
        edge, added = grow(edge, hashes_of(_tile(folder, tile), tile))
        for level, position, one in added:
            if level:
                waiting = above.setdefault(level, [])
                waiting.append(one)
                if len(waiting) == WIDTH:
                    _compare(folder, Tile(level=level, index=position // WIDTH), waiting)
    for level, waiting in above.items():
        if waiting:
            row = checkpoint.size >> 8 * level
            _compare(folder, Tile(level=level, index=row // WIDTH, width=len(waiting)), waiting)
    if edge.root != checkpoint.root:
        raise _Fault("dump.other_tiles")


def _compare(folder: Path, tile: Tile, expected: list[bytes]) -> None:
    """Raise _Fault unless a tile has these hashes; forget them."""
    if _tile(folder, tile) != b"".join(expected):
        raise _Fault("dump.other_tile", file=tile.path)
    expected.clear()


def _tile(folder: Path, tile: Tile) -> bytes:
    try:
        data = _read(folder / tile.path)
    except OSError as error:
        raise _Fault("dump.no_tile", file=tile.path, reason=why(error)) from None
    if len(data) != 32 * tile.width:
        raise _Fault("dump.tile_size", file=tile.path, n=tile.width)
    return data


def _packed(folder: Path, manifest: DumpManifest, note: bytes) -> Iterator[_Packed | str]:
    """Yield every bundle of a dump in the order of the index, and each fault of their order."""
    named = {tar.name for tar in manifest.tars}
    for path in sorted(folder.glob("hands-*.tar")):
        if path.name not in named:
            yield sentence("dump.foreign_tar", {"file": path.name, "manifest": MANIFEST})
    index = _Index(folder)
    try:
        for tar in manifest.tars:
            yield from _of_tar(folder / tar.name, index, note, manifest.month)
        while (left := index.next()) is not None:
            yield sentence("dump.in_no_tar", {"hand": left.name})
    except RecordError as error:
        yield error.detail
    if index.count != manifest.hands:
        values: dict[str, Value] = {"file": INDEX, "manifest": MANIFEST, "expected": manifest.hands}
        yield sentence("dump.count", {**values, "n": index.count})


class _Index:
    """The lines of the index, of which the next one can be looked at before it is taken."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lines = read_index(folder)
        self._first: DumpedHand | None = None
        self.count = 0

    def peek(self) -> DumpedHand | None:
        """Return the next line without taking it; raises RecordError."""
        if self._first is None:
            self._first = next(self._lines, None)
            self.count += self._first is not None
        return self._first

    def next(self) -> DumpedHand | None:
        """Take the next line; raises RecordError."""
        found, self._first = self.peek(), None
        return found

    def names_later(self, name: str) -> bool:
        """Return whether a line after the next one names this bundle; reads the index again."""
        following = self.peek()
        return following is not None and any(
            hand.name == name and hand.leaf > following.leaf for hand in read_index(self._folder)
        )


def _of_tar(path: Path, index: _Index, note: bytes, month: str) -> Iterator[_Packed | str]:
    """Yield the bundles of a tar file, and how it differs from the index."""
    try:
        with path.open("rb") as file:
            for one in members(file):
                while (hand := index.peek()) and hand.name != one.name:
                    if hand.tar != path.name or not index.names_later(one.name):
                        break
                    yield sentence("dump.removed", {"hand": hand.name, "file": path.name})
                    index.next()
                named = {"hand": one.name, "file": path.name}
                if hand is None or hand.name != one.name or hand.tar != path.name:
                    yield sentence("dump.foreign_hand", named)
                    continue
                index.next()
                if (one.size, one.at) != (hand.size, int(hand.sealed_at.timestamp())):
                    yield sentence("dump.other_size", named)
                    continue
                yield _Packed(
                    tar=path,
                    offset=one.offset,
                    size=one.size,
                    hand=hand,
                    checkpoint=note,
                    month=month,
                )
    except (NotATarFile, OSError) as error:
        yield sentence("dump.unreadable_tar", {"file": path.name, "reason": why(error)})
    while (left := index.peek()) and left.tar == path.name:
        yield sentence("dump.removed", {"hand": left.name, "file": path.name})
        index.next()


def _check(packed: _Packed | str) -> str | None:
    """Return the fault of a bundle, None if it has none; a fault found before is returned again."""
    if isinstance(packed, str):
        return packed
    fault = _fault_of(packed)
    if fault is None:
        return None
    values = {"hand": packed.hand.name, "file": packed.tar.name, "fault": fault}
    return sentence("dump.hand", values)


def _fault_of(packed: _Packed) -> str | None:
    with packed.tar.open("rb") as file:
        file.seek(packed.offset)
        data = file.read(packed.size)
    if sha256(data).hex() != packed.hand.sha256:
        return sentence("dump.other_hash")
    try:
        bundle = read_bundle(data)
    except NotABundle as error:
        return sentence("dump.no_bundle", {"reason": str(error)})
    if bundle.profile != "public" or any(name.startswith("dispute/") for name in bundle.files):
        return sentence("dump.not_public")
    log = Log(bundle.lines)
    if not log.begins or log.game != packed.hand.game or bundle.game != packed.hand.game:
        return sentence("dump.other_game")
    at, (since, until) = packed.hand.sealed_at, month_of(packed.month)
    if log.events[-1]["at"] != format_time(at) or not since <= at < until:
        return sentence("dump.other_time", {"month": packed.month})
    if len(packed.hand.players) != log.seats:
        return sentence("dump.other_seats")
    return _fault_of_proof(packed, bundle, log) or _fault_of_log(bundle, log)


def _fault_of_proof(packed: _Packed, bundle: Bundle, log: Log) -> str | None:
    """Return why a bundle is not the stated leaf of the dump's tree; its path is checked later."""
    try:
        proof = parse_proof(bundle.files.get(PROOF, b""))
    except RecordError as error:
        return sentence("dump.no_proof", {"reason": error.detail})
    if proof.checkpoint != packed.checkpoint:
        return sentence("dump.proof_of_other")
    if proof.index != packed.hand.leaf:
        return sentence("dump.other_leaf")
    size = b"\n%d\n" % len(log.heads)
    if proof.extra is None or size not in proof.extra or log.seal is None:
        return sentence("dump.unsealed")
    return None


def _fault_of_log(bundle: Bundle, log: Log) -> str | None:
    """Return the first failed check of a bundle, the inclusion in the tree among them."""
    outside = OutsideEvidence()
    report = verify_log(log, bundle, outside, sequence_check(log, outside, None))
    if report.result is Result.PASS:
        return None
    fault = next((one for one in report.findings if one.result is Result.FAIL), None)
    return report.wording if fault is None else failure_text(fault)


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(MAX_NOTE + 1)


def _hash_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
