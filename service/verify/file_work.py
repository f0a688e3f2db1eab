"""Verification of one file of many, which any process can do."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

from service.replay.sentences import sentence
from service.runtime.plain_errors import why
from service.shx.archives import MAX_ENTRIES, MAX_INFLATED, write_zip
from service.shx.bundle import MANIFEST, Bundle, NotABundle, read_log
from service.shx.canonical import RecordError
from service.shx.chain import head
from service.verify.evidence import Name, OutsideEvidence
from service.verify.log import Log
from service.verify.log_summary import LogSummary, summary_of_log
from service.verify.report import Report
from service.verify.sequence import SequenceAnswer, check_sequence
from service.verify.verify import Budget, Run, verify_log

MAX_FILE: Final = 256 << 20  # bytes
_SHORTEST: Final = 1e-6  # seconds: a time limit that is already reached


@dataclass(frozen=True, slots=True, kw_only=True)
class FileToRead:
    """A file of several: its name in reports, and the time limit on the monotonic clock."""

    path: Path
    name: str
    deadline: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRead:
    """A file before it is verified; `fault` is why it cannot be read."""

    game: str | None = None
    summary: LogSummary | None = None
    fault: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FileToVerify:
    """A file with the evidence from outside that belongs to it."""

    file: FileToRead
    outside: OutsideEvidence
    sequence: SequenceAnswer | None  # None: it is compared with no other log


def read_file(file: FileToRead) -> FileRead:
    """Return what the check `sequence` needs to know of a file."""
    try:
        bundle = bundle_of(file.path)
    except (NotABundle, RecordError, OSError) as error:
        return FileRead(fault=why(error))
    with _budget(file.deadline) as budget:
        log = log_of(bundle, file.name, budget)
        summary = budget.attempt(lambda: summary_of_log(log, partial(_heads, file.path)), None)
    return FileRead(game=str(log.game) if log.events else None, summary=summary)


def verify_file(task: FileToVerify) -> Report | str:
    """Return the report on a file; if the file cannot be read, the reason."""
    try:
        bundle = bundle_of(task.file.path)
    except (NotABundle, RecordError, OSError) as error:
        return why(error)
    with _budget(task.file.deadline) as budget:
        log = log_of(bundle, task.file.name, budget)
        check = sequence_check(log, task.outside, task.sequence)
        return verify_log(log, bundle, task.outside, check, budget)


def sequence_check(log: Log, outside: OutsideEvidence, answer: SequenceAnswer | None) -> Run:
    """Return the check `sequence` with a known answer; with None, that of a log alone."""
    if answer is not None:
        return answer.report
    return lambda at: check_sequence(summary_of_log(log), (), outside.key_changes, at)


def log_of(bundle: Bundle, name: str | None, budget: Budget) -> Log:
    """Return the log of a bundle; an empty log if there is no time to read it."""
    return budget.attempt(lambda: Log(bundle.lines, name=name), Log((), name=name))


def bundle_of(path: Path) -> Bundle:
    """Return the bundle or log in a file; raises NotABundle, RecordError or OSError."""
    data = contents(path)
    try:
        return read_log(data)
    except NotABundle as error:
        fault = sentence("input.fault", {"file": str(path), "fault": str(error)})
        raise NotABundle(fault) from None


def contents(path: Path) -> bytes:
    """
    Return the bytes of a file; of a folder with the files of a bundle, those of an archive of it.

    Raises NotABundle for another folder, or a file that is too large.
    """
    if path.is_dir():
        return _packed(path)
    with path.open("rb") as file:
        data = file.read(MAX_FILE + 1)
    if len(data) > MAX_FILE:
        raise NotABundle(sentence("input.large", {"file": str(path), "n": MAX_FILE}))
    return data


def _packed(folder: Path) -> bytes:
    """Return an archive with the files of an unpacked bundle, in a folder of their own."""
    if not (folder / MANIFEST).is_file():
        raise NotABundle(sentence("input.folder", {"file": str(folder)}))
    files: dict[str, bytes] = {}
    left = MAX_INFLATED
    for path in folder.rglob("*"):
        if path.is_dir() and not path.is_symlink():
            continue
        name = path.relative_to(folder).as_posix()
        if path.is_symlink() or not path.is_file() or not name.isascii():
            raise NotABundle(sentence("input.foreign", {"file": str(path)}))
        with path.open("rb") as file:
            files[f"unpacked/{name}"] = content = file.read(left + 1)
        left -= len(content)
        if left < 0 or len(files) > MAX_ENTRIES:
            limits = {"n": MAX_INFLATED, "most": MAX_ENTRIES}
            raise NotABundle(sentence("input.large_folder", {"file": str(folder), **limits}))
    return write_zip(files)


def own_evidence(
    outside: OutsideEvidence,
    notes: Sequence[bytes],
    proof: bytes | None,
) -> OutsideEvidence:
    """Return the evidence for one file: its receipts with their file names, and its proof."""
    files: Mapping[bytes, Name] = {n: outside.files[n] for n in notes if n in outside.files}
    return replace(outside, receipts=tuple(notes), files=files, proof=proof)


@contextmanager
def _budget(deadline: float | None) -> Iterator[Budget]:
    """Limit the block to the time until a deadline; None is no limit."""
    budget = Budget()
    left = None if deadline is None else max(_SHORTEST, deadline - time.monotonic())
    with budget.running(left):
        yield budget


def _heads(path: Path) -> Sequence[bytes]:
    """Return the heads of all lines of a file again."""
    return tuple(head(line) for line in bundle_of(path).lines)
