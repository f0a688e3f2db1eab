"""`shithead dispute`: open, read, judge and appeal disputes, and vote."""

from __future__ import annotations

import hashlib
import io
import json
import secrets
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Any, Final
from uuid import UUID

import click

from service.cli.connection import (
    errors_as_messages,
    known_player,
    place_of,
    player_options,
)
from service.cli.dispute_text import (
    CHARGES,
    Case,
    case_text,
    event_sentence,
    fits,
    no_vote,
    when,
)
from service.cli.narration import Event, People
from service.cli.replay import printable_lines
from service.cli.screen import printable
from service.cli.statuses import NoService, ReadPath, Suggesting, Unreadable
from service.client.api import Refused
from service.client.player import Player
from service.client.player_files import write_private
from service.client.signing import head
from service.replay.sentences import sentence
from service.shx.canonical import RecordError
from service.shx.receipts import claimed_receipt, vote_commitment

VOTES: Final = {"cheated": "cheated", "not-proven": "not_proven"}
CHARGES_AGAINST_SERVER: Final = ("wrong-deal", "altered-log")
Dispute = dict[str, Any]


@click.group(cls=Suggesting, short_help="Open, judge and appeal a dispute about a game.")
def dispute() -> None:
    """
    Open, read, judge and appeal a dispute about a game.

    \b
    A dispute, step by step:
      1  a player accuses a seat, or the server     shithead dispute open GAME
         and can withdraw it while unanswered       shithead dispute withdraw DISPUTE
      2  both sides make statements                 shithead dispute statement DISPUTE TEXT
         and hand in receipts of the game           shithead dispute receipt DISPUTE [FILE]
      3  three or more others offer to judge        shithead dispute judge DISPUTE
         a side can refuse each of them once        shithead dispute refuse DISPUTE NUMBER
         all can look at the evidence               shithead dispute evidence DISPUTE
      4  the referees vote, each sealed             shithead dispute vote DISPUTE cheated
         and reveal their votes                     shithead dispute vote DISPUTE
      5  the side that lost can appeal once         shithead dispute appeal DISPUTE

    A ruling against the accused needs all referees of the panel: if one of them votes
    `not-proven`, the accused is cleared. `shithead dispute show` prints the findings of the
    verifier, the state of the dispute and what you can do next. GAME and DISPUTE are addresses,
    or ids at --url.

    Exit status: 0 done, 2 refused or no answer from the service, 64 invalid command line.
    """  # noqa: D301 - \b is click's mark for a block that keeps its lines


@dataclass(frozen=True, slots=True, kw_only=True)
class _DisputeClient:
    """The disputes of a service, with the client of one player."""

    url: str
    player: Player

    def get(self, identity: UUID) -> Dispute:
        found: Dispute = self.player.api.get(f"/disputes/{identity}")
        return found

    def post(self, identity: UUID, part: str, body: Mapping[str, Any]) -> Dispute:
        changed: Dispute = self.player.api.post(f"/disputes/{identity}/{part}", body)
        return changed

    def me(self) -> str | None:
        """Return the id of the player, None without a token."""
        return self.player.api.get("/players/me")["id"] if self.player.api.token else None

    def command(self, words: str, identity: object) -> str:
        """Return a command line on a dispute of this service, for the user to copy."""
        return f"shithead dispute {words} {self.url}/v1/disputes/{identity}"

    def show(self, found: Dispute) -> None:
        """Print a dispute, and what the player can do next."""
        click.echo(printable_lines(case_text(self._case(found))), nl=False)

    def _case(self, found: Dispute) -> Case:
        api = self.player.api
        view = api.get(f"/games/{found['game']}")
        named = [referee for referee in found["referees"] if referee["player"] is not None]
        return Case(
            dispute=found,
            people=People.of(view),
            event=self._event(found),
            me=self.me(),
            referees={r["referee"]: self._name(r["player"]) for r in named},
            command=self.command,
        )

    def _event(self, found: Dispute) -> Event | None:
        """Return the disputed event, None for collusion."""
        if found["seq"] is None:
            return None
        path = f"/games/{found['game']}/events?after={found['seq']}&limit=1"
        [line] = self.player.api.lines(path)
        event: Event = json.loads(line)
        return event

    def _name(self, player: str) -> str:
        try:
            return printable(str(self.player.api.get(f"/players/{player}")["name"]))
        except Refused:
            return "a player who left"


def _dispute_argument(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the argument DISPUTE and the options of a player."""
    return click.argument("where", metavar="DISPUTE")(_player_options(function))


def _player_options(function: Callable[..., Any]) -> Callable[..., Any]:
    invite = click.option("--invite", help="The invite of a private table.")
    return player_options(invite(function))


@contextmanager
def _court(
    where: str, url: str, home: Path, token_file: Path | None, invite: str | None
) -> Iterator[tuple[_DisputeClient, UUID]]:
    """
    Yield a client for the service named on the command line, and the id named there.

    Errors of the client are reported as messages; see `errors_as_messages`.
    """
    with errors_as_messages():
        url, _, identity = place_of(where, url)
        player = known_player(url, home, token_file)
        player.api.invite = invite
        yield _DisputeClient(url=url, player=player), identity


@dispute.command(name="open", short_help="Accuse a seat, or the server.")
@click.argument("where", metavar="GAME")
@_player_options
@click.option("--charge", type=click.Choice(tuple(CHARGES)), help="The offence.")
@click.option("--seq", type=click.IntRange(0), help="The number of an event of the move.")
@click.option(
    "--accused",
    metavar="SEAT|server",
    help="The accused, seats from 0.  [default: the seat that moved there]",
)
@click.option("--partner", metavar="SEAT", type=click.IntRange(0), help="Of collusion.")
@click.option(
    "--statement", help="What happened, in your words; the program asks if it is missing."
)
def open_(
    where: str,
    *,
    charge: str | None,
    seq: int | None,
    accused: str | None,
    partner: int | None,
    statement: str | None,
    **options: Any,
) -> None:
    """
    Open a dispute about a game that you play or played.

    \b
      illegal-move   a move that the rules do not allow
      false-pick-up  taking the pile although a card could be played
      wrong-deal     the server dealt other cards than the shuffle gave
      altered-log    the server changed the record of the game
      time           play outside the time limit
      collusion      two players played for each other: name them with
                     --accused and --partner, in a hand of three people or more
      other          anything else

    The program asks for a missing --charge, --seq or --statement, and lists the moves that
    fit the charge with their numbers. It states what has to be shown. The evidence is frozen,
    and the findings of the verifier follow within seconds.
    """  # noqa: D301 - \b is click's mark for a block that keeps its lines
    with _court(where, **options) as (court, game):
        path = f"/games/{game}"
        view = court.player.api.get(path)
        people = People.of(view)
        events = [json.loads(line) for line in court.player.api.lines(f"{path}/events")]
        charge = charge or str(click.prompt("Charge", type=click.Choice(tuple(CHARGES))))
        click.echo(sentence(f"charge.shown.{charge.replace('-', '_')}"))
        if charge == "collusion":
            subject: Mapping[str, int | None] = _pair(accused, partner)
        else:
            seq = _chosen_seq(events, people, charge) if seq is None else seq
            subject = {"accused": _accused(accused, charge, events, seq, people.me), "seq": seq}
        body = {
            **subject,
            "charge": charge.replace("-", "_"),
            "statement": statement or click.prompt("What happened, in your words"),
        }
        try:
            opened = court.player.api.post(f"{path}/disputes", body)
        except Refused as refused:
            if refused.kind != "dispute-open":
                raise
            command = court.command("show", refused.problem["id"])
            raise NoService(f"there is such a dispute already: {command}") from None
        court.show(opened)


def _pair(accused: str | None, partner: int | None) -> Mapping[str, int | None]:
    """Return the two seats of a charge of collusion; asks for one that is missing."""
    seats = [accused, partner]
    for place, name in enumerate(("accused", "partner")):
        if seats[place] is None:
            seats[place] = click.prompt(f"Number of the seat of the {name}", type=click.IntRange(0))
        elif not str(seats[place]).isdecimal():
            raise click.UsageError(f"--{name} is the number of a seat: collusion accuses a player")
    return {"accused": int(str(seats[0])), "partner": int(str(seats[1]))}


def _chosen_seq(events: list[Event], people: People, charge: str) -> int:
    """Ask for the number of the disputed event; against the server it follows from the charge."""
    if charge in CHARGES_AGAINST_SERVER:
        dealt = (event["seq"] for event in events if event["type"] == "cards_dealt")
        return next(dealt, 0) if charge == "wrong-deal" else 0
    listed = [e for e in events if fits(e, charge) and e["data"]["seat"] != people.me]
    if not listed:
        act = "has taken the pile" if charge == "false-pick-up" else "has moved"
        raise NoService(f"no other seat {act} in this game: there is no move to dispute")
    for event in listed:
        click.echo(f"{event['seq']:>5}  {printable(event_sentence(event, people))}")
    numbers = {event["seq"] for event in listed}

    def number(text: str) -> int:
        if not text.strip().isdecimal() or int(text) not in numbers:
            raise click.BadParameter(f"{text!r} is not one of the numbers in front of the moves")
        return int(text)

    chosen: int = click.prompt("Number of the move", value_proc=number)
    return chosen


def _accused(
    option: str | None, charge: str, events: list[Event], seq: int, me: int | None
) -> int | None:
    """Return the accused seat, None for the server; without --accused, the seat that moved."""
    if option == "server" or (option is None and charge in CHARGES_AGAINST_SERVER):
        return None
    if option is not None:
        if not option.isdecimal():
            raise click.UsageError("--accused is the number of a seat, from 0, or `server`")
        return int(option)
    if seq >= len(events):
        raise click.UsageError(f"the game has no event {seq}; its last one is {len(events) - 1}")
    event = events[seq]
    seat = event["by"] if event["by"] is not None else event["data"].get("seat")
    if seat is None:
        raise click.UsageError(f"event {seq} is not a move: name the accused with --accused")
    if seat == me:
        raise click.UsageError(f"event {seq} is a move of your own")
    return int(seat)


@dispute.command(short_help="Show a dispute, or those about a game.")
@_dispute_argument
@click.option("--json", "as_json", is_flag=True, help="Print JSON, as returned by the API.")
def show(where: str, *, as_json: bool, **options: Any) -> None:
    """
    Show a dispute: findings, statements, referees, ruling, and what you can do next.

    With the address or id of a game, all disputes about it are shown. Statements and the
    names of referees are shown to the two sides and the referees only.
    """
    with _court(where, **options) as (court, identity):
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
@_dispute_argument
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False), required=False)
def evidence(where: str, *, file: Path | None, **options: Any) -> None:
    """
    Save the public evidence of the disputed game, for the commands verify, audit and replay.

    The default of FILE is the id of the game with the suffix .shx. The file contains the copy
    that was frozen when the dispute was opened. Receipts that the sides handed in and the
    server's keys are saved beside it. Commands that write reports as HTML pages are printed.
    """
    with _court(where, **options) as (court, identity):
        found = court.get(identity)
        path = file or Path(f"{found['game']}.shx")
        data = court.player.api.data(f"/games/{found['game']}/evidence?profile=public")
        keys = court.player.api.data("/keys")
    notes = path.with_name(f"{path.stem}-receipts")
    key_file = path.with_name(f"{path.stem}-keys.json")
    more = ""
    try:
        path.write_bytes(data)
        if found["receipts"]:
            key_file.write_bytes(keys)
            notes.mkdir(exist_ok=True)
            for number, one in enumerate(found["receipts"], start=1):
                (notes / f"{number}-{one['by']}.note").write_text(one["note"], "utf-8")
            more = f" --receipt {quote(str(notes))} --server-key {quote(str(key_file))}"
    except OSError as error:
        raise Unreadable(printable(f"{path}: {error.strerror}")) from None
    click.echo(f"saved: {path}")
    click.echo(f"  SHA-256 of this file: {hashlib.sha256(data).hexdigest()}")
    click.echo("  It changes while the game or a dispute continues; the copy in it does not:")
    for line in _frozen_lines(data, found):
        click.echo(f"  {line}")
    if more:
        click.echo(f"saved: {notes} (the receipts), {key_file} (the server's keys)")
    name = quote(str(path))
    click.echo(f"verify it:                 shithead verify {name}{more} --html verify.html")
    if found["seq"] is not None:
        command = f"shithead audit {name} --move {found['seq']} --html move.html"
        click.echo(f"what did the seat know?    {command}")
    click.echo(f"go through the game:       shithead replay {name}")


def _frozen_lines(data: bytes, found: Dispute) -> Iterator[str]:
    """Yield the recorded hash of the frozen copy, and whether the copy in the file has it."""
    name, recorded = f"dispute/{found['id']}.shx", found["bundle_sha256"]
    yield f"frozen copy, SHA-256 in the dispute: {recorded}"
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as bundle:
            frozen = bundle.read(name) if name in bundle.namelist() else None
            proof = "log/proof.tlog-proof"
            if frozen is not None:
                with zipfile.ZipFile(io.BytesIO(frozen)) as copy:
                    is_older = proof in bundle.namelist() and proof not in copy.namelist()
    except zipfile.BadZipFile:
        raise NoService("the evidence of the service is not a ZIP archive") from None
    if frozen is None:
        yield "The copy is not in the file: the copies of all disputes would exceed its size limit."
    elif hashlib.sha256(frozen).hexdigest() != recorded:
        yield f"FAULT: {name} in the file has another SHA-256 than the dispute records."
    else:
        yield f"{name} in the file has this SHA-256."
        if is_older:
            yield "The copy is from before the public log had a proof; the file has the proof."


@dispute.command(short_help="Hand in receipts of the game as evidence.")
@_dispute_argument
@click.argument(
    "files",
    type=ReadPath(file=True),
    metavar="[FILE]...",
    nargs=-1,
)
def receipt(where: str, *, files: tuple[Path, ...], **options: Any) -> None:
    """
    Hand in receipts of the disputed game as accuser or accused.

    A receipt is a file that the server signed during the game. It shows which history the
    server confirmed, and is the strongest evidence if the record shows another history.
    Without FILE, the receipts that `shithead play` stored are compared with the record; those
    that contradict it are handed in, else the newest. A side can hand in ten.
    """
    with _court(where, **options) as (court, identity):
        found = court.get(identity)
        chosen = files or _stored_receipts(court, UUID(found["game"]))
        if not files and (side := _handed_in(found, chosen)):
            click.echo(
                f"The {side} has handed in your newest receipt already: it counts for both sides."
            )
            return
        for file in chosen:
            try:
                note = file.read_text("utf-8")
            except (OSError, UnicodeDecodeError):
                raise Unreadable(printable(f"{file}: not the text of a receipt")) from None
            found = court.post(identity, "receipts", {"receipt": note})
            receipt = found["receipts"][-1]
            click.echo(f"{printable(str(file))}: handed in, up to event {receipt['seq']}.")
        click.echo("The verifier runs again with it, within seconds. To see the findings:")
        click.echo(f"  {court.command('show', identity)}")


def _handed_in(found: Dispute, files: Sequence[Path]) -> str | None:
    """
    Return the side that has already handed in the only receipt in `files`.

    None if no side has handed it in, or if `files` has several receipts.
    """
    if len(files) != 1:
        return None
    content = files[0].read_text("utf-8", "replace")
    same = (one for one in found["receipts"] if one["note"] == content)
    return next((str(one["by"]) for one in same), None)


def _stored_receipts(court: _DisputeClient, game: UUID) -> list[Path]:
    """Return the player's stored receipts that contradict a game's log, else the newest one."""
    folder = court.player.files.folder / "games" / str(game) / "receipts"
    stored = sorted(folder.glob("*.note"))
    if not stored:
        raise Unreadable(printable(f"there is no receipt of this game in {folder}; name a FILE"))
    heads = [head(line) for line in court.player.api.lines(f"/games/{game}/events")]

    def contradicts(file: Path) -> bool:
        try:
            content = claimed_receipt(file.read_bytes())
        except (OSError, RecordError):
            return False
        return content.seq >= len(heads) or heads[content.seq] != content.head

    return [file for file in stored if contradicts(file)] or stored[-1:]


@dispute.command(short_help="Make a statement as one of the two sides.")
@_dispute_argument
@click.argument("text", required=False)
def statement(where: str, *, text: str | None, **options: Any) -> None:
    """
    Make the statement TEXT as accuser, accused or partner; the program asks for a missing TEXT.

    The other side and the referees can read it. It has at most 4,000 characters.
    """
    with _court(where, **options) as (court, identity):
        words = text or click.prompt("Your statement")
        court.post(identity, "statements", {"text": words})
        click.echo("Your statement is recorded.")


@dispute.command(short_help="Offer to judge as a referee.")
@_dispute_argument
def judge(where: str, **options: Any) -> None:
    """
    Offer to judge a dispute.

    A referee neither had a seat at the table nor hosts it, has played a minimum number of
    hands, and has an account of a minimum age; `show` prints both minimums. You vote once the
    game is over and three referees or more are seated. A ruling against the accused needs the
    votes of all of them.
    """
    with _court(where, **options) as (court, identity):
        court.show(court.post(identity, "referees", {}))


@dispute.command(short_help="Refuse a referee, as one of the two sides.")
@_dispute_argument
@click.argument("referee", type=click.IntRange(0), metavar="NUMBER")
def refuse(where: str, *, referee: int, **options: Any) -> None:
    """
    Refuse the referee with this NUMBER, before the voting opens.

    Each referee can be refused once, by either side, and cannot offer to judge again.
    """
    with _court(where, **options) as (court, identity):
        court.show(court.post(identity, "referees", {"refuse": referee}))


@dispute.command(short_help="Vote as a referee, or reveal your vote.")
@_dispute_argument
@click.argument("opinion", type=click.Choice(tuple(VOTES)), required=False, metavar="[VOTE]")
@click.option(
    "--server-seals",
    is_flag=True,
    help="Let the server seal and reveal the vote: without a file, but the server knows your vote.",
)
@click.option("--reason", help="Why; needed to vote `cheated` without support of the findings.")
def vote(
    where: str, *, opinion: str | None, server_seals: bool, reason: str | None, **options: Any
) -> None:
    """
    Vote `cheated` or `not-proven`; without VOTE, reveal the vote that you sealed.

    A sealed vote cannot be read or changed until all referees have voted. This program seals
    it and writes a file to the folder of --home. Keep this file: it is needed to reveal the
    vote.

    The ruling is against the accused only if all referees of the panel vote `cheated`; one
    `not-proven` clears the accused. If the findings say that the rules allow the move, and for
    collusion always, `cheated` needs a reason: the program asks for it, and it is shown with the
    ruling.
    """
    with _court(where, **options) as (court, identity):
        found = court.get(identity)
        if why := no_vote(found, opinion, court.command):
            raise NoService(printable(why))
        number = found["you"]["referee"]
        file = court.player.files.folder / "votes" / f"{identity}-{number}.json"
        if opinion is None or "reveal" in found["you"]["may"]:
            _reveal(court, found, file, opinion, reason)
            return
        ballot = _ballot(found, VOTES[opinion], reason)
        if server_seals:
            changed = court.post(identity, "votes", ballot)
            click.echo(f"You voted {opinion}. The server reveals it when all have voted.")
            court.show(changed)
        else:
            _seal(court, found, number, ballot, file)


def _ballot(found: Dispute, opinion: str, reason: str | None) -> dict[str, str]:
    """Return a vote with its reason; asks for a reason that the vote needs."""
    if reason is None and opinion == "cheated" and found["reason_needed"]:
        reason = click.prompt("The findings do not support this vote. Why is it cheating")
    return {"vote": opinion} if reason is None else {"vote": opinion, "reason": reason}


def _seal(
    court: _DisputeClient, found: Dispute, number: int, ballot: Mapping[str, str], file: Path
) -> None:
    """Write the vote and its salt to a file and commit to it; reveal it if it is the last vote."""
    identity, salt = UUID(found["id"]), secrets.token_bytes(32)
    sealed = {"dispute": str(identity), "referee": number, "salt": salt.hex(), **ballot}
    write_private(file, json.dumps(sealed).encode() + b"\n")
    commit = vote_commitment(identity, number, ballot["vote"], salt).hex()
    changed = court.post(identity, "votes", {"commit": commit})
    click.echo("Your vote is sealed: until you reveal it, no person can read or change it.")
    if changed["state"] == "revealing":
        click.echo("All other referees have voted, so your vote is revealed at once.")
        _reveal(court, changed, file, None, None)
        return
    click.echo(f"Keep the file {file}: without it your vote cannot be revealed.")
    click.echo("When all referees have voted, reveal it with")
    click.echo(f"  {court.command('vote', identity)}")
    if changed["deadline"]:
        click.echo(f"The voting ends on {when(changed['deadline'])}.")


def _reveal(
    court: _DisputeClient, found: Dispute, file: Path, opinion: str | None, reason: str | None
) -> None:
    """Reveal the vote whose salt is in a file, once all referees have committed."""
    if not file.exists():
        raise Unreadable(
            printable(f"your vote cannot be revealed without the file {file}")
            + ": use the folder (--home) or browser in which you voted"
        )
    try:
        sealed = json.loads(file.read_text("utf-8"))
        body = {"vote": sealed["vote"], "salt": sealed["salt"]}
        reason = reason or sealed.get("reason")
    except (OSError, ValueError, KeyError, TypeError):
        raise Unreadable(f"{file} is not the file of a sealed vote") from None
    if opinion is not None and VOTES[opinion] != body["vote"]:
        raise NoService("your vote is sealed and cannot be changed")
    body |= _ballot(found, body["vote"], reason)
    changed = court.post(UUID(found["id"]), "votes", body)
    click.echo("Your vote is revealed.")
    court.show(changed)


@dispute.command(short_help="Appeal against a ruling, as the side that lost.")
@_dispute_argument
def appeal(where: str, **options: Any) -> None:
    """Appeal against a ruling, once, as the side that lost; then other referees judge."""
    with _court(where, **options) as (court, identity):
        court.show(court.post(identity, "appeal", {}))


@dispute.command(short_help="Withdraw a dispute that you opened, while it is unanswered.")
@_dispute_argument
def withdraw(where: str, **options: Any) -> None:
    """
    Withdraw a dispute that you opened, until the other side answers or a referee is seated.

    It ends without a ruling and counts in the limit of the day. You cannot make the same charge
    again.
    """
    with _court(where, **options) as (court, identity):
        court.show(court.post(identity, "withdrawal", {}))
