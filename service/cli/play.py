"""`shithead play`: play at a table in the terminal."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import click
from rich.console import Console

from service.cli.choosers import Automatic, Chooser, Left, Person
from service.cli.connection import (
    api_of,
    errors_as_messages,
    place_of,
    player_options,
    same_player,
)
from service.cli.narration import People, named
from service.cli.play_screen import Pane, Story
from service.cli.screen import printable
from service.cli.statuses import NoService
from service.cli.verify import seat_keys_of
from service.client.answers import GameView, Table
from service.client.api import Api, NotAnswered, Refused
from service.client.hand import OVER, Hand, NotSeated
from service.client.local_log import Contradicted
from service.client.player import Player
from service.client.player_files import PlayerFolder, read_seat_key
from service.client.signing import public_text
from service.replay.sentences import Sentence, Voice, sentence
from service.verify.finding import Result
from service.verify.report import Report


def play_hand(hand: Hand, chooser: Chooser) -> GameView:
    """Play a hand to its end and return the last view; raises Contradicted."""
    version = 0
    for view in hand.views():
        chooser.see(view)
        move = None
        if view["moves"] and view["status"] not in OVER:
            move = chooser.choose(view)
        elif view["version"] == version and view["clock"] is None and view["status"] not in OVER:
            move = chooser.claim(view, hand.absences()["absent"])
        if move is not None:
            _move(hand, view, move, chooser)
        version = view["version"]
    return view


def _move(hand: Hand, view: GameView, move: Mapping[str, Any], chooser: Chooser) -> None:
    try:
        hand.move(view, move)
    except Refused as refused:
        chooser.refused(refused)


def print_report(hand: Hand, report: Report, people: People) -> bool:
    """Print the result of the verification, and return whether all checks passed."""
    *lines, last = closing_lines(report, people, str(hand.bundle))
    for line in lines:
        click.echo(line)
    click.echo(f"saved in {hand.folder}")
    click.echo(f"to replay it: shithead replay {shlex.quote(str(hand.bundle))}")
    click.echo(last)
    return report.result is not Result.FAIL


VALID, CONTRADICTED, UNFINISHED = 0, 1, 2


@click.command(short_help="Play at a table of a service, in the terminal.")
@click.argument("where", required=False, metavar="[WHERE]")
@player_options
@click.option(
    "--name", default="Player", show_default=True, help="Your name, when you first register."
)
@click.option(
    "--ruleset", default="shithead", show_default=True, help="The ruleset of a new table."
)
@click.option(
    "--with",
    "others",
    multiple=True,
    metavar="BOT|open",
    help="Another seat at a new table; can be repeated.  [default: greedy]",
)
@click.option(
    "--challenge",
    metavar="PLAYER",
    help="Open the table for one player, by handle or id, who is asked to play.",
)
@click.option("--private", is_flag=True, help="Open a private table and print its invite.")
@click.option("--invite", help="The invite of a private table.")
@click.option(
    "--hands",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Number of hands to play.",
)
@click.option(
    "--auto", type=click.Choice(("greedy", "lowest", "first")), help="Choose moves automatically."
)
@click.option("--keyed", is_flag=True, help="Sign every move with a key of your own.")
@click.option(
    "--entropy",
    type=click.Choice(("none", "value", "commit")),
    help="Your contribution to the shuffle.  [default: commit if keyed, else none]",
)
@click.option(
    "--seat-key",
    "seat_keys",
    multiple=True,
    metavar="SEAT=KEY",
    callback=seat_keys_of,
    help="The public key of another player, seats from 0; can be repeated. Level L3 needs that "
    "of every person.",
)
@click.option("--key", "key_file", type=click.Path(path_type=Path), help="Another key file.")
def play(where: str | None, url: str, **options: Any) -> int:
    """
    Play a hand over HTTP: at the table or in the game WHERE, else at a new table.

    WHERE is the address of a table or a game, such as
    http://127.0.0.1:8080/v1/tables/ID; a bare id is looked up at --url. Type a move as its
    number, or as cards: `7c 7h` plays two sevens, `10h` or `th` the ten of hearts. A refused
    move is answered with the statement of the rules that forbids it. The service is started
    with `shithead up`; `shithead tables` lists its tables.

    The client verifies what it can: each event against the one before, the server's receipts
    against the log and the first key seen, and at the end the whole record with the saved
    receipts. With --keyed, each move is signed together with the hash of all events before
    it, and your entropy is mixed into the shuffle; the client checks that the log contains
    it before it signs `ready`. The verification level is printed last: L3 if every person at
    the table is keyed and their keys are supplied (--seat-key).

    You can quit at any time and resume the game with WHERE. If the hand was dealt with your
    key, add --keyed; if that option does not match the hand, the program asks how to
    continue.

    \b
    Exit status:
      0   played to the end, and the record is valid
      1   the server contradicts itself, or a check fails: the evidence is saved
      2   not played to the end: quit, end of the input, no connection, or no seat in the
          game; the command to return is printed
      64  invalid command line
      130 interrupted with Ctrl-C; you can return as after 2

    \b
    Examples:
      shithead play --with greedy --with lowest
      shithead play --keyed --ruleset leeds --with open --with open
      shithead play --challenge ada-lovelace --ruleset leeds
      shithead play --keyed --auto lowest http://127.0.0.1:8080/v1/tables/ID
    """  # noqa: D301 - \b is click's mark for a block that keeps its lines
    if where is not None and options["challenge"] is not None:
        raise click.UsageError("--challenge opens a table: leave WHERE out")
    try:
        with errors_as_messages():
            place: Place | None = None
            if where is not None:
                url, kind, identity = place_of(where, url)
                place = kind, identity
            player = _player(url, place, options)
            return _play(player, place, options)
    except Left:
        return UNFINISHED


Place = tuple[str, UUID]
"""`tables`, `games` or '' for either, and the id."""


def _player(url: str, place: Place | None, options: dict[str, Any]) -> Player:
    """
    Return the player of the options; without a token the player is registered.

    Raises NoService for a new player if no seat at `place` is free.
    """
    files = PlayerFolder.at(options["home"].expanduser(), url)
    token_file = options["token_file"] or files.folder / "token"
    is_known = token_file.exists()  # a path that the system refuses is named before any call
    player = Player(api=api_of(url, invite=options["invite"]), files=files)
    if place is not None and not is_known:
        _refuse_stranger(player.api, place, token_file)
    player.entropy = options["entropy"] or ("commit" if options["keyed"] else "none")
    if options["keyed"]:
        player.key = read_seat_key(options["key_file"] or files.folder / "seat.key")
        click.echo(f"your key: {player.public}", err=True)
    if player.register(token_file, options["name"]):
        click.echo(f"registered as {options['name']}; the token is in {token_file}", err=True)
    return player


def _refuse_stranger(api: Api, place: Place, token_file: Path) -> None:
    """Raise NoService unless a player without a token can take a seat at `place`."""
    kind, identity = place
    if kind != "games":
        try:
            if api.get(f"/tables/{identity}")["status"] == "open":
                return
            kind = "tables"
        except Refused:
            if kind == "tables":
                raise
            kind = "games"
    raise NoService(
        f"there is no token in {token_file}, so no seat here is yours."
        f"{_seats_in(api, (kind, identity))}\n{_OTHER_FOLDER}\n"
        f"To watch: shithead watch {api.url}/v1/{kind}/{identity}"
    )


_OTHER_FOLDER: Final = "If you took a seat with other files, add --home FOLDER or --token FILE."


def _seats_in(api: Api, place: Place) -> str:
    """Return a sentence with the names at the seats of a place; "" if they are not public."""
    kind, identity = place
    try:
        found = api.get(f"/tables/{identity}" if kind == "tables" else f"/games/{identity}")
    except Refused:
        return ""
    names = (named(seat) or "?" for seat in found["seats"])
    return f" Its seats: {printable(', '.join(names))}."


def _play(player: Player, place: Place | None, options: dict[str, Any]) -> int:
    """Play the requested number of hands; return the worst exit status."""
    kind, identity = place or ("tables", None)
    if kind == "" and identity is not None:
        try:
            player.table(identity)
            kind = "tables"
        except Refused:
            kind = "games"
    if kind == "games" and identity is not None:
        return _hand(player, identity, options)
    table = player.sit(identity) if identity is not None else _opened(player, options)
    status, game = VALID, None
    for _ in range(options["hands"]):
        game = _next_game(player, table, game, options)
        status = max(
            status, _hand(player, game, options), key=(VALID, UNFINISHED, CONTRADICTED).index
        )
        table = player.table(UUID(table["id"]))
    return status


def _next_game(player: Player, table: Table, game: UUID | None, options: dict[str, Any]) -> UUID:
    """Return the next hand at a table; raises NoService if a challenge was not accepted."""
    try:
        return player.next_game(table, after=None if game is None else str(game))
    except NotAnswered:
        if options["challenge"] is None or game is not None:
            raise
        ended = player.api.get(f"/challenges/{table['id']}")["status"]
        raise NoService(f"the challenge is over: {ended}") from None


def _opened(player: Player, options: dict[str, Any]) -> Table:
    if options["challenge"] is not None:
        return _challenged(player, options)
    names = options["others"] or ("greedy",)
    others = [name if name == "open" else {"bot": name} for name in names]
    visibility = "private" if options["private"] else "public"
    table = player.open_table(options["ruleset"], others, visibility=visibility)
    address = f"{player.api.url}/v1/tables/{table['id']}"
    click.echo(f"table: {address}", err=True)
    invite = ""
    if "invite" in table:
        click.echo(f"invite: {table['invite']}", err=True)
        player.api.invite = table["invite"]
        invite = f" --invite {table['invite']}"
    if "open" in names:
        click.echo(
            f"waiting for players; they join with: shithead play {address}{invite}", err=True
        )
    return table


def _challenged(player: Player, options: dict[str, Any]) -> Table:
    """Return the table that was opened for another player."""
    visibility = "private" if options["private"] else "public"
    more = {"bots": list(options["others"]), "visibility": visibility}
    table = player.challenge(options["challenge"], options["ruleset"], **more)
    click.echo(f"table: {player.api.url}/v1/tables/{table['id']}", err=True)
    click.echo(f"waiting for {printable(options['challenge'])} to accept, for a day", err=True)
    return table


def _hand(player: Player, game: UUID, options: dict[str, Any]) -> int:
    """Play one hand and verify it; return the exit status."""
    click.echo(f"game: {player.api.url}/v1/games/{game}", err=True)
    hand: Hand | None = None
    try:
        hand = Hand(player, game)
        if not can_resume(hand, options["key_file"]):
            return UNFINISHED
        try:
            people = People.of(play_hand(hand, _chooser(options["auto"], hand)))
        except (Left, KeyboardInterrupt):
            click.echo(f"\nthe game continues; to return: {_resume_command(player, game, options)}")
            raise
        report = hand.verified(options["seat_keys"])
        return VALID if print_report(hand, report, people) else CONTRADICTED
    except NotSeated:
        name = printable(player.api.get("/players/me")["name"])
        raise NoService(
            f"{name}, whose token you use, has no seat in this game."
            f"{_seats_in(player.api, ('games', game))}\n{_OTHER_FOLDER}"
        ) from None
    except Contradicted as error:
        click.echo(printable(f"THE SERVER CONTRADICTS ITSELF: {error}"))
        if hand is not None:
            _save_contradiction(hand)
        return CONTRADICTED


def _resume_command(player: Player, game: UUID, options: dict[str, Any]) -> str:
    """Return the command that continues a game as the same player."""
    keyed = " --keyed" if player.key is not None else ""
    key = f" --key {shlex.quote(str(options['key_file']))}" if options["key_file"] else ""
    return f"shithead play {player.api.url}/v1/games/{game}{keyed}{key}{same_player()}"


def _save_contradiction(hand: Hand) -> None:
    """Save the events that the server shows now as evidence; a failure is reported."""
    click.echo(f"saved: {hand.folder} has the earlier events; nothing was signed after them")
    try:
        click.echo(f"saved: {hand.keep_contradiction()} has the events shown now")
        was_lost = hand.hand_in_lost()
    except (NotAnswered, Refused) as error:
        click.echo(printable(f"the server shows nothing more: {error}"))
        return
    if was_lost:
        click.echo("the server lost your move in a restore that it declared, and aborted the hand")


def _chooser(rule: str | None, hand: Hand) -> Chooser:
    console = Console(file=sys.stdout)
    story = Story(events=lambda: hand.seen.events)
    if rule is not None:
        return Automatic(rule=rule, console=console, story=story)
    return Person(pane=Pane(console=console, story=story))


_NOT_YOURS: Final = "If you took the seat with a key, do not continue: the server removed it."


def can_resume(hand: Hand, key_file: Path | None) -> bool:
    """
    Set the player's key and entropy to those of the hand, and return whether to play it.

    The log determines the key and entropy of the seat. If they differ from the options, but
    equal those recorded in the player's folder, the options are wrong and not the server. The
    program asks before it uses another key or sends unsigned moves.

    Raises Contradicted if the folder has recorded another key or entropy for the seat.
    """
    view = hand.fetch_view()
    if view["status"] in OVER:
        return True
    player = hand.player
    key, entropy = hand.dealt_with()
    if key != player.public:
        if key is None:
            agreed = _confirm_without_key(hand)
        else:
            agreed = _confirm_with_key(hand, key, key_file)
        if not agreed:
            return False
    if entropy != player.entropy:
        click.echo(f"this hand was dealt with --entropy {entropy}, which is used", err=True)
        player.entropy = entropy
    if hand.entropy_is_missing():
        click.echo("the entropy of your seat is not saved here: it cannot be checked", err=True)
    return True


def _confirm_without_key(hand: Hand) -> bool:
    """Ask whether to play a hand that was dealt without the key of the options."""
    click.echo(
        "this hand was dealt without a key for your seat: its moves cannot be signed (--keyed)."
    )
    if hand.taken_elsewhere():
        click.echo(_NOT_YOURS)
    if not _confirmed("Continue without a key?"):
        click.echo("not played; to play without a key, leave out --keyed")
        return False
    hand.player.key = None
    return True


def _confirm_with_key(hand: Hand, key: str, key_file: Path | None) -> bool:
    """Ask whether to play with the key of the hand; false if its file is not found."""
    path = key_file or hand.player.files.folder / "seat.key"
    click.echo(f"this hand was dealt with the key {key} for your seat: each move has to be signed.")
    if hand.player.key is not None or not path.exists():
        click.echo("That key was not found: name its file with --keyed --key FILE.")
        return False
    found = read_seat_key(path)
    if public_text(found) != key:
        click.echo(f"That key was not found: {path} has another. Use --keyed --key FILE.")
        return False
    click.echo(f"The key is not in use (--keyed is missing); {path} has it.")
    if not _confirmed("Continue with this key?"):
        click.echo("not played; to continue, add --keyed")
        return False
    hand.player.key = found
    return True


def _confirmed(question: str) -> bool:
    """Return whether the player agrees; without a terminal, False."""
    try:
        return click.confirm(question, default=False)
    except click.Abort:
        click.echo()
        return False


def closing_lines(report: Report, people: People, bundle: str) -> list[str]:
    """
    Return what the verification of a played hand shows; the last line is the result.

    `bundle` is the path of the evidence. After a failure the first lines state what was changed,
    who may have changed it and what further evidence to get, as in `shithead verify`.
    """
    if report.result is Result.FAIL:
        return [*_failures(report, bundle), printable(report.last_line)]
    shown = [*_shown(report, people), *_not_shown(report, people)]
    shown.append("`shithead verify --help` explains the level in the last line.")
    lines = ["The record of this hand was checked:", *(f"  {printable(line)}" for line in shown)]
    return [*lines, printable(report.conclusion)]


def _failures(report: Report, bundle: str) -> Iterator[str]:
    for line in report.summary.lines(bundle) if report.summary else ():
        yield printable(line)
    for finding in report.findings:
        if finding.result is Result.FAIL:
            where = "" if finding.seq is None else f"seq {finding.seq}: "
            yield printable(f"{finding.check} fails: {where}{finding.text}")


def _shown(report: Report, people: People) -> Iterator[str]:
    if report.result is Result.PASS:
        yield sentence("play.complete")
    yield from (one.with_names(people.names.__getitem__) for one in report.outside)


def _not_shown(report: Report, people: People) -> Iterator[str]:
    for one in (*report.unproven, *report.missing):
        yield " ".join((one.with_names(people.names.__getitem__), *_hint(one, people)))


def _hint(one: Sentence, people: People) -> Iterator[str]:
    """Yield how a player can obtain the evidence that is missing."""
    seat = one.values.get("seat")
    if one.code == "more.no_key" and seat == people.me:
        yield sentence("play.keyed")
    if one.code == "more.seat_key":
        named = Voice(seat_name=people.names.__getitem__)
        yield sentence("play.ask", {**one.values, "n": seat}, named)
