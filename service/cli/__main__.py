"""The command line `shithead`: its commands and their exit statuses."""

from __future__ import annotations

import signal
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Final, NoReturn

import click

from service.cli.statuses import INTERRUPTED, MISUSED, TABLE, UNREADABLE, Suggesting
from service.runtime.plain_errors import why
from service.runtime.version import VERSION

COMMANDS: Final[Mapping[str, str]] = {
    "admin": "service.cli.admin",
    "audit": "service.cli.audit",
    "backup": "service.cli.backup",
    "bots": "service.cli.tables",
    "challenges": "service.cli.challenges",
    "check": "service.cli.backup",
    "collusion": "service.cli.collusion",
    "dataset": "service.cli.simulate",
    "decisions": "service.cli.decisions",
    "dispute": "service.cli.dispute",
    "dump": "service.cli.dump",
    "handle": "service.cli.challenges",
    "logs": "service.cli.logs",
    "mcp": "service.cli.mcp",
    "migrate": "service.cli.run",
    "monitor": "service.cli.public_log",
    "play": "service.cli.play",
    "ratings": "service.cli.ratings",
    "recover": "service.cli.recover",
    "replay": "service.cli.replay",
    "restore": "service.cli.backup",
    "rotate-keys": "service.cli.run",
    "rulesets": "service.cli.rulesets",
    "run": "service.cli.run",
    "settings": "service.cli.run",
    "simulate": "service.cli.simulate",
    "tables": "service.cli.tables",
    "up": "service.cli.run",
    "verify": "service.cli.verify",
    "watch": "service.cli.tables",
    "witness": "service.cli.public_log",
}
"""The module of each command, imported when the command is used."""

EPILOG: Final = (
    """\b
Try:
  shithead up                          run the service on this machine
  shithead play --with greedy          play a hand in the terminal
  shithead tables                      list the tables of the service
  shithead challenges                  who challenges you
  shithead watch GAME                  watch a game as it is played
  shithead verify game.shx             is this log authentic and complete?
  shithead replay game.shx             go through a game, step by step
  shithead audit game.shx --move 57    what did the player know at this move?
  shithead decisions DIR --kind burn   where else did players do this?
  shithead dispute open GAME           accuse a player, or the server
  shithead rulesets leeds              the rules of one ruleset, as a page
  shithead simulate --ruleset leeds    let bots play and count the results
  shithead dataset -o hands.ndjson     positions, moves and outcomes for machine learning
  shithead admin stuck                 list the games that have stopped
  shithead mcp                         let an assistant explain games
  shithead logs --game ID              the log lines about a game, a request or a player
  shithead witness --log URL           watch a service, and detect changes to its past log
  shithead backup FILE                 back up the database while the service runs
  shithead recover ARCHIVE --data NEW  recover a lost database from its WAL archive
  shithead settings                    all settings with default, unit and effect

`shithead COMMAND --help` describes a command.

"""
    + TABLE
)


class Commands(Suggesting):
    """The commands whose modules are installed: a wheel without the server has only some."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names of the installed commands."""
        return [name for name in COMMANDS if _installed(name)]

    def get_command(
        self,
        ctx: click.Context,  # noqa: ARG002 - click's signature
        cmd_name: str,
    ) -> click.Command | None:
        """Return a command, None for an unknown name; raises UsageError if it is not installed."""
        if cmd_name not in COMMANDS:
            return None
        if not _installed(cmd_name):
            raise click.UsageError(f"`{cmd_name}` needs the server (`shithead`, not installed)")
        module = import_module(COMMANDS[cmd_name])
        found: click.Command = getattr(module, cmd_name.replace("-", "_"))
        return found

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples of the installed commands."""
        lines = EPILOG.splitlines(keepends=True)
        self.epilog = "".join(line for line in lines if not _is_example_of_missing(line))
        super().format_epilog(ctx, formatter)


@cache
def _installed(name: str) -> bool:
    return find_spec(COMMANDS[name]) is not None


def _is_example_of_missing(line: str) -> bool:
    words = line.split()
    command = words[1] if words[:1] == ["shithead"] and len(words) > 1 else ""
    return command in COMMANDS and not _installed(command)


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    no_args_is_help=False,
    invoke_without_command=True,
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=lambda context, _option, is_set: _version(context) if is_set else None,
    help="Show the version, which is also recorded in each game's log, and exit.",
)
@click.pass_context
def shithead(context: click.Context) -> None:
    """Play the card game Shithead, and verify what happened from the record."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def _version(context: click.Context) -> NoReturn:
    click.echo(f"shithead {VERSION}")
    context.exit()


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit with the status of its command."""
    sys.exit(run(arguments))


def run(arguments: Sequence[str] | None = None) -> int:
    """
    Run the command line and return the exit status.

    click ends an invalid command line with 2, which for `verify` means that evidence is
    missing; here it ends with 64. A file or folder that the system refuses, which Python would end
    with 1 and for `verify` means a failed check, is one line and 3.
    """
    words = None if arguments is None else list(arguments)
    try:
        # `ops/up` blocks it, because an interrupt of Python's own start would print a traceback.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
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
    except OSError as error:
        if error.filename is None:
            raise
        click.echo(f"Error: {why(error)}", err=True)
        return UNREADABLE
    return status if isinstance(status, int) else 0


if __name__ == "__main__":
    main()
