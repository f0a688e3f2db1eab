"""`shithead admin archive`: move sealed games from the database into bundle files."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

import click

from service.cli.admin_session import (
    REFUSED,
    AdminOptions,
    AdminSession,
    admin_session,
    report_refusals,
)

if TYPE_CHECKING:
    from service.application.errors import Refusal
    from service.application.operations import ArchivedGame


@click.command(short_help="Move sealed games out of the database, into files.")
@click.option(
    "--older-than",
    type=click.FloatRange(min=0),
    metavar="DAYS",
    help="Archive all games that ended at least this long ago.",
)
@click.option("--game", type=click.UUID, help="Archive this game.")
@click.option(
    "--to",
    envvar="SHITHEAD_ARCHIVE",
    show_envvar=True,
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="The archive folder of the service.  [default: archive in --data]",
)
@click.pass_obj
def archive(
    options: AdminOptions, older_than: float | None, game: UUID | None, to: Path | None
) -> int:
    """
    Write sealed games to FOLDER as bundles (GAME.shx) and delete their events.

    The service serves archived games as before if SHITHEAD_ARCHIVE names this folder:
    restart it with that setting first. Heads, results, disputes and leaves of the public
    log stay in the database. If a bundle is missing or differs from the one archived, the
    service answers 503.

    Each bundle is written, synced and read back before its events are deleted. The
    command can be interrupted and repeated, and two may run at once. Games that the
    public log or the statistics have not processed yet are left for the next run. Files
    written by root get the owner and group of FOLDER. From now on, back up this folder
    together with the database.

    Exit status: 0 done, 1 some games were not archived, with the reason.
    """
    if (older_than is None) == (game is None):
        raise click.UsageError("use either --older-than DAYS or --game ID")
    with admin_session(options, archive=options.folder(to)) as session:
        if game is not None:
            options.confirm(f"archive game {game}")
            with report_refusals(options, "archive", game):
                moved = session.archiving.one(game)
            _print(options, moved)
            return 0
        return _all(options, session, timedelta(days=older_than or 0))


def _all(options: AdminOptions, session: AdminSession, age: timedelta) -> int:
    """Archive all games of an age; a game that cannot be archived does not stop the others."""
    waiting = session.archiving.waiting(older_than=age)
    if waiting:
        options.confirm(f"archive {waiting} games")
    moved, stay = _each(options, session.archiving.all_older(older_than=age))
    if not options.as_json:
        others = waiting - moved - stay
        elsewhere = f", {others} by another run" if others > 0 else ""
        click.echo(f"{moved} of {waiting} games archived{elsewhere}")
    return REFUSED if stay else 0


def _each(options: AdminOptions, games: Iterable[ArchivedGame | Refusal]) -> tuple[int, int]:
    """Print the file of each game, or why it stays; return the numbers of both."""
    from service.application.operations import ArchivedGame

    moved = stay = 0
    for game in games:
        if isinstance(game, ArchivedGame):
            moved += 1
            _print(options, game)
        else:
            stay += 1
            outcome = {"act": "archive", "outcome": game.code, "detail": game.detail}
            options.print(outcome, f"not archived: {game.detail}")
    return moved, stay


def _print(options: AdminOptions, game: ArchivedGame) -> None:
    outcome = {
        "act": "archive",
        "target": str(game.id),
        "outcome": "done",
        "file": str(game.path),
        "size": game.size,
    }
    options.print(outcome, f"{game.path}  {game.size} bytes")
