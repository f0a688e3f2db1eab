"""`shithead admin archive`: sealed games leave the database as bundles."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

import click

from service.commands.admin_office import REFUSED, Desk, Office, office, refusals_told

if TYPE_CHECKING:
    from service.application.archiving import ArchivedGame
    from service.application.errors import Refusal


@click.command(short_help="Move sealed games out of the database, into files.")
@click.option(
    "--older-than",
    type=click.FloatRange(min=0),
    metavar="DAYS",
    help="All games that have been over for so long.",
)
@click.option("--game", type=click.UUID, help="This game.")
@click.option(
    "--to",
    envvar="SHITHEAD_ARCHIVE",
    show_envvar=True,
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Where the service reads archived games; archive in the data folder if left out.",
)
@click.pass_obj
def archive(desk: Desk, older_than: float | None, game: UUID | None, to: Path | None) -> int:
    """
    Move sealed games into FOLDER, a bundle GAME.shx each, and their events out of the database.

    Everything about them can be read as before, as long as the service finds its setting
    SHITHEAD_ARCHIVE at this folder: start it with that first. Their heads, results,
    disputes and leaves of the public log stay in the database. Where the service cannot
    find a bundle, or finds another than was archived, it answers 503 and guesses nothing.

    The files belong to whoever FOLDER belongs to, if root runs this, and its group may read
    them. A bundle is on the disk, and was read back, before its events go. Stopped anywhere, the
    command can be run again. Games of which the public log or the statistics have still to
    be told stay for the next run. From now on backups have to take the folder as well.

    Exit status: 0 done, 1 something stays and why.
    """
    if (older_than is None) == (game is None):
        raise click.UsageError("say either --older-than DAYS or --game ID")
    with office(desk, archive=desk.folder(to)) as there:
        if game is not None:
            desk.confirm(f"archive game {game}")
            with refusals_told(desk, "archive", game):
                moved = there.archiving.one(game)
            _told(desk, moved)
            return 0
        return _all(desk, there, timedelta(days=older_than or 0))


def _all(desk: Desk, there: Office, age: timedelta) -> int:
    """Move all games of an age; one that stays does not keep the others."""
    waiting = there.archiving.waiting(older_than=age)
    if waiting:
        desk.confirm(f"archive {waiting} games")
    moved = _each(desk, there.archiving.all_older(older_than=age))
    if not desk.as_json:
        click.echo(f"{moved} of {waiting} games archived")
    return 0 if moved == waiting else REFUSED


def _each(desk: Desk, games: Iterable[ArchivedGame | Refusal]) -> int:
    """Say of each game where it went, or why it stays; return how many went."""
    from service.application.archiving import ArchivedGame

    moved = 0
    for game in games:
        if isinstance(game, ArchivedGame):
            moved += 1
            _told(desk, game)
        else:
            told = {"act": "archive", "outcome": game.code, "detail": game.detail}
            desk.tell(told, f"stays: {game.detail}")
    return moved


def _told(desk: Desk, game: ArchivedGame) -> None:
    told = {
        "act": "archive",
        "target": str(game.id),
        "outcome": "done",
        "file": str(game.path),
        "size": game.size,
    }
    desk.tell(told, f"{game.path}  {game.size} bytes")
