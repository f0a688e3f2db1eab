"""Verify files: read them, print a report for each, return the exit status."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from pathlib import Path
from typing import Final, TextIO

from service.runtime.plain_errors import why
from service.shx.archives import MAX_ENTRIES, MAX_INFLATED, write_zip
from service.shx.bundle import MANIFEST, Bundle, NotABundle, read_log
from service.shx.canonical import RecordError
from service.shx.keys import KeyChange
from service.verify.anchoring import proof_game
from service.verify.evidence import (
    BadEvidence,
    OutsideEvidence,
    PublicKeys,
    parse_key_changes,
)
from service.verify.finding import Result
from service.verify.log import Log
from service.verify.receipts import receipt_game
from service.verify.report import LEVELS, Report, audit_object, report_text
from service.verify.verify import Budget, verify_log

PASSED: Final = 0
FAILED: Final = 1
MISSING: Final = 2
NOT_A_BUNDLE: Final = 3

MAX_FILE: Final = 256 << 20  # bytes
NOTE: Final = ".note"
"""The suffix of receipt files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyOptions:
    """The required level, the evidence from outside, and the form of the report."""

    level: str = "L1"
    witnessed: bool = False
    keys: PublicKeys = field(default_factory=PublicKeys)
    quorum: int | None = None
    receipts: Sequence[Path] = ()
    seat_keys: Mapping[int, str] = field(default_factory=dict)
    key_changes: Sequence[Path] = ()
    proofs: Sequence[Path] = ()  # of the public log; the last one of each game is used
    as_json: bool = False
    budget: float | None = None  # seconds for all checks of all files; None: no limit
    html: Path | None = None  # the file of the page


def main_verify(
    paths: Sequence[Path],
    options: VerifyOptions | None = None,
    *,
    out: TextIO | None = None,
    errors: TextIO | None = None,
) -> int:
    """
    Verify files and return the exit status.

    0: all required checks pass; 1: a check failed; 2: evidence for a required check or level is
    missing; 3: a file is not a bundle or log, or a file cannot be read or written.
    """
    options = options or VerifyOptions()
    out, errors = out or sys.stdout, errors or sys.stderr
    try:
        bundles = [_bundle(path) for path in paths]
        outside, proofs = evidence_of(options)
    except (NotABundle, RecordError, OSError) as error:
        print(f"shithead verify: {why(error)}", file=errors)
        return NOT_A_BUNDLE
    budget = Budget()
    with budget.running(options.budget):
        reports = verify_all(bundles, outside, proofs, names=_names(paths), budget=budget)
    if options.html is not None:
        from service.verify.report import report_html  # its template library takes 50 ms to import

        page = report_html([(p.name, r) for p, r in zip(paths, reports, strict=True)])
        try:
            options.html.write_text(page, "utf-8")
        except OSError as error:
            print(f"shithead verify: {why(error)}", file=errors)
            return NOT_A_BUNDLE
    if options.as_json:
        objects = [audit_object(report) for report in reports]
        json.dump(objects[0] if len(objects) == 1 else objects, out, indent=1)
        out.write("\n")
    else:
        named = zip(paths, reports, strict=True)
        out.write("\n".join(report_text(r, name=str(p)) for p, r in named))
    return max((status_of(report, options.level) for report in reports), key=_severity)


def verify_all(
    bundles: Sequence[Bundle],
    outside: OutsideEvidence,
    proofs: Sequence[bytes] = (),
    *,
    names: Sequence[str | None] = (),
    budget: Budget | None = None,
) -> list[Report]:
    """
    Return the report of each bundle, in order; the check `sequence` compares all of them.

    A receipt or log proof is checked with the log of its game. One that belongs to none of the
    logs is checked with the first log, where it fails.
    """
    budget = budget or Budget()
    named = zip_longest(bundles, names)
    logs = [_read(bundle, name, budget) for bundle, name in named]
    games = [str(log.game) if log.events else None for log in logs]
    indexes = [_index_of_game(receipt_game(note), games) for note in outside.receipts]
    proof_of = {_index_of_game(proof_game(proof), games): proof for proof in proofs}
    reports = []
    for index, bundle in enumerate(bundles):
        notes = zip(outside.receipts, indexes, strict=True)
        own = replace(
            outside,
            receipts=tuple(note for note, log_index in notes if log_index == index),
            proof=proof_of.get(index),
        )
        others = [*logs[:index], *logs[index + 1 :]]
        reports.append(verify_log(logs[index], bundle, own, others, budget))
    return reports


def _read(bundle: Bundle, name: str | None, budget: Budget) -> Log:
    """Return the log of a bundle; an empty log if there is no time to read it."""
    return budget.attempt(lambda: Log(bundle.lines, name=name), Log((), name=name))


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
    return (PASSED, MISSING, FAILED).index(status)


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
        raise NotABundle(f"{path}: more than {MAX_FILE} bytes")
    return data


def _packed(folder: Path) -> bytes:
    """Return an archive with the files of an unpacked bundle, in a folder of their own."""
    if not (folder / MANIFEST).is_file():
        raise NotABundle(f"{folder} is a folder: name the file in it")
    files: dict[str, bytes] = {}
    left = MAX_INFLATED
    for path in folder.rglob("*"):
        if path.is_dir() and not path.is_symlink():
            continue
        name = path.relative_to(folder).as_posix()
        if path.is_symlink() or not path.is_file() or not name.isascii():
            raise NotABundle(f"{path}: not a file that a bundle may contain")
        with path.open("rb") as file:
            files[f"unpacked/{name}"] = content = file.read(left + 1)
        left -= len(content)
        if left < 0 or len(files) > MAX_ENTRIES:
            raise NotABundle(f"{folder}: more than {MAX_INFLATED} bytes or {MAX_ENTRIES} files")
    return write_zip(files)


def _names(paths: Sequence[Path]) -> list[str]:
    """Return the names of files, with their folders if two files have the same name."""
    short = [path.name for path in paths]
    return short if len(set(short)) == len(short) else [str(path) for path in paths]


def _bundle(path: Path) -> Bundle:
    data = contents(path)
    try:
        return read_log(data)
    except NotABundle as error:
        raise NotABundle(f"{path}: {error}") from None


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
            raise NotABundle(f"{path}: a folder without receipts (*{NOTE})")
        yield from notes


def _changes(paths: Sequence[Path]) -> tuple[KeyChange, ...]:
    found: tuple[KeyChange, ...] = ()
    for path in paths:
        try:
            found += parse_key_changes([contents(path)])
        except BadEvidence as error:
            raise NotABundle(f"{path}: {error.detail}") from None
    return found


def _index_of_game(game: str | None, games: Sequence[str | None]) -> int:
    return games.index(game) if game in games else 0
