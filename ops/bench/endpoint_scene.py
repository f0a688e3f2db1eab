"""The games, tables, disputes and rulesets that `ops.bench.endpoints` calls."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from unittest import mock
from uuid import UUID

import orjson

from ops.bench.costly_uploads import costly_log
from ops.bench.long_hand import long_hand
from ops.bench.requests import plain_table
from service.application.calls import Caller, RegisteredPlayer
from service.application.disputes.commands import Accusation, DisputeCall
from service.application.disputes.record import DisputeRecord
from service.application.games.entry import GameEntry
from service.bootstrap import Services
from service.domain.dispute import (
    Charge,
    DisputeEvent,
    Party,
    RefereeSeated,
    StatementMade,
    Vote,
)
from service.job_queue import QueuedTrials
from service.shx.receipts import issue_receipt
from service.shx.tlog.notes import NoteSigner

WIDE: Mapping[str, object] = {
    "deck": {"count": "fixed", "decks": 12, "partial": [], "jokers": 0},
    "players": {"min": 2, "max": 2},
    "deal": {"hand": 300, "down": 3, "up": 3},
    "turn": {"runs": True},
    "refill": {"size": 3},
}
"""A ruleset with about as many legal moves as trials accept (640 cards at most)."""

WIDE_ACTIONS = 400
CROWD = 190
"""Running hands of one player; 200 are allowed."""

CROWD_ACTIONS = 150
PASSES = 400
"""Refused passes of the costly upload; each has its alternatives listed."""

OLD_HANDS = 200
CUSTOM = 30
"""Custom rulesets of each of six players; 50 are allowed."""

REFEREES = 249
STATEMENTS = 19  # of each side, the accusation included; 20 are allowed
TEXT = "\U0001f0a1" * 4000
DISPUTES = 8  # of each accuser about one hand; 10 a day are allowed


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """The people with their tokens, games, tables and disputes that calls name."""

    people: Mapping[str, RegisteredPlayer]
    tokens: Mapping[str, str]
    long: str  # a running hand of 19,000 actions
    long_version: int
    sealed: str  # such a hand that is over
    wide: str  # a running hand of 300 cards a seat
    wide_long: str  # such a hand after 400 actions
    accused: str  # a finished hand with many disputes
    crowded: str  # a table of a player with many running hands
    crowd_game: str  # another running hand of this player
    old: str  # a table with many hands
    running_dispute: str  # about the running hand of 19,000 actions
    receipt: str  # of the running hand of 19,000 actions
    voting_dispute: str
    ruled_dispute: str
    unanswered_dispute: str
    wide_ruleset: str
    upload: bytes


def make_scene(services: Services) -> Scene:
    """Return the scene, stored with the services; takes about two minutes."""
    people, tokens = _people(services, ("Ada", "Bob", "Cy", "Dee", "Eve", "Fay"))
    ada, bob, cy, dee, eve, fay = people.values()
    three, crowd = (ada, bob, cy), (dee, eve, fay)
    wide_ruleset = _rulesets(services, people)
    long = long_hand(services, three)
    sealed = long_hand(services, three)
    services.moves.move(Caller(player=ada.id), sealed, {"type": "forfeit"})
    wide = _entry(services, long_hand(services, (ada, bob), actions=2, ruleset=wide_ruleset))
    wide_long = long_hand(services, (ada, bob), actions=WIDE_ACTIONS, ruleset=wide_ruleset)
    crowded = [long_hand(services, crowd, actions=CROWD_ACTIONS) for _ in range(CROWD)]
    accused = long_hand(services, three, actions=CROWD_ACTIONS)
    services.moves.move(Caller(player=ada.id), accused, {"type": "forfeit"})
    referees = [UUID(services.players.register("Judge")["id"]) for _ in range(REFEREES)]
    for number in range(3 * DISPUTES):
        _dispute(services, three[number % 3], accused, 10 + 6 * number, referees)
    more, more_tokens = _people(services, ("Judge 1", "Judge 2", "Judge 3", "Gone"))
    voters = [more["Judge 1"].id, more["Judge 2"].id]
    voting = _dispute(services, ada, sealed, 100, voters, Charge.COLLUSION)
    services.disputes.judge(_called(more["Judge 3"], voting), refused=None)
    judges = [more[f"Judge {number}"] for number in (1, 2, 3)]
    return Scene(
        people=people | more,
        tokens=tokens | more_tokens,
        long=str(long),
        long_version=_entry(services, long).record.version,
        sealed=str(sealed),
        wide=str(wide.record.identity),
        wide_long=str(wide_long),
        accused=str(accused),
        crowded=str(_entry(services, crowded[0]).table),
        crowd_game=str(crowded[1]),
        old=str(_old_table(services, (ada, bob))),
        running_dispute=str(_dispute(services, bob, long, 1000, referees)),
        receipt=_receipt(services, long),
        voting_dispute=str(voting),
        ruled_dispute=str(_ruled(services, bob, accused, judges)),
        unanswered_dispute=str(_unanswered(services, cy, accused)),
        wide_ruleset=wide_ruleset,
        upload=costly_log(PASSES),
    )


def _people(
    services: Services, names: Sequence[str]
) -> tuple[dict[str, RegisteredPlayer], dict[str, str]]:
    made = {name: services.players.register(name) for name in names}
    players = {name: RegisteredPlayer(id=UUID(one["id"]), name=name) for name, one in made.items()}
    return players, {name: one["token"] for name, one in made.items()}


def _entry(services: Services, game: UUID) -> GameEntry:
    entry = services.game_cache.fresh(game)
    if entry is None:
        raise ValueError(f"game {game} is missing")
    return entry


def _receipt(services: Services, game: UUID) -> str:
    """Return the receipt of the newest event of a game."""
    record = _entry(services, game).record
    signer = NoteSigner(name=services.origin, key=services.keyring.present.signing_key)
    return issue_receipt(signer, game=game, seq=record.version - 1, head=record.head).decode()


def _rulesets(services: Services, people: Mapping[str, RegisteredPlayer]) -> str:
    """Store custom rulesets, accepted without trials; return the id of the one with wide hands."""
    with mock.patch.object(QueuedTrials, "refusal", return_value=None):
        for index, player in enumerate(people.values()):
            for number in range(CUSTOM):
                changes = {**WIDE, "refill": {"size": 4 + number}, "deal": {"hand": 290 - index}}
                services.rulemaking.make(player, name="Own", base="shithead", changes=changes)
        made = services.rulemaking.make(people["Ada"], name="Wide", base="shithead", changes=WIDE)
    return str(orjson.loads(made.body)["id"])


def _dispute(
    services: Services,
    accuser: RegisteredPlayer,
    game: UUID,
    after: int,
    referees: Sequence[UUID],
    charge: Charge = Charge.OTHER,
) -> UUID:
    """Return a dispute of an accuser with STATEMENTS statements of each side, and `referees`."""
    entry = _entry(services, game)
    seq, accused = _accused(services, game, accuser, after)
    accusation = Accusation(accused=accused, seq=seq, charge=charge, statement=TEXT)
    if charge is Charge.COLLUSION:
        [partner] = {0, 1, 2} - {accused, entry.seat_of(accuser.id)}
        accusation = replace(accusation, seq=None, partner=partner)
    answer = services.disputes.open(Caller(player=accuser.id), accuser, game, accusation)
    identity = UUID(orjson.loads(answer.body)["id"])
    commands = services.disputes.commands  # all events in one step, not 287 calls
    sides = {Party.ACCUSER: accuser.id, Party.ACCUSED: entry.players[accused]}

    def step(record: DisputeRecord) -> tuple[Sequence[DisputeEvent], Mapping[str, object]]:
        events: list[DisputeEvent] = []
        texts = []
        for side, author in sides.items():
            for _ in range(STATEMENTS - (side is Party.ACCUSER)):
                assert author is not None
                commit, text = commands.statement(
                    identity, record.version + len(events), author, TEXT
                )
                events.append(StatementMade(side=side, commit=commit))
                texts.append(text)
        events += [RefereeSeated(player=str(player)) for player in referees]
        return events, {"texts": texts}

    commands.stepped(accuser.id, identity, step)
    return identity


def _accused(
    services: Services, game: UUID, accuser: RegisteredPlayer, after: int
) -> tuple[int, int]:
    """Return the seq of the first move of another seat after a version, and this seat."""
    own = _entry(services, game).seat_of(accuser.id)
    for line in services.game_cache.lines(game, after=after):
        event = orjson.loads(line)
        if event["by"] not in (None, own) and event["type"] in ("cards_played", "pile_picked_up"):
            return event["seq"], event["by"]
    raise ValueError("no other player has made a move")


def _old_table(services: Services, players: tuple[RegisteredPlayer, RegisteredPlayer]) -> UUID:
    """Return a table at which many hands have been played."""
    host, guest = players
    request = plain_table("shithead", ("me", "open"))
    table = UUID(orjson.loads(services.tables.open(host, request).body)["id"])
    answer = services.tables.sit(
        guest, table, seat=None, entropy=request.entropy, key=None, invite=None
    )
    game = UUID(orjson.loads(answer.body)["game"])
    for _ in range(OLD_HANDS):
        services.moves.move(Caller(player=host.id), game, {"type": "forfeit"})
        dealt = services.tables.deal(host, table, None)
        game = UUID(orjson.loads(dealt.body)["game"]["id"])
    return table


def _ruled(
    services: Services, accuser: RegisteredPlayer, game: UUID, judges: Sequence[RegisteredPlayer]
) -> UUID:
    """Return a dispute with a ruling against the accuser, who may appeal."""
    identity = _dispute(services, accuser, game, 60, [], Charge.TIME)
    for player in judges:
        services.disputes.judge(_called(player, identity), refused=None)
    for player in judges:
        services.disputes.vote(_called(player, identity), Vote.NOT_PROVEN)
    return identity


def _unanswered(services: Services, accuser: RegisteredPlayer, game: UUID) -> UUID:
    """Return a dispute that the accuser can withdraw."""
    accusation = Accusation(accused=None, seq=1, charge=Charge.WRONG_DEAL, statement=TEXT)
    opened = services.disputes.open(Caller(player=accuser.id), accuser, game, accusation)
    return UUID(orjson.loads(opened.body)["id"])


def _called(player: RegisteredPlayer, dispute: UUID) -> DisputeCall:
    return DisputeCall(caller=Caller(player=player.id), player=player, dispute=dispute)


def wait_for_findings(services: Services, scene: Scene, *, seconds: float) -> None:
    """Wait until the workers have made the findings of the dispute; raises TimeoutError."""
    end, caller = time.monotonic() + seconds, Caller(player=scene.people["Bob"].id)
    while not services.disputes.view(caller, UUID(scene.running_dispute))["findings"]:
        if time.monotonic() > end:
            raise TimeoutError("the workers have made no findings")
        time.sleep(0.5)
