"""The command line `shithead`: which commands there are, and how every one of them ends."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Final, NoReturn

import click

from service.commands.admin import admin
from service.commands.audit import audit
from service.commands.backup import backup, restore
from service.commands.check import check
from service.commands.migrate import migrate
from service.commands.monitor import monitor
from service.commands.play import play
from service.commands.replay import replay
from service.commands.rotate_keys import rotate_keys
from service.commands.rulesets import rulesets
from service.commands.simulate import simulate
from service.commands.up import up
from service.commands.verify import verify
from service.commands.witness import witness

MISUSED: Final = 64
"""The words of the command line make no sense; apart from every status that `verify` has."""

INTERRUPTED: Final = 130

EPILOG: Final = """\b
Try:
  shithead up                          run the service here
  shithead play --with greedy          play a hand here
  shithead verify game.shx             is this log what it claims to be?
  shithead replay game.shx             go through a game, step by step
  shithead audit game.shx --move 57    what was this move decided on?
  shithead rulesets leeds              the rules of a game, as a page
  shithead simulate --ruleset leeds    let bots play
  shithead admin stuck                 run a server: which games do not go on?
  shithead witness --log URL           watch a service, so that it cannot change the past
  shithead backup FILE                 keep the database, while the service runs

`shithead COMMAND --help` says more. Exit status 64: the command line itself is wrong.
"""


@click.group(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    no_args_is_help=False,
    invoke_without_command=True,
    epilog=EPILOG,
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=lambda context, _option, wanted: _version(context) if wanted else None,
    help="Show the version, as the logs written by it name it, and exit.",
)
@click.pass_context
def shithead(context: click.Context) -> None:
    """Play Shithead by the book, and settle what happened from the record."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def _version(context: click.Context) -> NoReturn:
    from service.application.hands import ENGINE

    click.echo(f"{ENGINE['name']} {ENGINE['version']}")
    context.exit()


for _command in (
    *(up, play, verify, replay, audit, rulesets, simulate, migrate),
    *(witness, monitor, rotate_keys, admin),
    *(backup, restore, check),
):
    shithead.add_command(_command)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit with the status of its command."""
    sys.exit(run(arguments))


def run(arguments: Sequence[str] | None = None) -> int:
    """
    Run the command line and return the exit status.

    click would end a wrong command line with 2, which for `verify` means that
    evidence is missing.
    """
    words = None if arguments is None else list(arguments)
    try:
        status = shithead.main(words, prog_name="shithead", standalone_mode=False)
    except click.UsageError as error:
        error.show()
        return MISUSED
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        return INTERRUPTED
    return status if isinstance(status, int) else 0


if __name__ == "__main__":
    main()
