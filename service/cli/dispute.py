"""`shithead dispute`: accuse, read findings, judge, vote and appeal, without programming."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import click

from service.cli.connection import NoService, answered, known_player, place_of, player_options
from service.cli.dispute_text import ACCUSABLE, CHARGES, Case, case_text, event_sentence, when
from service.cli.narration import Event, People
from service.cli.screen import printable
from service.client.api import Refused
from service.client.player import Player
from service.client.player_files import write_private
from service.shx.receipts import vote_commitment

VOTES: Final = {"cheated": "cheated", "not-proven": "not_proven"}
OF_THE_SERVER: Final = ("wrong-deal", "altered-log")
Dispute = dict[str, Any]


@click.group(short_help="Open, judge and appeal a dispute about a game.")
def dispute() -> None:
    """
    Open, read, judge and appeal a dispute about a game.

    \b
    A dispute, step by step:
      1  a player accuses a seat, or the server     shithead dispute open GAME
      2  both sides make statements                 shithead dispute statement DISPUTE TEXT
      3  three or more others offer to judge        shithead dispute judge DISPUTE
         a side can refuse a referee                shithead dispute refuse DISPUTE NUMBER
         all can look at the evidence               shithead dispute evidence DISPUTE
      4  the referees vote, each sealed             shithead dispute vote DISPUTE cheated
         and reveal their votes                     shithead dispute vote DISPUTE
      5  the side that lost can appeal once         shithead dispute appeal DISPUTE

    `shithead dispute show` reports what the machine found, where the dispute stands and
    what you can do next. GAME and DISPUTE are addresses, or ids at --url.

    Exit status: 0 done, 2 refused or no answer from the service, 64 invalid command line.
    """  # noqa: D301 - \b is click's mark for a block that keeps its lines


@dataclass(frozen=True, kw_only=True)
class _Court:
    """A service, and the player who uses it."""

    url: str
    player: Player

    def get(self, identity: UUID) -> Dispute:
        found: Dispute = self.player.api.get(f"/disputes/{identity}")
        return found

    def post(self, identity: UUID, what: str, body: Mapping[str, Any]) -> Dispute:
        changed: Dispute = self.player.api.post(f"/disputes/{identity}/{what}", body)
        return changed

    def me(self) -> str | None:
        """Return the id of the player, None without a token."""
        return self.player.api.get("/players/me")["id"] if self.player.api.token else None

    def command(self, words: str, identity: object) -> str:
        """Return a command line on a dispute of this service, to be copied."""
        return f"shithead dispute {words} {self.url}/v1/disputes/{identity}"

    def show(self, found: Dispute) -> None:
        """Print a dispute, and what the player can do next."""
        click.echo(printable_text(case_text(self._case(found))), nl=False)

    def _case(self, found: Dispute) -> Case:
        api = self.player.api
        view = api.get(f"/games/{found['game']}")
        named = [referee for referee in found["referees"] if referee["player"] is not None]
        [line] = api.lines(f"/games/{found['game']}/events?after={found['seq']}&limit=1")
        return Case(
            dispute=found,
            people=People.of(view),
            event=json.loads(line),
            me=self.me(),
            referees={r["referee"]: self._name(r["player"]) for r in named},
            command=self.command,
        )

    def _name(self, player: str) -> str:
        try:
            return str(self.player.api.get(f"/players/{player}")["name"])
        except Refused:
            return "a player who left"


def printable_text(text: str) -> str:
    """Return text with control characters replaced in each line."""
    return "".join(f"{printable(line)}\n" for line in text.splitlines())


def _of_dispute(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the argument DISPUTE and the options of a player."""
    return click.argument("where", metavar="DISPUTE")(_player_options(function))


def _player_options(function: Callable[..., Any]) -> Callable[..., Any]:
    invite = click.option("--invite", help="The invite of a private table.")
    return player_options(invite(function))


def _court(
    where: str, url: str, home: Path, token_file: Path | None, invite: str | None
) -> tuple[_Court, UUID]:
    """Return the service and player of a command line, and the id that it names."""
    url, _, identity = place_of(where, url)
    player = known_player(url, home, token_file)
    player.api.invite = invite
    return _Court(url=url, player=player), identity


@dispute.command(name="open", short_help="Accuse a seat, or the server.")
@click.argument("where", metavar="GAME")
@_player_options
@click.option("--charge", type=click.Choice(tuple(CHARGES)), help="The offence.")
@click.option("--seq", type=click.IntRange(0), help="The number of an event of the move.")
@click.option(
    "--accused", metavar="SEAT|server", help="The accused.  [default: the seat that moved there]"
)
@click.option("--statement", help="What happened, in your words; asked for if it is missing.")
def open_(
    where: str,
    *,
    charge: str | None,
    seq: int | None,
    accused: str | None,
    statement: str | None,
    **who: Any,
) -> None:
    """
    Open a dispute about a game that you play or played.

    \b
      illegal-move   a move that the rules do not allow
      false-pick-up  taking the pile although a card could be played
      wrong-deal     the server dealt other cards than the shuffle gave
      altered-log    the server changed the record of the game
      time           play outside the time limit
      collusion      players helped one another
      other          anything else

    Without --charge, --seq and --statement you are asked for them; the moves are listed with
    their numbers. The evidence is frozen, and the machine's findings follow within seconds.
    """  # noqa: D301 - \b is click's mark for a block that keeps its lines
    with answered():
        court, game = _court(where, **who)
        path = f"/games/{game}"
        view = court.player.api.get(path)
        people = People.of(view)
        events = [json.loads(line) for line in court.player.api.lines(f"{path}/events")]
        charge = charge or str(click.prompt("Charge", type=click.Choice(tuple(CHARGES))))
        seq = _asked_seq(events, people, charge) if seq is None else seq
        body = {
            "accused": _accused(accused, charge, events, seq, people.me),
            "seq": seq,
            "charge": charge.replace("-", "_"),
            "statement": statement or click.prompt("What happened, in your words"),
        }
        try:
            opened = court.player.api.post(f"{path}/disputes", body)
        except Refused as refused:
            if refused.kind != "dispute-open":
                raise
            there = court.command("show", refused.problem["id"])
            raise NoService(f"this move is already disputed: {there}") from None
        court.show(opened)


def _asked_seq(events: list[Event], people: People, charge: str) -> int:
    """Return the number of the disputed event, chosen among the moves."""
    if charge in OF_THE_SERVER:
        dealt = (event["seq"] for event in events if event["type"] == "cards_dealt")
        return next(dealt, 0) if charge == "wrong-deal" else 0
    for event in events:
        if event["type"] in ACCUSABLE and event["data"]["seat"] != people.me:
            click.echo(f"{event['seq']:>5}  {printable(event_sentence(event, people))}")
    return int(click.prompt("Number of the move", type=click.IntRange(0, len(events) - 1)))


def _accused(
    wanted: str | None, charge: str, events: list[Event], seq: int, me: int | None
) -> int | None:
    """Return the accused seat, None for the server; by default the seat that moved."""
    if wanted == "server" or (wanted is None and charge in OF_THE_SERVER):
        return None
    if wanted is not None:
        if not wanted.isdecimal():
            raise click.UsageError("--accused is the number of a seat, or `server`")
        return int(wanted)
    if seq >= len(events):
        raise click.UsageError(f"the game has no event {seq}; its last one is {len(events) - 1}")
    event = events[seq]
    seat = event["by"] if event["by"] is not None else event["data"].get("seat")
    if seat is None:
        raise click.UsageError(f"event {seq} is no move of a seat: name one with --accused")
    if seat == me:
        raise click.UsageError(f"event {seq} is a move of your own")
    return int(seat)


@dispute.command(short_help="Show a dispute, or those about a game.")
@_of_dispute
@click.option("--json", "as_json", is_flag=True, help="Print JSON, as returned by the API.")
def show(where: str, *, as_json: bool, **who: Any) -> None:
    """
    Show a dispute: findings, statements, referees, ruling, and what you can do next.

    Given the address of a game, or its id, all disputes about it are shown. Statements and
    the names of referees are shown to the two sides and the referees only.
    """
    with answered():
        court, identity = _court(where, **who)
        try:
            found = [court.get(identity)] if "/games/" not in where else None
        except Refused as refused:
            if refused.kind != "not-found" or "/disputes/" in where:
                raise
            found = None
        if found is None:
            found = court.player.api.get(f"/games/{identity}/disputes?limit=200")["items"]
        for one in found:
            if as_json:
                click.echo(json.dumps(one))
            else:
                court.show(one)
        if not found:
            click.echo("no disputes about this game")


@dispute.command(short_help="Save the evidence of the game as a file.")
@_of_dispute
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False), required=False)
def evidence(where: str, *, file: Path | None, **who: Any) -> None:
    """
    Save the public evidence of the disputed game, for the commands verify, audit and replay.

    FILE is the game's id with the ending .shx if it is not named. The commands that make pages
    of it are printed.
    """
    with answered():
        court, identity = _court(where, **who)
        found = court.get(identity)
        path = file or Path(f"{found['game']}.shx")
        data = court.player.api.data(f"/games/{found['game']}/evidence?profile=public")
    try:
        path.write_bytes(data)
    except OSError as error:
        raise NoService(printable(f"{path}: {error.strerror}")) from None
    click.echo(f"saved: {path}")
    click.echo(f"is it complete and true?   shithead verify {path} --html verify.html")
    click.echo(
        f"what did the seat know?    shithead audit {path} --move {found['seq']} --html move.html"
    )
    click.echo(f"go through the game:       shithead replay {path}")


@dispute.command(short_help="Make a statement as one of the two sides.")
@_of_dispute
@click.argument("text", required=False)
def statement(where: str, *, text: str | None, **who: Any) -> None:
    """
    Make the statement TEXT as accuser or accused; it is asked for if it is missing.

    The other side and the referees can read it. It has at most 4,000 characters.
    """
    with answered():
        court, identity = _court(where, **who)
        words = text or click.prompt("Your statement")
        court.post(identity, "statements", {"text": words})
        click.echo("Your statement is recorded.")


@dispute.command(short_help="Offer to judge as a referee.")
@_of_dispute
def judge(where: str, **who: Any) -> None:
    """
    Offer to judge a dispute.

    A referee neither sat at the table nor hosts it, has played some hands, and has an account
    of some age; the service names both numbers if it refuses.
    """
    with answered():
        court, identity = _court(where, **who)
        court.show(court.post(identity, "referees", {}))


@dispute.command(short_help="Refuse a referee, as one of the two sides.")
@_of_dispute
@click.argument("referee", type=click.IntRange(0), metavar="NUMBER")
def refuse(where: str, *, referee: int, **who: Any) -> None:
    """Refuse the referee with this NUMBER, before the voting opens."""
    with answered():
        court, identity = _court(where, **who)
        court.show(court.post(identity, "referees", {"refuse": referee}))


@dispute.command(short_help="Vote as a referee, or reveal your vote.")
@_of_dispute
@click.argument("opinion", type=click.Choice(tuple(VOTES)), required=False, metavar="[VOTE]")
@click.option(
    "--server-seals",
    is_flag=True,
    help="Let the server seal and reveal the vote: nothing to keep, but it knows your vote.",
)
def vote(where: str, *, opinion: str | None, server_seals: bool, **who: Any) -> None:
    """
    Vote `cheated` or `not-proven`; without VOTE, reveal the vote that you sealed.

    A sealed vote cannot be read or changed until all referees have voted. This program seals
    it and writes a file in the folder of --home, which is needed to reveal the vote: keep it.
    """
    with answered():
        court, identity = _court(where, **who)
        found = court.get(identity)
        number = _number(court, found)
        file = court.player.kept.folder / "votes" / f"{identity}-{number}.json"
        state = found["referees"][number]["state"]
        if opinion is None or (state == "committed" and file.exists()):
            _reveal(court, found, file, opinion)
        elif server_seals:
            changed = court.post(identity, "votes", {"vote": VOTES[opinion]})
            click.echo(f"You voted {opinion}. The server reveals it when all have voted.")
            court.show(changed)
        else:
            _seal(court, found, number, VOTES[opinion], file)


def _number(court: _Court, found: Dispute) -> int:
    """Return the number of the player as a referee."""
    me = court.me()
    own = [r["referee"] for r in found["referees"] if r["player"] == me and r["state"] != "recused"]
    if me is None or not own:
        offer = court.command("judge", found["id"])
        raise NoService(f"you are not a referee of this dispute; to offer yourself: {offer}")
    return int(own[-1])


def _seal(court: _Court, found: Dispute, number: int, opinion: str, file: Path) -> None:
    """Commit to a vote, after its salt was written to a file; reveal it if it is the last one."""
    identity, salt = UUID(found["id"]), secrets.token_bytes(32)
    kept = {"dispute": str(identity), "referee": number, "vote": opinion, "salt": salt.hex()}
    write_private(file, json.dumps(kept).encode() + b"\n")
    commit = vote_commitment(identity, number, opinion, salt).hex()
    changed = court.post(identity, "votes", {"commit": commit})
    click.echo("Your vote is sealed: until you reveal it, no person can read or change it.")
    click.echo(f"Keep the file {file}: without it your vote cannot be revealed.")
    if changed["state"] == "revealing":
        _reveal(court, changed, file, None)
        return
    click.echo("When all referees have voted, reveal it with")
    click.echo(f"  {court.command('vote', identity)}")
    if changed["deadline"]:
        click.echo(f"The voting ends on {when(changed['deadline'])}.")


def _reveal(court: _Court, found: Dispute, file: Path, opinion: str | None) -> None:
    """Reveal the vote whose salt is in a file, once all referees have committed."""
    if not file.exists():
        raise NoService(
            f"there is no sealed vote of yours in {file}; to vote, add `cheated` or `not-proven`"
        )
    try:
        kept = json.loads(file.read_text("utf-8"))
        body = {"vote": kept["vote"], "salt": kept["salt"]}
    except (OSError, ValueError, KeyError, TypeError):
        raise NoService(f"{file} is not the file of a sealed vote") from None
    if opinion is not None and VOTES[opinion] != body["vote"]:
        raise NoService("your vote is sealed and cannot be changed")
    if found["state"] == "voting":
        raise NoService("your vote is sealed; it can be revealed when all referees have voted")
    changed = court.post(UUID(found["id"]), "votes", body)
    click.echo("Your vote is revealed.")
    court.show(changed)


@dispute.command(short_help="Appeal against a ruling, as the side that lost.")
@_of_dispute
def appeal(where: str, **who: Any) -> None:
    """Appeal against a ruling, once, as the side that lost; other referees judge then."""
    with answered():
        court, identity = _court(where, **who)
        court.show(court.post(identity, "appeal", {}))
