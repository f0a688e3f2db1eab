"""`shithead play`: play at a table in the terminal."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol
from uuid import UUID

import click
from rich.console import Console, Group, RenderableType
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from schemas.views import Json
from service.cli.evidence_options import seat_keys_of
from service.cli.screen import printable, result_lines, seats_table, situation
from service.client.api import Api, NotAnswered, Refused
from service.client.hand import Hand, NotSeated, View
from service.client.local_log import Contradicted
from service.client.move_input import AUTOMATIC, HELP, Unclear, typed, words_of
from service.client.player import Player
from service.client.player_files import BadFile, Kept, read_seat_key
from service.client.signing import public_text
from service.verify.finding import Result
from service.verify.report import Report

NOTHING_NEW: frozenset[str] = frozenset()
MOST_MOVES = 30
"""Number of moves listed; any other can be typed."""


def table_of(view: Json) -> RenderableType:
    """Return the table as the player sees it, for 80 columns."""
    title = f"{printable(view['ruleset']['id'])}, hand {view['hand']}, you are seat {view['as']}"
    if view["status"] == "shuffling":
        return Group(Rule(title, style="dim"), _setup(view))
    head = [Rule(title, style="dim"), *situation(view, NOTHING_NEW), Text()]
    return Group(*head, seats_table(view, NOTHING_NEW, names=True), *result_lines(view))


def moves_of(moves: Sequence[Mapping[str, Any]]) -> RenderableType:
    """Return the numbered moves, in one or two columns."""
    table = Table.grid(padding=(0, 2, 0, 0))
    shown = moves[:MOST_MOVES]
    columns = 2 if len(shown) > 8 else 1
    rows = -(-len(shown) // columns)
    for row in range(rows):
        cells = [shown[n] for n in range(row, len(shown), rows)]
        table.add_row(*(_numbered(row + rows * n + 1, move) for n, move in enumerate(cells)))
    more = len(moves) - len(shown)
    return Group(table, Text(f"and {more} more", style="dim")) if more else table


def _numbered(number: int, move: Mapping[str, Any]) -> Text:
    return Text.assemble((f"{number:>3}", "bold cyan"), "  ", printable(words_of(move)))


def recent_events(captions: Iterable[str]) -> RenderableType:
    """Return the captions of the events since the last view."""
    return Group(*(Text(f"  {printable(one)}", style="italic") for one in captions))


def _setup(view: Json) -> Text:
    """Return the progress of the shuffle, seat by seat."""
    states = (f"seat {s['seat']}: {s['entropy']}, {s['state']}" for s in view["setup"] or ())
    return Text("shuffling   " + "   ".join(states))


OVER: Final = ("ended", "aborted")
TOO_LATE: Final = ("stale-version", "not-your-turn", "game-over", "entropy-refused")
"""Problem types of moves that came too late."""


class Left(Exception):
    """The player quit the program; the game continues."""


class Chooser(Protocol):
    """Chooses the moves of a seat."""

    def see(self, view: View) -> None:
        """Receive a view."""

    def choose(self, view: View) -> Mapping[str, Any] | None:
        """Return the move to make, or None to fetch the view again; raises Left."""

    def refused(self, refused: Refused) -> None:
        """Receive the refusal of a move."""


def play_hand(hand: Hand, chooser: Chooser) -> View:
    """Play a hand to its end and return the last view; raises Contradicted."""
    view = hand.look()
    while view["status"] not in OVER:
        chooser.see(view)
        if _set_up(hand, view):
            view = hand.look()
        elif not view["moves"]:
            view = hand.look(after=view["version"])
        else:
            move = chooser.choose(view)
            if move is not None:
                _move(hand, view, move, chooser)
            view = hand.look()
    chooser.see(view)
    return view


def _set_up(hand: Hand, view: View) -> bool:
    try:
        return hand.set_up(view)
    except Refused as refused:
        if refused.kind not in TOO_LATE:
            raise
        return True


def _move(hand: Hand, view: View, move: Mapping[str, Any], chooser: Chooser) -> None:
    try:
        hand.move(view, move)
    except Refused as refused:
        chooser.refused(refused)


@dataclass(kw_only=True)
class Automatic:
    """Plays automatically, and shows the table at the end."""

    rule: str
    console: Console

    def see(self, view: View) -> None:
        """Print the table at the end of the hand only."""
        if view["status"] in OVER:
            self.console.print(table_of(view))

    def choose(self, view: View) -> Mapping[str, Any] | None:
        """Return the move that the rule selects."""
        ready = [move for move in view["moves"] if move["type"] == "ready"]
        return ready[0] if ready else AUTOMATIC[self.rule](view["moves"])

    def refused(self, refused: Refused) -> None:
        """Ignore late moves; raise for others: a listed move must not be refused."""
        if refused.kind not in TOO_LATE:
            raise refused


@dataclass(kw_only=True)
class Person:
    """A player at the terminal."""

    hand: Hand
    console: Console
    version: int = 0

    def see(self, view: View) -> None:
        """Print the events since the last view, and the table."""
        if view["version"] == self.version:
            return
        if self.version:
            self.console.print(recent_events(self.hand.captions(self.version + 1, view["version"])))
        self.version = view["version"]
        self.console.print(table_of(view))

    def choose(self, view: View) -> Mapping[str, Any] | None:
        """Ask until the input is a move."""
        self.console.print(moves_of(view["moves"]))
        while True:
            try:
                text = self.console.input("[bold]move[/] (? for help): ").strip()
            except EOFError:
                raise Left from None
            match text:
                case "":
                    return None
                case "?" | "help":
                    self.console.print(HELP, markup=False, highlight=False)
                case "q" | "quit":
                    raise Left
                case _:
                    try:
                        return typed(text, view["moves"], swapping=view["status"] == "swapping")
                    except Unclear as unclear:
                        self.console.print(str(unclear), style="yellow", markup=False)

    def refused(self, refused: Refused) -> None:
        """Print the reason, with the statement of the rules."""
        self.console.print(f"refused: {printable(refused.text)}", style="yellow", markup=False)


def print_report(hand: Hand, report: Report) -> bool:
    """Print the result of the verification, and return whether all checks passed."""
    for finding in report.findings:
        if finding.result is Result.FAIL:
            where = "" if finding.seq is None else f"seq {finding.seq}: "
            click.echo(printable(f"{finding.check} fails: {where}{finding.said}"))
    click.echo(f"from outside: {'; '.join(report.outside) or 'nothing'}")
    for reason in (*report.unproven, *report.missing):
        click.echo(printable(f"not proven: {reason}"))
    click.echo(f"saved in {hand.folder}")
    click.echo(printable(report.conclusion))
    return report.result is not Result.FAIL


VALID, CONTRADICTED, UNFINISHED = 0, 1, 2

_WHERE: Final = re.compile(
    r"(?P<url>https?://.+?)/v1/(?P<kind>tables|games)/(?P<id>[0-9a-fA-F-]{36})/?"
)


@click.command(short_help="Play at a table of a service, in the terminal.")
@click.argument("where", required=False, metavar="[WHERE]")
@click.option(
    "--url",
    envvar="SHITHEAD_URL",
    show_envvar=True,
    default="http://127.0.0.1:8080",
    show_default=True,
    help="The service, if WHERE does not name it.",
)
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
    help="The public key of another player; can be repeated. Level L3 needs that of every person.",
)
@click.option(
    "--home",
    envvar="SHITHEAD_HOME",
    show_envvar=True,
    type=click.Path(path_type=Path),
    default=Path("~/.shithead"),
    show_default=True,
    help="Folder of tokens, keys, receipts and logs, in a subfolder for each service.",
)
@click.option("--token", "token_file", type=click.Path(path_type=Path), help="Another token file.")
@click.option("--key", "key_file", type=click.Path(path_type=Path), help="Another key file.")
def play(where: str | None, url: str, **given: Any) -> int:
    """
    Play a hand over HTTP: at the table or in the game of WHERE, else at a new table.

    WHERE is the address of a table or a game, such as
    http://127.0.0.1:8080/v1/tables/ID; a bare id is looked up at --url. Type a move as its
    number, or as cards: `7c 7h` plays two sevens. A refused move is answered with the
    statement of the rules that forbids it.

    The client trusts nothing it can verify: every event is checked against the one before,
    the server's receipts against the log and the first key seen, and at the end the whole
    record is verified with the saved receipts. With --keyed, each move is signed, together
    with the hash of everything before it, and your entropy takes part in the shuffle; the
    client finds it in the log before it signs `ready`. The verification level is printed
    last: L3 if every person at the table is keyed and their keys are given (--seat-key).

    You can quit at any time and resume the game with WHERE. Resume a hand that was dealt
    with your key with --keyed; if that option does not match the hand, the program asks
    how to continue.

    \b
    Exit status:
      0   played to the end, and the record is valid
      1   the server contradicts itself, or a check fails: the evidence is saved
      2   not played to the end: quit, no connection, or no seat in the game
      64  invalid command line

    \b
    Examples:
      shithead play --with greedy --with lowest
      shithead play --keyed --ruleset leeds --with open --with open
      shithead play --keyed --auto lowest http://127.0.0.1:8080/v1/tables/ID
    """  # noqa: D301 - \b is click's mark for a block that keeps its lines
    url, kind, identity = _where(where, url)
    try:
        return _play(_player(url, given), kind, identity, given)
    except Left:
        click.echo("quit; the game continues")
    except BadFile as error:
        raise click.UsageError(str(error)) from None
    except Refused as refused:
        click.echo(printable(f"refused: {refused.text}"), err=True)
    except (NotAnswered, NotSeated) as error:
        click.echo(printable(str(error)), err=True)
    return UNFINISHED


def _where(where: str | None, url: str) -> tuple[str, str, UUID | None]:
    """Return the address of the service, `tables`, `games` or '', and the id."""
    if where is None:
        return url.rstrip("/"), "", None
    match = _WHERE.fullmatch(where)
    try:
        if match is None:
            return url.rstrip("/"), "", UUID(where)
        return match["url"], match["kind"], UUID(match["id"])
    except ValueError:
        raise click.UsageError(f"{where!r} is neither an address nor an id") from None


def _player(url: str, given: dict[str, Any]) -> Player:
    """Return the registered player with these files."""
    kept = Kept.at(given["home"].expanduser(), url)
    player = Player(api=Api(url=url, invite=given["invite"]), kept=kept)
    player.entropy = given["entropy"] or ("commit" if given["keyed"] else "none")
    if given["keyed"]:
        player.key = read_seat_key(given["key_file"] or kept.folder / "seat.key")
        click.echo(f"your key: {player.public}", err=True)
    token_file = given["token_file"] or kept.folder / "token"
    if player.register(token_file, given["name"]):
        click.echo(f"registered as {given['name']}; the token is in {token_file}", err=True)
    return player


def _play(player: Player, kind: str, identity: UUID | None, given: dict[str, Any]) -> int:
    """Play the requested number of hands; return the worst status."""
    if kind == "" and identity is not None:
        try:
            player.table(identity)
            kind = "tables"
        except Refused:
            kind = "games"
    if kind == "games" and identity is not None:
        return _hand(player, identity, given)
    table = player.sit(identity) if identity is not None else _opened(player, given)
    status, game = VALID, None
    for _ in range(given["hands"]):
        game = player.next_game(table, after=None if game is None else str(game))
        status = max(
            status, _hand(player, game, given), key=(VALID, UNFINISHED, CONTRADICTED).index
        )
        table = player.table(UUID(table["id"]))
    return status


def _opened(player: Player, given: dict[str, Any]) -> dict[str, Any]:
    names = given["others"] or ("greedy",)
    others = [name if name == "open" else {"bot": name} for name in names]
    visibility = "private" if given["private"] else "public"
    table = player.open_table(given["ruleset"], others, visibility=visibility)
    click.echo(f"table: {player.api.url}/v1/tables/{table['id']}", err=True)
    if "invite" in table:
        click.echo(f"invite: {table['invite']}", err=True)
        player.api.invite = table["invite"]
    return table


def _hand(player: Player, game: UUID, given: dict[str, Any]) -> int:
    """Play one hand and verify it; return the status."""
    click.echo(f"game: {player.api.url}/v1/games/{game}", err=True)
    hand: Hand | None = None
    try:
        hand = Hand(player, game)
        if not can_resume(hand, given["key_file"]):
            return UNFINISHED
        play_hand(hand, _chooser(given["auto"], hand))
        return VALID if print_report(hand, hand.verified(given["seat_keys"])) else CONTRADICTED
    except Contradicted as error:
        click.echo(printable(f"THE SERVER CONTRADICTS ITSELF: {error}"))
        if hand is not None:
            _save_contradiction(hand)
        return CONTRADICTED


def _save_contradiction(hand: Hand) -> None:
    """Save what the server shows now, as evidence, or report that it shows nothing."""
    click.echo(f"saved: {hand.folder} has the events seen before; nothing was signed after them")
    try:
        click.echo(f"saved: {hand.keep_contradiction()} has the events shown now")
    except (NotAnswered, Refused) as error:
        click.echo(printable(f"the events shown now could not be fetched: {error}"))


def _chooser(rule: str | None, hand: Hand) -> Chooser:
    console = Console(file=sys.stdout)
    if rule is not None:
        return Automatic(rule=rule, console=console)
    return Person(hand=hand, console=console)


_NOT_YOURS: Final = "If you took the seat with a key, do not continue: the server removed it."


def can_resume(hand: Hand, key_file: Path | None) -> bool:
    """
    Return whether to play, after the player's key and entropy were set to those of the hand.

    The log pins a key and entropy for the seat. If they differ from the options, but not
    from what this folder recorded, an option is wrong and not the server. The player is
    asked before another key is used, or before moves go unsigned.

    Raises Contradicted if this folder recorded another key or entropy for the seat.
    """
    view = hand.look()
    if view["status"] in OVER:
        return True
    player = hand.player
    key, entropy = hand.dealt_with()
    if key != player.public:
        agreed = _without(hand) if key is None else _with(hand, key, key_file)
        if not agreed:
            return False
    if entropy != player.entropy:
        click.echo(f"this hand was dealt with --entropy {entropy}, which is used", err=True)
        player.entropy = entropy
    if hand.entropy_is_missing():
        click.echo("the entropy of your seat is not saved here: it cannot be checked", err=True)
    return True


def _without(hand: Hand) -> bool:
    """Return whether to play a hand without the key that the options name."""
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


def _with(hand: Hand, key: str, key_file: Path | None) -> bool:
    """Return whether to play with the key that the hand was dealt with, if it is found."""
    path = key_file or hand.player.kept.folder / "seat.key"
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
