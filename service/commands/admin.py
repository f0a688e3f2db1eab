"""`shithead admin`: what whoever runs the server may do, each use with its line in the trail."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

import click

from service.commands.admin_archive import archive
from service.commands.admin_office import Desk, Office, office, operator_name, refusals_told

if TYPE_CHECKING:
    from service.application.operating import StuckGame
    from service.event_store.owner import TrailEntry

STUCK: Final = 2
"""`stuck` found some; 1 is for what was refused, or failed."""


@click.group(short_help="Run a server: players, tables, games, the archive, the trail.")
@click.option(
    "--database-url",
    envvar="SHITHEAD_DATABASE_URL",
    show_envvar=True,
    metavar="URL",
    help="postgresql://owner@host/database: the owner, not the role that the service uses.",
)
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    default=Path(".shithead"),
    show_default=True,
    metavar="FOLDER",
    help="Of a running `shithead up`, where no --database-url is given.",
)
@click.option(
    "--key-file",
    envvar="SHITHEAD_KEY_FILE",
    show_envvar=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The keys of the service; without it SHITHEAD_KEYS, or keys.json in the data folder.",
)
@click.option("--as", "operator", metavar="NAME", help="Who does it; your user name if left out.")
@click.option("--yes", is_flag=True, help="Do not ask before what cannot be undone.")
@click.option("--json", "as_json", is_flag=True, help="Answer in JSON, a line a thing.")
@click.pass_context
def admin(
    context: click.Context,
    database_url: str | None,
    data: Path,
    key_file: Path | None,
    operator: str | None,
    *,
    yes: bool,
    as_json: bool,
) -> None:
    """
    Help players and mend what is stuck, with the powers of the database's owner.

    Each use, refused or done, adds a line to a trail that nobody can change: who, when,
    what, to whom, with which outcome; in one transaction with what it did. Names of
    players never stand in it.

    \b
      shithead admin stuck                       which games do not go on, and why
      shithead admin abort GAME                  end a game, showing its seed
      shithead admin close TABLE                 no more hands there
      shithead admin revoke-token PLAYER         whoever has the token has it no longer
      shithead admin rename PLAYER NAME          another name
      shithead admin erase PLAYER                forget a person; games stay valid
      shithead admin archive --older-than 90     sealed games become files
      shithead admin trail                       what was done here

    Exit status: 0 done; 1 refused or failed, and why; 2 `stuck` found some games.
    """  # noqa: D301 - \b is click's mark for a block that keeps its lines
    context.obj = Desk(
        database_url=database_url,
        data=data,
        key_file=key_file,
        operator=operator_name(operator),
        yes=yes,
        as_json=as_json,
    )


admin.add_command(archive)


@admin.command(name="revoke-token", short_help="End a player's token.")
@click.argument("player", type=click.UUID)
@click.pass_obj
def revoke_token(desk: Desk, player: UUID) -> None:
    """End the token of PLAYER. The recovery code, and nothing else, gives a new one."""
    _do(desk, "revoke-token", player, lambda o: o.operating.revoke(player))


@admin.command(short_help="Give a player another name.")
@click.argument("player", type=click.UUID)
@click.argument("name")
@click.pass_obj
def rename(desk: Desk, player: UUID, name: str) -> None:
    """Give PLAYER another NAME: 1 to 40 characters, as at the registration."""
    from marshmallow import ValidationError

    from schemas.players_schema import RegistrationSchema

    try:
        wanted = RegistrationSchema().load({"name": name})["name"]
    except ValidationError:
        raise click.UsageError("a name has 1 to 40 characters, all to be seen") from None
    _do(desk, "rename", player, lambda o: o.operating.rename(player, wanted))


@admin.command(short_help="Erase a person.")
@click.argument("player", type=click.UUID)
@click.pass_obj
def erase(desk: Desk, player: UUID) -> None:
    """Forget who PLAYER was, as DELETE /v1/players/me does; refused during a hand."""

    def work(office: Office) -> None:
        name = office.operating.name_of(player)
        desk.confirm(f"erase player {player}" + (f" ({name})" if name else ""))
        office.operating.erase(player)

    _do(desk, "erase", player, work)


@admin.command(short_help="Close a table.")
@click.argument("table", type=click.UUID)
@click.pass_obj
def close(desk: Desk, table: UUID) -> None:
    """Close TABLE, whoever hosts it; refused during a hand, which `abort` ends."""

    def work(office: Office) -> None:
        desk.confirm(f"close table {table}")
        office.operating.close(table)

    _do(desk, "close", table, work)


@admin.command(short_help="End a game that cannot be finished.")
@click.argument("game", type=click.UUID)
@click.pass_obj
def abort(desk: Desk, game: UUID) -> None:
    """End GAME with cause `operator`: its seed is shown, nobody loses, the table can deal again."""

    def work(office: Office) -> None:
        desk.confirm(f"abort game {game}, and show its cards to everybody")
        office.operating.abort(game)

    _do(desk, "abort", game, work)


@admin.command(short_help="List the games that do not go on.")
@click.option(
    "--late",
    type=click.FloatRange(min=0),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="How long after its time a game counts as stuck.",
)
@click.pass_obj
def stuck(desk: Desk, late: float) -> int:
    """
    List the games that should go on by themselves and do not, since when and why.

    Those are games where a bot's turn, a deadline, the end of a window or of the time
    for entropy is long past, and running games whose seed cannot be opened. A person who
    thinks at a table without a clock is not stuck.

    Exit status: 0 there is none, 2 there are some, 1 failed.
    """
    with office(desk) as there:
        found = there.operating.stuck(late=timedelta(seconds=late))
    for game in found:
        desk.tell(_stuck_json(game), f"{game.id}  since {game.since:%F %T}  {game.why}")
    return STUCK if found else 0


@admin.command(short_help="List what operators did.")
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=100,
    show_default=True,
    help="How many lines at most, the newest first.",
)
@click.pass_obj
def trail(desk: Desk, limit: int) -> None:
    """List who did what to whom and when, the newest first; each look is a line of its own."""
    with office(desk) as there:
        found = there.operating.trail(limit=limit)
    for entry in found:
        said = f"{entry.at:%F %T}  {entry.operator}  {entry.act}"
        desk.tell(_trail_json(entry), f"{said}  {entry.target or '-'}  {entry.outcome}")


def _do(desk: Desk, act: str, target: UUID, work: Callable[[Office], None]) -> None:
    """Carry an act out and say how it ended."""
    with office(desk) as there, refusals_told(desk, act, target):
        work(there)
    told = {"act": act, "target": str(target), "outcome": "done"}
    desk.tell(told, f"done: {act} {target}")


def _stuck_json(game: StuckGame) -> dict[str, Any]:
    from service.record.times import format_time

    return {
        "game": str(game.id),
        "version": game.version,
        "since": format_time(game.since),
        "why": game.why,
    }


def _trail_json(entry: TrailEntry) -> dict[str, Any]:
    from service.record.times import format_time

    return {
        "at": format_time(entry.at),
        "operator": entry.operator,
        "act": entry.act,
        "target": None if entry.target is None else str(entry.target),
        "outcome": entry.outcome,
    }
