"""The command line `shithead`: its commands and their exit statuses."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Final, NoReturn

import click

from service.cli.admin import admin
from service.cli.audit import audit
from service.cli.backup import backup, restore
from service.cli.check import check
from service.cli.migrate import migrate
from service.cli.monitor import monitor
from service.cli.play import play
from service.cli.replay import replay
from service.cli.rotate_keys import rotate_keys
from service.cli.rulesets import rulesets
from service.cli.settings import settings
from service.cli.simulate import simulate
from service.cli.up import up
from service.cli.verify import verify
from service.cli.witness import witness

MISUSED: Final = 64
"""Exit status of a wrong command line; `verify` uses the smaller numbers."""

INTERRUPTED: Final = 130

EPILOG: Final = """\b
Try:
  shithead up                          run the service on this machine
  shithead play --with greedy          play a hand in the terminal
  shithead verify game.shx             is this log authentic and complete?
  shithead replay game.shx             go through a game, step by step
  shithead audit game.shx --move 57    what did the player know at this move?
  shithead rulesets leeds              the rules of one ruleset, as a page
  shithead simulate --ruleset leeds    let bots play and count the results
  shithead admin stuck                 list the games that have stopped
  shithead witness --log URL           watch a service, so that it cannot change the past
  shithead backup FILE                 back up the database while the service runs
  shithead settings                    all settings with default, unit and effect

`shithead COMMAND --help` describes a command. Exit status 64: invalid command line.
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
    help="Show the version, as recorded in the logs it writes, and exit.",
)
@click.pass_context
def shithead(context: click.Context) -> None:
    """Play the card game Shithead, and verify what happened from the record."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def _version(context: click.Context) -> NoReturn:
    from service.application.tables.dealing import ENGINE

    click.echo(f"{ENGINE['name']} {ENGINE['version']}")
    context.exit()


for _command in (
    *(up, play, verify, replay, audit, rulesets, simulate, migrate),
    *(witness, monitor, rotate_keys, admin),
    *(backup, restore, check, settings),
):
    shithead.add_command(_command)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit with the status of its command."""
    sys.exit(run(arguments))


def run(arguments: Sequence[str] | None = None) -> int:
    """
    Run the command line and return the exit status.

    click ends an invalid command line with 2, which for `verify` means that evidence is
    missing; here it ends with 64.
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
