"""`shithead admin`: operator actions on players, tables and games, each recorded in the trail."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

import click

from service.cli.admin_archive import archive, evidence
from service.cli.admin_session import (
    ORIGIN,
    AdminOptions,
    AdminSession,
    address_of,
    admin_session,
    operator_name,
    report_refusals,
)
from service.cli.service_options import TimeOption, data_folder
from service.cli.statuses import ReadPath, Suggesting

if TYPE_CHECKING:
    from service.application.operations import StuckGame
    from service.store.operator import TrailEntry


STUCK: Final = 2
"""Exit status of `stuck` if it found games; 1 means refused or failed."""


class _AdminCommands(Suggesting):
    """A group whose own options are understood after the name of a command as well."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments with the options of the group moved to the front."""
        options = (one for one in self.params if isinstance(one, click.Option))
        own = {name: one for one in options for name in one.opts}
        front, rest, waiting = list[str](), list[str](), list(args)
        while waiting and waiting[0] != "--":
            word = waiting.pop(0)
            option = own.get(word.partition("=")[0])
            if option is None:
                rest.append(word)
                continue
            front.append(word)
            if not option.is_flag and "=" not in word and waiting:
                front.append(waiting.pop(0))
        return super().parse_args(ctx, [*front, *rest, *waiting])


@click.group(
    cls=_AdminCommands,
    short_help="Operator actions: players, tables, games, archive, operator log.",
)
@click.option(
    "--database-url",
    envvar="SHITHEAD_DATABASE_URL",
    show_envvar=True,
    metavar="URL",
    help="postgresql://owner@host/database: connect as the owner, not as the service's role.",
)
@data_folder("The data folder of a running `shithead up`; ignored with --database-url.")
@click.option(
    "--key-file",
    envvar="SHITHEAD_KEY_FILE",
    show_envvar=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The key file of the service.  [default: SHITHEAD_KEYS, or keys.json in --data]",
)
@click.option(
    "--as",
    "operator",
    metavar="NAME",
    help="The operator named in the trail.  [default: your user name]",
)
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, one object a line.")
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
    Act as the operator of a server, with the privileges of the database's owner.

    Every action, also a refused one, is recorded in an append-only trail, in the same
    transaction: operator, time, action, target and outcome. The trail contains no names
    of players.

    \b
      shithead admin stuck                       list games that have stopped, with the cause
      shithead admin abort GAME                  end a game and publish its seed
      shithead admin declare SINCE               declare a restore that may have lost moves
      shithead admin lost RECEIPT...             end games that lost moves in a restore
      shithead admin close TABLE                 allow no more hands at a table
      shithead admin revoke-token PLAYER         invalidate all tokens of a player
      shithead admin rename PLAYER NAME          change a player's name
      shithead admin erase PLAYER                erase personal data; games stay valid
      shithead admin remove-note GAME SEQ AUTHOR delete a player's note on an event
      shithead admin evidence GAME FILE.shx      write the bundle of a game to a file
      shithead admin archive --older-than 90     move sealed games into files
      shithead admin disputes                    list disputes against the server
      shithead admin answer DISPUTE TEXT         make a statement for the server
      shithead admin trail                       list the actions of operators

    Exit status: 0 done; 1 refused or failed, with the reason; 2 `stuck` found games.
    """  # noqa: D301 - \b is click's mark for a block that keeps its lines
    context.obj = AdminOptions(
        database_url=database_url,
        data=data,
        key_file=key_file,
        operator=operator_name(operator),
        yes=yes,
        as_json=as_json,
    )


@admin.command(name="revoke-token", short_help="Invalidate all tokens of a player.")
@click.argument("player", type=click.UUID)
@click.pass_obj
def revoke_token(options: AdminOptions, player: UUID) -> None:
    """Invalidate all tokens of PLAYER, who needs the recovery code to get a new one."""
    _do(options, "revoke-token", player, lambda session: session.operating.revoke(player))


@admin.command(short_help="Change a player's name.")
@click.argument("player", type=click.UUID)
@click.argument("name")
@click.pass_obj
def rename(options: AdminOptions, player: UUID, name: str) -> None:
    """Change the name of PLAYER to NAME: 1 to 40 characters, as at registration."""
    from marshmallow import ValidationError

    from schemas.players import RegistrationSchema

    try:
        new_name = RegistrationSchema().load({"name": name})["name"]
    except ValidationError as error:
        raise click.UsageError(f"the name {error.messages_dict['name'][0]}") from None
    _do(options, "rename", player, lambda session: session.operating.rename(player, new_name))


@admin.command(short_help="Erase a player's personal data.")
@click.argument("player", type=click.UUID)
@click.pass_obj
def erase(options: AdminOptions, player: UUID) -> None:
    """Erase the personal data of PLAYER, as DELETE /v1/players/me does; refused during a hand."""

    def work(session: AdminSession) -> None:
        name = session.operating.name_of(player)
        options.confirm(f"erase player {player}" + (f" ({name})" if name else ""))
        session.operating.erase(player)

    _do(options, "erase", player, work)


@admin.command(name="remove-note", short_help="Delete a player's note on an event.")
@click.argument("game", type=click.UUID)
@click.argument("seq", type=click.IntRange(0))
@click.argument("author", type=click.UUID)
@click.pass_obj
def remove_note(options: AdminOptions, game: UUID, seq: int, author: UUID) -> None:
    """Delete the note of the player AUTHOR on event SEQ of GAME."""
    _do(
        options,
        "remove-note",
        game,
        lambda session: session.operating.remove_note(game, seq, author),
    )


@admin.command(short_help="Close a table.")
@click.argument("table", type=click.UUID)
@click.pass_obj
def close(options: AdminOptions, table: UUID) -> None:
    """Close TABLE without asking its host; refused during a hand (`abort` ends the hand)."""

    def work(session: AdminSession) -> None:
        options.confirm(f"close table {table}")
        session.operating.close(table)

    _do(options, "close", table, work)


@admin.command(short_help="End a game that cannot be finished.")
@click.argument("game", type=click.UUID)
@click.pass_obj
def abort(options: AdminOptions, game: UUID) -> None:
    """End GAME with cause `operator`: seed published, no loser, the table can deal again."""

    def work(session: AdminSession) -> None:
        options.confirm(f"abort game {game} and publish its cards")
        session.operating.abort(game)

    _do(options, "abort", game, work)


@admin.command(short_help="Declare that a restore may have lost moves.")
@click.argument("since", type=TimeOption())
@click.option(
    "--origin",
    envvar="SHITHEAD_ORIGIN",
    show_envvar=True,
    default=ORIGIN,
    show_default=True,
    help="The name of the service in its signatures.",
)
@click.pass_obj
def declare(options: AdminOptions, since: datetime, origin: str) -> None:
    """
    Declare that the database was restored now and that moves after SINCE may be missing.

    SINCE is the time of the last change that was restored, such as 2026-11-26T02:15:07Z. The
    declaration becomes a leaf of the public log for ever. `shithead recover` makes it by itself.
    """
    from service.cli.recover import declare_restore

    options.confirm(f"declare that moves after {since} may be missing")
    restore = declare_restore(address_of(options), since, origin)
    options.print(
        {"act": "declare", "leaf": restore.leaf, "since": restore.since, "at": restore.at},
        f"declared in leaf {restore.leaf} of the public log: moves after {restore.since} may be "
        "missing",
    )


@admin.command(short_help="End running games that lost moves in a restore.")
@click.argument("receipts", nargs=-1, required=True, type=ReadPath(file=True, folder=True))
@click.pass_obj
def lost(options: AdminOptions, receipts: tuple[Path, ...]) -> None:
    """
    End each running game of which one of RECEIPTS names a move that is missing since a restore.

    RECEIPTS are files, or folders of files *.note, that players saved. A receipt counts only if a
    key of this server signed it, and only after a restore that was declared (`shithead recover`).
    The games end as by `abort`. Receipts of moves that are there, and of games that are over, are
    passed over.
    """
    from service.application.errors import Refusal
    from service.shx.canonical import RecordError

    files = [path for path in receipts if path.is_file()]
    files += [file for path in receipts for file in path.glob("*.note")]
    options.confirm("abort the games that lost moves, and publish their cards")
    with admin_session(options) as session:
        for file in sorted(files):
            try:
                game = session.operating.lost(file.read_bytes())
            except RecordError as error:
                outcome, text = "bad-receipt", f"{file}: {error.detail}"
            except Refusal as refusal:
                outcome, text = refusal.code, f"{file}: {refusal.detail}"
            else:
                outcome, text = "done", f"done: lost {game}"
            options.print({"act": "lost", "file": str(file), "outcome": outcome}, text)


@admin.command(short_help="List games that have stopped.")
@click.option(
    "--late",
    type=click.FloatRange(min=0),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="A game is stuck if it is overdue by more than this.",
)
@click.pass_obj
def stuck(options: AdminOptions, late: float) -> int:
    """
    List games that the server should have continued, with the due time and the cause.

    A game is stuck if a bot's turn, a deadline, the end of a jump-in window or of the
    entropy phase is overdue by more than --late, or if its seed cannot be decrypted. A game
    that waits for a person at a table without a clock is not stuck.

    Exit status: 0 no game is stuck, 2 some games are, 1 failed.
    """
    with admin_session(options) as session:
        found = session.operating.stuck(late=timedelta(seconds=late))
    for game in found:
        options.print(_stuck_json(game), f"{game.id}  since {game.since:%F %T}  {game.why}")
    return STUCK if found else 0


@admin.command(short_help="List the actions of operators.")
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=100,
    show_default=True,
    help="Maximum number of entries.",
)
@click.option("--by", metavar="NAME", help="Only the actions of this operator.")
@click.option("--act", metavar="ACT", help="Only this action, such as abort or rename.")
@click.option(
    "--target", type=click.UUID, metavar="ID", help="Only actions on this player, table or game."
)
@click.option(
    "--outcome", metavar="CODE", help="Only those with this outcome, such as done or failed."
)
@click.option(
    "--since",
    type=TimeOption(dates=True),
    help="Only actions from this time on, in UTC: 2026-11-26 or 2026-11-26T02:15:07Z.",
)
@click.option("--until", type=TimeOption(dates=True), help="Only actions before this time.")
@click.pass_obj
def trail(
    options: AdminOptions,
    limit: int,
    by: str | None,
    act: str | None,
    target: UUID | None,
    outcome: str | None,
    since: datetime | None,
    until: datetime | None,
) -> None:
    """
    List the recorded actions of operators, newest first; reading the trail is recorded too.

    The options restrict the list; an entry is listed if it fits all of them.
    """
    from service.store.operator import TrailFilter

    which = TrailFilter(
        operator=by,
        act=act,
        target=target,
        outcome=outcome,
        since=since,
        until=until,
    )
    with admin_session(options) as session:
        found = session.operating.trail(which, limit=limit)
    for entry in found:
        line = f"{entry.at:%F %T}  {entry.operator}  {entry.act}"
        options.print(_trail_json(entry), f"{line}  {entry.target or '-'}  {entry.outcome}")


def _do(
    options: AdminOptions, act: str, target: UUID, work: Callable[[AdminSession], None]
) -> None:
    """Carry out an action and print its outcome."""
    with admin_session(options) as session, report_refusals(options, act, target):
        work(session)
    outcome = {"act": act, "target": str(target), "outcome": "done"}
    options.print(outcome, f"done: {act} {target}")


def _stuck_json(game: StuckGame) -> dict[str, Any]:
    from service.shx.canonical import format_time

    return {
        "game": str(game.id),
        "version": game.version,
        "since": format_time(game.since),
        "why": game.why,
    }


def _trail_json(entry: TrailEntry) -> dict[str, Any]:
    from service.shx.canonical import format_time

    return {
        "at": format_time(entry.at),
        "operator": entry.operator,
        "act": entry.act,
        "target": None if entry.target is None else str(entry.target),
        "outcome": entry.outcome,
    }


@admin.command(short_help="List the running disputes against the server.")
@click.pass_obj
def disputes(options: AdminOptions) -> None:
    """
    List the disputes against the server that are not final, oldest first.

    The statements are included; only the accuser, the referees and the operator can read
    them.
    """
    with admin_session(options) as session:
        found = session.operating.disputes_of_server()
    for dispute in found:
        if options.as_json:
            click.echo(json.dumps(dispute))
        else:
            click.echo(_in_words(dispute))


@admin.command(short_help="Answer a dispute against the server.")
@click.argument("dispute", type=click.UUID)
@click.argument("text")
@click.pass_obj
def answer(options: AdminOptions, dispute: UUID, text: str) -> None:
    """
    Make the statement TEXT for the server in DISPUTE, which must not be final.

    The accuser and the referees can read it. It has 1 to 4,000 characters.
    """
    from marshmallow import ValidationError

    from schemas.disputes import LONGEST_STATEMENT, DisputeWordsSchema

    try:
        statement = DisputeWordsSchema().load({"text": text})["text"]
    except ValidationError:
        raise click.UsageError(f"a statement has 1 to {LONGEST_STATEMENT} characters") from None
    with admin_session(options) as session, report_refusals(options, "answer", dispute):
        session.operating.answer(dispute, statement)
    outcome = {"act": "answer", "target": str(dispute), "outcome": "done"}
    options.print(outcome, f"done: answer {dispute}")


def _in_words(dispute: Mapping[str, Any]) -> str:
    head = (
        f"{dispute['id']}  {dispute['charge']} at seq {dispute['seq']} of game {dispute['game']}, "
        f"{dispute['state']}, until {dispute['deadline'] or 'the seal'}"
    )
    statements = (f"  {s['by']}: {s['text'] or '(erased)'}" for s in dispute["statements"])
    return "\n".join([head, *statements])


admin.add_command(evidence)
admin.add_command(archive)
