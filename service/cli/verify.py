"""`shithead verify`: check bundles and logs offline; options for evidence from outside a log."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import Any, Final, TypeVar

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars

from service.cli.statuses import ReadPath
from service.shx.time_stamps import read_certificates
from service.shx.tlog.checkpoint import CosignatureVerifier
from service.verify.evidence import BadEvidence, PublicKeys, parse_keys, parse_seat_keys
from service.verify.files import MANY, VerifyOptions, main_verify

T = TypeVar("T")

Command = Callable[..., int]

MAX_NAME_LENGTH: Final = 200
"""Characters of a file name; a longer value is not reported as a missing file."""


def server_keys_of(
    _context: click.Context, _option: click.Parameter, values: tuple[str, ...]
) -> PublicKeys:
    """
    Return the server's keys; if a value is the name of a file, the keys in it.

    Raises BadParameter for a value that is neither, and for the key of a witness.
    """
    found: list[PublicKeys] = []
    for value in values:
        try:
            text = Path(value).read_text("utf-8") if Path(value).is_file() else value
            found.append(parse_keys([text]))
        except (BadEvidence, OSError, ValueError) as error:
            if _is_file_name(value) and not Path(value).exists():
                raise click.BadParameter(f"there is no file {value!r}") from None
            why = f": {error.detail}" if isinstance(error, BadEvidence) else ""
            raise click.BadParameter(
                f"{value!r} is neither a key of the form name+id+key nor a file of keys{why}"
            ) from None
        if found[-1].witnesses:
            raise click.BadParameter(f"{value!r} is the key of a witness, not of the server")
    return PublicKeys(
        server=tuple(key for keys in found for key in keys.server),
        listed=tuple(key for keys in found for key in keys.listed),
        restores=tuple(note for keys in found for note in keys.restores),
    )


def _is_file_name(value: str) -> bool:
    """Return whether a value can only be the name of a file: it is neither a key nor JSON."""
    return len(value) <= MAX_NAME_LENGTH and not re.search(r"[+{}\[\]]", value)


def seat_keys_of(
    _context: click.Context, _option: click.Parameter, values: tuple[str, ...]
) -> dict[int, str]:
    """Return public keys by seat, from values like `0=<base64>`; raises BadParameter."""
    try:
        return parse_seat_keys(values)
    except BadEvidence as error:
        raise click.BadParameter(f"{' '.join(values)!r}: {error.detail}") from None


def evidence_options(command: Command) -> Command:
    """
    Return the command with options for receipts, keys and proofs.

    The command receives them together, as `outside`.
    """

    @wraps(command)
    def call_with_evidence(
        *,
        receipts: tuple[Path, ...],
        server_keys: PublicKeys,
        seat_keys: dict[int, str],
        key_changes: tuple[Path, ...],
        proofs: tuple[Path, ...],
        **more: Any,
    ) -> int:
        outside = VerifyOptions(
            receipts=receipts,
            keys=server_keys,
            seat_keys=seat_keys,
            key_changes=key_changes,
            proofs=proofs,
        )
        return command(outside=outside, **more)

    with_options: Command = call_with_evidence
    for option in reversed(_OPTIONS):
        with_options = option(with_options)
    return with_options


_OPTIONS: Final = (
    click.option(
        "--receipt",
        "receipts",
        multiple=True,
        metavar="FILE",
        type=click.Path(path_type=Path),
        help="A receipt, or a folder of receipts (*.note); can be repeated. Level L2 needs a "
        "receipt and --server-key.",
    ),
    click.option(
        "--server-key",
        "server_keys",
        multiple=True,
        metavar="KEY",
        callback=server_keys_of,
        help="The server's public key (name+id+key), a file with it, or a saved response of "
        "/v1/keys.",
    ),
    click.option(
        "--seat-key",
        "seat_keys",
        multiple=True,
        metavar="SEAT=KEY",
        callback=seat_keys_of,
        help="The public key of a player in base64, as 0=… (seats from 0); can be repeated. Level "
        "L3 needs the key of every human seat and, in this hand, a move signed with it.",
    ),
    click.option(
        "--key-change",
        "key_changes",
        multiple=True,
        metavar="FILE",
        type=click.Path(path_type=Path),
        help="Key changes between hands, each signed by the previous key: a saved response of "
        "/v1/tables/ID/keys.",
    ),
    click.option(
        "--proof",
        "proofs",
        multiple=True,
        metavar="FILE",
        type=click.Path(path_type=Path),
        help="An inclusion proof of the public log (.tlog-proof), which replaces the one in the "
        "bundle.",
    ),
)


def _witness_keys(
    _context: click.Context, _option: click.Parameter, values: tuple[str, ...]
) -> tuple[CosignatureVerifier, ...]:
    """
    Return the witnesses' keys; if a value is the name of a file, the keys in it.

    Raises BadParameter for any other value, and for the key of a server.
    """
    message = "the key of a witness has the form name+id+key, as `shithead witness` prints it"
    try:
        texts = [Path(v).read_text("utf-8") if Path(v).is_file() else v for v in values]
        keys = parse_keys(texts)
    except (BadEvidence, OSError, ValueError):
        raise click.BadParameter(message) from None
    if keys.server:
        raise click.BadParameter(message)
    return keys.witnesses


def _certificates(_context: click.Context, _option: click.Parameter, value: Path | None) -> bytes:
    """Return the content of a file of certificates; raises BadParameter if it has none."""
    try:
        content = b"" if value is None else value.read_bytes()
        if value is not None:
            read_certificates(content)
    except (OSError, ValueError):
        raise click.BadParameter(f"{value} has no readable certificates") from None
    return content


@click.command(short_help="Check the evidence of a game, offline.")
@click.argument("files", nargs=-1, metavar="FILE...", type=click.Path(path_type=Path))
@click.option(
    "--dump",
    "folder",
    metavar="DIR",
    type=ReadPath(folder=True),
    help="Check a dump of `shithead dump` instead of files.",
)
@click.option(
    "--checkpoint",
    "checkpoints",
    multiple=True,
    metavar="FILE",
    type=ReadPath(file=True),
    help="With --dump: an older checkpoint of the public log, which the dump has to continue.",
)
@evidence_options
@click.option(
    "--level",
    type=click.Choice(("L1", "L2", "L3")),
    default="L1",
    show_default=True,
    help="The required level; exit status 2 if the evidence does not reach it.",
)
@click.option("--witnessed", is_flag=True, help="Require the cosignatures of witnesses as well.")
@click.option(
    "--witness-key",
    "witness_keys",
    multiple=True,
    metavar="KEY",
    callback=_witness_keys,
    help="The public key of a witness (name+id+key); can be repeated. Implies --witnessed.",
)
@click.option(
    "--quorum",
    type=click.IntRange(min=1),
    help="How many of these witnesses must have cosigned.  [default: all]",
)
@click.option(
    "--time-stamp-certificate",
    "authorities",
    metavar="FILE",
    type=ReadPath(file=True),
    callback=_certificates,
    help="Root certificates (PEM) of a time-stamp authority, to which the time stamp must lead.",
)
@click.option(
    "--budget",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Time limit; unfinished checks are reported as missing, with exit status 2.",
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print the report as JSON, as returned by the API."
)
@click.option(
    "--html",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the report to this file as a self-contained page.",
)
@click.option(
    "--jobs",
    type=click.IntRange(min=1, max=256),
    help="Number of processes.  [default: the cores, if there is enough work for them]",
)
def verify(
    files: tuple[Path, ...],
    folder: Path | None,
    checkpoints: tuple[Path, ...],
    outside: VerifyOptions,
    level: str,
    *,
    witnessed: bool,
    witness_keys: tuple[CosignatureVerifier, ...],
    quorum: int | None,
    authorities: bytes,
    budget: float | None,
    as_json: bool,
    html: Path | None,
    jobs: int | None,
) -> int:
    """
    Check evidence bundles (.shx) or plain logs (events.jsonl) of games. A bundle may be an
    unpacked folder, or an archive that another program made of its files.

    No server, database or network is needed, and nothing that a file claims about itself
    is trusted. Several logs of one table are also checked as a sequence: no hand missing,
    dealt twice or replaced, none chained to a game of another table, the right dealers,
    the same turn limit and clock.

    From 10 files on, one line is printed for each and a summary at the end; a file that cannot
    be read is named, and the others are verified. Several processes share the work (--jobs).
    The memory in use does not grow with the size of all files together.

    \b
    One line is printed for each check: pass, fail, missing (no evidence for this check)
    or n/a. A failure names the first event (seq), the rule if there is one, and the number
    of further failures. Deck, history and actions are then judged separately: a
    broken rule does not mean a forged log. The last line is the result.
      bytes, chain, order                  was the log changed afterwards?
      commitments, shuffle, openings, deal was the deck fixed in advance, and dealt as is?
      custody, legality, hidden            was every card held, every move legal?
      signatures, receipts                 was it signed by the players, by the server?
      anchor, witness                      is it in the public log?
      seal, sequence                       is it finished, and part of a gapless sequence?

    \b
    Levels, each of which includes those before:
      L0  the log can be read
      L1  every check on the log alone passes
      L2  a receipt from outside, signed by the server, names a head of this log
      L3  every human seat signed with a key from outside: at least one move of this hand,
          and every move except those made for it after time-outs, which the last line
          counts; not applicable if no human took part
    A log alone (L1) cannot show that the operator replaced a whole game with an invented
    one: only receipts, keys and witnesses from outside can. Receipts inside a bundle are
    checked, but raise no level. +W is added to a level if the proof leads to a checkpoint
    of the public log that is signed with --server-key and cosigned by the witnesses of
    --witness-key.

    A saved response of /v1/keys contains the dates of each server key: signatures outside
    its validity period are reported.

    A seat key also counts for later hands if --key-change contains the signed changes up
    to the keys of those hands. A change without the signature of the previous key is
    reported as a new key, in `sequence`.

    \b
    Where to get evidence: the response to every move has a receipt (`receipt`), and anyone
    can fetch one during the game, at /v1/games/ID/receipt. A receipt covers the game up to
    its event: one fetched after the end covers all of it (level L2). The server's keys are at
    /v1/keys: save them before a dispute, or get them from another source than the operator.
    Keys from a suspect prove nothing: the suspect may have invented them and the receipts.

    \b
    Exit status (for several files, the worst):
      0   all required checks pass             1   a check failed
      2   evidence is missing (an unfinished game, a level not reached, receipts
          or a proof without --server-key), or --budget was exceeded
      3   a file is no bundle or log, or cannot be read; or the page cannot be written
      64  invalid command line

    --dump DIR checks all hands of a month from files alone: every bundle by all checks, that
    none is missing, changed or foreign, that each is in the tree of the dump's checkpoint, and
    that this tree continues those of older checkpoints (--checkpoint). Each fault is named, the
    first one again in the last line but one. A hand that the operator left out of the whole
    dump cannot be detected: compare with your own bundles.

    \b
    Examples:
      shithead verify game.shx
      shithead verify --dump 2026-11 --server-key keys.json --checkpoint 2026-10/checkpoint
      shithead verify hand1.shx hand2.shx hand3.shx
      shithead verify game.shx --level L2 --receipt mine.note --server-key keys.json
      shithead verify game.shx --server-key keys.json --witness-key witness.key
      shithead verify events.jsonl --proof game.tlog-proof --server-key keys.json
    """  # noqa: D301 - \b is click's mark for a block that keeps its lines
    options = replace(
        outside,
        level=level,
        witnessed=witnessed,
        keys=replace(outside.keys, witnesses=witness_keys),
        quorum=quorum,
        authorities=authorities,
        budget=budget,
        as_json=as_json,
        html=html,
        jobs=max(1, min(jobs or jobs_for(len(files)), len(files))),
    )
    if folder is not None:
        return _verify_dump(folder, options, checkpoints, files, jobs)
    if checkpoints or not files:
        raise click.UsageError("name the files to check, or a dump with --dump")
    return main_verify(files, options, progress=progress_bar)


def _verify_dump(
    folder: Path,
    options: VerifyOptions,
    checkpoints: tuple[Path, ...],
    files: tuple[Path, ...],
    jobs: int | None,
) -> int:
    """Check a dump; raises UsageError for options that it has no use for."""
    from service.verify.dump import main_verify_dump

    unused = (
        *(files, options.receipts, options.seat_keys, options.key_changes, options.proofs),
        *(options.as_json, options.html, options.budget, options.level != "L1"),
    )
    if any(unused):
        raise click.UsageError(
            "--dump takes only --server-key, --witness-key, --witnessed, --quorum, --checkpoint "
            "and --jobs"
        )
    whole = replace(options, jobs=jobs or os.cpu_count() or 1)
    return main_verify_dump(folder, whole, checkpoints, progress=progress_bar)


FILES_PER_JOB: Final = 20
"""The number of files that take as long as starting another process."""


def jobs_for(files: int) -> int:
    """Return the number of processes for a number of files: at most one for each core."""
    return max(1, min(os.cpu_count() or 1, files // FILES_PER_JOB))


def progress_bar(items: Iterable[T], number: int) -> Iterator[T]:
    """Yield items, and show on the terminal how many of them are done."""
    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("files"), TimeRemainingColumn())
    is_shown = number >= MANY and sys.stderr.isatty()
    console = Console(stderr=True)
    with Bars(
        *columns,
        console=console,
        transient=True,
        redirect_stdout=sys.stdout.isatty(),  # else the lines would go where the bar is
        disable=not is_shown,
    ) as bar:
        yield from bar.track(items, total=number)
