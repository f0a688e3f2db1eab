"""Verify files: read them, print a report for each, return the exit status."""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final, TextIO, TypeVar

from service.replay.sentences import sentence
from service.runtime.plain_errors import why
from service.runtime.worker_processes import WorkerProcesses
from service.shx.bundle import Bundle, NotABundle
from service.shx.canonical import RecordError
from service.shx.keys import KeyChange
from service.verify.anchoring import proof_game
from service.verify.evidence import (
    BadEvidence,
    OutsideEvidence,
    PublicKeys,
    parse_key_changes,
)
from service.verify.file_work import (
    FileRead,
    FileToRead,
    FileToVerify,
    contents,
    own_evidence,
    read_file,
    sequence_check,
    verify_file,
)
from service.verify.finding import Result
from service.verify.log import Log
from service.verify.log_summary import LogSummary, summary_of_log
from service.verify.receipts import receipt_game
from service.verify.report import (
    LEVELS,
    Report,
    audit_object,
    printable,
    report_line,
    report_text,
)
from service.verify.sequence import SequenceAnswer, Sequences
from service.verify.verify import verify_log

T = TypeVar("T")

PASSED: Final = 0
FAILED: Final = 1
MISSING: Final = 2
NOT_A_BUNDLE: Final = 3

MANY: Final = 10
"""The number of files from which on each has one line, instead of a report of its own."""

NOTE: Final = ".note"
"""The suffix of receipt files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyOptions:
    """The required level, the evidence from outside, and the form of the report."""

    level: str = "L1"
    witnessed: bool = False
    keys: PublicKeys = field(default_factory=PublicKeys)
    quorum: int | None = None
    authorities: bytes = b""  # certificates (PEM) of a time-stamp authority
    receipts: Sequence[Path] = ()
    seat_keys: Mapping[int, str] = field(default_factory=dict)
    key_changes: Sequence[Path] = ()
    proofs: Sequence[Path] = ()  # of the public log; the last one of each game is used
    as_json: bool = False
    budget: float | None = None  # seconds for all checks of all files; None: no limit
    html: Path | None = None  # the file of the page
    jobs: int = 1  # processes


Progress = Callable[[Iterable[T], int], Iterable[T]]
"""Shows that many items are taken one after the other; the number is that of all items."""


def main_verify(
    paths: Sequence[Path],
    options: VerifyOptions | None = None,
    *,
    out: TextIO | None = None,
    errors: TextIO | None = None,
    progress: Progress[Any] = lambda items, _: items,
) -> int:
    """
    Verify files and return the exit status.

    0: all required checks pass; 1: a check failed; 2: evidence for a required check or level is
    missing; 3: a file is not a bundle or log, or a file cannot be read or written.

    From MANY files on, a line for each and a summary are printed in place of the reports, and a
    file that cannot be read does not keep the others from being verified. Only a summary of each
    log is in memory.
    """
    options = options or VerifyOptions()
    errors = errors or sys.stderr
    run = _Run(paths=paths, options=options, out=out, errors=errors, progress=progress)
    try:
        outside, proofs = evidence_of(options)
        with WorkerProcesses(options.jobs, verify_file.__module__) as processes:
            return run.verify(processes, outside, proofs)
    except (NotABundle, RecordError, OSError) as error:
        print(sentence("input.complaint", {"fault": why(error)}), file=errors)
        return NOT_A_BUNDLE


@dataclass(slots=True, kw_only=True)
class _Run:
    """One verification of files, and what it has counted so far."""

    paths: Sequence[Path]
    options: VerifyOptions
    out: TextIO | None  # None: the standard output, which a progress bar replaces
    errors: TextIO
    progress: Progress[Any]
    counts: Counter[int] = field(default_factory=Counter)  # of exit statuses
    first: dict[int, str] = field(default_factory=dict)  # by status, its first file
    unbacked: bool = False  # whether a file had no evidence from outside

    @property
    def in_lines(self) -> bool:
        """Return whether a line is printed for each file, instead of its report."""
        return len(self.paths) >= MANY and not self.options.as_json

    def verify(
        self, processes: WorkerProcesses, outside: OutsideEvidence, proofs: Sequence[bytes]
    ) -> int:
        """Print what the files are found to be, and return the exit status; raises OSError."""
        limit = self.options.budget
        deadline = None if limit is None else time.monotonic() + limit
        named = zip(self.paths, _names(self.paths), strict=True)
        files = [FileToRead(path=p, name=name, deadline=deadline) for p, name in named]
        known = self._known(processes, files)
        if known is None:
            return NOT_A_BUNDLE
        tasks = _tasks(files, known, outside, proofs)
        found = self.progress(processes.results(verify_file, tasks), len(files))
        reports = self._printed(zip(files, found, strict=True))
        if self.options.html is None:
            for _ in reports:
                pass
        else:
            self._write_page(self.options.html, reports)
        if self.in_lines:
            self._print_summary()
        return max(self.counts, key=_severity)

    def _known(
        self, processes: WorkerProcesses, files: Sequence[FileToRead]
    ) -> list[FileRead] | None:
        """Return what is known of each file; None if one of a few files cannot be read."""
        if len(files) == 1:
            return [FileRead()]
        known = list(self.progress(processes.results(read_file, files), len(files)))
        faults = [one.fault for one in known if one.fault is not None]
        if faults and not self.in_lines:
            self._complain(faults[0])
            return None
        return known

    def _printed(
        self, found: Iterable[tuple[FileToRead, Report | str]]
    ) -> Iterator[tuple[str, Report]]:
        """Print each report, and yield it with the name of its file; raises OSError."""
        opening = "[\n "
        for number, (file, report) in enumerate(found):
            if isinstance(report, str):
                self._complain(report)
                self._count(NOT_A_BUNDLE, file)
                continue
            self._count(status_of(report, self.options.level), file)
            self.unbacked = self.unbacked or not report.backed
            if self.options.as_json:
                text = json.dumps(audit_object(report), indent=1)
                if len(self.paths) > 1:
                    text = opening + text.replace("\n", "\n ")
                    opening = ",\n "
                self._write(text)
            elif self.in_lines:
                self._write(report_line(report, name=str(file.path)))
            else:
                text = report_text(report, name=str(file.path))
                self._write(f"\n{text}" if number else text)
            yield file.path.name, report
        if self.options.as_json:
            self._write("\n" if len(self.paths) == 1 else "\n]\n")

    def _write_page(self, path: Path, reports: Iterable[tuple[str, Report]]) -> None:
        """Write the reports as a page, one after the other; raises OSError."""
        from service.verify.report import html_parts  # its template library takes 50 ms to import

        with path.open("w", encoding="utf-8", newline="") as page:
            page.writelines(html_parts(reports))

    def _print_summary(self) -> None:
        codes = {FAILED: "input.failed", MISSING: "input.missing", NOT_A_BUNDLE: "input.unreadable"}
        files = {"n": len(self.paths), "passed": self.counts[PASSED]}
        parts = [sentence("input.count", files)]
        parts += [
            sentence(code, {"n": self.counts[status], "file": self.first[status]})
            for status, code in codes.items()
            if self.counts[status]
        ]
        limits = f"; {sentence('result.alone')}" if self.unbacked else ""
        self._write(f"{printable(', '.join(parts))}{limits}\n")

    def _count(self, status: int, file: FileToRead) -> None:
        self.counts[status] += 1
        self.first.setdefault(status, str(file.path))

    def _write(self, text: str) -> None:
        (self.out or sys.stdout).write(text)

    def _complain(self, fault: str) -> None:
        print(sentence("input.complaint", {"fault": fault}), file=self.errors)


def _tasks(
    files: Sequence[FileToRead],
    known: Sequence[FileRead],
    outside: OutsideEvidence,
    proofs: Sequence[bytes],
) -> Iterator[FileToVerify]:
    """
    Yield each file with its own evidence.

    A receipt or log proof is checked with the log of its game. One that belongs to none of the
    logs is checked with the first log, where it fails.
    """
    owners = _Owners([one.game for one in known])
    notes = owners.receipts(outside.receipts)
    proof_of = owners.proofs(proofs)
    answers = _answers([one.summary for one in known], outside)
    for index, (file, answer) in enumerate(zip(files, answers, strict=True)):
        own = own_evidence(outside, notes.get(index, ()), proof_of.get(index))
        yield FileToVerify(file=file, outside=own, sequence=answer)


def _answers(
    summaries: Sequence[LogSummary | None], outside: OutsideEvidence
) -> Iterator[SequenceAnswer | None]:
    """Yield the answer of the check `sequence` for each log; None for an unreadable one."""
    readable = [one for one in summaries if one is not None]
    sequences, number = Sequences(readable, outside.key_changes), 0
    for summary in summaries:
        yield None if summary is None else sequences.answer(number)
        number += summary is not None


class _Owners:
    """The logs to which receipts and proofs belong, by their games."""

    def __init__(self, games: Sequence[str | None]) -> None:
        self._first: dict[str | None, int] = {}
        for index, game in enumerate(games):
            self._first.setdefault(game, index)

    def receipts(self, notes: Sequence[bytes]) -> Mapping[int, Sequence[bytes]]:
        """Return the receipts by the number of their log; 0 for those of no log."""
        found: dict[int, list[bytes]] = {}
        for note in notes:
            found.setdefault(self._first.get(receipt_game(note), 0), []).append(note)
        return found

    def proofs(self, proofs: Sequence[bytes]) -> Mapping[int, bytes]:
        """Return the last proof of each log, by its number; 0 for those of no log."""
        return {self._first.get(proof_game(proof), 0): proof for proof in proofs}


def verify_all(
    bundles: Sequence[Bundle],
    outside: OutsideEvidence,
    proofs: Sequence[bytes] = (),
    *,
    names: Sequence[str | None] = (),
) -> list[Report]:
    """
    Return the report of each bundle, in order; the check `sequence` compares all of them.

    A receipt or log proof is assigned to a log as for files.
    """
    logs = [Log(bundle.lines, name=name) for bundle, name in zip_longest(bundles, names)]
    owners = _Owners([str(log.game) if log.events else None for log in logs])
    notes, proof_of = owners.receipts(outside.receipts), owners.proofs(proofs)
    answers = _answers([summary_of_log(log) for log in logs], outside)
    reports = []
    for index, (log, bundle, answer) in enumerate(zip(logs, bundles, answers, strict=True)):
        own = own_evidence(outside, notes.get(index, ()), proof_of.get(index))
        reports.append(verify_log(log, bundle, own, sequence_check(log, own, answer)))
    return reports


def status_of(report: Report, level: str = "L1") -> int:
    """Return the exit status for one report; `level` is the required one."""
    if report.result is Result.FAIL:
        return FAILED
    reached = LEVELS.index(report.level) if report.level else -1
    if report.result is Result.MISSING or reached < LEVELS.index(level):
        return MISSING
    partly = level != "L1" and report.up_to is not None and report.up_to < report.version - 1
    return MISSING if partly else PASSED


def _severity(status: int) -> int:
    """Return the severity of an exit status: a failed check outweighs missing evidence."""
    return (PASSED, MISSING, FAILED, NOT_A_BUNDLE).index(status)


def _names(paths: Sequence[Path]) -> list[str]:
    """Return the names of files, with their folders if two files have the same name."""
    short = [path.name for path in paths]
    return short if len(set(short)) == len(short) else [str(path) for path in paths]


def evidence_of(options: VerifyOptions) -> tuple[OutsideEvidence, list[bytes]]:
    """
    Return the evidence from outside, read from its files, and the proofs of a public log.

    Raises NotABundle or OSError for a file that cannot be read as such evidence.
    """
    notes = {path: contents(path) for path in _notes(options.receipts)}
    outside = OutsideEvidence(
        receipts=tuple(notes.values()),
        files={note: path.name for path, note in reversed(notes.items())},
        server_keys=options.keys.server,
        listed=options.keys.listed,
        restores=options.keys.restores,
        seat_keys=options.seat_keys,
        key_changes=_changes(options.key_changes),
        witnessed=options.witnessed or bool(options.keys.witnesses),
        witness_keys=options.keys.witnesses,
        quorum=options.quorum,
        authorities=options.authorities,
    )
    return outside, [contents(path) for path in options.proofs]


def _notes(paths: Sequence[Path]) -> Iterator[Path]:
    """Yield files, and for a folder the receipts in it; raises NotABundle if it has none."""
    for path in paths:
        if not path.is_dir():
            yield path
            continue
        notes = sorted(path.glob(f"*{NOTE}"))
        if not notes:
            raise NotABundle(sentence("input.no_receipts", {"file": str(path), "suffix": NOTE}))
        yield from notes


def _changes(paths: Sequence[Path]) -> tuple[KeyChange, ...]:
    found: tuple[KeyChange, ...] = ()
    for path in paths:
        try:
            found += parse_key_changes([contents(path)])
        except BadEvidence as error:
            fault = sentence("input.fault", {"file": str(path), "fault": error.what})
            raise NotABundle(fault) from None
    return found
