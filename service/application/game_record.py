"""One game in memory: its folded state, and where its chain of events stands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import orjson

from schemas.events import Secrets, data_of, event_of, type_of
from service.application.errors import Unfollowed
from service.domain.cards import Card, ordered_deck
from service.domain.commands import Seat
from service.domain.events import (
    CardsPlayed,
    Event,
    GameAborted,
    GameCreated,
    GameEnded,
    GameSealed,
    TurnTimedOut,
)
from service.domain.evolve import evolve
from service.domain.game import Game, new_game
from service.domain.replacing import replace
from service.record.chain import encode_event
from service.record.chain import head as head_of
from service.record.shuffle import Shuffle, derive
from service.rulesets.reading import read_ruleset

EXCHANGE_ACTIONS = ("cards_swapped", "table_laid", "seat_ready")
ACTIONS = (
    *EXCHANGE_ACTIONS,
    "cards_played",
    "pile_picked_up",
    "blind_failed",
    "stock_failed",
    "turn_passed",
)
SERVER_EVENTS = (
    "game_created",
    "deck_committed",
    "cards_dealt",
    "cards_thrown",
    "play_started",
    "game_ended",
    "game_sealed",
    "game_aborted",
    "turn_timed_out",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GameRecord:
    """
    A game's state together with its place in the chain.

    `game` is folded with the deck as far as the server knows it. `entropy` holds
    what each seat revealed; `shuffle` is there from `deck_committed` on.
    """

    identity: UUID
    game: Game
    created: Mapping[str, Any]  # data of game_created
    heads: tuple[bytes, ...]  # the head after each event
    created_at: str
    at: str  # of the last event
    dealt_at: str | None  # of cards_dealt
    turn_since: str | None  # of the first event since which the turn lies where it lies
    seed: bytes | None
    commitments: Mapping[Seat, str]
    entropy: Mapping[Seat, bytes]
    shuffle: Shuffle | None
    last_action: int  # seq of the last action of any seat, -1 where there is none
    last_exchange: Mapping[Seat, int]  # seq of each seat's last action in the exchange
    swaps: Mapping[Seat, int]  # how often each seat has swapped
    nonces: frozenset[str]

    @property
    def version(self) -> int:
        """Return the number of events."""
        return len(self.heads)

    @property
    def head(self) -> bytes:
        """Return the head after the last event."""
        return self.heads[-1]

    @property
    def sealed(self) -> bool:
        """Return whether the game is sealed or aborted."""
        return self.game.over


def with_cites(record: GameRecord, cites: Mapping[str, str]) -> GameRecord:
    """Return the record with the statements that its settings rest on; a log pins none."""
    ruleset = replace(record.game.ruleset, cites=cites)
    return replace(record, game=replace(record.game, ruleset=ruleset))


def secrets_of(record: GameRecord) -> Secrets | None:
    """Return what events of this game may open, None while there is no seed at hand."""
    if record.seed is None:
        return None
    shuffle = record.shuffle
    if shuffle is None:
        return Secrets(salt=_no_salt, seed=record.seed.hex(), deck=None)
    return Secrets(salt=lambda p: shuffle.salt(p).hex(), seed=record.seed.hex(), deck=shuffle.deck)


def load(identity: UUID, lines: Sequence[bytes], *, seed: bytes | None) -> GameRecord:
    """
    Return the record that stored lines make; `seed` is S where the caller may fold with it.

    Without S hands and stock stay hidden, as a public reader folds them.
    """
    first = orjson.loads(lines[0])
    created = event_of("game_created", first["data"], read_ruleset)
    if not isinstance(created, GameCreated):
        raise ValueError("a game begins with game_created")
    record = GameRecord(
        identity=identity,
        game=new_game(created),
        created=first["data"],
        heads=(head_of(lines[0]),),
        created_at=first["at"],
        at=first["at"],
        dealt_at=None,
        turn_since=None,
        seed=seed,
        commitments={},
        entropy={},
        shuffle=None,
        last_action=-1,
        last_exchange={},
        swaps={},
        nonces=frozenset(),
    )
    return follow(record, lines[1:])


def follow(record: GameRecord, lines: Iterable[bytes]) -> GameRecord:
    """Return the record after further stored lines; raises Unfollowed where none follows."""
    for line in lines:
        try:
            envelope = orjson.loads(line)
            event = event_of(envelope["type"], envelope["data"], read_ruleset)
            record = advance(record, event, envelope, head_of(line))
        except (ValueError, LookupError, TypeError) as error:
            raise Unfollowed(record.identity, record.version) from error
    return record


def advance(
    record: GameRecord, event: Event, envelope: Mapping[str, Any], head: bytes
) -> GameRecord:
    """Return the record after one event, whose envelope has been chained with `head`."""
    type_, at, data = envelope["type"], envelope["at"], envelope["data"]
    if type_ == "entropy_revealed":
        value = bytes.fromhex(data["value"])
        record = replace(record, entropy={**record.entropy, data["seat"]: value})
    elif type_ == "entropy_committed":
        commitments = {**record.commitments, data["seat"]: data["commit"]}
        record = replace(record, commitments=commitments)
    elif type_ == "deck_committed":
        record = shuffled(record)
    elif type_ == "cards_dealt":
        record = replace(record, dealt_at=at)
    game = evolve(record.game, event)
    exchange, last_action = record.last_exchange, record.last_action
    if type_ in ACTIONS:
        last_action = record.version
        if type_ in EXCHANGE_ACTIONS:
            exchange = {**exchange, data["seat"]: record.version}
    swaps = record.swaps
    if type_ == "cards_swapped":
        swaps = {**swaps, data["seat"]: swaps.get(data["seat"], 0) + 1}
    nonces = record.nonces
    if "auth" in envelope:
        nonces = nonces | {envelope["auth"]["intent"]["nonce"]}
    return replace(
        record,
        game=game,
        heads=(*record.heads, head),
        at=at,
        turn_since=_turn_since(record, event, game, at),
        last_action=last_action,
        last_exchange=exchange,
        swaps=swaps,
        nonces=nonces,
    )


def write(
    record: GameRecord,
    events: Iterable[Event],
    *,
    at: str,
    auth: Mapping[str, Any] | None = None,
) -> tuple[GameRecord, tuple[bytes, ...]]:
    """
    Return the record after the events of one move, and their lines.

    `at` is raised to the time of the last event where it lies before it. `auth`
    goes on the first event. After `turn_timed_out` everything is the server's.
    """
    at, lines, by_server = max(at, record.at), [], False
    for event in events:
        type_ = type_of(event)
        by_server = by_server or isinstance(event, TurnTimedOut | GameEnded)
        seat = None if by_server or type_ in SERVER_EVENTS else getattr(event, "seat", None)
        if isinstance(event, GameSealed | GameAborted):
            data = data_of(event, secrets_of(record))
        else:
            data = data_of(event, secrets_of(record) if record.shuffle else None)
        line = encode_event(
            game=record.identity,
            seq=record.version,
            prev=record.head,
            at=at,
            by=seat,
            type=type_,
            data=data,
            auth=auth,
        )
        envelope = {"type": type_, "at": at, "data": data}
        if auth is not None:
            envelope["auth"] = auth
        record = advance(record, event, envelope, head_of(line))
        lines.append(line)
        auth = None
    return record, tuple(lines)


def shuffled(record: GameRecord) -> GameRecord:
    """Return the record with the deck derived from all entropy; without S it stays hidden."""
    if record.seed is None or record.shuffle is not None:
        return record
    setup = record.game.setup
    shuffle = derive(
        game=record.identity,
        seed=record.seed,
        head0=record.heads[0],
        codes=ordered_deck(decks=setup.decks, jokers=setup.jokers, partial=setup.partial),
        entropy=[record.entropy.get(seat) for seat in range(len(setup.seats))],
    )
    game = replace(record.game, deck=tuple(Card(code) for code in shuffle.deck))
    return replace(record, shuffle=shuffle, game=game)


def _turn_since(record: GameRecord, event: Event, game: Game, at: str) -> str | None:
    """A follow-up that leaves the turn where it was gives the seat on turn no new time."""
    if type_of(event) not in (*ACTIONS, "play_started") or game.turn is None:
        return at if type_of(event) == "play_started" else record.turn_since
    follow_up = isinstance(event, CardsPlayed) and record.game.turn not in (None, event.seat)
    if follow_up and game.turn == record.game.turn:
        return record.turn_since
    return at


def _no_salt(p: int) -> str:
    raise ValueError(f"there is no deck yet, and no salt {p}")
