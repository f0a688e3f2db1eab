"""`shithead verify`: evidence checked offline, with what one brings from outside."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from service.commands.evidence_options import brought
from service.record.canonical import RecordError
from service.record.cosignature import parse_cosigner
from service.verify.command import Asked, main_verify


def _witness_keys(
    _context: click.Context, _option: click.Parameter, values: tuple[str, ...]
) -> tuple[str, ...]:
    """Return the keys of witnesses, read from a file where the value is the name of one."""
    try:
        texts = [Path(v).read_text("utf-8") if Path(v).is_file() else v for v in values]
        return tuple(str(parse_cosigner(text.strip())) for text in texts)
    except (RecordError, OSError, ValueError):
        raise click.BadParameter(
            "the key of a witness has the form name+id+key, as `shithead witness` prints it"
        ) from None


@click.command(short_help="Check the evidence of a game, offline.")
@click.argument(
    "files", nargs=-1, required=True, metavar="FILE...", type=click.Path(path_type=Path)
)
@brought
@click.option(
    "--level",
    type=click.Choice(("L1", "L2", "L3")),
    default="L1",
    show_default=True,
    help="What to ask for: exit status 2 where the evidence does not reach it.",
)
@click.option("--witnessed", is_flag=True, help="Ask for the cosignatures of witnesses as well.")
@click.option(
    "--witness-key",
    "witness_keys",
    multiple=True,
    metavar="KEY",
    callback=_witness_keys,
    help="The public key of a witness, name+id+key; repeat it for more. Asks for --witnessed.",
)
@click.option(
    "--quorum",
    type=click.IntRange(min=1),
    help="How many of these witnesses must have cosigned; all of them if left out.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the report as the API has it.")
@click.option(
    "--html",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the report as a page to show or print, complete in one file.",
)
def verify(
    files: tuple[Path, ...],
    outside: Asked,
    level: str,
    *,
    witnessed: bool,
    witness_keys: tuple[str, ...],
    quorum: int | None,
    as_json: bool,
    html: Path | None,
) -> int:
    """
    Check evidence bundles (.shx) or plain logs (events.jsonl) of games.

    It needs no server, no database and no network, and trusts nothing that a file
    says about itself. Several logs of one table are also checked as a sequence:
    no hand left out, dealt twice or replaced.

    \b
    It prints a line for each check: pass, fail, missing (the evidence for it is not
    there) or n/a; a fail names the first event (seq) and, where one decides it, the
    rule, and how many more there are. Then how the deck, the history and the actions
    stand, each by itself: a broken rule is no forged log; and what happened at the
    first event that fails. The last line is the result.
      bytes, chain, order                  is it a log that nobody changed afterwards?
      commitments, shuffle, openings, deal was the deck fixed before, and dealt as it lay?
      custody, legality, hidden            was every card held, every move allowed?
      signatures, receipts                 did the players sign it, did the server?
      anchor, witness                      does the public log know it?
      seal, sequence                       is it finished, and one of a gapless series?

    \b
    Levels, each with all below it:
      L0  it can be read
      L1  every check on the log alone passes
      L2  a receipt from outside, signed by the server, names a head of this log
      L3  every human seat signed its moves, with a key that came from outside
    A log alone (L1) cannot show that the operator replaced a whole game with one it
    made up: only receipts, keys and witnesses from outside show that. Receipts inside
    a bundle are checked and raise no level. Beside any level, +W: the bundle's proof
    leads to a checkpoint of the public log, signed with --server-key and cosigned by
    the witnesses of --witness-key.

    A server key of a saved answer of /v1/keys comes with its dates: where it signed
    something out of its time, the report says so.

    A key given for a seat stands for later hands as well where --key-change shows that
    it named the key of those hands. A change that no key before it signed is called a
    new key, in `sequence`.

    \b
    Where to get them: a player is given a receipt with every move (`receipt` in the
    answer) and anybody can fetch one while the game runs, at /v1/games/ID/receipt.
    The server's keys are at /v1/keys: keep the answer from before a dispute, and ask
    somebody else than the operator for theirs.

    \b
    Exit status, for several files the gravest:
      0   all that was asked for passes        1   a check failed
      2   evidence is missing (an unfinished game, a level not reached, receipts
          or a proof without --server-key)
      3   a file is no bundle or log, or cannot be read; or the page cannot be written
      64  the command line is wrong

    \b
    Examples:
      shithead verify game.shx
      shithead verify hand1.shx hand2.shx hand3.shx
      shithead verify game.shx --level L2 --receipt mine.note --server-key keys.json
      shithead verify game.shx --server-key keys.json --witness-key witness.key
      shithead verify events.jsonl --proof game.tlog-proof --server-key keys.json
    """  # noqa: D301 - \b is click's mark for a block that keeps its lines
    asked = replace(
        outside,
        level=level,
        witnessed=witnessed,
        witness_keys=witness_keys,
        quorum=quorum,
        as_json=as_json,
        html=html,
    )
    return main_verify(files, asked)
