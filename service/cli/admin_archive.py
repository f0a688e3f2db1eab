"""`shithead admin evidence` and `archive`: bundles of games, and files instead of rows."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO
from uuid import UUID

import click

from service.cli.admin_session import (
    REFUSED,
    AdminOptions,
    AdminSession,
    admin_session,
    report_refusals,
)
from service.cli.service_options import ArchivePlace

if TYPE_CHECKING:
    from service.application.errors import Refusal
    from service.application.operations import ArchivedGame


@click.command(short_help="Write the bundle of a game to a file.")
@click.argument("game", type=click.UUID)
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE.shx")
@click.option(
    "--archive",
    "place",
    envvar="SHITHEAD_ARCHIVE",
    show_envvar=True,
    type=ArchivePlace(),
    metavar="PLACE",
    help="The archive of the service, for an archived game.  [default: archive in --data]",
)
@click.pass_obj
def evidence(options: AdminOptions, game: UUID, file: Path, place: Path | str | None) -> int:
    """
    Write the public evidence of GAME, also of a private table, to FILE.shx.

    `shithead verify` checks it.
    """
    from service.runtime.atomic_files import write_whole

    if place is None and options.database_url is None:
        place = options.archive(None)
    with (
        admin_session(options, archive=place) as session,
        report_refusals(options, "evidence", game),
    ):
        data = session.archiving.bundle(game)
        write_whole(file, data)
    outcome = {"act": "evidence", "target": str(game), "outcome": "done"}
    options.print({**outcome, "file": str(file), "size": len(data)}, f"{file}  {len(data)} bytes")
    return 0


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
    type=ArchivePlace(),
    metavar="PLACE",
    help="The archive of the service: a folder, or s3://bucket/folder.  [default: archive in "
    "--data]",
)
@click.option(
    "--from",
    "source",
    type=click.File("rb"),
    metavar="FILE.shx",
    help="With --game: replace its stored events, which were changed, by those of a bundle.",
)
@click.option("--daily", is_flag=True, help="With --older-than: again each day, until it is ended.")
@click.pass_obj
def archive(
    options: AdminOptions,
    older_than: float | None,
    game: UUID | None,
    to: Path | str | None,
    *,
    source: BinaryIO | None,
    daily: bool,
) -> int:
    """
    Write sealed games to PLACE as bundles (GAME.shx) and delete their events.

    The service serves archived games as before if SHITHEAD_ARCHIVE names this place:
    restart it with that setting first. Heads, results, disputes and leaves of the public
    log stay in the database. If a bundle is missing or differs from the one archived, the
    service answers 503.

    Each bundle is written, synced and read back before its events are deleted. The
    command can be interrupted and repeated, and two may run at once. Games that the
    public log or the statistics have not processed yet are left for the next run. Files
    written by root get the owner and group of the folder. From now on, back it up together
    with the database. An object store needs `pip install "shithead[objects]"` and the
    variables of its own tools, such as AWS_ACCESS_KEY_ID and AWS_ENDPOINT_URL.

    With --from the stored events of a sealed game are replaced by those of an earlier bundle, of
    a player or a backup, if these lead to the head of its stream and no check fails.

    A run by age is one line of the trail, written at its end: `done archived=3 refused=0`, or
    `failed` or `interrupted`. `shithead up` makes one a day if SHITHEAD_ARCHIVE_AFTER_DAYS is
    set.

    Exit status: 0 done, 1 some games were not archived, with the reason.
    """
    if (older_than is None) == (game is None):
        raise click.UsageError("use either --older-than DAYS or --game ID")
    if source is not None and game is None:
        raise click.UsageError("--from needs --game")
    if daily and (older_than is None or not options.yes):
        raise click.UsageError("--daily needs --older-than and --yes")
    place = options.archive(to)
    while daily:
        _one_of_many(options, place, timedelta(days=older_than or 0))
    with admin_session(options, archive=place) as session:
        if game is not None:
            options.confirm(f"archive game {game}")
            with report_refusals(options, "archive", game):
                if source is None:
                    archived = session.archiving.archive(game)
                else:
                    archived = session.archiving.replace(game, source.read())
            _print(options, archived)
            return 0
        return _all(options, session, timedelta(days=older_than or 0))


def _one_of_many(options: AdminOptions, place: Path | str, age: timedelta) -> None:
    """Archive once, and wait for the next run: a day, or an hour after a failure."""
    pause = timedelta(days=1)
    try:
        with admin_session(options, archive=place) as session:
            _all(options, session, age)
    except click.ClickException as error:
        error.show()
        pause = timedelta(hours=1)
    time.sleep(pause.total_seconds())


def _all(options: AdminOptions, session: AdminSession, age: timedelta) -> int:
    """Archive all games of at least this age; a refused one does not stop the others."""
    waiting = session.archiving.count(older_than=age)
    if waiting:
        options.confirm(f"archive {waiting} games")
    with _ended_by_sigterm(), closing(session.archiving.archive_all(older_than=age)) as games:
        archived, refused = _each(options, games)
    if not options.as_json:
        others = waiting - archived - refused
        elsewhere = f", {others} by another run" if others > 0 else ""
        click.echo(f"{archived} of {waiting} games archived{elsewhere}")
    return REFUSED if refused else 0


@contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    """End the block as by Ctrl-C on SIGTERM, so that an interrupted run is recorded."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _each(options: AdminOptions, games: Iterable[ArchivedGame | Refusal]) -> tuple[int, int]:
    """Print the file of each game, or the reason of a refusal; return the numbers of both."""
    from service.application.operations import ArchivedGame

    archived = refused = 0
    for game in games:
        if isinstance(game, ArchivedGame):
            archived += 1
            _print(options, game)
        else:
            refused += 1
            outcome = {"act": "archive", "outcome": game.code, "detail": game.detail}
            options.print(outcome, f"not archived: {game.detail}")
    return archived, refused


def _print(options: AdminOptions, game: ArchivedGame) -> None:
    outcome = {
        "act": "archive",
        "target": str(game.id),
        "outcome": "done",
        "file": game.place,
        "size": game.size,
    }
    options.print(outcome, f"{game.place}  {game.size} bytes")
