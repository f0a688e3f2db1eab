"""The command `verify`: reads files, prints a report for each, and says how it ended."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from pathlib import Path
from typing import Final, TextIO

from service.record.bundle import Bundle, NotABundle, read_log
from service.record.canonical import RecordError
from service.record.cosignature import parse_cosigner
from service.record.key_changes import KeyChange, read_key_changes
from service.record.notes import parse_verifier
from service.record.server_keys import ListedKey
from service.verify.finding import Result
from service.verify.html import report_html
from service.verify.log import Log
from service.verify.outside import proof_game
from service.verify.receipts import receipt_game
from service.verify.report import LEVELS, Report, audit_object
from service.verify.text import report_text
from service.verify.verify import Given, verify_log

PASSED: Final = 0
FAILED: Final = 1
MISSING: Final = 2
NOT_A_BUNDLE: Final = 3

MAX_FILE: Final = 256 << 20  # bytes
NOTE: Final = ".note"
"""How the file of a receipt is named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What the one who calls wants to know, and what they bring to find out."""

    level: str = "L1"
    witnessed: bool = False
    witness_keys: Sequence[str] = ()  # as name+id+key
    quorum: int | None = None
    receipts: Sequence[Path] = ()
    server_keys: Sequence[str] = ()  # as name+id+key
    listed: Sequence[ListedKey] = ()  # those of the server keys whose dates are known
    seat_keys: Mapping[int, str] = field(default_factory=dict)
    key_changes: Sequence[Path] = ()
    proofs: Sequence[Path] = ()  # of the public log; of a game's several the last counts
    as_json: bool = False
    html: Path | None = None  # where the page goes


def main_verify(
    paths: Sequence[Path],
    asked: Asked | None = None,
    *,
    out: TextIO | None = None,
    errors: TextIO | None = None,
) -> int:
    """
    Verify files and return the exit status.

    0: all that was asked for passes; 1: a check failed; 2: evidence is missing
    for what was asked; 3: a file is no bundle, or cannot be read.
    """
    asked = asked or Asked()
    out, errors = out or sys.stdout, errors or sys.stderr
    try:
        bundles = [_bundle(path) for path in paths]
        given, proofs = evidence_of(asked)
    except (NotABundle, RecordError, OSError) as error:
        print(f"shithead verify: {error}", file=errors)
        return NOT_A_BUNDLE
    reports = verify_all(bundles, given, proofs, names=_names(paths))
    if asked.html is not None:
        page = report_html([(p.name, r) for p, r in zip(paths, reports, strict=True)])
        try:
            asked.html.write_text(page, "utf-8")
        except OSError as error:
            print(f"shithead verify: {error}", file=errors)
            return NOT_A_BUNDLE
    if asked.as_json:
        objects = [audit_object(report) for report in reports]
        json.dump(objects[0] if len(objects) == 1 else objects, out, indent=1)
        out.write("\n")
    else:
        named = zip(paths, reports, strict=True)
        out.write("\n".join(report_text(r, name=str(p)) for p, r in named))
    return max((status_of(report, asked.level) for report in reports), key=_gravity)


def verify_all(
    bundles: Sequence[Bundle],
    given: Given,
    proofs: Sequence[bytes] = (),
    *,
    names: Sequence[str | None] = (),
) -> list[Report]:
    """
    Return the report of each bundle, the others being its neighbours at the table.

    A receipt or log proof goes to the log of its game; one that belongs to none of
    them is held against the first, where it fails.
    """
    named = zip_longest(bundles, names)
    logs = [Log(bundle.lines, name=name) for bundle, name in named]
    games = [str(log.game) if log.events else None for log in logs]
    homes = [_home(receipt_game(note), games) for note in given.receipts]
    proof_of = {_home(proof_game(proof), games): proof for proof in proofs}
    reports = []
    for index, bundle in enumerate(bundles):
        notes = zip(given.receipts, homes, strict=True)
        own = replace(
            given,
            receipts=tuple(note for note, home in notes if home == index),
            proof=proof_of.get(index),
        )
        others = [*logs[:index], *logs[index + 1 :]]
        reports.append(verify_log(logs[index], bundle, own, others))
    return reports


def status_of(report: Report, level: str = "L1") -> int:
    """Return the exit status for one report, where `level` was asked for."""
    if report.result is Result.FAIL:
        return FAILED
    reached = LEVELS.index(report.level) if report.level else -1
    if report.result is Result.MISSING or reached < LEVELS.index(level):
        return MISSING
    partly = level != "L1" and report.up_to is not None and report.up_to < report.version - 1
    return MISSING if partly else PASSED


def _gravity(status: int) -> int:
    """A failed check outweighs evidence that is missing."""
    return (PASSED, MISSING, FAILED).index(status)


def contents(path: Path) -> bytes:
    """Return the bytes of a file; NotABundle for a folder, and for more than are read."""
    if path.is_dir():
        raise NotABundle(f"{path} is a folder: name the file in it")
    with path.open("rb") as file:
        data = file.read(MAX_FILE + 1)
    if len(data) > MAX_FILE:
        raise NotABundle(f"{path}: more than {MAX_FILE} bytes")
    return data


def _names(paths: Sequence[Path]) -> list[str]:
    """Return the names of files, with their folders where two have one name."""
    short = [path.name for path in paths]
    return short if len(set(short)) == len(short) else [str(path) for path in paths]


def _bundle(path: Path) -> Bundle:
    data = contents(path)
    try:
        return read_log(data)
    except NotABundle as error:
        raise NotABundle(f"{path}: {error}") from None


def evidence_of(asked: Asked) -> tuple[Given, list[bytes]]:
    """
    Return what was brought from outside, read from its files, and the proofs of a public log.

    Raises RecordError, NotABundle or OSError for a file that is none of that.
    """
    notes = {path: contents(path) for path in _notes(asked.receipts)}
    given = Given(
        receipts=tuple(notes.values()),
        files={note: path.name for path, note in reversed(notes.items())},
        server_keys=tuple(parse_verifier(key) for key in asked.server_keys),
        listed=tuple(asked.listed),
        seat_keys=asked.seat_keys,
        key_changes=tuple(_changes(asked.key_changes)),
        witnessed=asked.witnessed or bool(asked.witness_keys),
        witness_keys=tuple(parse_cosigner(key) for key in asked.witness_keys),
        quorum=asked.quorum,
    )
    return given, [contents(path) for path in asked.proofs]


def _notes(paths: Sequence[Path]) -> Iterator[Path]:
    """Yield files, and for a folder the receipts in it."""
    for path in paths:
        if not path.is_dir():
            yield path
            continue
        notes = sorted(path.glob(f"*{NOTE}"))
        if not notes:
            raise NotABundle(f"{path}: a folder without receipts (*{NOTE})")
        yield from notes


def _changes(paths: Sequence[Path]) -> Iterator[KeyChange]:
    for path in paths:
        try:
            yield from read_key_changes(contents(path))
        except RecordError as error:
            raise NotABundle(f"{path}: {error.detail}") from None


def _home(game: str | None, games: Sequence[str | None]) -> int:
    return games.index(game) if game in games else 0
